"""Event simulation on links that simultaneous flows share max-min fairly."""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.bounds import bound_by_machines, longest_paths
from flexnet.simulate.kernels.fair_state import NONE
from flexnet.simulate.kernels.flow_classes import (
    SAME_TIME,
    add_flow,
    admit_rings,
    class_of_path,
    clear,
    end_soon,
    foresee_end,
    forget_paths,
    grow_old,
    let_go,
    retire,
    serve,
    watch,
)
from flexnet.simulate.kernels.heap import pop, push
from flexnet.simulate.kernels.link_loads import load_links
from flexnet.simulate.kernels.maxmin import share_links
from flexnet.simulate.kernels.reach import delist
from flexnet.simulate.kernels.rings import lay_out_rings, ring_rounds, whole_packets
from flexnet.simulate.kernels.server_queues import clear_queues, enqueue, start_waiting, wake
from flexnet.simulate.kernels.windows import age_at_start, length_of

__all__ = ["simulate_fair"]

# Events; the number of one is this times the number of tasks plus the task.
TASK_ENDS, RING_ENDS, FLOWS_START, SERVER_ANSWERS = 0, 1, 2, 3

# Classes of more links, those of rings, stay in the lists of their links without flows.
FEW = 8

# From this many classes of flows on rates stay for a whole window, with fewer for a share of it: to solve them takes as
# much less, and prices come as near to those of full resolution where few flows share links as where many do.
CROWD = 1000

# Bounds are sums in another order than those of a simulation.
ROUNDING = 1e-9


@kernel
def simulate_fair(tasks, network, routes, protocol, window, tolerance, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration on links that simultaneous flows share max-min fairly; return when its last task ends.

    A transfer is a fluid flow of whole packets over the links of its route.  A ring all-reduce is one coflow per ring:
    all its edges carry 2(n-1)/n of the bytes at one rate, the rate of the slowest, because each of its 2(n-1) rounds
    ends with a barrier.  Rates are weighted max-min fair (`flexnet.simulate.kernels.maxmin`).  This is where congestion
    control with equal round trips converges, and it has no order: rates depend on which flows are there, not on which
    came first, so ties between tasks cannot matter, unless flows of a window over one link wait for each other
    (`flexnet.simulate.kernels.windows`), or windows until timers go off (`flexnet.simulate.kernels.timers`).

    A flow arrives ``round_trips`` x hops x latency, and a packet for every hop but one, after its last byte left; a
    ring pays that in every round.  Latency never occupies a link.

    Compute is first in, first out per server; of tasks ready at the same time the earlier operator runs first.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    network : flexnet.simulate.arrays.NetworkArrays
    routes : flexnet.simulate.arrays.FlowRoutes
        Which of the network's routes every transfer, and every edge of a collective, takes.
    protocol : flexnet.simulate.protocol.Protocol
    window : float
        Rates are solved anew at most once per this time (0: at every start and end of a flow), where fewer than
        `CROWD` classes of flows share links once per as small a share of it.  A flow that starts in between gets the
        share of its narrowest link that its weight then stands for; one that ends does so when its bytes are served,
        and what it frees goes to those that start from then on, and to the others when rates are solved.
    tolerance : float
        Links within this relative distance of being a bottleneck count as one (0: exact).
    limit : float
        Stop as soon as some task ends after this time, or a server or link has waited so long that what it still has
        to do takes longer; with ``window`` 0 as soon as no schedule can meet it (`flexnet.simulate.kernels.bounds`),
        else to see that takes as long as it saves.
    work : flexnet.simulate.kernels.fair_state.FairWork

    Returns
    -------
    float
        End of the last task, or a value above ``limit``, or nan if it was to stop; ``work.start`` and ``work.end`` hold
        every task's times, ``work.links.bytes`` what every link is asked to carry.  With ``window`` 0,
        ``work.links.peak`` and ``work.links.carried`` receive every link's highest rate and the bytes it did carry,
        unless they are empty.
    """
    heap, links, n_task = work.heap, work.links, tasks.kind.shape[0]
    tolerance = max(tolerance, SAME_TIME)
    forget_paths(work.classes)
    lay_out_rings(tasks, network, routes, protocol, work.rings, work.classes)
    admit_rings(work.classes)
    enough = limit * (1.0 + ROUNDING)
    bound = load_links(tasks, network, routes, protocol, work)
    if bound > enough:
        return bound
    bounded = window == 0.0 and limit < np.inf
    if bounded:
        bound = longest_paths(tasks, network, routes, protocol, work)
        if bound <= enough:
            bound = bound_by_machines(tasks, network, routes, protocol, bound, work)
        if bound > enough:
            return bound
    _clear_work(tasks, network, work)
    links.local[0] = window == 0.0
    for link in range(network.bandwidth.shape[0]):
        links.due[link] = links.bytes[link] / network.bandwidth[link]
        if bounded:
            links.due[link] = work.heads.links.load[link] + work.heads.links.tail[link]
    for t in range(n_task):
        if tasks.n_pred[t] == 0:
            _release(tasks, work, np.uint32(t), 0.0)
    now = 0.0
    finish = 0.0
    solved = -np.inf  # when rates were solved last
    span = 0.0  # for which they stay
    dirty = False  # whether flows have come or gone since
    next_end = np.inf  # when the next flow ends
    while work.stop[0] == 0:
        start_waiting(work.queues, heap, tasks.seconds, work.start, now)
        network_time = max(now, solved + span) if dirty else next_end
        if heap.n[0] == 0 and _n_flow(work.classes) == 0:  # rates that nobody has need not be solved
            return finish if links.local[0] else max(finish, bound, links.latest[0])
        if heap.n[0] > 0 and heap.times[0] <= network_time * (1.0 + SAME_TIME):
            now = max(now, heap.times[0])
            if next_end <= now * (1.0 + SAME_TIME):  # what ends at one time comes before what starts then
                _retire_finished(heap, work.classes, work.flows, links, now)
                grow_old(heap, network, protocol, work.classes, work.flows, links, now, solved + span)
                dirty, next_end = True, np.inf
            while heap.n[0] > 0 and heap.times[0] <= now * (1.0 + SAME_TIME):
                item = np.uint32(pop(heap))
                what, task = item // np.uint32(n_task), np.uint32(item % np.uint32(n_task))
                if what < FLOWS_START or tasks.kind[task] != NOMINAL_COMM:
                    work.end[task] = now
                    finish = max(finish, now)
                    latest = now + _still(tasks, work, task, bounded)
                    if latest > enough:
                        return latest
                if what == TASK_ENDS:
                    _end_task(tasks, work, task, now)
                elif what >= FLOWS_START:
                    started, end = _start_flows(tasks, network, routes, protocol, work, what, task, now, solved, span)
                    dirty |= started
                    next_end = min(next_end, end)
            if finish > limit:
                return finish
        else:
            now = max(now, network_time)
            _retire_finished(heap, work.classes, work.flows, links, now)
            grow_old(heap, network, protocol, work.classes, work.flows, links, now, now)
            if window > 0.0:
                let_go(work.classes, work.flows, links, now)
            if work.classes.n_active[0] > 0 or work.classes.n_changed[0] > 0:
                share_links(network.bandwidth, tolerance, work.classes, links, now)
                if links.latest[0] > enough:
                    return links.latest[0]
                if links.peak.shape[0] > 0:
                    watch(work.classes, links)
            solved = now
            span = window * min(1.0, work.classes.n_active[0] / CROWD)
            dirty, next_end = _foresee_ends(heap, work.classes, work.flows, links, now, span)
            end = grow_old(heap, network, protocol, work.classes, work.flows, links, now, now + span)
            next_end = min(next_end, end)
    return np.nan


@called
def _clear_work(tasks, network, work):  # type: ignore[no-untyped-def]
    """Nothing has begun."""
    classes, links = work.classes, work.links
    work.heap.n[0] = 0
    work.flows.n[0] = 0
    classes.n_active[0] = 0
    classes.n_changed[0] = 0
    classes.in_lists[:] = False
    for c in range(classes.n[0]):
        clear(classes, c)
    links.peak[:] = 0.0
    links.carried[:] = 0.0
    links.users[:] = 0.0
    links.flows[:] = 0
    links.crowded[:] = False
    links.head[:] = NONE
    for link in range(network.bandwidth.shape[0]):
        links.left[link] = network.bandwidth[link]
    links.since[:] = 0.0
    links.waited[:] = 0.0
    links.latest[0] = 0.0
    work.flows.aging[0] = NONE
    work.flows.ending.n[0] = 0
    links.drained[:] = 0.0
    links.late[:] = -np.inf
    links.any_late[0] = False
    clear_queues(tasks, work.queues, work.waiting, network.n_server)


@inlined
def _n_flow(classes):  # type: ignore[no-untyped-def]
    """How many flows there are."""
    n_flow = 0
    for a in range(classes.n_active[0]):
        n_flow += classes.n_flow[classes.active[a]]
    return n_flow


@inlined
def _still(tasks, work, task, bounded):  # type: ignore[no-untyped-def]
    """Seconds that an iteration takes at least once a task has ended: what follows it, and what its server computes."""
    left = work.heads.tail[task] if bounded else 0.0
    if tasks.kind[task] <= BACKWARD:
        server = np.uint32(tasks.place[task])
        work.server_load[server] -= tasks.seconds[task]
        left = max(left, work.server_load[server] + (work.heads.servers.tail[server] if bounded else 0.0))
    return left


@inlined
def _release(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Let a task begin whose predecessors have ended: in its server's queue, or on the network when it is due."""
    work.start[task] = now
    if tasks.kind[task] <= BACKWARD:
        enqueue(work.queues, np.uint32(tasks.place[task]), task, tasks.rank[task], now)
    else:
        push(work.heap, now + tasks.seconds[task], FLOWS_START * tasks.kind.shape[0] + task)


@inlined
def _end_task(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Free the server of a task that has ended, and release the tasks that waited for it alone."""
    if tasks.kind[task] <= BACKWARD:
        server = np.uint32(tasks.place[task])
        work.queues.running[server] = -1
        wake(work.queues, server)
    for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
        following = np.uint32(tasks.succ[p])
        work.waiting[following] -= 1
        if work.waiting[following] == 0:
            _release(tasks, work, following, now)


@inlined
def _start_flows(  # type: ignore[no-untyped-def]
    tasks, network, routes, protocol, work, what, task, now, solved, span
):
    """Start a transfer, or the rings of an all-reduce; return whether any shares links, and the first end."""
    n_task = tasks.kind.shape[0]
    heap, classes, flows, links = work.heap, work.classes, work.flows, work.links
    is_transfer = tasks.kind[task] == NOMINAL_COMM
    item = (TASK_ENDS if is_transfer else RING_ENDS) * n_task + task
    n_class = 1
    if not is_transfer:
        group = work.rings.group_class[tasks.place[task]]
        n = tasks.group_ptr[group + 1] - tasks.group_ptr[group]
        n_class = work.rings.n_class[group] if n > 1 else 0
        if protocol.by_server and what != SERVER_ANSWERS:
            item = SERVER_ANSWERS * n_task + task
    started = False
    next_end = np.inf
    for r in range(min(n_class, 1) if protocol.by_server else n_class):
        rounds = 1
        if is_transfer:
            size = whole_packets(tasks.bytes[task], protocol)
            path = np.uint32(routes.transfer[task])
            age = age_at_start(size, network.route_ptr[path + 1] - network.route_ptr[path], protocol)
            c = class_of_path(network, protocol, classes, path, age)
        else:
            turn, apart = work.rings.turn[tasks.place[task]], work.rings.apart[0]
            rounds, size = ring_rounds(n, tasks.bytes[task], n_class, r, turn, apart, protocol)
            if rounds == 0:
                continue
            size = whole_packets(size, protocol)
            phase = 1 if what == SERVER_ANSWERS else r
            c = np.uint32(work.rings.first[group] + length_of(size, protocol) * n_class + phase)
            size *= rounds
        if classes.begin[c] == classes.end[c]:  # all within one server: there at once
            push(heap, now, item)
            continue
        started = True
        add_flow(network, protocol, classes, flows, links, c, size, rounds, item, now)
        next_end = min(next_end, end_soon(heap, classes, flows, links, c, now, solved + span))
    if started:
        next_end = min(next_end, grow_old(heap, network, protocol, classes, flows, links, now, solved + span))
    return started, next_end


@inlined
def _retire_finished(heap, classes, flows, links, now):  # type: ignore[no-untyped-def]
    """Take out the flows that have ended."""
    kept = np.uint32(0)
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        if classes.n_flow[c] > 0 and classes.finish[c] <= now * (1.0 + SAME_TIME):
            serve(classes, links, c, now)  # what ends is told by time: bytes of a short span round too coarsely
            target = max(classes.served[c], classes.next_end[c]) * (1.0 + SAME_TIME)
            retire(heap, classes, flows, links, c, target, now, 0.0)
            foresee_end(classes, c, now)
        if classes.n_flow[c] > 0:
            classes.active[kept] = c
            kept = np.uint32(kept + 1)
        else:
            classes.listed[c] = False
            if links.local[0] and classes.end[c] - classes.begin[c] <= FEW:
                delist(classes, links, c)
    classes.n_active[0] = kept


@inlined
def _foresee_ends(heap, classes, flows, links, now, span):  # type: ignore[no-untyped-def]
    """Whether flows end before rates may change again, within ``span`` (they are retired); and when the next ends."""
    dirty = False
    next_end = np.inf
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        if span > 0.0 and classes.finish[c] <= now + span:
            serve(classes, links, c, now)
            end_soon(heap, classes, flows, links, c, now, now + span)
            dirty = True
        next_end = min(next_end, classes.finish[c])
    return dirty, next_end
