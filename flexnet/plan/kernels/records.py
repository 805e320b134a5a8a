"""Tasks of a task graph, and which waits for which, as they are found."""

import numpy as np

from flexnet.kernels import inlined

__all__ = ["add_record", "add_task", "has_room"]


@inlined
def add_task(work, kind, place, seconds, bytes_, rank):  # type: ignore[no-untyped-def]
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
def add_record(work, before, after):  # type: ignore[no-untyped-def]
    """Let task ``after`` wait for task ``before``."""
    record = np.uint32(work.n_record[0])
    work.n_record[0] = record + 1
    if record < work.record_from.shape[0]:
        work.record_from[record] = before
        work.record_to[record] = after


@inlined
def has_room(work):  # type: ignore[no-untyped-def]
    """Whether all that was added so far, groups and members among it, is there."""
    return (
        work.n_task[0] <= work.kind.shape[0]
        and work.n_record[0] <= work.record_from.shape[0]
        and work.n_group[0] < work.group_ptr.shape[0]
        and work.n_member[0] <= work.group.shape[0]
    )
