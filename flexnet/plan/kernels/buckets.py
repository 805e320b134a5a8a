"""Buckets: gradients of several weights that one all-reduce carries."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.kernels.records import has_room

__all__ = ["join_bucket"]


@inlined
def join_bucket(problem, strategy, work, op, first_record):  # type: ignore[no-untyped-def]
    """Let the latest all-reduce be part of the one before it over the same ring, if that has room for its bytes.

    That is, of ``problem.bucket_bytes``, which a single weight may exceed.  The two become one that waits for the
    gradients of both; those that wait for different operators do not.  ``first_record`` is the first record of the
    latest one, of operator ``op``.  Nothing happens where the workspace is too small.
    """
    group = work.n_group[0] - 1
    task = np.int64(work.n_task[0]) - 1
    begin = work.group_ptr[group] if group < work.group_ptr.shape[0] else 0
    n = work.n_member[0] - begin
    if n > 1 and has_room(work):
        first = task - group
        other = group - 1
        while other >= 0 and not (
            strategy.after[work.rank[first + other] // 2] == strategy.after[op] and _is_same_ring(work, other, group)
        ):
            other -= 1
        bucket = first + other
        if other >= 0 and work.bytes[bucket] + work.bytes[task] <= problem.bucket_bytes:
            work.bytes[bucket] += work.bytes[task]
            work.seconds[bucket] += work.seconds[task]
            for record in range(first_record, work.n_record[0]):
                work.record_to[record] = bucket
            work.n_group[0] = group
            work.n_member[0] = begin
            work.n_task[0] = task


@inlined
def _is_same_ring(work, one, other):  # type: ignore[no-untyped-def]
    """Whether two groups have the same servers, in the same order from some server on."""
    begin, start = work.group_ptr[one], work.group_ptr[other]
    n = work.group_ptr[one + 1] - begin
    if work.group_ptr[other + 1] - start != n:
        return False
    at = 0
    while at < n and work.group[start + at] != work.group[begin]:
        at += 1
    m = 0
    while at < n and m < n and work.group[start + (at + m) % n] == work.group[begin + m]:
        m += 1
    return m == n
