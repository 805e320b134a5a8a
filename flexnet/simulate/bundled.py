"""Links shared by what tasks send, for plans of so many transfers that each cannot be looked at by itself."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.interrupts import check
from flexnet.kernels import STOP
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import BACKWARD
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays, only_routes
from flexnet.simulate.fair_work import make_queues
from flexnet.simulate.kernels.bundle_state import BundleLinks, BundleWork, Coflows, Running
from flexnet.simulate.kernels.bundled import simulate_bundles, tell_transfers
from flexnet.simulate.kernels.fair_state import Rings
from flexnet.simulate.kernels.heap import Heap
from flexnet.simulate.kernels.rings import ring_sizes
from flexnet.simulate.kernels.windows import LENGTHS
from flexnet.simulate.link_model import LinkModel, Timeline
from flexnet.simulate.protocol import PACKET, Protocol

__all__ = ["BundledLinks"]

AS_MEANT = PACKET._replace(rings_by_index=False)


class Room(NamedTuple):
    """How many of each there may be; a place is a link of a coflow."""

    task: int = 0
    group: int = 0
    coflow: int = 0
    running: int = 0
    place: int = 0
    link: int = 0
    server: int = 0


@dataclass(slots=True)
class BundledLinks(LinkModel):
    """As `flexnet.simulate.fair.FairLinks`, but the transfers that wait for one task end together.

    What a task sends to many servers has rates in proportion to its bytes, so that those of the slowest path hold back
    the others.  Where all send to all, the busiest link carries the same bytes in the same time.  Timers never go off.

    Parameters
    ----------
    window : float
        Least time in seconds between two solutions of the rates; 0 for every change.
    tolerance : float
        Relative distance under which links fill together; 0 for exact.
    protocol : Protocol
        What the transport adds to fluid flows; not one with parameter servers.
    """

    routes_by_flow: ClassVar[bool] = True

    window: float = 0.0
    tolerance: float = 0.0
    protocol: Protocol = AS_MEANT
    _room: Room = Room()  # noqa: RUF009
    _work: BundleWork | None = None
    _group_class: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def anew(self) -> "BundledLinks":
        """The same model without memory of earlier calls."""
        return BundledLinks(self.window, self.tolerance, self.protocol)

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
        """Iteration time with the start and end of every task; those of transfers are their bundle's."""
        seconds, work = self._run(tasks, network, np.inf, routes)
        tell_transfers(tasks, work)
        n_task = len(tasks.kind)
        return Timeline(seconds, work.start[:n_task].copy(), work.end[:n_task].copy())

    def link_bytes(self, n_link: int) -> npt.NDArray[np.float64]:
        """As of `flexnet.simulate.fair.FairLinks`, where nothing was simulated: ``limit`` was 0."""
        assert self._work is not None
        return self._work.links.bytes[:n_link].copy()

    def _run(
        self, tasks: TaskArrays, network: NetworkArrays, limit: float, routes: FlowRoutes | None
    ) -> tuple[float, BundleWork]:
        routes = only_routes(tasks) if routes is None else routes
        n_group = len(tasks.group_ptr) - 1
        if len(self._group_class) < n_group:
            self._group_class = np.zeros(2 * n_group, np.int64)
            self._work = None  # it would go on with the smaller array
        n_ring, n_ring_place, most = ring_sizes(tasks, network, routes, self.protocol, self._group_class)
        lengths = LENGTHS if self.protocol.by_window else 1
        n_compute = int(np.count_nonzero(tasks.kind <= BACKWARD))
        needed = Room(
            task=len(tasks.kind),
            group=n_group,
            coflow=n_ring * lengths + n_compute,
            running=n_compute + n_group * most,
            place=n_ring_place * lengths,
            link=len(network.bandwidth),
            server=network.n_server,
        )
        while True:
            work = self._reserve(needed)
            seconds, n_place = simulate_bundles(
                tasks, network, routes, self.protocol, self.window, self.tolerance, limit, work
            )
            check()
            if n_place <= len(work.coflows.link):
                return float(seconds), work
            needed = needed._replace(place=n_place)

    def _reserve(self, needed: Room) -> BundleWork:
        if self._work is None or any(need > has for need, has in zip(needed, self._room, strict=True)):
            self._room = Room(*(max(need + need // 4, has) for need, has in zip(needed, self._room, strict=True)))
            self._work = _make_work(self._room, self._group_class)
        return self._work


def _make_work(room: Room, group_class: npt.NDArray[np.int64]) -> BundleWork:
    n_task, n_link, n_event = room.task, room.link, 2 * room.running + room.server
    return BundleWork(
        heap=Heap(times=np.zeros(n_event), items=_ints(n_event), n=_ints(1)),
        start=np.zeros(n_task),
        end=np.zeros(n_task),
        waiting=np.zeros(n_task, np.int32),
        bundle=np.full(n_task, -1, np.int32),
        owner=np.full(n_task, -1, np.int32),
        first=np.zeros(n_task + 1, np.int32),
        path=np.zeros(n_task, np.int32),
        size=_ints(n_task),
        then=np.zeros(n_task, np.int32),
        queues=make_queues(n_task, room.server),
        server_load=np.zeros(room.server),
        rings=Rings(
            group_class=group_class,
            first=_ints(room.group),
            n_class=_ints(room.group),
            apart=np.zeros(1, np.bool_),
            turn=_ints(room.group),
        ),
        coflows=Coflows(
            n=_ints(1),
            begin=_ints(room.coflow),
            end=_ints(room.coflow),
            link=np.zeros(room.place, np.int32),
            part=np.zeros(room.place, np.float32),
            hops=_ints(room.coflow),
            extra_latency=np.zeros(room.coflow),
            weight=np.zeros(room.coflow),
            bytes=np.zeros(room.coflow),
            waiting=_ints(room.coflow),
            start=np.zeros(room.coflow),
            arrival=np.zeros(room.coflow),
        ),
        running=Running(
            n=_ints(1),
            coflow=_ints(room.running),
            rate=np.zeros(room.running),
            finish=np.zeros(room.running),
            delay=np.zeros(room.running),
            item=_ints(room.running),
            open=_ints(room.running),
            narrowest=np.zeros(room.running),
        ),
        links=BundleLinks(
            bytes=np.zeros(n_link),
            users=np.zeros(n_link),
            unfrozen=np.zeros(n_link),
            left=np.zeros(n_link),
            share=np.zeros(n_link),
            least=np.zeros(n_link),
            touched=_ints(n_link + 1),
        ),
        stop=STOP,
    )


def _ints(n: int) -> npt.NDArray[np.int64]:
    return np.zeros(n, np.int64)
