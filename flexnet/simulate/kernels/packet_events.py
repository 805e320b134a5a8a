"""A binary heap whose equal times come out in the order in which they went in."""

from flexnet.kernels import kernel

__all__ = ["next_event", "schedule"]


@kernel
def schedule(events, time, item):  # type: ignore[no-untyped-def]
    """Add an event at ``time``, or say in ``events.full`` that there is no room."""
    times, orders, items = events.time, events.order, events.item
    if events.n[0] == times.shape[0]:
        events.full[0] = True
        return
    order = events.made[0]
    events.made[0] += 1
    hole = events.n[0]
    events.n[0] += 1
    while hole > 0:
        above = (hole - 1) >> 1
        if times[above] <= time:
            break
        times[hole] = times[above]
        orders[hole] = orders[above]
        items[hole] = items[above]
        hole = above
    times[hole] = time
    orders[hole] = order
    items[hole] = item


@kernel
def next_event(events):  # type: ignore[no-untyped-def]
    """Take out the first event and return it; its time is ``events.time[0]`` before."""
    times, orders, items = events.time, events.order, events.item
    first = items[0]
    events.n[0] -= 1
    n = events.n[0]
    time, order = times[n], orders[n]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= n:
            break
        if child + 1 < n and (
            times[child + 1] < times[child] or (times[child + 1] == times[child] and orders[child + 1] < orders[child])
        ):
            child += 1
        if times[child] > time or (times[child] == time and orders[child] >= order):
            break
        times[hole] = times[child]
        orders[hole] = orders[child]
        items[hole] = items[child]
        hole = child
    times[hole] = time
    orders[hole] = order
    items[hole] = items[n]
    return first
