"""Prices task graphs: when does the last task of an iteration end?

Two link models, same interface: `FifoSimulator` is the original's, `FairSimulator` shares links max-min fairly.
A simulator keeps its scratch memory from call to call, so pricing thousands of proposals allocates nothing.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.kernels.fair import simulate_fair
from flexnet.kernels.fair_state import Classes, FairWork, Flows, Links, Queues, Rings
from flexnet.kernels.fifo import flow_count, simulate_fifo
from flexnet.kernels.heap import Heap
from flexnet.kernels.rings import ring_sizes
from flexnet.protocol import TCP, Protocol
from flexnet.semantics import Semantics
from flexnet.taskgraph import TaskArrays
from flexnet.topology import Network

__all__ = ["FairSimulator", "FifoSimulator", "FlowRoutes", "LinkLoads", "NetworkArrays", "Timeline", "network_arrays"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class NetworkArrays(NamedTuple):
    """What simulation kernels read of a `flexnet.topology.Network`; shapes are documented there."""

    n_server: int
    latency: float
    bandwidth: Floats
    route_ptr: npt.NDArray[np.int32]
    route: npt.NDArray[np.int32]
    ring_ptr: npt.NDArray[np.int32]
    ring_hops: npt.NDArray[np.int32]
    ring_links: npt.NDArray[np.int32]


class FlowRoutes(NamedTuple):
    """Which route of `NetworkArrays` every flow takes, where pairs of servers have several.

    Parameters
    ----------
    transfer : int32 (n_task,)
        Of every transfer; anything for other tasks.
    edge : int32 (n_member,), (2 * n_member,) or (0,)
        Of every member of every group, the route to the next one; for parameter servers, the routes to and from the
        first member.  Empty: the route of the ordered pair ``src * n_server + dst``.
    """

    transfer: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]


NO_EDGES = np.zeros(0, np.int32)


def network_arrays(network: Network) -> NetworkArrays:
    """Arrays of a network for the kernels."""
    return NetworkArrays(
        network.topology.n_server,
        float(network.latency),
        network.bandwidth,
        network.route_ptr,
        network.route,
        network.ring_ptr,
        network.ring_hops,
        network.ring_links,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """What happened in one iteration: ``seconds`` until the last task ended, and every task's ``start`` and ``end``.

    An all-reduce ends when its last ring does (fair sharing), or with its intra-server part (first in, first out,
    where its flows are tasks of their own).
    """

    seconds: float
    start: Floats
    end: Floats


class FifoWork(NamedTuple):
    """Scratch memory of `flexnet.kernels.fifo.simulate_fifo`."""

    heap: Heap
    ready: Floats
    start: Floats
    end: Floats
    waiting: Ints
    left: Ints
    n_flow: Ints
    flow_route: Ints
    flow_route_end: Ints
    flow_on_ring: npt.NDArray[np.bool_]
    flow_left: Ints
    flow_ready: Floats
    flow_collective: Ints
    collective_ready: Floats
    collective_waiting: Ints
    link_free: Floats
    link_bandwidth: Floats
    server_free: Floats


@dataclass(slots=True)
class FifoSimulator:
    """The original's link model, see `flexnet.kernels.fifo`.

    Parameters
    ----------
    semantics : Semantics
    segment_bytes : int
        Cut transfers into messages of at most this size; 0 sends them whole.
    """

    semantics: Semantics
    segment_bytes: int = 0
    _room: tuple[int, ...] = (0,) * 5
    _work: FifoWork | None = None

    def seconds(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        directions: npt.NDArray[np.int8] | None = None,
        limit: float = np.inf,
    ) -> float:
        """Iteration time in seconds; when it is above ``limit``, some time above ``limit``.

        ``directions`` (n_allreduce,) of +1 and -1 say which way rings over routes run; forwards if None.
        """
        return self._run(tasks, network, directions, limit)[0]

    def timeline(
        self, tasks: TaskArrays, network: NetworkArrays, directions: npt.NDArray[np.int8] | None = None
    ) -> Timeline:
        """Iteration time with the start and end of every task."""
        seconds, work = self._run(tasks, network, directions, np.inf)
        n_task = len(tasks.kind)
        return Timeline(seconds, work.start[:n_task] * 1e-3, work.end[:n_task] * 1e-3)

    def _run(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        directions: npt.NDArray[np.int8] | None,
        limit: float,
    ) -> tuple[float, FifoWork]:
        n_flow = flow_count(tasks, network)
        n_group = len(tasks.group_ptr) - 1
        work = self._reserve(len(tasks.kind), n_flow, n_group, len(network.bandwidth), network.n_server)
        if directions is None:
            directions = np.ones(n_group, np.int8)
        lone = self.semantics.intra_server_factor_exact
        ms = simulate_fifo(tasks, network, directions, self.segment_bytes, lone, limit * 1e3, work)
        seconds = max(ms / 1e3, np.nextafter(limit, np.inf)) if ms > limit * 1e3 else ms / 1e3
        return float(seconds), work

    def _reserve(self, n_task: int, n_flow: int, n_group: int, n_link: int, n_server: int) -> FifoWork:
        needed = (n_task, n_flow, n_group, n_link, n_server)
        if self._work is None or any(need > has for need, has in zip(needed, self._room, strict=True)):
            self._room = tuple(max(need + need // 4, has) for need, has in zip(needed, self._room, strict=True))
            task, flow, group, link, server = self._room
            self._work = FifoWork(
                heap=Heap(
                    times=np.zeros(task + flow + group),
                    items=np.zeros(task + flow + group, np.int64),
                    n=np.zeros(1, np.int64),
                ),
                ready=np.zeros(task),
                start=np.zeros(task),
                end=np.zeros(task),
                waiting=np.zeros(task, np.int64),
                left=np.zeros(task, np.int64),
                n_flow=np.zeros(1, np.int64),
                flow_route=np.zeros(flow, np.int64),
                flow_route_end=np.zeros(flow, np.int64),
                flow_on_ring=np.zeros(flow, np.bool_),
                flow_left=np.zeros(flow, np.int64),
                flow_ready=np.zeros(flow),
                flow_collective=np.zeros(flow, np.int64),
                collective_ready=np.zeros(group),
                collective_waiting=np.zeros(group, np.int64),
                link_free=np.zeros(link),
                link_bandwidth=np.zeros(link),
                server_free=np.zeros(server),
            )
        return self._work


@dataclass(frozen=True, slots=True, eq=False)
class LinkLoads:
    """Loads of links in one iteration.

    Parameters
    ----------
    bytes : float64 (n_link,)
        What all flows put on every link.
    peak : float64 (n_link,)
        Highest rate, bytes/s; like ``carried`` empty unless it was watched.
    carried : float64 (n_link,)
        Bytes that went through, summed up over time.
    """

    bytes: Floats
    peak: Floats
    carried: Floats


@dataclass(slots=True)
class FairSimulator:
    """Links shared max-min fairly; see `flexnet.kernels.fair.simulate_fair` for the model and its sources.

    Parameters
    ----------
    window : float
        Least time in seconds between two solutions of the rates; 0 for every change.
    tolerance : float
        Relative distance under which links fill together; 0 for exact.
    protocol : Protocol
        What the transport adds to fluid flows.
    watch : bool
        Keep the highest rate and the bytes of every link; ``window`` must be 0.
    """

    window: float = 0.0
    tolerance: float = 0.0
    protocol: Protocol = TCP
    watch: bool = False
    _room: tuple[int, ...] = (0,) * 8
    _work: FairWork | None = None
    _group_class: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def seconds(
        self, tasks: TaskArrays, network: NetworkArrays, limit: float = np.inf, routes: FlowRoutes | None = None
    ) -> float:
        """Iteration time in seconds; when it is above ``limit``, some time above ``limit``."""
        return self._run(tasks, network, limit, routes)[0]

    def timeline(self, tasks: TaskArrays, network: NetworkArrays, routes: FlowRoutes | None = None) -> Timeline:
        """Iteration time with the start and end of every task."""
        seconds, work = self._run(tasks, network, np.inf, routes)
        n_task = len(tasks.kind)
        return Timeline(seconds, work.start[:n_task].copy(), work.end[:n_task].copy())

    def link_loads(self, n_link: int) -> LinkLoads:
        """What the links of the network simulated last had to do, ``n_link`` of them."""
        assert self._work is not None
        links = self._work.links
        return LinkLoads(links.bytes[:n_link].copy(), links.peak[:n_link].copy(), links.carried[:n_link].copy())

    def _run(
        self, tasks: TaskArrays, network: NetworkArrays, limit: float, routes: FlowRoutes | None
    ) -> tuple[float, FairWork]:
        if routes is None:
            routes = FlowRoutes(tasks.place, NO_EDGES)
        n_group, by_server = len(tasks.group_ptr) - 1, self.protocol.by_server
        if len(self._group_class) < n_group:
            self._group_class = np.zeros(2 * n_group, np.int64)
            self._work = None  # it would go on with the smaller array
        n_ring, n_inc = ring_sizes(tasks, network, routes, self.protocol, self._group_class)
        rings = 2 if by_server else int(np.diff(network.ring_ptr).max(initial=1))
        n_flow = len(tasks.kind) + n_group * rings
        n_path = len(network.route_ptr) - 1
        n_class = n_ring + min(len(tasks.kind), n_path)
        n_link = len(network.bandwidth)
        work = self._reserve(
            (len(tasks.kind), n_group, n_flow, n_class, n_inc + len(network.route), n_link, network.n_server, n_path)
        )
        protocol = self.protocol
        seconds = simulate_fair(tasks, network, routes, protocol, self.window, self.tolerance, limit, work)
        return float(seconds), work

    def _reserve(self, needed: tuple[int, ...]) -> FairWork:
        if self._work is None or any(need > has for need, has in zip(needed, self._room, strict=True)):
            self._room = tuple(max(need + need // 4, has) for need, has in zip(needed, self._room, strict=True))
            task, group, flow, n_class, inc, link, server, path = self._room
            self._work = FairWork(
                heap=Heap(times=np.zeros(flow), items=np.zeros(flow, np.int64), n=np.zeros(1, np.int64)),
                start=np.zeros(task),
                end=np.zeros(task),
                waiting=np.zeros(task, np.int64),
                queues=Queues(
                    ptr=np.zeros(server + 1, np.int64),
                    length=np.zeros(server, np.int64),
                    task=np.zeros(task, np.int64),
                    time=np.zeros(task),
                    rank=np.zeros(task, np.int64),
                    running=np.zeros(server, np.int64),
                    wake=np.zeros(2 * task + server, np.int64),
                    n_wake=np.zeros(1, np.int64),
                ),
                server_load=np.zeros(server),
                rings=Rings(
                    group_class=self._group_class, first=np.zeros(group, np.int64), n_class=np.zeros(group, np.int64)
                ),
                classes=Classes(
                    n=np.zeros(1, np.int64),
                    begin=np.zeros(n_class, np.int64),
                    end=np.zeros(n_class, np.int64),
                    link=np.zeros(inc, np.int32),
                    hops=np.zeros(n_class, np.int64),
                    weight=np.zeros(n_class),
                    n_flow=np.zeros(n_class, np.int64),
                    rate=np.zeros(n_class),
                    served=np.zeros(n_class),
                    since=np.zeros(n_class),
                    head=np.zeros(n_class, np.int64),
                    next_end=np.zeros(n_class),
                    finish=np.zeros(n_class),
                    narrowest=np.zeros(n_class),
                    active=np.zeros(n_class, np.int64),
                    n_active=np.zeros(1, np.int64),
                    listed=np.zeros(n_class, np.bool_),
                    open=np.zeros(n_class, np.int64),
                    owner=np.zeros(inc, np.int32),
                    after=np.zeros(inc, np.int32),
                    of_path=np.zeros(path, np.int32),
                ),
                flows=Flows(
                    n=np.zeros(1, np.int64),
                    last_byte=np.zeros(flow),
                    following=np.zeros(flow, np.int64),
                    item=np.zeros(flow, np.int64),
                    delay=np.zeros(flow),
                ),
                links=Links(
                    bytes=np.zeros(link),
                    peak=np.zeros(link if self.watch else 0),
                    carried=np.zeros(link if self.watch else 0),
                    users=np.zeros(link),
                    unfrozen=np.zeros(link),
                    left=np.zeros(link),
                    share=np.zeros(link),
                    least=np.zeros(link),
                    touched=np.zeros(link, np.int64),
                    by_share=Heap(times=np.zeros(link), items=np.zeros(link, np.int64), n=np.zeros(1, np.int64)),
                    head=np.zeros(link, np.int32),
                ),
            )
        return self._work
