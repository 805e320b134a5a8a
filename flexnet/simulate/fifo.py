"""The original's link model: whole messages, first in, first out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.interrupts import check
from flexnet.kernels import STOP
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.semantics import ORIGINAL, Semantics
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays
from flexnet.simulate.kernels.fifo import simulate_fifo
from flexnet.simulate.kernels.fifo_flows import flow_count
from flexnet.simulate.kernels.fifo_state import FifoWork
from flexnet.simulate.kernels.heap import Heap
from flexnet.simulate.link_model import LinkModel, Timeline

__all__ = ["FifoLinks"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class FifoLinks(LinkModel):
    """The original's link model, see `flexnet.simulate.kernels.fifo`.

    Parameters
    ----------
    semantics : Semantics
    segment_bytes : int
        Cut transfers into messages of at most this size; 0 sends them whole.
    """

    name: ClassVar[str] = "fifo"

    semantics: Semantics = ORIGINAL
    segment_bytes: int = 0
    _room: tuple[int, ...] = (0,) * 5
    _work: FifoWork | None = None

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
        return self._run(tasks, network, directions, limit)[0]

    def timeline(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
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
        limit_ms = np.nextafter(limit * 1e3, np.inf)  # what was ms need not come back as the same ms
        ms = simulate_fifo(tasks, network, directions, self.segment_bytes, lone, limit_ms, work)
        check()
        seconds = max(ms / 1e3, np.nextafter(limit, np.inf)) if ms > limit_ms else ms / 1e3
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
                flow_ptr=np.zeros(group + 1, np.int64),
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
                link_left=np.zeros(link),
                server_left=np.zeros(server),
                latest=np.zeros(1),
                stop=STOP,
            )
        return self._work
