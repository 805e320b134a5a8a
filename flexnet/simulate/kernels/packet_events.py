"""Events, those of equal times in the order in which they were scheduled: a tournament of links, and a heap of others.

A link has two places in the tournament, for the packet in its queue that is served and for the first one in its pipe.
Every event of a link brings about the next one of the same place as a rule, which plays its way up once, whatever
there is (D. Knuth, The Art of Computer Programming, vol. 3, section 5.4.1); a heap takes it out and puts it in.
"""

import numpy as np

from flexnet.kernels import called, inlined

__all__ = [
    "APART",
    "GO_BACK",
    "NEVER",
    "OPEN",
    "PIPE_ARRIVES",
    "QUEUE_SERVED",
    "ROOT",
    "TASK_ENDS",
    "TASK_STARTS",
    "TIMERS",
    "clear_events",
    "next_event",
    "play",
    "schedule",
    "schedule_link",
]

NEVER = np.int64(2) ** 62

# Between the numbers of two events is room for those that one of them stands for, see
# `flexnet.simulate.kernels.lockstep`.
APART = np.int64(2) ** 20

# Kinds of events; the number of an event is its kind plus 8 times what it is about.  Of a link: in which of its two
# places it is.
QUEUE_SERVED, PIPE_ARRIVES = 0, 1
TASK_ENDS, TASK_STARTS, TIMERS, GO_BACK, ROOT, OPEN = 2, 3, 4, 5, 6, 7


@called
def clear_events(events):  # type: ignore[no-untyped-def]
    """Nothing is scheduled."""
    events.n[0] = 0
    events.made[0] = 0
    events.full[0] = False
    events.of_link[:] = NEVER
    events.of_link_order[:] = 0
    winner = events.winner
    n_leaf = winner.shape[0] // 2
    for link in range(n_leaf):
        winner[n_leaf + link] = 2 * link
    for node in range(n_leaf - 1, 0, -1):
        winner[node] = winner[2 * node]


@inlined
def schedule_link(events, time, place):  # type: ignore[no-untyped-def]
    """Let the event in a link's ``place``, 2 x link + kind, be at ``time`` (ps), or `NEVER`; then it has to `play`."""
    events.of_link[place] = time
    events.of_link_order[place] = events.made[0]
    events.made[0] += APART


@inlined
def play(events, link):  # type: ignore[no-untyped-def]
    """Let a link whose events have changed play against others, up to the root."""
    times, orders, winner = events.of_link, events.of_link_order, events.winner
    first, other = 2 * link, 2 * link + 1
    node = winner.shape[0] // 2 + link
    time, order = times[first], orders[first]
    while True:
        other_time, other_order = times[other], orders[other]
        before = (other_time < time) | ((other_time == time) & (other_order < order))  # no branch: it may go either way
        first = other if before else first
        time = other_time if before else time
        order = other_order if before else order
        winner[node] = first
        if node == 1:
            break
        other = winner[node ^ 1]
        node >>= 1


@inlined
def next_event(events):  # type: ignore[no-untyped-def]
    """When the first event is, and its number; that of a link stays until it is scheduled anew."""
    place = events.winner[1]
    time, order = events.of_link[place], events.of_link_order[place]
    if events.n[0] > 0 and (events.time[0] < time or (events.time[0] == time and events.order[0] < order)):
        time = events.time[0]
        return time, _take_first(events)
    return time, np.int64((place & 1) + 8 * (place >> 1))


@called
def schedule(events, time, item):  # type: ignore[no-untyped-def]
    """Add an event that is not of a link at ``time``, or say in ``events.full`` that there is no room."""
    times, orders, items = events.time, events.order, events.item
    if events.n[0] == times.shape[0]:
        events.full[0] = True
        return
    order = events.made[0]
    events.made[0] += APART
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


@called
def _take_first(events):  # type: ignore[no-untyped-def]
    """Take the first event out of the heap and return its number."""
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
