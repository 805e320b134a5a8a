"""Kernels of bounds: the longest paths before and after tasks, and what one machine takes for all its jobs."""

import numpy as np

from flexnet.kernels import inlined, kernel

__all__ = ["heads_and_tails", "one_machine"]

LOOKS = 3  # at sets of transfers, each the later ones of the one before


@kernel
def heads_and_tails(  # type: ignore[no-untyped-def]
    succ_ptr, succ, pred_ptr, pred, alone, sent, received, n_pred, order, head, tail
):
    """Fill ``head`` and ``tail``: seconds on the longest path that ends before a task, and that begins after it.

    What brings a task bytes shares what its server can receive, and what leaves it what its server can send: of any of
    these transfers all have ended no sooner than the first could begin, and all their bytes after that.

    Parameters
    ----------
    succ_ptr, succ : int32 (n_task + 1,), (n_edge,)
        Successors; tasks do not wait for each other in a cycle.
    pred_ptr : int32 (n_task + 1,)
        Where every task's predecessors begin.
    pred : int32 (n_edge,)
        Room for them.
    alone : float64 (n_task,)
        Seconds of every task.
    sent, received : float64 (n_task,)
        Of transfers the seconds in which a server sends or receives nothing else; 0 of other tasks.
    n_pred : int32 (n_task,)
        How many predecessors; is counted down.
    order : int32 (n_task,)
        To work in.
    head, tail : float64 (n_task,)
        To be filled; zeros.
    """
    for before in range(n_pred.shape[0]):
        order[before] = pred_ptr[before]
    for before in range(n_pred.shape[0]):
        for p in range(np.uint32(succ_ptr[before]), np.uint32(succ_ptr[before + 1])):
            pred[np.uint32(order[np.uint32(succ[p])])] = before
            order[np.uint32(succ[p])] += 1
    n_ready = np.uint32(0)
    for root in range(n_pred.shape[0]):
        if n_pred[root] == 0:
            order[n_ready] = root
            n_ready = np.uint32(n_ready + 1)
    n_seen = np.uint32(0)
    while n_seen < n_ready:
        task = np.uint32(order[n_seen])
        n_seen = np.uint32(n_seen + 1)
        if received[task] == 0.0:
            head[task] = max(head[task], _together(pred, pred_ptr[task], pred_ptr[task + np.uint32(1)], received, head))
        for p in range(np.uint32(succ_ptr[task]), np.uint32(succ_ptr[task + np.uint32(1)])):
            following = np.uint32(succ[p])
            head[following] = max(head[following], head[task] + alone[task])
            n_pred[following] -= 1
            if n_pred[following] == 0:
                order[n_ready] = following
                n_ready = np.uint32(n_ready + 1)
    for at in range(n_ready):
        last = np.uint32(order[n_ready - np.uint32(1) - np.uint32(at)])
        for p in range(np.uint32(succ_ptr[last]), np.uint32(succ_ptr[last + np.uint32(1)])):
            following = np.uint32(succ[p])
            tail[last] = max(tail[last], alone[following] + tail[following])
        if sent[last] == 0.0:
            tail[last] = max(tail[last], _together(succ, succ_ptr[last], succ_ptr[last + np.uint32(1)], sent, tail))


@kernel
def one_machine(order, first, count, server, seconds, late, other, load, least):  # type: ignore[no-untyped-def]
    """The most that servers take for jobs one at a time, and which of them.

    Of jobs with ``late`` from some value on, none ends before that, all their seconds and the least of ``other``.

    Parameters
    ----------
    order : int64 (n_task,)
        Tasks, the latest first.
    first, count : int32 (n_task,)
        Their jobs, side by side.
    server : int32 (n_job,)
    seconds : float64 (n_job,)
    late, other : float64 (n_task,)
    load, least : float64 (n_server,)
        To work in; zeros and infinities.

    Returns
    -------
    (float, int)
    """
    most, busiest = 0.0, 0
    for task in order:
        for job in range(np.uint32(first[task]), np.uint32(first[task] + count[task])):
            at = np.uint32(server[job])
            load[at] += seconds[job]
            least[at] = min(least[at], other[task])
            if late[task] + load[at] + least[at] > most:
                most, busiest = late[task] + load[at] + least[at], server[job]
    return most, busiest


@inlined
def _together(tasks, first, end, seconds, late):  # type: ignore[no-untyped-def]
    """Of transfers over one interface the least of ``late`` and all their seconds: of all, then of the later ones."""
    most, least = 0.0, -np.inf
    for _ in range(LOOKS):
        soonest, total, mean, n = np.inf, 0.0, 0.0, 0
        for p in range(first, end):
            task = np.uint32(tasks[p])
            if seconds[task] > 0.0 and late[task] > least:
                soonest = min(soonest, late[task])
                total += seconds[task]
                mean += late[task]
                n += 1
        if n == 0:
            break
        most = max(most, soonest + total)
        least = max(mean / n, soonest)
    return most
