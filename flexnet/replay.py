"""Replays a task graph on a network and says where the time went."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.protocol import PACKET, Protocol, cut_short
from flexnet.semantics import ORIGINAL
from flexnet.simulate import FairSimulator, FifoSimulator, FlowRoutes, NetworkArrays, Timeline, network_arrays
from flexnet.slices import aranges
from flexnet.taskgraph import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM, TaskGraph
from flexnet.topology import Drawn, Network, Paths, Topology, connect, draw_shortest

__all__ = ["Fabric", "Phase", "Replay", "draw_routes", "replay", "unrouted"]

Floats = npt.NDArray[np.float64]
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


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the iteration, in seconds; ``compute`` is that of the server that computes longest."""

    name: str
    seconds: float
    compute: float

    @property
    def exposed(self) -> float:
        """Time that server waited for others, not below 0 by rounding."""
        return max(self.seconds - self.compute, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """One iteration.

    Parameters
    ----------
    timeline : Timeline
    phases : tuple of Phase
        Until the last forward task has ended, from then until the last backward task has, and the all-reduces that
        are left then.
    demand : float
        Bytes all servers have to send.
    sent : float
        Bytes that leave servers, forwarded ones included.
    link_bytes : float64 (n_link,)
        Bytes over every link of the network.
    """

    timeline: Timeline
    phases: tuple[Phase, ...]
    demand: float
    sent: float
    link_bytes: Floats

    @property
    def seconds(self) -> float:
        """Iteration time."""
        return self.timeline.seconds

    @property
    def compute(self) -> float:
        """Computing time of the server that computes longest, seconds."""
        return sum(phase.compute for phase in self.phases)

    @property
    def exposed(self) -> float:
        """Time that server does not compute, seconds."""
        return sum(phase.exposed for phase in self.phases)

    @property
    def bandwidth_tax(self) -> float:
        """Bytes servers send, own and forwarded, over bytes they have to send (TopoOpt section 5.4); 1 is none."""
        return self.sent / self.demand if self.demand else 1.0


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


def replay(
    graph: TaskGraph,
    fabric: Fabric,
    seeds: list[int],
    *,
    protocol: Protocol = PACKET,
    fifo_segment: int | None = None,
) -> Iterator[Replay]:
    """Replay one iteration for every seed that routes are drawn with.

    Parameters
    ----------
    graph : TaskGraph
    fabric : Fabric
    seeds : list of int
    protocol : Protocol
        For fair sharing, see `flexnet.kernels.fair.simulate_fair`.
    fifo_segment : int, optional
        Use the original's first-in-first-out links instead, with transfers in messages of this size (0: whole).
    """
    tasks = graph.arrays()
    fair, fifo = FairSimulator(protocol=protocol), FifoSimulator(ORIGINAL, fifo_segment or 0)
    demand = float(np.sum(_edge_counts(graph, protocol) * _edge_bytes(graph, protocol)))
    demand += float(graph.bytes[graph.kind == NOMINAL_COMM].sum())
    from_server = fabric.network.link_from < graph.n_server
    for seed in seeds:
        rng = np.random.default_rng(seed)
        arrays, routes = draw_routes(graph, fabric, protocol, rng, by_pair=fifo_segment is not None)
        if fifo_segment is None:
            timeline = fair.timeline(tasks, arrays, routes)
        else:
            timeline = fifo.timeline(tasks, arrays)
            fair.seconds(tasks, arrays, 0.0, routes)  # adds up loads only
        link_bytes = fair.link_loads(len(arrays.bandwidth)).bytes
        phases = _phases(graph, timeline)
        yield Replay(timeline, phases, demand, float(link_bytes[from_server].sum()), link_bytes)


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


def _edge_counts(graph: TaskGraph, protocol: Protocol) -> Ints:
    """Edges of every all-reduce task: of a ring, or from and to a parameter server."""
    n = np.diff(graph.group_ptr)[graph.place[graph.kind == ALLREDUCE]].astype(np.int64)
    edges: Ints = np.where(n > 1, 2 * (n - 1) if protocol.by_server else n, 0)
    return edges


def _edge_bytes(graph: TaskGraph, protocol: Protocol) -> Floats:
    """Bytes an edge of every all-reduce task carries; the rule of `flexnet.kernels.fair` for small ones."""
    reduces = graph.kind == ALLREDUCE
    n = np.diff(graph.group_ptr)[graph.place[reduces]]
    size: Floats = graph.bytes[reduces].astype(np.float64)
    if protocol.by_server:
        return size
    every: Floats = np.where(cut_short(n, size, protocol), size / n, 2 * (n - 1) / n * size)
    return every


def _phases(graph: TaskGraph, timeline: Timeline) -> tuple[Phase, ...]:
    compute = graph.kind <= BACKWARD
    if not compute.any():
        return (Phase("all-reduce", timeline.seconds, 0.0),)
    busy = np.bincount(graph.place[compute], weights=graph.seconds[compute], minlength=graph.n_server)
    mine = compute & (graph.place == int(np.argmax(busy)))
    start, end = timeline.start[mine], timeline.end[mine]
    marks = [0.0]
    for kind in (FORWARD, BACKWARD):
        marks.append(max(marks[-1], float(timeline.end[graph.kind == kind].max(initial=0.0))))
    marks.append(max(marks[-1], timeline.seconds))
    phases = []
    for name, begin, until in zip(("forward", "backward", "all-reduce"), marks[:-1], marks[1:], strict=True):
        inside = np.clip(end, begin, until) - np.clip(start, begin, until)
        phases.append(Phase(name, until - begin, float(inside.sum())))
    return tuple(phases)
