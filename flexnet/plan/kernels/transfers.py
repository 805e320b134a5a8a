"""Transfers along an edge of the model: which parts of the producer a part of the consumer reads."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.kernels.reads import read_along
from flexnet.plan.kernels.records import add_record, add_task
from flexnet.plan.task_kinds import NOMINAL_COMM

__all__ = ["add_transfers"]


@inlined
def add_transfers(problem, strategy, work, edge, shared):  # type: ignore[no-untyped-def]
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
        split = problem.edge_split[edge, k]
        at = box.coordinate[split] if split >= 0 else 0
        box.low[k], box.high[k] = read_along(problem, edge, k, consumer, at)
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
        add_record(work, producer, consumer)
        add_record(work, consumer + 1, producer + 1)
        return known
    if shared >= 0:
        if known >= work.place.shape[0] or work.place[known] % problem.n_server == dst_server:  # else added up before
            add_record(work, known, consumer)
            add_record(work, consumer + 1, known + 1)
        return known + 2
    there = add_task(work, NOMINAL_COMM, src_server * problem.n_server + dst_server, 0.0, size, 2 * dst)
    back = add_task(work, NOMINAL_COMM, dst_server * problem.n_server + src_server, 0.0, size, 2 * dst)
    add_record(work, producer, there)
    add_record(work, there, consumer)
    add_record(work, consumer + 1, back)
    add_record(work, back, producer + 1)
    return known
