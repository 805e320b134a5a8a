"""With which compute task's bundle every transfer goes, and all of a bundle side by side."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.bundle_state import NOBODY

__all__ = ["find_owners", "sort_by_owner"]


@inlined
def find_owners(tasks, work):  # type: ignore[no-untyped-def]
    """Set ``work.owner`` of every transfer."""
    n_task = tasks.kind.shape[0]
    work.owner[:n_task] = -1
    n_left = 0
    for task in range(n_task):
        n_left += tasks.kind[task] == NOMINAL_COMM
        if tasks.kind[task] <= BACKWARD:
            for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
                t = np.uint32(tasks.succ[p])
                if tasks.kind[t] == NOMINAL_COMM and work.owner[t] < 0:
                    work.owner[t] = task
                    n_left -= 1
    if n_left > 0:  # not all wait for compute
        _follow_transfers(tasks, work)


@inlined
def _follow_transfers(tasks, work):  # type: ignore[no-untyped-def]
    """Set ``work.owner`` of transfers that wait for others, those of each compute task in turn.

    ``work.path`` is scratch: the next one in a list of what a task owns.
    """
    following = work.path
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] > BACKWARD:
            continue
        one, last = np.int64(NOBODY), np.int64(NOBODY)
        for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
            t = np.int64(tasks.succ[p])
            if tasks.kind[t] == NOMINAL_COMM and work.owner[t] == task:
                one, last = (t if one == NOBODY else one), _put_behind(following, last, t)
        while one != NOBODY:  # the list grows behind
            for p in range(np.uint32(tasks.succ_ptr[one]), np.uint32(tasks.succ_ptr[one + 1])):
                t = np.int64(tasks.succ[p])
                if tasks.kind[t] == NOMINAL_COMM and work.owner[t] < 0:
                    work.owner[t] = task
                    last = _put_behind(following, last, t)
            one = np.int64(following[one])


@inlined
def _put_behind(following, last, t):  # type: ignore[no-untyped-def]
    """Let ``t`` end a list that ended with ``last``; return it."""
    following[t] = NOBODY
    if last != NOBODY:
        following[last] = t
    return t


@inlined
def sort_by_owner(tasks, routes, work):  # type: ignore[no-untyped-def]
    """Copy what is to be known of transfers, those of one task side by side; ``work.bundle`` is scratch.

    What many servers return to one comes from all over the task graph, and would be looked for there again and again.
    """
    n_task = tasks.kind.shape[0]
    fill, first = work.bundle, work.first
    fill[:n_task] = 0
    for t in range(n_task):
        if tasks.kind[t] == NOMINAL_COMM and work.owner[t] >= 0:
            fill[np.uint32(work.owner[t])] += 1
    total = 0
    for task in range(n_task):
        first[task] = total
        total += fill[task]
        fill[task] = first[task]
    first[n_task] = total
    for t in range(n_task):
        if tasks.kind[t] == NOMINAL_COMM and work.owner[t] >= 0:
            owner = np.uint32(work.owner[t])
            at = np.uint32(fill[owner])
            fill[owner] += 1
            work.path[at] = routes.transfer[t]
            work.size[at] = tasks.bytes[t]
            then = np.int64(NOBODY)
            for p in range(np.uint32(tasks.succ_ptr[t]), np.uint32(tasks.succ_ptr[t + 1])):
                if tasks.kind[np.uint32(tasks.succ[p])] != NOMINAL_COMM:
                    then = np.int64(tasks.succ[p]) if then == NOBODY else np.int64(-2 - t)
            work.then[at] = then
