"""Cuts a model by a strategy: tasks, transfers and all-reduces in the original's creation order.

That is (simulator.cc:801 in FlexNet): forward and backward of every operator's parts; an all-reduce for every weight;
then the transfers, by consumer, its input, its part and the producer's part, forward before backward.  Tasks lie in
blocks, one per operator and one per operator edge.  A strategy of ours may let all-reduces wait for other operators;
consumers on the same servers may share transfers, servers hand on what several get, transfers between two servers take
turns, and all-reduces may be put together in buckets, in the order in which gradients come: those of later operators
first.  Of several micro-batches, parts of all come first, batch by batch, and transfers of all last.
"""

import numpy as np

from flexnet.kernels import inlined, kernel
from flexnet.plan.kernels.micro_batches import order_micro_batches
from flexnet.plan.kernels.records import add_record, add_task, has_room
from flexnet.plan.kernels.reduces import add_all_reduces
from flexnet.plan.kernels.relays import are_alike, hand_on
from flexnet.plan.kernels.sharing import shared_edge
from flexnet.plan.kernels.transfers import add_transfers
from flexnet.plan.kernels.turns import let_take_turns
from flexnet.plan.task_kinds import BACKWARD, FORWARD

__all__ = ["build_tasks"]


@kernel
def build_tasks(problem, strategy, parents, counted, work):  # type: ignore[no-untyped-def]
    """Fill ``work`` with the task graph of ``strategy``.

    Parameters
    ----------
    problem : flexnet.plan.arrays.ProblemArrays
    strategy : flexnet.plan.arrays.Strategy
    parents : int16 (n_server, n_server) or (0, 0)
        From whom the server of a column gets what several get from that of a row (`flexnet.plan.kernels.relays`);
        empty: from that one.
    counted : bool
        Without those, set ``work.copies``.
    work : flexnet.plan.arrays.Workspace

    Returns
    -------
    n_task, n_record, n_group, n_member : int
        Sizes used; any of them may exceed the workspace's capacity, and then the call must be repeated with a
        larger one (nothing is written past the end).  ``work.n_tree`` is of how many edges transfers could go along
        trees.
    """
    n_op = problem.rank.shape[0]
    work.n_task[0] = 0
    work.n_record[0] = 0
    work.n_group[0] = 0
    work.n_member[0] = 0
    work.n_tree[0] = 0
    work.group_ptr[0] = 0
    for batch in range(problem.micro_batches):
        for op in range(n_op):
            _add_parts(problem, strategy, work, op, batch)
        if batch == 0:
            work.n_part[0] = work.n_task[0]
    if problem.micro_batches > 1:
        order_micro_batches(problem, strategy, work)
    for i in range(n_op):
        op = n_op - 1 - i if problem.bucket_bytes > 0 else i
        for weight in range(problem.weight_ptr[op], problem.weight_ptr[op + 1]):
            add_all_reduces(problem, strategy, work, op, weight)
    for batch in range(problem.micro_batches):
        _add_all_transfers(problem, strategy, parents, counted, work, batch)
        for op in range(n_op):  # of the next micro-batch
            work.first[op] += work.n_part[0]
    n_task, n_record, n_group, n_member = work.n_task[0], work.n_record[0], work.n_group[0], work.n_member[0]
    if has_room(work):
        _index_successors(work, n_task, n_record)
    return n_task, n_record, n_group, n_member


@inlined
def _add_parts(problem, strategy, work, op, batch):  # type: ignore[no-untyped-def]
    """Forward and backward of every part of an operator, in a micro-batch; ``work.first`` is that of the first one."""
    if batch == 0:
        work.first[op] = work.n_task[0]
    candidate = problem.candidate_ptr[op] + strategy.choice[op]
    rank = 2 * (batch * problem.rank.shape[0] + op)
    for j in range(problem.parts[candidate]):
        server = strategy.devices[op, j]
        forward = add_task(work, FORWARD, server, problem.forward[candidate], 0, rank)
        backward = add_task(work, BACKWARD, server, problem.backward[candidate], 0, rank + 1)
        add_record(work, forward, backward)


@inlined
def _add_all_transfers(problem, strategy, parents, counted, work, batch):  # type: ignore[no-untyped-def]
    """Those of a micro-batch, whose parts begin at ``work.first``."""
    n_before = work.n_task[0]
    for edge in range(problem.edge_src.shape[0]):
        shared = shared_edge(problem, strategy, edge)
        work.first_transfer[edge] = work.n_task[0] if shared < 0 else work.first_transfer[shared]
        if shared < 0 or problem.edge_dst[shared] != problem.edge_dst[edge]:
            first_record = work.n_record[0]
            add_transfers(problem, strategy, work, edge, shared)
            if shared < 0 and are_alike(problem, strategy, edge):
                work.n_tree[0] += 1
                if (parents.shape[0] > 0 or counted) and has_room(work):
                    hand_on(problem, strategy, work, edge, first_record, parents)
    if problem.in_turn and work.n_task[0] <= work.kind.shape[0]:
        let_take_turns(problem, work, n_before, work.n_task[0])
    if batch > 0:
        for task in range(n_before, min(work.n_task[0], work.rank.shape[0])):
            work.rank[task] += 2 * batch * problem.rank.shape[0]


@inlined
def _index_successors(work, n_task, n_record):  # type: ignore[no-untyped-def]
    """Stable counting sort of the (from, to) records into successor lists, and predecessor counts."""
    record_from, record_to, succ_ptr, succ = work.record_from, work.record_to, work.succ_ptr, work.succ
    n_pred, fill = work.n_pred, work.fill
    succ_ptr[: n_task + 1] = 0
    n_pred[:n_task] = 0
    for r in range(n_record):
        succ_ptr[np.uint32(record_from[r]) + 1] += 1
        n_pred[np.uint32(record_to[r])] += 1
    for task in range(n_task):
        succ_ptr[task + 1] += succ_ptr[task]
        fill[task] = succ_ptr[task]
    for r in range(n_record):
        before = np.uint32(record_from[r])
        succ[np.uint32(fill[before])] = record_to[r]
        fill[before] += 1
