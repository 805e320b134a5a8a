"""Builds the task graph of a strategy, again and again in the same memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from flexnet.plan.arrays import MAX_RANK, Box, Passes, ProblemArrays, Strategy, TaskArrays, Workspace
from flexnet.plan.kernels.build import build_tasks
from flexnet.plan.problem import Problem
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.transfer_order import spread_transfers
from flexnet.structs import held

__all__ = ["NO_TREES", "Builder", "Trees", "build", "count_tasks"]

Trees = Callable[[], npt.NDArray[np.int16]]
"""Tells of a network who hands on to whom (`flexnet.network.relays.trees_on`), once it is needed."""

SPARE = 2**21
"""Tasks, or whatever it is: as much as a strategy needs is reserved for larger ones, but no more than this."""

NO_TREES = np.zeros((0, 0), np.int16)
"""Nobody hands on."""


def _workspace(
    problem: ProblemArrays, relays: bool, n_task: int, n_record: int, n_group: int, n_member: int
) -> Workspace:
    n_op, n_edge = len(problem.rank), len(problem.edge_src)
    n_server = problem.n_server if relays else 0
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
        latest=np.empty(problem.n_server**2 if problem.in_turn or relays else 0, np.int32),
        earlier=np.empty(n_task, np.int32),
        copies=np.ones(n_task if relays else 0, np.int32),
        between=np.empty(n_server**2, np.int32),
        gets=np.full(n_server, -1, np.int32),
        region=np.empty(n_server, np.int32),
        member=np.empty(n_server, np.int32),
        record=np.empty(n_server, np.int32),
        server=np.empty(n_server, np.int32),
        above=np.empty(n_server, np.int32),
        below=np.empty(n_server, np.int32),
        pieces=np.empty(MAX_RANK, np.int64),
        stage=np.empty(n_op, np.int64),
        passes=_passes(problem),
        last=np.empty(problem.n_server, np.int64),
        n_part=np.empty(1, np.int64),
        n_tree=np.empty(1, np.int64),
        box=Box(*(np.empty(MAX_RANK, np.int64) for _ in Box._fields)),
        n_task=np.empty(1, np.int64),
        n_record=np.empty(1, np.int64),
        n_group=np.empty(1, np.int64),
        n_member=np.empty(1, np.int64),
    )


def _passes(problem: ProblemArrays) -> Passes:
    n_batch, n_server = problem.micro_batches, problem.n_server
    n_op = len(problem.rank) if n_batch > 1 else 0
    return Passes(
        seconds=np.empty((2, n_op, n_server)),
        end=np.empty((2, n_op, n_batch)),
        next=np.empty((2, n_op), np.int64),
        open=np.empty(2 * n_op, np.int64),
        is_open=np.empty((2, n_op), np.bool_),
        ready=np.empty((2, n_op)),
        longest=np.empty((2, n_op), np.int64),
        free=np.empty(n_server),
        is_there=np.empty(n_server, np.bool_),
        neighbour=np.empty((2, len(problem.edge_src)), np.int64),
        ptr=np.empty((2, n_op + 1), np.int64),
        reads=np.empty((n_op, n_op), np.bool_),
        op=np.empty(n_op, np.int64),
        op_ptr=np.empty(n_op + 1, np.int64),
        begins=np.empty(n_op, np.bool_),
        ends=np.empty(n_op, np.bool_),
        enters=np.empty(n_op, np.bool_),
    )


@dataclass(slots=True)
class Builder:
    """Builds task graphs of one problem again and again in the same memory; ``n_built`` of them so far."""

    problem: Problem
    _work: Workspace = field(init=False)
    _held_problem: ProblemArrays = field(init=False)  # for kernels, as the next
    _held_work: Workspace = field(init=False)
    n_built: int = 0
    _strategy: Strategy | None = None
    _parents: npt.NDArray[np.int16] = field(default_factory=lambda: NO_TREES)
    _arrays: TaskArrays | None = None
    _any_alike: bool = False  # whether some transfers of the strategy could go along trees

    def __post_init__(self) -> None:
        self._held_problem = held(self.problem.arrays)
        self._reserve(1024, 4096, 64, 1024)

    def _reserve(self, *sizes: int) -> None:
        self._work = _workspace(self.problem.arrays, self.problem.may_relay, *sizes)
        self._held_work = held(self._work)

    def arrays(self, strategy: Strategy, trees: Trees | None = None) -> TaskArrays:
        """Task arrays of ``strategy``: views that are valid until the next call.

        A strategy's arrays are never written to once made, so asking for the same object again costs nothing.

        Parameters
        ----------
        strategy : Strategy
        trees : callable, optional
            Who hands on to whom, if problem and network let servers; it is called only where several get the same.
            None: every transfer goes by itself.
        """
        known = self._arrays is not None and strategy is self._strategy
        parents = NO_TREES
        if trees is not None and self.problem.may_relay:
            if not known and not self._any_alike:  # nor will there be, most likely
                self._build(strategy, NO_TREES)
                known = True
            parents = trees() if self._any_alike else NO_TREES
        if not known or (parents is not self._parents and self._any_alike):
            self._build(strategy, parents)
        assert self._arrays is not None
        return self._arrays

    def alike(self, strategy: Strategy) -> npt.NDArray[np.int32]:
        """Of every task of `arrays` without trees, what ``copies`` of `Workspace` tells; valid until the next build."""
        relays = self.problem.may_relay
        self._build(strategy, NO_TREES, counted=relays)
        n_task = int(self._work.n_task[0])
        return self._work.copies[:n_task] if relays else np.ones(n_task, np.int32)

    def _build(self, strategy: Strategy, parents: npt.NDArray[np.int16], *, counted: bool = False) -> None:
        while True:
            if counted:
                self._work.copies[:] = 1
            sizes = build_tasks(self._held_problem, strategy, parents, counted, self._held_work)
            n_task, n_record, n_group, n_member = sizes
            work = self._work
            room = (len(work.kind), len(work.succ), len(work.group_ptr) - 1, len(work.group))
            if all(size <= has for size, has in zip(sizes, room, strict=True)):
                break
            # of what comes behind what there was no room for, not all was counted
            lack = max(size / has for size, has in zip(sizes, room, strict=True))
            spare = [max(size // 4, min(size, SPARE)) for size in sizes]
            needed = [max(size, int(lack * has)) for size, has in zip(sizes, room, strict=True)]
            self._reserve(*(size + more for size, more in zip(needed, spare, strict=True)))
        self.n_built += 1
        self._strategy, self._parents, self._any_alike = strategy, parents, bool(work.n_tree[0])
        self._arrays = TaskArrays(
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


def count_tasks(problem: Problem, strategies: Iterable[Strategy]) -> list[int]:
    """About how many tasks strategies have, whose task graphs may be far too large to be built."""
    work = held(_workspace(problem.arrays, problem.may_relay, 1, 1, 1, 1))
    one_batch = held(problem.of_one_micro_batch().arrays)
    return [
        problem.micro_batches * int(build_tasks(one_batch, strategy, NO_TREES, False, work)[0])
        for strategy in strategies
    ]


def build(
    problem: Problem,
    strategy: Strategy,
    builder: Builder | None = None,
    *,
    trees: Trees | None = None,
    any_order: bool = False,
) -> TaskGraph:
    """Task graph of ``strategy``, with arrays of its own.

    Parameters
    ----------
    problem : Problem
    strategy : Strategy
    builder : Builder, optional
        One of the problem, where many are built.
    trees : callable, optional
        As of `Builder.arrays`.
    any_order : bool
        What a task sends may leave in any order: an order that spreads it (`spread_transfers`) takes much of the time.
    """
    t = (builder or Builder(problem)).arrays(strategy, trees)
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
        t.rank // 2 % len(problem.graph.operators),
        None if problem.micro_batches == 1 else t.rank.copy(),
    )
    return spread_transfers(graph) if problem.semantics.spread_transfers and not any_order else graph
