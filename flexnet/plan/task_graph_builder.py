"""Builds the task graph of a strategy, again and again in the same memory."""

from dataclasses import dataclass, field

import numpy as np

from flexnet.plan.arrays import MAX_RANK, Box, ProblemArrays, Strategy, TaskArrays, Workspace
from flexnet.plan.kernels.build import build_tasks
from flexnet.plan.problem import Problem
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.transfer_order import spread_transfers
from flexnet.structs import held

__all__ = ["Builder", "build"]


def _workspace(
    n_op: int, n_edge: int, n_pair: int, n_task: int, n_record: int, n_group: int, n_member: int
) -> Workspace:
    return Workspace(
        kind=np.empty(n_task, np.int8),
        place=np.empty(n_task, np.int32),
        seconds=np.empty(n_task, np.float64),
        bytes=np.empty(n_task, np.int64),
        rank=np.empty(n_task, np.int32),
        succ_ptr=np.empty(n_task + 1, np.int32),
        succ=np.empty(n_record, np.int32),
        n_pred=np.empty(n_task, np.int32),
        group_ptr=np.empty(n_group + 1, np.int32),
        group=np.empty(n_member, np.int32),
        record_from=np.empty(n_record, np.int32),
        record_to=np.empty(n_record, np.int32),
        first=np.empty(n_op, np.int64),
        first_transfer=np.empty(n_edge, np.int64),
        fill=np.empty(n_task, np.int32),
        latest=np.empty(n_pair, np.int32),
        earlier=np.empty(n_task, np.int32),
        box=Box(*(np.empty(MAX_RANK, np.int64) for _ in Box._fields)),
        n_task=np.empty(1, np.int64),
        n_record=np.empty(1, np.int64),
        n_group=np.empty(1, np.int64),
        n_member=np.empty(1, np.int64),
    )


@dataclass(slots=True)
class Builder:
    """Builds task graphs of one problem again and again in the same memory."""

    problem: Problem
    _work: Workspace = field(init=False)
    _held_problem: ProblemArrays = field(init=False)  # for kernels, as the next
    _held_work: Workspace = field(init=False)
    _strategy: Strategy | None = None
    _arrays: TaskArrays | None = None

    def __post_init__(self) -> None:
        arrays = self.problem.arrays
        self._held_problem = held(arrays)
        n_pair = arrays.n_server**2 if arrays.in_turn else 0
        self._reserve(_workspace(len(arrays.rank), len(arrays.edge_src), n_pair, 1024, 4096, 64, 1024))

    def _reserve(self, work: Workspace) -> None:
        self._work, self._held_work = work, held(work)

    def arrays(self, strategy: Strategy) -> TaskArrays:
        """Task arrays of ``strategy``: views that are valid until the next call.

        A strategy's arrays are never written to once made, so asking for the same object again costs nothing.
        """
        if self._arrays is None or strategy is not self._strategy:
            self._arrays = self._build(strategy)
            self._strategy = strategy
        return self._arrays

    def _build(self, strategy: Strategy) -> TaskArrays:
        while True:
            sizes = build_tasks(self._held_problem, strategy, self._held_work)
            n_task, n_record, n_group, n_member = sizes
            work = self._work
            room = (len(work.kind), len(work.succ), len(work.group_ptr) - 1, len(work.group))
            if all(size <= has for size, has in zip(sizes, room, strict=True)):
                return TaskArrays(
                    work.kind[:n_task],
                    work.place[:n_task],
                    work.seconds[:n_task],
                    work.bytes[:n_task],
                    work.rank[:n_task],
                    work.succ_ptr[: n_task + 1],
                    work.succ[:n_record],
                    work.n_pred[:n_task],
                    work.group_ptr[: n_group + 1],
                    work.group[:n_member],
                )
            grown = [max(has, size + size // 4) for size, has in zip(sizes, room, strict=True)]
            self._reserve(_workspace(len(work.first), len(work.first_transfer), len(work.latest), *grown))


def build(
    problem: Problem, strategy: Strategy, builder: Builder | None = None, *, any_order: bool = False
) -> TaskGraph:
    """Task graph of ``strategy``, with arrays of its own.

    Parameters
    ----------
    problem : Problem
    strategy : Strategy
    builder : Builder, optional
        One of the problem, where many are built.
    any_order : bool
        What a task sends may leave in any order: an order that spreads it (`spread_transfers`) takes much of the time.
    """
    t = (builder or Builder(problem)).arrays(strategy)
    graph = TaskGraph(
        problem.cluster.n_server,
        t.kind.copy(),
        t.place.copy(),
        t.seconds.copy(),
        t.bytes.copy(),
        t.succ_ptr.copy(),
        t.succ.copy(),
        t.group_ptr.copy(),
        t.group.copy(),
        t.rank // 2,
    )
    return spread_transfers(graph) if problem.semantics.spread_transfers and not any_order else graph
