"""`Topology`: which servers and switches are linked, and the rings all-reduces run on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.link_speeds import LinkSpeeds

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Topology", "adjacency", "by_members", "check_cycle", "digest_of"]

FEW_PAIRS = 2**14


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """Links between servers and switches, and the rings all-reduces run on.

    Parameters
    ----------
    name : str
        For messages.
    n_server, n_switch : int
        Servers have ids ``0..n_server-1``, switches the ``n_switch`` ids after them.
    links : int64 (n_node, n_node)
        Symmetric count of parallel links; ``n_node = n_server + n_switch``.
    rings : mapping of int to tuple of tuple of int
        Group size -> rings, each the hops (server-id jumps mod ``n_server``) from one member of a strided group to
        the next; empty when collectives follow routes.
    speeds : LinkSpeeds or None
        None where all links are alike and as fast as the interfaces of the cluster.
    cycles : tuple of tuple of int
        Directed rings as the servers they visit, 2 or more, in order; an edge that has no link follows its route.  An
        all-reduce over exactly the servers of some of them, in whatever order, is divided equally over these, whatever
        ``rings`` say; a cycle that is there twice carries twice as much.  Link models that are first in, first out do
        not look at them.
    """

    name: str
    n_server: int
    n_switch: int
    links: npt.NDArray[np.int64]
    rings: Mapping[int, tuple[tuple[int, ...], ...]]
    speeds: LinkSpeeds | None = None
    cycles: tuple[tuple[int, ...], ...] = ()

    def check(self, degree: int | None, names: Sequence[object] | None = None) -> None:
        """Refuse a topology that is not legal.

        Parameters
        ----------
        degree : int or None
            Interfaces every server has; None for no bound.
        names : sequence, optional
            What servers are called where they are drawn; their ids unless given.

        Raises
        ------
        FlexNetError
            If links are malformed, a server has more links than interfaces, servers are not all connected, a ring
            needs a link that is missing, a ring does not visit exactly its group, or a cycle is not of distinct
            servers.
        """
        _check_links(self, degree)
        _check_connected(self, names or range(self.n_server))
        for size, rings in self.rings.items():
            for ring in rings:
                _check_ring(self, size, ring)
        for cycle in self.cycles:
            check_cycle(self.name, self.n_server, cycle)

    def rings_of(self, group: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Regular rings over a group, as servers in order; none but for groups that start + i n_server / size make."""
        n, size = self.n_server, len(group)
        if n % size or any((server - group[0]) % (n // size) for server in group):
            return ()
        return tuple(tuple((group[0] + i * sum(ring)) % n for i in range(size)) for ring in self.rings.get(size, ()))

    @property
    def n_link(self) -> int:
        """Number of links, each of several parallel ones counted."""
        return int(np.triu(self.links).sum())

    @property
    def link_counts(self) -> list[tuple[int, int, int]]:
        """Every linked pair of nodes ``a < b`` with the number of its links, ascending."""
        ends = np.argwhere(np.triu(self.links) > 0).tolist()
        return [(a, b, int(self.links[a, b])) for a, b in ends]

    def to_networkx(self, bandwidth: float | None = None, latency: float | None = None) -> "nx.Graph":
        """The topology as a networkx graph; see `flexnet.network.graphs` for its attributes.

        Parameters
        ----------
        bandwidth, latency : float, optional
            Bytes/s and seconds of one link, where the topology has no speeds of its own; None leaves them out.
        """
        from flexnet.network.graphs import to_graph

        graph = to_graph(self.name, self.n_server, self.links, self.rings, self.speeds, self.cycles)
        if self.speeds is None:
            for _, _, edge in graph.edges(data=True):
                edge |= {} if bandwidth is None else {"bandwidth": edge["links"] * bandwidth}
                edge |= {} if latency is None else {"latency": latency}
        return graph

    @classmethod
    def from_networkx(cls, graph: "nx.Graph", name: str = "graph", *, speeds: bool = False) -> "Topology":
        """The topology that a networkx graph draws; see `flexnet.network.graphs` for its attributes.

        Parameters
        ----------
        graph : networkx.Graph, or one that is directed or has parallel edges
        name : str
            For messages.
        speeds : bool
            Whether links must have a bandwidth and a latency; otherwise either all have both or none has any, and then
            they are as fast as the interfaces of the cluster.

        Raises
        ------
        FlexNetError
            If it has no servers or too many nodes, a node is of another kind, a server cannot be reached, a link joins
            a node with itself, or an attribute is missing or out of range.
        """
        from flexnet.network.graphs import read_graph

        topology = cls(name, *read_graph(graph, name, speeds=speeds))
        servers = [node for node, kind in graph.nodes(data="kind", default="server") if kind == "server"]
        topology.check(None, servers)
        return topology


def adjacency(
    links: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Directed links as CSR; the position of a link in it is its link id.

    Parameters
    ----------
    links : int64 (n_node, n_node)

    Returns
    -------
    ptr : int32 (n_node + 1,)
    link_from, link_to : int32 (n_link,)
        Neighbours of node v are ``link_to[ptr[v]:ptr[v + 1]]``, ascending.
    """
    n_node = len(links)
    flat = np.flatnonzero(links)
    link_from, link_to = np.divmod(flat.astype(np.int32), np.int32(n_node))
    ptr = np.searchsorted(link_from, np.arange(n_node + 1, dtype=np.int32)).astype(np.int32)
    return ptr, link_from, link_to


def digest_of(links: npt.NDArray[np.int64]) -> bytes:
    """Tells link matrices of one size apart; large ones by the links that are there, in a tenth of the time."""
    if links.size <= FEW_PAIRS:
        return blake2b(links.tobytes()).digest()
    at = np.flatnonzero(links)
    return blake2b(at.tobytes() + links.ravel()[at].tobytes()).digest()


def _check_links(topology: Topology, degree: int | None) -> None:
    name, links, n_node = topology.name, topology.links, topology.n_server + topology.n_switch
    if topology.n_server < 1 or topology.n_switch < 0:
        raise FlexNetError(f"{name}: {topology.n_server} servers and {topology.n_switch} switches; at least 1 and 0")
    if links.shape != (n_node, n_node):
        raise FlexNetError(f"{name}: the link matrix has shape {links.shape}; expected is ({n_node}, {n_node})")
    if links.min() < 0:
        a, b = np.argwhere(links < 0)[0]
        raise FlexNetError(f"{name}: nodes {a} and {b} have {links[a, b]} links; expected are 0 or more")
    if links.diagonal().any():
        raise FlexNetError(f"{name}: node {np.flatnonzero(links.diagonal())[0]} is linked to itself")
    if (links != links.T).any():
        a, b = np.argwhere(links != links.T)[0]
        raise FlexNetError(
            f"{name}: {links[a, b]} links from node {a} to {b} but {links[b, a]} back; links are full duplex"
        )
    used = links[: topology.n_server].sum(axis=1)
    if degree is not None and used.max() > degree:
        at = int(np.argmax(used))
        raise FlexNetError(f"{name}: server {at} has {used[at]} links but only {degree} interfaces")


def _check_connected(topology: Topology, names: Sequence[object]) -> None:
    near = topology.links > 0
    reached = np.zeros(len(near), np.bool_)
    frontier = np.array([0])
    while len(frontier):
        reached[frontier] = True
        frontier = np.flatnonzero(near[frontier].any(axis=0) & ~reached)
    if not reached[: topology.n_server].all():
        lost = int(np.argmin(reached))
        raise FlexNetError(
            f"{topology.name}: server {names[lost]} cannot be reached from server {names[0]}; all servers must be "
            "connected"
        )


def _check_ring(topology: Topology, size: int, ring: tuple[int, ...]) -> None:
    name, n = topology.name, topology.n_server
    if not ring or not all(1 <= hop < n for hop in ring):
        raise FlexNetError(
            f"{name}: ring {list(ring)} of group size {size}; hops must be jumps of 1 to {n - 1} servers"
        )
    n_visited = n // gcd(sum(ring), n)
    if n_visited != size:
        raise FlexNetError(
            f"{name}: ring {list(ring)} steps by {sum(ring) % n} and so visits {n_visited} of {n} servers; "
            f"a ring of group size {size} must visit {size}"
        )
    server = np.arange(n)
    for hop in ring:
        missing = topology.links[server, (server + hop) % n] == 0
        if missing.any():
            raise FlexNetError(
                f"{name}: ring {list(ring)} of group size {size} hops by {hop} from server {np.argmax(missing)}, where "
                "there is no link"
            )


def by_members(cycles: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    """Cycles by the servers they visit, ascending; sets in the order of their first cycles.

    >>> by_members([(2, 0, 1), (3, 4), (0, 2, 1)])
    {(0, 1, 2): [(2, 0, 1), (0, 2, 1)], (3, 4): [(3, 4)]}
    """
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for cycle in cycles:
        found.setdefault(tuple(sorted(cycle)), []).append(cycle)
    return found


def check_cycle(name: str, n_server: int, cycle: tuple[int, ...]) -> None:
    """Refuse a cycle that does not visit two or more distinct servers.

    Raises
    ------
    FlexNetError
        Then.
    """
    if len(cycle) < 2 or len(set(cycle)) < len(cycle) or min(cycle) < 0 or max(cycle) >= n_server:
        raise FlexNetError(
            f"{name}: cycle {list(cycle)}; a cycle visits 2 or more distinct servers of 0 to {n_server - 1}"
        )
