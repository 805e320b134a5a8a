"""Links that simultaneous flows share max-min fairly."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.interrupts import check
from flexnet.plan.arrays import TaskArrays
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays, only_routes
from flexnet.simulate.fair_work import Room, make_work
from flexnet.simulate.kernels.fair import simulate_fair
from flexnet.simulate.kernels.fair_state import FairWork
from flexnet.simulate.kernels.rings import ring_sizes
from flexnet.simulate.kernels.windows import LENGTHS
from flexnet.simulate.link_model import LinkModel, Timeline
from flexnet.simulate.protocol import PACKET, Protocol
from flexnet.structs import held

__all__ = ["FairLinks", "LinkLoads"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_ROOM = Room()
AS_MEANT = PACKET._replace(rings_by_index=False)


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
class FairLinks(LinkModel):
    """Links shared max-min fairly; see `flexnet.simulate.kernels.fair.simulate_fair` for the model and its sources.

    Parameters
    ----------
    window : float
        Least time in seconds between two solutions of the rates where many flows share links, where few do a share of
        it; 0 for every change.
    tolerance : float
        Relative distance under which links fill together; 0 for exact.
    protocol : Protocol
        What the transport adds to fluid flows.
    watch : bool
        Keep the highest rate and the bytes of every link; ``window`` must be 0.
    """

    name: ClassVar[str] = "fair"
    routes_by_flow: ClassVar[bool] = True

    window: float = 0.0
    tolerance: float = 0.0
    protocol: Protocol = AS_MEANT
    watch: bool = False
    _room: Room = NO_ROOM
    _work: FairWork | None = None
    _held: FairWork | None = None  # the same, for kernels
    _group_class: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def anew(self) -> "FairLinks":
        """The same model without memory of earlier calls."""
        return FairLinks(self.window, self.tolerance, self.protocol, self.watch)

    def seconds(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        limit: float = np.inf,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> float:
        """Iteration time in seconds; when it is above ``limit``, some time above ``limit``."""
        return self._run(tasks, network, limit, routes)[0]

    def timeline(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> Timeline:
        """Iteration time with the start and end of every task."""
        seconds, work = self._run(tasks, network, np.inf, routes)
        n_task = len(tasks.kind)
        return Timeline(seconds, work.start[:n_task].copy(), work.end[:n_task].copy())

    def link_bytes(self, n_link: int) -> Floats:
        """Bytes that the links of the network simulated last were asked to carry, ``n_link`` of them."""
        assert self._work is not None
        return self._work.links.bytes[:n_link].copy()

    def link_loads(self, n_link: int) -> LinkLoads:
        """What the links of the network simulated last had to do, ``n_link`` of them."""
        assert self._work is not None
        links = self._work.links
        return LinkLoads(self.link_bytes(n_link), links.peak[:n_link].copy(), links.carried[:n_link].copy())

    def _run(
        self, tasks: TaskArrays, network: NetworkArrays, limit: float, routes: FlowRoutes | None
    ) -> tuple[float, FairWork]:
        if routes is None:
            routes = only_routes(tasks)
        n_group = len(tasks.group_ptr) - 1
        if len(self._group_class) < n_group:
            self._group_class = np.zeros(2 * n_group, np.int64)
            self._work = None  # it would go on with the smaller array
        n_ring, n_inc, most = ring_sizes(tasks, network, routes, self.protocol, self._group_class)
        n_flow = len(tasks.kind) + n_group * most
        n_path, lengths = len(network.route_ptr) - 1, LENGTHS if self.protocol.by_window else 1
        n_class = n_ring * lengths + min(2 * len(tasks.kind), n_path * lengths)  # transfers are young, then old
        n_place = (n_inc + len(network.route)) * lengths
        n_link = len(network.bandwidth)
        n_task, n_server = len(tasks.kind), network.n_server
        work = self._reserve(Room(n_task, n_group, n_flow, n_class, n_place, n_link, n_server, n_path))
        protocol = self.protocol
        seconds = simulate_fair(tasks, network, routes, protocol, self.window, self.tolerance, limit, self._held)
        check()
        return float(seconds), work

    def _reserve(self, needed: Room) -> FairWork:
        if self._work is None or any(need > has for need, has in zip(needed, self._room, strict=True)):
            self._room = Room(*(max(need + need // 4, has) for need, has in zip(needed, self._room, strict=True)))
            self._work = make_work(self._room, self._group_class, watch=self.watch)
            self._held = held(self._work)
        return self._work
