"""Event simulation in which all transfers that wait for one task are one coflow."""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.bundle_state import NOBODY
from flexnet.simulate.kernels.bundles import divide_links, lay_out_bundles, least_seconds
from flexnet.simulate.kernels.flow_classes import SAME_TIME
from flexnet.simulate.kernels.heap import pop, push
from flexnet.simulate.kernels.rings import lay_out_rings, ring_rounds, whole_packets
from flexnet.simulate.kernels.server_queues import clear_queues, enqueue, start_waiting, wake
from flexnet.simulate.kernels.windows import length_of

__all__ = ["simulate_bundles", "tell_transfers"]

# Events; the number of one is this times the number of tasks plus the task.
TASK_ENDS, RING_ENDS, RINGS_START, BUNDLE_ARRIVES = 0, 1, 2, 3

# Of so many solutions of the rates one sums up anew what is on every link, and tells a bound.
ANEW = 4

# Bounds are sums in another order than those of a simulation, whose parts have 32 bits.
ROUNDING = 1e-6


@kernel
def simulate_bundles(tasks, network, routes, protocol, window, tolerance, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration; return when its last task ends, and how many places coflows need.

    As `flexnet.simulate.kernels.fair.simulate_fair`, but that the transfers which wait for one task end together, as
    the slowest of them: M. Chowdhury and I. Stoica, Coflow (HotNets 2012).  Events are those of tasks and of bundles,
    not of transfers.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
        Transfers wait for tasks that compute, and take no time but that of their bytes; turns do not count.
    network, routes, protocol, window, tolerance
        As there; no parameter servers.
    limit : float
        Stop as soon as some task ends after this time, or a server or link has waited so long that what it still has
        to do takes longer.
    work : flexnet.simulate.kernels.bundle_state.BundleWork

    Returns
    -------
    seconds : float
        Not a number if it was stopped, or there was no room.
    n_place : int
        With more than there are nothing was simulated.
    """
    n_task = tasks.kind.shape[0]
    heap, running, coflows, links = work.heap, work.running, work.coflows, work.links
    lay_out_rings(tasks, network, routes, protocol, work.rings, coflows)
    n_place = lay_out_bundles(tasks, network, routes, protocol, work)
    if n_place > coflows.link.shape[0]:
        return np.nan, n_place
    enough = limit * (1.0 + ROUNDING)
    bound = least_seconds(tasks, network, protocol, work)
    if bound > enough:
        return bound, n_place
    heap.n[0] = 0
    running.n[0] = 0
    links.users[:] = 0.0
    clear_queues(tasks, work.queues, work.waiting, network.n_server)
    for task in range(n_task):
        if tasks.n_pred[task] == 0:
            _release(tasks, work, task, 0.0)
    now = 0.0
    finish = 0.0
    solved = -np.inf  # when rates were solved last
    n_solved = 0
    dirty = False  # whether coflows have come or gone since
    next_end = np.inf  # when the next one ends
    while work.stop[0] == 0:
        start_waiting(work.queues, heap, tasks.seconds, work.start, now)
        network_time = min(max(now, solved + window), next_end) if dirty else next_end
        if heap.n[0] == 0 and network_time == np.inf:
            return finish, n_place
        if heap.n[0] > 0 and heap.times[0] <= network_time * (1.0 + SAME_TIME):
            now = max(now, heap.times[0])
            if next_end <= now * (1.0 + SAME_TIME):  # what ends at one time comes before what starts then
                next_end = _retire(heap, coflows, running, links, now)
                dirty = True
            while heap.n[0] > 0 and heap.times[0] <= now * (1.0 + SAME_TIME):
                item = pop(heap)
                what, which = item // n_task, np.uint32(item % n_task)
                if what == BUNDLE_ARRIVES:
                    _deliver(tasks, work, which, now)
                elif what == RINGS_START:
                    next_end = min(next_end, _start_rings(tasks, network, protocol, work, which, now))
                    dirty = True
                else:
                    work.end[which] = now
                    finish = max(finish, now)
                    if what == TASK_ENDS:
                        sent = _end_task(tasks, network, protocol, work, which, now)
                        next_end = min(next_end, sent)
                        dirty |= sent < np.inf
                        bound = max(bound, now + work.server_load[np.uint32(tasks.place[which])])
            if finish > limit:
                return finish, n_place
            if bound > enough:
                return bound, n_place
        else:
            now = max(now, network_time)
            if next_end <= now * (1.0 + SAME_TIME):
                next_end = _retire(heap, coflows, running, links, now)
                dirty = True
            if now >= solved + window:
                anew = n_solved % ANEW == 0
                bound = max(bound, divide_links(network.bandwidth, tolerance, coflows, running, links, now, anew))
                n_solved += 1
                if bound > enough:
                    return bound, n_place
                solved = now
                dirty = False
                next_end = np.inf
                for k in range(running.n[0]):
                    next_end = min(next_end, running.finish[k])
    return np.nan, n_place


@kernel
def tell_transfers(tasks, work):  # type: ignore[no-untyped-def]
    """Start and end of transfers, which are those of their bundles."""
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] == NOMINAL_COMM and work.owner[t] >= 0:
            work.start[t] = work.coflows.start[work.bundle[work.owner[t]]]
            work.end[t] = work.coflows.arrival[work.bundle[work.owner[t]]]


@inlined
def _release(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Let a task begin whose predecessors have ended: in its server's queue, or on the network when it is due."""
    work.start[task] = now
    if tasks.kind[task] <= BACKWARD:
        enqueue(work.queues, tasks.place[task], task, tasks.rank[task], now)
    else:
        push(work.heap, now + tasks.seconds[task], RINGS_START * tasks.kind.shape[0] + task)


@inlined
def _let_follow(tasks, work, following, now):  # type: ignore[no-untyped-def]
    """One of the predecessors of a task has ended."""
    work.waiting[following] -= 1
    if work.waiting[following] == 0:
        _release(tasks, work, following, now)


@inlined
def _end_task(tasks, network, protocol, work, task, now):  # type: ignore[no-untyped-def]
    """Free the server of a task that has ended, release what waited for it alone, and send; when the first is done."""
    server = np.uint32(tasks.place[task])
    work.server_load[server] -= tasks.seconds[task]
    work.queues.running[server] = -1
    wake(work.queues, server)
    next_end = np.inf
    for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
        following = np.uint32(tasks.succ[p])
        if tasks.kind[following] != NOMINAL_COMM:
            _let_follow(tasks, work, following, now)
        elif work.owner[following] != task:
            next_end = min(next_end, _send(tasks, network, protocol, work, work.owner[following], now))
    if work.bundle[task] >= 0:
        next_end = min(next_end, _send(tasks, network, protocol, work, task, now))
    return next_end


@inlined
def _send(tasks, network, protocol, work, task, now):  # type: ignore[no-untyped-def]
    """One of those has ended that the bundle of a task waits for; when the bundle ends, if it begins with that."""
    coflows = work.coflows
    c = work.bundle[task]
    coflows.waiting[c] -= 1
    if coflows.waiting[c] > 0:
        return np.inf
    coflows.start[c] = now
    item = BUNDLE_ARRIVES * tasks.kind.shape[0] + task
    return _start(network, protocol, work, c, coflows.bytes[c], 1, item, now)


@inlined
def _deliver(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """All that a task has sent is there."""
    work.coflows.arrival[work.bundle[task]] = now
    for at in range(np.uint32(work.first[task]), np.uint32(work.first[task + 1])):
        then = work.then[at]
        if then >= 0:
            _let_follow(tasks, work, np.uint32(then), now)
        elif then != NOBODY:
            t = -2 - then
            for q in range(np.uint32(tasks.succ_ptr[t]), np.uint32(tasks.succ_ptr[t + 1])):
                following = np.uint32(tasks.succ[q])
                if tasks.kind[following] != NOMINAL_COMM:  # what takes its turn goes with all that its task sends
                    _let_follow(tasks, work, following, now)


@inlined
def _start_rings(tasks, network, protocol, work, task, now):  # type: ignore[no-untyped-def]
    """Start the rings of an all-reduce; when the first of them ends."""
    group = work.rings.group_class[tasks.place[task]]
    n = tasks.group_ptr[group + 1] - tasks.group_ptr[group]
    n_ring = work.rings.n_class[group] if n > 1 else 0
    item = RING_ENDS * tasks.kind.shape[0] + task
    if n_ring == 0:
        push(work.heap, now, item)
    turn, apart = work.rings.turn[tasks.place[task]], work.rings.apart[0]
    next_end = np.inf
    for r in range(n_ring):
        rounds, size = ring_rounds(n, tasks.bytes[task], n_ring, r, turn, apart, protocol)
        if rounds > 0:
            size = whole_packets(size, protocol)
            c = work.rings.first[group] + length_of(size, protocol) * n_ring + r
            next_end = min(next_end, _start(network, protocol, work, c, size * rounds, rounds, item, now))
    return next_end


@called
def _start(network, protocol, work, c, size, rounds, item, now):  # type: ignore[no-untyped-def]
    """Put a coflow on the network; when it ends if rates stay, and it has an equal share of its narrowest link."""
    coflows, running, links = work.coflows, work.running, work.links
    if coflows.begin[c] == coflows.end[c]:  # all within one server: there at once
        push(work.heap, now, item)
        return np.inf
    narrowest = np.inf
    rate = np.inf
    weight = coflows.weight[c]
    for i in range(np.uint32(coflows.begin[c]), np.uint32(coflows.end[c])):
        link = np.uint32(coflows.link[i])
        links.users[link] += weight * coflows.part[i]
        links.bytes[link] -= size * coflows.part[i]
        rate = min(rate, weight * network.bandwidth[link] / links.users[link])
        narrowest = min(narrowest, network.bandwidth[link])
    k = running.n[0]
    running.n[0] += 1
    running.coflow[k] = c
    running.rate[k] = rate
    running.finish[k] = now + size / rate
    running.item[k] = item
    running.delay[k] = rounds * (
        protocol.round_trips * (coflows.hops[c] * network.latency + coflows.extra_latency[c])
        + (coflows.hops[c] - 1) * protocol.packet_bytes / narrowest
    )
    return running.finish[k]


@inlined
def _retire(heap, coflows, running, links, now):  # type: ignore[no-untyped-def]
    """Take out the coflows that have ended; when the next one does."""
    kept = np.uint32(0)
    next_end = np.inf
    for k in range(np.uint32(running.n[0])):
        if running.finish[k] <= now * (1.0 + SAME_TIME):
            push(heap, now + running.delay[k], running.item[k])
            c = np.uint32(running.coflow[k])
            for i in range(np.uint32(coflows.begin[c]), np.uint32(coflows.end[c])):
                links.users[np.uint32(coflows.link[i])] -= coflows.weight[c] * coflows.part[i]
            continue
        next_end = min(next_end, running.finish[k])
        running.coflow[kept] = running.coflow[k]
        running.rate[kept] = running.rate[k]
        running.finish[kept] = running.finish[k]
        running.delay[kept] = running.delay[k]
        running.item[kept] = running.item[k]
        kept = np.uint32(kept + 1)
    running.n[0] = kept
    return next_end
