"""Cuts a model by a strategy: tasks, transfers and all-reduces in the original's creation order.

Order of tasks and successors: reference section 4.1 (simulator.cc:801).  Every array is a flat block per operator
or per operator edge, filled in one sweep, so that blocks a proposal leaves alone keep their layout.
"""

import numpy as np
from numba import njit

__all__ = ["build_tasks"]

FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE = 0, 1, 5, 6


@njit(cache=True)
def build_tasks(problem, strategy, work):  # type: ignore[no-untyped-def]
    """Fill ``work`` with the task graph of ``strategy``.

    Parameters
    ----------
    problem : flexnet.problem.ProblemArrays
    strategy : flexnet.strategy.StrategyArrays
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
                server = strategy.devices[op, j]
                task = n_task + 2 * j
                work.kind[task] = FORWARD
                work.kind[task + 1] = BACKWARD
                work.place[task] = server
                work.place[task + 1] = server
                work.seconds[task] = forward
                work.seconds[task + 1] = backward
                work.bytes[task] = 0
                work.bytes[task + 1] = 0
                work.op[task] = op
                work.op[task + 1] = op
                work.record_from[n_record + j] = task
                work.record_to[n_record + j] = task + 1
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
                            work.group[n_member + filled] = strategy.devices[op, j]
                            work.record_from[n_record + filled] = first[op] + 2 * j + 1
                            work.record_to[n_record + filled] = n_task
                            filled += 1
                    work.kind[n_task] = ALLREDUCE
                    work.place[n_task] = n_group
                    work.seconds[n_task] = size_in_server(problem, op, size)
                    work.bytes[n_task] = size
                    work.op[n_task] = op
                    work.group_ptr[n_group + 1] = n_member + members
                n_task += 1
                n_record += members
                n_group += 1
                n_member += members

    # 3. activations forward and their gradients backward, per edge, consumer part and producer part
    max_rank = problem.edge_dims.shape[1]
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
        element = problem.edge_element_bytes[e]
        for k in range(rank):
            step[k] = problem.edge_dims[e, k] // problem.degrees[src_candidate, k]
        for j in range(problem.parts[dst_candidate]):
            rest = j
            for k in range(dst_rank):
                degree = problem.degrees[dst_candidate, k]
                coordinate[k] = rest % degree
                rest //= degree
            empty = False
            for k in range(rank):
                size = problem.edge_dims[e, k]
                low[k] = 0
                high[k] = size
                split = problem.edge_split[e, k]
                if split >= 0:
                    piece = size // problem.degrees[dst_candidate, split]
                    low[k] = coordinate[split] * piece
                    high[k] = low[k] + piece
                begin[k] = low[k] // step[k]
                last[k] = min((high[k] - 1) // step[k], problem.degrees[src_candidate, k] - 1)
                at[k] = begin[k]
                if last[k] < begin[k]:
                    empty = True
            if empty:
                continue
            dst_server = strategy.devices[dst, j]
            dst_forward = first[dst] + 2 * j
            while True:
                volume = 1
                i = 0
                for k in range(rank - 1, -1, -1):
                    volume *= min(high[k], (at[k] + 1) * step[k]) - max(low[k], at[k] * step[k])
                    i = i * problem.degrees[src_candidate, k] + at[k]
                src_server = strategy.devices[src, i]
                src_forward = first[src] + 2 * i
                if src_server == dst_server:
                    if n_record + 2 <= cap_record:
                        work.record_from[n_record] = src_forward
                        work.record_to[n_record] = dst_forward
                        work.record_from[n_record + 1] = dst_forward + 1
                        work.record_to[n_record + 1] = src_forward + 1
                    n_record += 2
                else:
                    if n_task + 2 <= cap_task and n_record + 4 <= cap_record:
                        size = volume * element
                        for back in range(2):
                            task = n_task + back
                            work.kind[task] = NOMINAL_COMM
                            work.seconds[task] = 0.0
                            work.bytes[task] = size
                            work.op[task] = dst
                        work.place[n_task] = src_server * n_server + dst_server
                        work.place[n_task + 1] = dst_server * n_server + src_server
                        work.record_from[n_record] = src_forward
                        work.record_to[n_record] = n_task
                        work.record_from[n_record + 1] = n_task
                        work.record_to[n_record + 1] = dst_forward
                        work.record_from[n_record + 2] = dst_forward + 1
                        work.record_to[n_record + 2] = n_task + 1
                        work.record_from[n_record + 3] = n_task + 1
                        work.record_to[n_record + 3] = src_forward + 1
                    n_task += 2
                    n_record += 4
                # next producer part in ascending order: dimension 0 varies fastest
                k = 0
                while k < rank:
                    at[k] += 1
                    if at[k] <= last[k]:
                        break
                    at[k] = begin[k]
                    k += 1
                if k == rank:
                    break

    if n_task <= cap_task and n_record <= cap_record:
        _index_successors(work, n_task, n_record)
    return n_task, n_record, n_group, n_member


@njit(cache=True, inline="always")
def size_in_server(problem, op, size):  # type: ignore[no-untyped-def]
    """Seconds the GPUs of one server need to reduce ``size`` bytes among themselves."""
    gpus = problem.big_gpu
    if gpus == 0:
        return 0.0
    if problem.exact_intra_server:
        return 2.0 * (gpus - 1) / gpus * size / problem.inter_gpu_bandwidth
    if problem.is_embedding[op]:
        return 0.0
    return (2 * size // gpus) / problem.inter_gpu_bandwidth  # simulator.cc:1827 divides bytes as integers


@njit(cache=True)
def _index_successors(work, n_task, n_record):  # type: ignore[no-untyped-def]
    """Stable counting sort of the (from, to) records into successor lists, and predecessor counts."""
    for task in range(n_task + 1):
        work.succ_ptr[task] = 0
    for task in range(n_task):
        work.n_pred[task] = 0
    for r in range(n_record):
        work.succ_ptr[work.record_from[r] + 1] += 1
        work.n_pred[work.record_to[r]] += 1
    for task in range(n_task):
        work.succ_ptr[task + 1] += work.succ_ptr[task]
        work.fill[task] = work.succ_ptr[task]
    for r in range(n_record):
        task = work.record_from[r]
        work.succ[work.fill[task]] = work.record_to[r]
        work.fill[task] += 1
