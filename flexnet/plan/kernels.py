"""Cuts a model by a strategy: tasks, transfers and all-reduces in the original's creation order.

That is (simulator.cc:801 in FlexNet): forward and backward of every operator's parts; an all-reduce for every weight;
then the transfers, by consumer, its input, its part and the producer's part, forward before backward.  Tasks lie in
blocks, one per operator and one per operator edge.  A strategy of ours may let all-reduces wait for other operators;
consumers on the same servers may share transfers, and those between two servers take turns.
"""

import numpy as np

from flexnet.kernels import inlined, kernel
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM

__all__ = ["build_tasks"]


@kernel
def build_tasks(problem, strategy, work):  # type: ignore[no-untyped-def]
    """Fill ``work`` with the task graph of ``strategy``.

    Parameters
    ----------
    problem : flexnet.plan.arrays.ProblemArrays
    strategy : flexnet.plan.arrays.Strategy
    work : flexnet.plan.arrays.Workspace

    Returns
    -------
    n_task, n_record, n_group, n_member : int
        Sizes used; any of them may exceed the workspace's capacity, and then the call must be repeated with a
        larger one (nothing is written past the end).
    """
    n_op = problem.rank.shape[0]
    work.n_task[0] = 0
    work.n_record[0] = 0
    work.n_group[0] = 0
    work.n_member[0] = 0
    work.group_ptr[0] = 0
    for op in range(n_op):
        _add_parts(problem, strategy, work, op)
    for op in range(n_op):
        for weight in range(problem.weight_ptr[op], problem.weight_ptr[op + 1]):
            _add_all_reduces(problem, strategy, work, op, weight)
    n_before = work.n_task[0]
    for edge in range(problem.edge_src.shape[0]):
        shared = _shared_edge(problem, strategy, edge)
        work.first_transfer[edge] = work.n_task[0] if shared < 0 else work.first_transfer[shared]
        if shared < 0 or problem.edge_dst[shared] != problem.edge_dst[edge]:
            _add_transfers(problem, strategy, work, edge, shared)
    if problem.in_turn and work.n_task[0] <= work.kind.shape[0]:
        _let_take_turns(problem, work, n_before, work.n_task[0])
    n_task, n_record, n_group, n_member = work.n_task[0], work.n_record[0], work.n_group[0], work.n_member[0]
    if (
        n_task <= work.kind.shape[0]
        and n_record <= work.record_from.shape[0]
        and n_group < work.group_ptr.shape[0]
        and n_member <= work.group.shape[0]
    ):
        _index_successors(work, n_task, n_record)
    return n_task, n_record, n_group, n_member


@inlined
def _add_task(work, kind, place, seconds, bytes_, rank):  # type: ignore[no-untyped-def]
    """Add a task, and return its number."""
    task = np.uint32(work.n_task[0])
    work.n_task[0] = task + 1
    if task < work.kind.shape[0]:
        work.kind[task] = kind
        work.place[task] = place
        work.seconds[task] = seconds
        work.bytes[task] = bytes_
        work.rank[task] = rank
    return task


@inlined
def _add_record(work, before, after):  # type: ignore[no-untyped-def]
    """Let task ``after`` wait for task ``before``."""
    record = np.uint32(work.n_record[0])
    work.n_record[0] = record + 1
    if record < work.record_from.shape[0]:
        work.record_from[record] = before
        work.record_to[record] = after


@inlined
def _add_parts(problem, strategy, work, op):  # type: ignore[no-untyped-def]
    """Forward and backward of every part of an operator."""
    work.first[op] = work.n_task[0]
    candidate = problem.candidate_ptr[op] + strategy.choice[op]
    for j in range(problem.parts[candidate]):
        server = strategy.devices[op, j]
        forward = _add_task(work, FORWARD, server, problem.forward[candidate], 0, 2 * op)
        backward = _add_task(work, BACKWARD, server, problem.backward[candidate], 0, 2 * op + 1)
        _add_record(work, forward, backward)


@inlined
def _add_all_reduces(problem, strategy, work, op, weight):  # type: ignore[no-untyped-def]
    """One all-reduce for every distinct shard of a weight, among the parts that have it.

    The parts of a reduction that hold the same shard have groups of their own: each has all of its gradient.
    """
    candidate = problem.candidate_ptr[op] + strategy.choice[op]
    reduction = problem.rank[op]
    shards = 1
    groups = 1
    for k in range(reduction + 1):
        if problem.weight_cut[weight, k]:
            shards *= problem.degrees[candidate, k]
            groups *= problem.degrees[candidate, k]
        elif k == reduction:
            groups *= problem.degrees[candidate, k]
    size = problem.weight_bytes[weight] // shards
    members = problem.parts[candidate] // groups
    for number in range(groups):
        group = work.n_group[0]
        work.n_group[0] = group + 1
        task = _add_task(work, ALLREDUCE, group, _seconds_in_server(problem, op, size), size, 2 * op)
        for i in range(members):
            j = i
            if groups > 1:  # the i-th part whose coordinates in dimensions with groups of their own are `number`
                j, stride, fixed, free = 0, 1, number, i
                for k in range(reduction + 1):
                    degree = problem.degrees[candidate, k]
                    if problem.weight_cut[weight, k] or k == reduction:
                        j += fixed % degree * stride
                        fixed //= degree
                    else:
                        j += free % degree * stride
                        free //= degree
                    stride *= degree
            member = work.n_member[0]
            work.n_member[0] = member + 1
            if member < work.group.shape[0]:
                work.group[member] = strategy.devices[op, j]
            _add_record(work, work.first[op] + 2 * j + 1, task)
        after = strategy.after[op]
        if after >= 0:
            for j in range(problem.parts[problem.candidate_ptr[after] + strategy.choice[after]]):
                _add_record(work, work.first[after] + 2 * j + 1, task)
        if group + 1 < work.group_ptr.shape[0]:
            work.group_ptr[group + 1] = work.n_member[0]


@inlined
def _shared_edge(problem, strategy, edge):  # type: ignore[no-untyped-def]
    """The last edge before this one that brings the same elements of a tensor to the same servers; -1: none does."""
    other = problem.edge_before[edge]
    while other >= 0 and not _reads_alike(problem, strategy, edge, other):
        other = problem.edge_before[other]
    return other


@inlined
def _reads_alike(problem, strategy, edge, other):  # type: ignore[no-untyped-def]
    """Whether the parts of two consumers of a tensor read the same of it, part by part on the same servers."""
    dst, dst_other = np.uint32(problem.edge_dst[edge]), np.uint32(problem.edge_dst[other])
    consumer = np.uint32(problem.candidate_ptr[dst] + strategy.choice[dst])
    consumer_other = np.uint32(problem.candidate_ptr[dst_other] + strategy.choice[dst_other])
    n = problem.parts[consumer]
    if problem.parts[consumer_other] != n:
        return False
    for j in range(n):
        if strategy.devices[dst, j] != strategy.devices[dst_other, j]:
            return False
    for k in range(problem.edge_rank[edge]):
        degree, stride = _cut_along(problem, consumer, problem.edge_split[edge, k])
        degree_other, stride_other = _cut_along(problem, consumer_other, problem.edge_split[other, k])
        if degree != degree_other:
            return False
        if degree > 1 and (
            stride != stride_other
            or problem.edge_extent[edge, k] != problem.edge_extent[other, k]
            or problem.edge_stride[edge, k] != problem.edge_stride[other, k]
            or problem.edge_window[edge, k] != problem.edge_window[other, k]
            or problem.edge_padding[edge, k] != problem.edge_padding[other, k]
        ):
            return False
    return True


@inlined
def _cut_along(problem, candidate, dim):  # type: ignore[no-untyped-def]
    """Degree of a config dimension, 1 of none (-1), and how many parts lie between two neighbours along it."""
    if dim < 0:
        return 1, 1
    stride = 1
    for k in range(dim):
        stride *= problem.degrees[candidate, k]
    return problem.degrees[candidate, dim], stride


@inlined
def _add_transfers(problem, strategy, work, edge, shared):  # type: ignore[no-untyped-def]
    """Activations forward and their gradients backward along an edge, for every two parts that share elements.

    Of a producer cut along a reduction, a part reads what each of its parts has of an element, sums it up, and returns
    the gradient to all of them.  What comes with an edge before is not sent once more: both consumers wait for it, and
    the sum of their gradients returns.
    """
    known = work.first_transfer[edge]
    box, degrees = work.box, problem.degrees
    src, dst = problem.edge_src[edge], problem.edge_dst[edge]
    producer = problem.candidate_ptr[src] + strategy.choice[src]
    consumer = problem.candidate_ptr[dst] + strategy.choice[dst]
    rank = problem.edge_rank[edge]
    partial_sums = degrees[producer, problem.rank[src]]
    block = problem.parts[producer] // partial_sums
    first_dim = 0
    inner = problem.edge_element_bytes[edge]
    by_batch = problem.batch_only[producer] and problem.batch_only[consumer] and problem.edge_by_batch[edge]
    if by_batch:  # parts are intervals of the batch: only that dimension needs a look (2 times faster in all)
        first_dim = rank - 1
        for k in range(rank - 1):
            inner *= problem.edge_dims[edge, k]
    for k in range(first_dim, rank):
        box.step[k] = problem.edge_dims[edge, k] // degrees[producer, k]
    for j in range(problem.parts[consumer]):
        rest = j
        for k in range(problem.rank[dst] - 1 if by_batch else 0, problem.rank[dst]):
            degree = degrees[consumer, k]
            box.coordinate[k] = rest if by_batch else rest % degree
            rest //= degree
        box.coordinate[problem.rank[dst]] = rest
        for partial in range(partial_sums):
            more = _find_producers(problem, box, edge, producer, consumer, first_dim)
            while more:
                size = inner
                i = 0
                for k in range(rank - 1, first_dim - 1, -1):
                    at = box.at[k]
                    size *= min(box.high[k], (at + 1) * box.step[k]) - max(box.low[k], at * box.step[k])
                    i = i * degrees[producer, k] + at
                known = _join_parts(problem, strategy, work, src, partial * block + i, dst, j, size, shared, known)
                more = _next_producer(box, first_dim, rank)


@inlined
def _find_producers(problem, box, edge, producer, consumer, first_dim):  # type: ignore[no-untyped-def]
    """What the consumer's part at ``box.coordinate`` reads, ``box.low`` to ``box.high`` in every dimension.

    Sets ``box.at`` to the first producer's part that has some of it; returns whether there is one.
    """
    found = True
    for k in range(first_dim, problem.edge_rank[edge]):
        extent = problem.edge_dims[edge, k]
        box.low[k] = 0
        box.high[k] = extent
        split = problem.edge_split[edge, k]
        if split >= 0 and problem.degrees[consumer, split] > 1:
            piece = problem.edge_extent[edge, k] // problem.degrees[consumer, split]
            first = box.coordinate[split] * piece
            stride, padding = problem.edge_stride[edge, k], problem.edge_padding[edge, k]
            box.low[k] = max(first * stride - padding, 0)
            box.high[k] = min((first + piece - 1) * stride - padding + problem.edge_window[edge, k], extent)
        box.begin[k] = box.low[k] // box.step[k]
        box.last[k] = min((box.high[k] - 1) // box.step[k], problem.degrees[producer, k] - 1)
        box.at[k] = box.begin[k]
        if box.last[k] < box.begin[k]:
            found = False
    return found


@inlined
def _next_producer(box, first_dim, rank):  # type: ignore[no-untyped-def]
    """Move ``box.at`` to the next producer's part, dimension 0 fastest; return whether there is one."""
    k = first_dim
    while k < rank:
        box.at[k] += 1
        if box.at[k] <= box.last[k]:
            break
        box.at[k] = box.begin[k]
        k += 1
    return k < rank


@inlined
def _join_parts(problem, strategy, work, src, i, dst, j, size, shared, known):  # type: ignore[no-untyped-def]
    """Part ``j`` of ``dst`` reads ``size`` bytes of part ``i`` of ``src``, and returns their gradient.

    With ``shared`` task ``known`` brings them already; returns which one brings the next.
    """
    src_server, dst_server = strategy.devices[np.uint32(src), np.uint32(i)], strategy.devices[np.uint32(dst), j]
    producer, consumer = work.first[np.uint32(src)] + 2 * i, work.first[np.uint32(dst)] + 2 * j
    if src_server == dst_server:
        _add_record(work, producer, consumer)
        _add_record(work, consumer + 1, producer + 1)
        return known
    if shared >= 0:
        _add_record(work, known, consumer)
        _add_record(work, consumer + 1, known + 1)
        return known + 2
    there = _add_task(work, NOMINAL_COMM, src_server * problem.n_server + dst_server, 0.0, size, 2 * dst)
    back = _add_task(work, NOMINAL_COMM, dst_server * problem.n_server + src_server, 0.0, size, 2 * dst)
    _add_record(work, producer, there)
    _add_record(work, there, consumer)
    _add_record(work, consumer + 1, back)
    _add_record(work, back, producer + 1)
    return known


@inlined
def _let_take_turns(problem, work, first, n_task):  # type: ignore[no-untyped-def]
    """Let transfers wait for those between the same servers that come first (`flexnet.plan.turns`).

    They are there by consumer, forward and backward in turn; of several for one operator the last one counts.
    """
    latest, earlier, rank, needed = work.latest, work.earlier, work.rank, problem.needed
    latest[:] = -1
    for there in range(first, n_task, 2):
        task = np.uint32(there)
        if work.bytes[task] >= problem.turn_bytes:
            pair, op = np.uint32(work.place[task]), np.uint32(rank[task] // 2)
            other = latest[pair]
            while other >= 0 and not needed[op, np.uint32(rank[np.uint32(other)] // 2)]:
                other = earlier[np.uint32(other)]
            if other >= 0:
                _add_record(work, other, there)
            earlier[task] = latest[pair]
            latest[pair] = there
    latest[:] = -1
    for back in range(n_task - 1, first, -2):
        task = np.uint32(back)
        if work.bytes[task] >= problem.turn_bytes:
            pair, op = np.uint32(work.place[task]), np.uint32(rank[task] // 2)
            other = latest[pair]
            while other >= 0 and not needed[np.uint32(rank[np.uint32(other)] // 2), op]:
                other = earlier[np.uint32(other)]
            if other >= 0:
                following = earlier[np.uint32(other)]
                while following >= 0 and rank[np.uint32(following)] == rank[np.uint32(other)]:
                    other, following = following, earlier[np.uint32(following)]
                _add_record(work, other, back)
            earlier[task] = latest[pair]
            latest[pair] = back


@inlined
def _seconds_in_server(problem, op, size):  # type: ignore[no-untyped-def]
    """Seconds the GPUs of one server need to reduce ``size`` bytes among themselves."""
    gpus = problem.big_gpu
    if gpus == 0 or problem.is_whole[op]:  # an embedding is measured on one GPU: nothing to reduce with
        return 0.0
    if problem.exact_intra_server:
        return 2.0 * (gpus - 1) / gpus * size / problem.inter_gpu_bandwidth
    return (2 * size // gpus) / problem.inter_gpu_bandwidth  # simulator.cc:1827 divides bytes as integers


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
