"""Compute tasks of a server run one at a time, first in, first out; of those ready at once, by rank."""

from flexnet.kernels import inlined
from flexnet.simulate.kernels.heap import push

__all__ = ["enqueue", "start_waiting", "wake"]


@inlined
def wake(queues, server):  # type: ignore[no-untyped-def]
    """Look whether ``server`` has something to start."""
    queues.wake[queues.n_wake[0]] = server
    queues.n_wake[0] += 1


@inlined
def enqueue(queues, server, task, rank, now):  # type: ignore[no-untyped-def]
    """Put a task that is ready in its server's queue."""
    base = queues.ptr[server]
    slot = base + queues.length[server]
    queues.length[server] += 1
    while slot > base and (
        queues.time[slot - 1] > now or (queues.time[slot - 1] == now and queues.rank[slot - 1] > rank)
    ):
        queues.task[slot] = queues.task[slot - 1]
        queues.time[slot] = queues.time[slot - 1]
        queues.rank[slot] = queues.rank[slot - 1]
        slot -= 1
    queues.task[slot] = task
    queues.time[slot] = now
    queues.rank[slot] = rank
    wake(queues, server)


@inlined
def start_waiting(queues, heap, seconds, start, now):  # type: ignore[no-untyped-def]
    """Start the first waiting task of every idle server; its end is an event."""
    for i in range(queues.n_wake[0]):
        server = queues.wake[i]
        if queues.running[server] < 0 and queues.length[server] > 0:
            task = queues.task[queues.ptr[server]]
            queues.ptr[server] += 1
            queues.length[server] -= 1
            queues.running[server] = task
            start[task] = now
            push(heap, now + seconds[task], task)
    queues.n_wake[0] = 0
