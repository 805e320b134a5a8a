"""The nouns of the network: `Topology` (who is linked to whom, which rings), `Network` (with speeds and routes)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError

__all__ = ["Network", "Routes", "Topology", "adjacency", "connect"]

Routes = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""``(route_ptr, route)`` of a `Network`."""

MAX_BANDWIDTH = 1e200
"""Bytes/s of one link: whatever number of them run in parallel, their sum is a number."""


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
    """

    name: str
    n_server: int
    n_switch: int
    links: npt.NDArray[np.int64]
    rings: Mapping[int, tuple[tuple[int, ...], ...]]

    def check(self, degree: int | None) -> None:
        """Refuse a topology that is not legal.

        Parameters
        ----------
        degree : int or None
            Interfaces every server has; None for no bound.

        Raises
        ------
        FlexNetError
            If links are malformed, a server has more links than interfaces, servers are not all connected, a ring
            needs a link that is missing, or a ring does not visit exactly its group.
        """
        _check_links(self, degree)
        _check_connected(self)
        for size, rings in self.rings.items():
            for ring in rings:
                _check_ring(self, size, ring)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A topology with speeds and chosen routes, as simulation kernels want it.

    Parameters
    ----------
    topology : Topology
    link_bandwidth : float
        Bytes/s of one link, each way.
    latency : float
        Seconds per hop.
    link_from, link_to : int32 (n_link,)
        Directed links in ascending (from, to); parallel links are one fat pipe.
    bandwidth : float64 (n_link,)
        Bytes/s: number of parallel links times ``link_bandwidth``.
    link_id : int32 (n_node, n_node)
        Link of an ordered pair of nodes, -1 where there is none.
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
        Link ids of the one route of the ordered pair ``p = src * n_server + dst`` are
        ``route[route_ptr[p]:route_ptr[p + 1]]``; empty for ``src == dst``.
    ring_ptr : int32 (n_server + 2,)
        Rings of group size g are ``ring_ptr[g]:ring_ptr[g + 1]``; none: its collectives follow routes.
    ring_hops : int32 (n_ring + 1,)
    ring_links : int32
        Links that ring r's flow of member server m takes are ``ring_links[ring_hops[r] + m * h:][:h]``, with
        ``h = (ring_hops[r + 1] - ring_hops[r]) // n_server``.  A ring with hops (a, b, c) is walked b, c, a: the
        original rotates the list by one.
    """

    topology: Topology
    link_bandwidth: float
    latency: float
    link_from: npt.NDArray[np.int32]
    link_to: npt.NDArray[np.int32]
    bandwidth: npt.NDArray[np.float64]
    link_id: npt.NDArray[np.int32]
    route_ptr: npt.NDArray[np.int32]
    route: npt.NDArray[np.int32]
    ring_ptr: npt.NDArray[np.int32]
    ring_hops: npt.NDArray[np.int32]
    ring_links: npt.NDArray[np.int32]

    def with_routes(self, routes: Routes) -> "Network":
        """The same links and rings with other routes (``(route_ptr, route)``); nothing else is computed again.

        Raises
        ------
        FlexNetError
            If the routes are not for this network.
        """
        route_ptr, route = _checked_routes(self.topology, len(self.link_from), routes)
        return replace(self, route_ptr=route_ptr, route=route)


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


def connect(topology: Topology, link_bandwidth: float, latency: float, routes: Routes) -> Network:
    """Give a topology speeds and routes.

    Parameters
    ----------
    topology : Topology
    link_bandwidth : float
        Bytes/s of one link, each way.
    latency : float
        Seconds per hop.
    routes : (route_ptr, route)
        From `flexnet.topology.routing`.

    Returns
    -------
    Network

    Raises
    ------
    FlexNetError
        If a speed is out of range, the routes are not for this topology, or a ring needs a link that is missing.
    """
    if not 0 < link_bandwidth < MAX_BANDWIDTH:
        raise FlexNetError(
            f"the link bandwidth is {link_bandwidth} bytes/s; it must be above 0 and below {MAX_BANDWIDTH:g}"
        )
    if not 0 <= latency < float("inf"):
        raise FlexNetError(f"the latency of a hop is {latency} s; it must be 0 or more")
    n_node = len(topology.links)
    _, link_from, link_to = adjacency(topology.links)
    link_id = np.full((n_node, n_node), -1, np.int32)
    link_id[link_from, link_to] = np.arange(len(link_from), dtype=np.int32)
    route_ptr, route = _checked_routes(topology, len(link_from), routes)
    ring_ptr, ring_hops, ring_links = _ring_links(topology, link_id)
    return Network(
        topology=topology,
        link_bandwidth=link_bandwidth,
        latency=latency,
        link_from=link_from,
        link_to=link_to,
        bandwidth=topology.links[link_from, link_to].astype(np.float64) * link_bandwidth,
        link_id=link_id,
        route_ptr=route_ptr,
        route=route,
        ring_ptr=ring_ptr,
        ring_hops=ring_hops,
        ring_links=ring_links,
    )


def _ring_links(
    topology: Topology, link_id: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    n = topology.n_server
    ring_ptr = np.zeros(n + 2, np.int32)
    if not topology.rings:
        return ring_ptr, np.zeros(1, np.int32), np.zeros(0, np.int32)
    walks = []  # rotated hop lists, by group size
    for size in sorted(topology.rings):
        if not 1 <= size <= n:
            raise FlexNetError(f"{topology.name}: rings for groups of {size}; group sizes are 1 to {n}")
        ring_ptr[size + 1] = len(topology.rings[size])
        walks += [ring[1:] + ring[:1] for ring in topology.rings[size]]
    ring_ptr = np.cumsum(ring_ptr, dtype=np.int32)
    hops, starts = [], []  # one entry per (ring, hop): the jump, and the jumps walked before it
    for walk in walks:
        walked = 0
        for hop in walk:
            hops.append(hop)
            starts.append(walked)
            walked += hop
    server = (np.arange(n)[:, None] + np.array(starts, np.int64)) % n
    links = link_id[server, (server + np.array(hops, np.int64)) % n]  # (n_server, sum of hops)
    if links.size and links.min() < 0:
        m, column = np.argwhere(links < 0)[0]
        raise FlexNetError(
            f"{topology.name}: a ring hops by {hops[column]} from server {server[m, column]}, where there is no link"
        )
    lengths = np.array([0] + [len(walk) for walk in walks], np.int64)
    ends = np.cumsum(lengths).tolist()
    blocks = [links[:, begin:end].ravel() for begin, end in pairwise(ends)]
    return ring_ptr, (np.cumsum(lengths) * n).astype(np.int32), np.concatenate(blocks)


def _checked_routes(topology: Topology, n_link: int, routes: Routes) -> Routes:
    route_ptr, route = routes
    n_pair = topology.n_server**2
    if len(route_ptr) != n_pair + 1 or route_ptr[-1] != len(route):
        raise FlexNetError(
            f"{topology.name}: routes of {len(route_ptr) - 1} ordered server pairs; expected are {n_pair} for "
            f"{topology.n_server} servers"
        )
    if len(route) and not (route.min() >= 0 and route.max() < n_link):
        raise FlexNetError(f"{topology.name}: routes use links {route.min()} to {route.max()} of {n_link} links")
    return route_ptr.astype(np.int32, copy=False), route.astype(np.int32, copy=False)


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


def _check_connected(topology: Topology) -> None:
    near = topology.links > 0
    reached = np.zeros(len(near), np.bool_)
    frontier = np.array([0])
    while len(frontier):
        reached[frontier] = True
        frontier = np.flatnonzero(near[frontier].any(axis=0) & ~reached)
    if not reached[: topology.n_server].all():
        lost = int(np.argmin(reached))
        raise FlexNetError(
            f"{topology.name}: server {lost} cannot be reached from server 0; all servers must be connected"
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
