"""Cuts a model by a strategy: tasks, transfers and all-reduces in the original's creation order.

Order of tasks and successors: reference section 4.1 (simulator.cc:801).  Tasks lie in blocks, one per operator and
one per operator edge, filled in one sweep.
"""

import numpy as np
from numba import njit

__all__ = ["build_tasks"]

FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE = 0, 1, 5, 6


@njit(cache=True, error_model="numpy")
def build_tasks(problem, strategy, work):  # type: ignore[no-untyped-def]
    """Fill ``work`` with the task graph of ``strategy``.

    Parameters
    ----------
    problem : flexnet.problem.ProblemArrays
    strategy : flexnet.strategy.Strategy
    work : flexnet.taskgraph.Workspace

    Returns
    -------
    n_task, n_record, n_allreduce, n_member : int
        Sizes used; any of them may exceed the workspace's capacity, and then the call must be repeated with a
        larger one (nothing is written past the end).
    """
    n_op = problem.rank.shape[0]
    n_server = problem.n_server
    cap_task = work.kind.shape[0]
    cap_record = work.record_from.shape[0]
    cap_group = work.group_ptr.shape[0] - 1
    cap_member = work.group.shape[0]
    kind, place, seconds, bytes_, rank_of = work.kind, work.place, work.seconds, work.bytes, work.rank
    record_from, record_to, devices = work.record_from, work.record_to, strategy.devices
    n_task = 0
    n_record = 0
    n_group = 0
    n_member = 0

    # 1. forward and backward of every part
    first = np.empty(n_op, np.int64)
    for op in range(n_op):
        first[op] = n_task
        candidate = problem.candidate_ptr[op] + strategy.choice[op]
        forward = problem.forward[candidate]
        backward = problem.backward[candidate]
        parts = problem.parts[candidate]
        if n_task + 2 * parts <= cap_task and n_record + parts <= cap_record:
            for j in range(parts):
                server = devices[op, j]
                task = n_task + 2 * j
                kind[task] = FORWARD
                kind[task + 1] = BACKWARD
                place[task] = server
                place[task + 1] = server
                seconds[task] = forward
                seconds[task + 1] = backward
                bytes_[task] = 0
                bytes_[task + 1] = 0
                rank_of[task] = 2 * op
                rank_of[task + 1] = 2 * op + 1
                record_from[n_record + j] = task
                record_to[n_record + j] = task + 1
        n_task += 2 * parts
        n_record += parts

    # 2. one all-reduce for every weight and distinct shard of it
    work.group_ptr[0] = 0
    for op in range(n_op):
        candidate = problem.candidate_ptr[op] + strategy.choice[op]
        parts = problem.parts[candidate]
        for w in range(problem.weight_ptr[op], problem.weight_ptr[op + 1]):
            shard_dim = problem.weight_shard_dim[w]
            shards = 1
            stride = 1
            if shard_dim >= 0:
                shards = problem.degrees[candidate, shard_dim]
                for k in range(shard_dim):
                    stride *= problem.degrees[candidate, k]
            size = problem.weight_bytes[w] // shards
            members = parts // shards
            for shard in range(shards):
                fits = (
                    n_task < cap_task
                    and n_record + members <= cap_record
                    and n_group < cap_group
                    and n_member + members <= cap_member
                )
                if fits:
                    filled = 0
                    for j in range(parts):
                        if (j // stride) % shards == shard:
                            work.group[n_member + filled] = devices[op, j]
                            record_from[n_record + filled] = first[op] + 2 * j + 1
                            record_to[n_record + filled] = n_task
                            filled += 1
                    kind[n_task] = ALLREDUCE
                    place[n_task] = n_group
                    seconds[n_task] = _seconds_in_server(problem, op, size)
                    bytes_[n_task] = size
                    rank_of[n_task] = 2 * op
                    work.group_ptr[n_group + 1] = n_member + members
                n_task += 1
                n_record += members
                n_group += 1
                n_member += members

    # 3. activations forward and their gradients backward, per edge, consumer part and producer part
    edge_dims, edge_split, degrees = problem.edge_dims, problem.edge_split, problem.degrees
    max_rank = edge_dims.shape[1]
    low = np.empty(max_rank, np.int64)
    high = np.empty(max_rank, np.int64)
    step = np.empty(max_rank, np.int64)
    begin = np.empty(max_rank, np.int64)
    last = np.empty(max_rank, np.int64)
    at = np.empty(max_rank, np.int64)
    coordinate = np.empty(max_rank, np.int64)
    for e in range(problem.edge_src.shape[0]):
        src = problem.edge_src[e]
        dst = problem.edge_dst[e]
        src_candidate = problem.candidate_ptr[src] + strategy.choice[src]
        dst_candidate = problem.candidate_ptr[dst] + strategy.choice[dst]
        rank = problem.edge_rank[e]
        dst_rank = problem.rank[dst]
        begin_dim = 0
        inner = problem.edge_element_bytes[e]
        by_batch = problem.batch_only[src_candidate] and problem.batch_only[dst_candidate] and problem.edge_by_batch[e]
        if by_batch:  # parts are intervals of the batch: only that dimension needs a look (2 times faster in all)
            begin_dim = rank - 1
            for k in range(rank - 1):
                inner *= edge_dims[e, k]
        for k in range(begin_dim, rank):
            step[k] = edge_dims[e, k] // degrees[src_candidate, k]
        for j in range(problem.parts[dst_candidate]):
            rest = j
            for k in range(dst_rank - 1 if by_batch else 0, dst_rank):
                degree = degrees[dst_candidate, k]
                coordinate[k] = rest if by_batch else rest % degree
                rest //= degree
            empty = False
            for k in range(begin_dim, rank):
                extent = edge_dims[e, k]
                low[k] = 0
                high[k] = extent
                split = edge_split[e, k]
                if split >= 0:
                    piece = extent // degrees[dst_candidate, split]
                    low[k] = coordinate[split] * piece
                    high[k] = low[k] + piece
                begin[k] = low[k] // step[k]
                last[k] = min((high[k] - 1) // step[k], degrees[src_candidate, k] - 1)
                at[k] = begin[k]
                if last[k] < begin[k]:
                    empty = True
            if empty:
                continue
            dst_server = devices[dst, j]
            dst_forward = first[dst] + 2 * j
            while True:
                size = inner
                i = 0
                for k in range(rank - 1, begin_dim - 1, -1):
                    size *= min(high[k], (at[k] + 1) * step[k]) - max(low[k], at[k] * step[k])
                    i = i * degrees[src_candidate, k] + at[k]
                src_server = devices[src, i]
                src_forward = first[src] + 2 * i
                if src_server == dst_server:
                    if n_record + 2 <= cap_record:
                        record_from[n_record] = src_forward
                        record_to[n_record] = dst_forward
                        record_from[n_record + 1] = dst_forward + 1
                        record_to[n_record + 1] = src_forward + 1
                    n_record += 2
                else:
                    if n_task + 2 <= cap_task and n_record + 4 <= cap_record:
                        for task in range(n_task, n_task + 2):
                            kind[task] = NOMINAL_COMM
                            seconds[task] = 0.0
                            bytes_[task] = size
                            rank_of[task] = 2 * dst
                        place[n_task] = src_server * n_server + dst_server
                        place[n_task + 1] = dst_server * n_server + src_server
                        record_from[n_record] = src_forward
                        record_to[n_record] = n_task
                        record_from[n_record + 1] = n_task
                        record_to[n_record + 1] = dst_forward
                        record_from[n_record + 2] = dst_forward + 1
                        record_to[n_record + 2] = n_task + 1
                        record_from[n_record + 3] = n_task + 1
                        record_to[n_record + 3] = src_forward + 1
                    n_task += 2
                    n_record += 4
                # next producer part in ascending order: dimension 0 varies fastest
                k = begin_dim
                while k < rank:
                    at[k] += 1
                    if at[k] <= last[k]:
                        break
                    at[k] = begin[k]
                    k += 1
                if k == rank:
                    break

    # Where groups did not fit, records were left out too.
    if n_task <= cap_task and n_record <= cap_record and n_group <= cap_group and n_member <= cap_member:
        _index_successors(work, n_task, n_record)
    return n_task, n_record, n_group, n_member


@njit(cache=True, error_model="numpy", inline="always")
def _seconds_in_server(problem, op, size):  # type: ignore[no-untyped-def]
    """Seconds the GPUs of one server need to reduce ``size`` bytes among themselves."""
    gpus = problem.big_gpu
    if gpus == 0 or problem.is_embedding[op]:  # an embedding is measured on one GPU: nothing to reduce with
        return 0.0
    if problem.exact_intra_server:
        return 2.0 * (gpus - 1) / gpus * size / problem.inter_gpu_bandwidth
    return (2 * size // gpus) / problem.inter_gpu_bandwidth  # simulator.cc:1827 divides bytes as integers


@njit(cache=True, error_model="numpy")
def _index_successors(work, n_task, n_record):  # type: ignore[no-untyped-def]
    """Stable counting sort of the (from, to) records into successor lists, and predecessor counts."""
    record_from, record_to, succ_ptr, succ = work.record_from, work.record_to, work.succ_ptr, work.succ
    n_pred, fill = work.n_pred, work.fill
    succ_ptr[: n_task + 1] = 0
    n_pred[:n_task] = 0
    for r in range(n_record):
        succ_ptr[record_from[r] + 1] += 1
        n_pred[record_to[r]] += 1
    for task in range(n_task):
        succ_ptr[task + 1] += succ_ptr[task]
        fill[task] = succ_ptr[task]
    for r in range(n_record):
        task = record_from[r]
        succ[fill[task]] = record_to[r]
        fill[task] += 1
