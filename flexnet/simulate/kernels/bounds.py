"""Times that no schedule of a plan can beat, before it is simulated and while it is.

Every task has a *head*, the time before which it cannot begin, and a *tail*, what must come after it: longest paths
through the task graph with every flow alone on its links.  Of any tasks that one server computes or one link carries,
none ends before the least head, plus all their times there, plus the least tail (J. Carlier, The one-machine sequencing
problem, European J. of Operational Research 11 (1982) 42-47).
"""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.rings import ring_rounds, whole_packets

__all__ = ["bound_by_machines", "longest_paths"]


@called
def longest_paths(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Fill ``work.heads`` with alone-time, head and tail of every task; return the longest path of all."""
    heads, n_task = work.heads, tasks.kind.shape[0]
    n_ready = np.uint32(0)
    for t in range(n_task):
        heads.alone[t] = _alone(tasks, network, routes, protocol, work, t)
        heads.head[t] = 0.0
        work.waiting[t] = tasks.n_pred[t]
        if tasks.n_pred[t] == 0:
            heads.order[n_ready] = t
            n_ready = np.uint32(n_ready + 1)
    n_seen = np.uint32(0)
    while n_seen < n_ready:
        task = heads.order[n_seen]
        n_seen = np.uint32(n_seen + 1)
        if tasks.kind[task] == ALLREDUCE:  # none waits for it
            continue
        end = heads.head[task] + heads.alone[task]
        for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
            following = np.uint32(tasks.succ[p])
            heads.head[following] = max(heads.head[following], end)
            work.waiting[following] -= 1
            if work.waiting[following] == 0:
                heads.order[n_ready] = following
                n_ready = np.uint32(n_ready + 1)
    heads.n[0] = n_ready
    longest = 0.0
    for at in range(heads.n[0] - 1, -1, -1):
        task = heads.order[at]
        tail = 0.0
        if tasks.kind[task] != ALLREDUCE:
            for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
                following = np.uint32(tasks.succ[p])
                tail = max(tail, heads.alone[following] + heads.tail[following])
        heads.tail[task] = tail
        longest = max(longest, heads.head[task] + heads.alone[task] + heads.tail[task])
    return longest


@called
def bound_by_machines(tasks, network, routes, protocol, longest, work):  # type: ignore[no-untyped-def]
    """The largest bound of a server or link, from tasks with late heads on; ``longest`` is that of all paths."""
    heads, servers, links = work.heads, work.heads.servers, work.heads.links
    for machines in (servers, links):
        machines.load[:] = 0.0
        machines.head[:] = np.inf
        machines.tail[:] = np.inf
    bound = longest
    for at in range(heads.n[0] - 1, -1, -1):  # late heads first, roughly
        task = heads.order[at]
        if tasks.kind[task] <= BACKWARD:
            bound = max(bound, _add(servers, np.uint32(tasks.place[task]), heads, task, tasks.seconds[task]))
        elif tasks.kind[task] == NOMINAL_COMM:
            path = np.uint32(routes.transfer[task])
            size = whole_packets(tasks.bytes[task], protocol)
            for i in range(np.uint32(network.route_ptr[path]), np.uint32(network.route_ptr[path + 1])):
                link = np.uint32(network.route[i])
                bound = max(bound, _add(links, link, heads, task, size / network.bandwidth[link]))
        else:
            first, count = _rings(tasks, work, task)
            for r in range(count):
                c = first + r
                rounds, size = _round(tasks, protocol, work, task, count, r)
                for i in range(work.classes.begin[c], work.classes.end[c]):
                    link = work.classes.link[i]
                    seconds = rounds * size / network.bandwidth[link]
                    bound = max(bound, _add(links, link, heads, task, seconds))
    return bound


@inlined
def _alone(tasks, network, routes, protocol, work, task):  # type: ignore[no-untyped-def]
    """Seconds a task takes at least, from when all before it have ended."""
    classes = work.classes
    seconds = tasks.seconds[task]
    if tasks.kind[task] <= BACKWARD:
        return seconds
    if tasks.kind[task] == NOMINAL_COMM:
        path = np.uint32(routes.transfer[task])
        hops = network.route_ptr[path + 1] - network.route_ptr[path]
        narrowest = np.inf
        extra = 0.0
        for i in range(np.uint32(network.route_ptr[path]), np.uint32(network.route_ptr[path + 1])):
            link = np.uint32(network.route[i])
            narrowest = min(narrowest, network.bandwidth[link])
            if network.extra_latency.shape[0] > 0:
                extra += network.extra_latency[link]
        if hops > 0:
            size = whole_packets(tasks.bytes[task], protocol) + (hops - 1) * protocol.packet_bytes
            seconds += size / narrowest + protocol.round_trips * (hops * network.latency + extra)
        return seconds
    first, count = _rings(tasks, work, task)
    slowest = 0.0
    both = 0.0
    for r in range(count):
        c = first + r
        if classes.begin[c] == classes.end[c]:
            continue
        rounds, size = _round(tasks, protocol, work, task, count, r)
        narrowest = np.inf
        for i in range(classes.begin[c], classes.end[c]):
            narrowest = min(narrowest, network.bandwidth[classes.link[i]])
        latency = protocol.round_trips * (classes.hops[c] * network.latency + classes.extra_latency[c])
        ring = rounds * ((size + (classes.hops[c] - 1) * protocol.packet_bytes) / narrowest + latency)
        slowest = max(slowest, ring)
        both += ring
    return seconds + (both if protocol.by_server else slowest)


@inlined
def _rings(tasks, work, task):  # type: ignore[no-untyped-def]
    """The first class of an all-reduce, and how many it has."""
    group = work.rings.group_class[tasks.place[task]]
    if tasks.group_ptr[group + 1] - tasks.group_ptr[group] == 1:
        return np.int64(0), np.int64(0)
    return work.rings.first[group], work.rings.n_class[group]


@called
def _round(tasks, protocol, work, task, count, r):  # type: ignore[no-untyped-def]
    """Rounds of ring ``r`` of the ``count`` of an all-reduce, and bytes on every edge in one."""
    group = tasks.place[task]
    n = tasks.group_ptr[group + 1] - tasks.group_ptr[group]
    turn = work.rings.turn[group]
    rounds, size = ring_rounds(n, tasks.bytes[task], count, r, turn, work.rings.apart[0], protocol)
    return rounds, whole_packets(size, protocol)


@inlined
def _add(machines, machine, heads, task, seconds):  # type: ignore[no-untyped-def]
    """Let a server or link do a task more; return the bound by all it has."""
    machines.load[machine] += seconds
    machines.head[machine] = min(machines.head[machine], heads.head[task])
    machines.tail[machine] = min(machines.tail[machine], heads.tail[task])
    return machines.head[machine] + machines.load[machine] + machines.tail[machine]
