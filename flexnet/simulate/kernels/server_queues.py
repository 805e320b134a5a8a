"""Compute tasks of a server run one at a time, first in, first out; of those ready at once, by rank."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.task_kinds import BACKWARD
from flexnet.simulate.kernels.heap import push

__all__ = ["clear_queues", "enqueue", "next_waiting", "start_waiting", "wake"]


@inlined
def clear_queues(tasks, queues, waiting, n_server):  # type: ignore[no-untyped-def]
    """No server has run anything, and every task is ``waiting`` for all of its predecessors."""
    queues.ptr[:] = 0
    queues.length[:] = 0
    queues.running[:] = -1
    queues.n_wake[0] = 0
    for task in range(tasks.kind.shape[0]):
        waiting[task] = tasks.n_pred[task]
        if tasks.kind[task] <= BACKWARD:
            queues.ptr[np.uint32(tasks.place[task]) + 1] += 1
    for server in range(n_server):
        queues.ptr[server + 1] += queues.ptr[server]
        wake(queues, server)


@inlined
def wake(queues, server):  # type: ignore[no-untyped-def]
    """Look whether ``server`` has something to start."""
    queues.wake[np.uint32(queues.n_wake[0])] = server
    queues.n_wake[0] += 1


@inlined
def enqueue(queues, server, task, rank, now):  # type: ignore[no-untyped-def]
    """Put a task that is ready in its server's queue."""
    base = queues.ptr[server]
    slot = np.uint32(base + queues.length[server])
    queues.length[server] += 1
    while slot > base:
        before = np.uint32(slot - 1)
        if not (queues.time[before] > now or (queues.time[before] == now and queues.rank[before] > rank)):
            break
        queues.task[slot] = queues.task[before]
        queues.time[slot] = queues.time[before]
        queues.rank[slot] = queues.rank[before]
        slot = before
    queues.task[slot] = task
    queues.time[slot] = now
    queues.rank[slot] = rank
    wake(queues, server)


@inlined
def next_waiting(queues, server):  # type: ignore[no-untyped-def]
    """Let an idle ``server`` run the first task that waits for it; return that, or -1."""
    if queues.running[server] >= 0 or queues.length[server] == 0:
        return -1
    task = queues.task[np.uint32(queues.ptr[server])]
    queues.ptr[server] += 1
    queues.length[server] -= 1
    queues.running[server] = task
    return task


@inlined
def start_waiting(queues, heap, seconds, start, now):  # type: ignore[no-untyped-def]
    """Start the first waiting task of every idle server; its end is an event."""
    for i in range(queues.n_wake[0]):
        task = next_waiting(queues, np.uint32(queues.wake[i]))
        if task >= 0:
            start[task] = now
            push(heap, now + seconds[task], task)
    queues.n_wake[0] = 0
