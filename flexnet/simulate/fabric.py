"""How flows find their way through a network: one route for every pair of servers, or one drawn for every flow."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.network.network import Network, connect
from flexnet.network.paths import Drawn, Paths, draw_shortest
from flexnet.network.topology import Topology
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays, network_arrays
from flexnet.simulate.protocol import Protocol

__all__ = ["Fabric", "draw_routes", "unrouted"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Fabric:
    """A network, and how flows find their way through it.

    Parameters
    ----------
    network : Network
        Its routes are not used, its links and rings are.
    paths : Paths or None
        Alternatives of every pair; None: each flow takes one of the shortest paths (ECMP).
    """

    network: Network
    paths: Paths | None = None

    @property
    def several(self) -> bool:
        """Whether some flows may have a choice, so that draws may differ."""
        return self.network.topology.n_switch > 1 if self.paths is None else self.paths.several

    @classmethod
    def of(cls, network: Network) -> "Fabric":
        """Flows take the network's routes, one for each pair of servers; by `unrouted` every flow chooses."""
        counts = np.diff(network.route_ptr)
        hop_ptr = np.concatenate([[0], network.route_ptr[1:][counts > 0]]).astype(np.int64)
        pair_ptr = np.concatenate([[0], np.cumsum(counts > 0)]).astype(np.int64)
        only = Paths(network.topology.n_server, pair_ptr, np.ones(len(hop_ptr) - 1), hop_ptr, network.route)
        return cls(network, only)


def unrouted(topology: Topology, bandwidth: float, latency: float) -> Fabric:
    """A network in which every flow takes one of the shortest paths.

    Parameters
    ----------
    topology : Topology
    bandwidth : float
        Bytes/s of a link.
    latency : float
        Seconds of a hop.
    """
    none = np.zeros(topology.n_server**2 + 1, np.int32), np.zeros(0, np.int32)
    return Fabric(connect(topology, bandwidth, latency, none))


def draw_routes(
    graph: TaskGraph, fabric: Fabric, protocol: Protocol, rng: np.random.Generator, *, by_pair: bool = False
) -> tuple[NetworkArrays, FlowRoutes]:
    """Let every transfer, and every edge of a collective, take a path; ``by_pair``: all flows of a pair the same.

    Returns
    -------
    network : NetworkArrays
        With the routes that are taken; with ``by_pair``, those of ordered pairs as usual.
    routes : FlowRoutes
    """
    network, n = fabric.network, graph.n_server
    transfer = np.flatnonzero(graph.kind == NOMINAL_COMM)
    begin, counts = graph.group_ptr[:-1], np.diff(graph.group_ptr)
    first = np.repeat(begin, counts)
    member = np.arange(len(graph.group))
    if protocol.by_server:
        ends = np.stack([graph.group, graph.group[first]], axis=1)
        edge_source, edge_target = ends.ravel(), ends[:, ::-1].ravel()
    else:
        edge_source = graph.group
        edge_target = graph.group[first + (member - first + 1) % np.repeat(counts, counts)]
    source = np.concatenate([graph.place[transfer] // n, edge_source]).astype(np.int64)
    target = np.concatenate([graph.place[transfer] % n, edge_target]).astype(np.int64)
    if by_pair:
        pairs = np.unique(source * n + target)
        source, target = np.divmod(pairs, n)
    if fabric.paths is not None:
        drawn = fabric.paths.draw(source, target, rng)
    else:
        drawn = draw_shortest(network.topology, source, target, rng)
    arrays = network_arrays(network)
    if protocol.by_server:
        arrays = arrays._replace(ring_ptr=np.zeros_like(arrays.ring_ptr))
    if by_pair:
        ptr, link = _as_pairs(drawn, source * n + target, n * n)
        return arrays._replace(route_ptr=ptr, route=link), FlowRoutes(graph.place, np.zeros(0, np.int32))
    of_task = np.zeros(graph.n_task, np.int32)
    of_task[transfer] = drawn.route[: len(transfer)]
    return arrays._replace(route_ptr=drawn.ptr, route=drawn.link), FlowRoutes(of_task, drawn.route[len(transfer) :])


def _as_pairs(drawn: Drawn, pairs: Ints, n_pair: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Routes of ascending ``pairs`` as CSR over all pairs."""
    counts = np.diff(drawn.ptr)[drawn.route].astype(np.int64)
    of_pair = np.zeros(n_pair, np.int64)
    of_pair[pairs] = counts
    ptr = np.concatenate([[0], np.cumsum(of_pair)])
    return ptr.astype(np.int32), drawn.link[aranges(drawn.ptr[drawn.route], counts)]
