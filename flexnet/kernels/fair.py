"""Event simulation on links that simultaneous flows share max-min fairly.

Flows with the same links are one class: they have one rate, so a class only counts its flows and how many bytes each
of its flows has been served.  The self-contained heap is a plain one: equal times need no order here.
"""

import numpy as np
from numba import njit

__all__ = ["ring_sizes", "simulate_fair"]

BACKWARD, NOMINAL_COMM, ALLREDUCE = 1, 5, 6

# Times closer than this, relatively, are the same instant: sums of equal terms in another order differ by less.
SAME_TIME = 1e-10

# Weights on a link below this are rounding: every flow weighs 1 or more.
NOBODY = 1e-6


@njit(cache=True, error_model="numpy")
def _push(times, ids, n, time, item):  # type: ignore[no-untyped-def]
    hole = n
    while hole > 0 and times[(hole - 1) >> 1] > time:
        times[hole] = times[(hole - 1) >> 1]
        ids[hole] = ids[(hole - 1) >> 1]
        hole = (hole - 1) >> 1
    times[hole] = time
    ids[hole] = item
    return n + 1


@njit(cache=True, error_model="numpy")
def _pop(times, ids, n):  # type: ignore[no-untyped-def]
    n -= 1
    time = times[n]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= n:
            break
        if child + 1 < n and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[hole] = times[child]
        ids[hole] = ids[child]
        hole = child
    times[hole] = time
    ids[hole] = ids[n]
    return n


@njit(cache=True, error_model="numpy", inline="always")
def _edge_path(tasks, network, routes, start, n, m, phase):  # type: ignore[no-untyped-def]
    """Path of edge ``m`` of a collective whose ``n`` members begin at ``start``: to the next member of a ring.

    Of a parameter server (``phase`` 0 and 1): from member ``m`` to the first one, and back.
    """
    if routes.edge.shape[0] > 0:
        return routes.edge[start + m] if phase < 0 else routes.edge[2 * (start + m) + phase]
    group = tasks.group
    if phase < 0:
        return group[start + m] * network.n_server + group[start + (m + 1) % n]
    if phase == 0:
        return group[start + m] * network.n_server + group[start]
    return group[start] * network.n_server + group[start + m]


@njit(cache=True, error_model="numpy")
def _own_rings(tasks, network, protocol, c):  # type: ignore[no-untyped-def]
    """Number of the topology's rings that join the members of all-reduce ``c``; 0 when it runs along routes.

    Rings are laid for the groups that start + i N/g make; others, like g servers side by side, are not joined by them.
    """
    n_server, group, start = network.n_server, tasks.group, tasks.group_ptr[c]
    n = tasks.group_ptr[c + 1] - start
    rings = network.ring_ptr[n + 1] - network.ring_ptr[n]
    if protocol.by_server or rings == 0 or protocol.rings_by_index:
        return 0 if protocol.by_server else rings
    if n_server % n != 0:
        return 0
    for m in range(n):
        if (group[start + m] - group[start]) % (n_server // n) != 0:
            return 0
    return rings


@njit(cache=True, error_model="numpy")
def ring_sizes(tasks, network, routes, protocol, group_class):  # type: ignore[no-untyped-def]
    """Find equal groups, and how much room their rings need.

    ``group_class`` (n_allreduce,) receives, for every all-reduce, the first one with the same members and paths.
    Returns the number of rings over distinct groups, and of links over all edges of these rings; parameter servers,
    used instead if ``protocol`` says so, count as two.
    """
    group_ptr, group, route_ptr = tasks.group_ptr, tasks.group, network.route_ptr
    ring_ptr, ring_hops, n_server = network.ring_ptr, network.ring_hops, network.n_server
    edge = routes.edge
    per_member = edge.shape[0] // max(group.shape[0], 1)
    n_ring = 0
    n_link = 0
    for c in range(group_ptr.shape[0] - 1):
        start = group_ptr[c]
        n = group_ptr[c + 1] - start
        group_class[c] = c
        for d in range(c):
            if group_class[d] != d or group_ptr[d + 1] - group_ptr[d] != n:
                continue
            other = group_ptr[d]
            equal = True
            for m in range(n):
                if group[other + m] != group[start + m]:
                    equal = False
                    break
            for m in range(n * per_member if equal else 0):
                if edge[other * per_member + m] != edge[start * per_member + m]:
                    equal = False
                    break
            if equal:
                group_class[c] = d
                break
        if group_class[c] < c or n == 1:
            continue
        rings = _own_rings(tasks, network, protocol, c)
        if rings > 0:
            n_link += n * ((ring_hops[ring_ptr[n + 1]] - ring_hops[ring_ptr[n]]) // n_server)
        else:
            rings = 2 if protocol.by_server else 1
            for r in range(rings):
                for m in range(n):
                    path = _edge_path(tasks, network, routes, start, n, m, r if protocol.by_server else -1)
                    n_link += route_ptr[path + 1] - route_ptr[path]
        n_ring += rings
    return n_ring, n_link


@njit(cache=True, error_model="numpy")
def _lay_out_rings(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Make the ring classes: links of all edges of every ring of every distinct group.  Returns their number."""
    group_ptr, group, group_class = tasks.group_ptr, tasks.group, work.group_class
    route_ptr, route, ring_links = network.route_ptr, network.route, network.ring_links
    ring_ptr, ring_hops, n_server = network.ring_ptr, network.ring_hops, network.n_server
    n_class = 0
    n_inc = 0
    for c in range(group_ptr.shape[0] - 1):
        start = group_ptr[c]
        n = group_ptr[c + 1] - start
        if group_class[c] < c or n == 1:
            continue
        work.first_ring[c] = n_class
        rings = _own_rings(tasks, network, protocol, c)
        n_new = rings if rings > 0 else (2 if protocol.by_server else 1)
        work.ring_count[c] = n_new
        for r in range(n_new):
            work.class_begin[n_class] = n_inc
            longest = 0
            for m in range(n):
                if rings == 0:
                    path = _edge_path(tasks, network, routes, start, n, m, r if protocol.by_server else -1)
                    hops = route_ptr[path + 1] - route_ptr[path]
                    for h in range(hops):
                        work.ring_link[n_inc + h] = route[route_ptr[path] + h]
                else:
                    ring = ring_ptr[n] + r
                    hops = (ring_hops[ring + 1] - ring_hops[ring]) // n_server
                    first = m if protocol.rings_by_index else group[start + m]
                    for h in range(hops):
                        work.ring_link[n_inc + h] = ring_links[ring_hops[ring] + first * hops + h]
                n_inc += hops
                longest = max(longest, hops)
            work.class_end[n_class] = n_inc
            work.class_hops[n_class] = longest
            n_class += 1
    return n_class


@njit(cache=True, error_model="numpy")
def _ring_rounds(n, size, small_packet, by_server):  # type: ignore[no-untyped-def]
    """Rounds of a ring all-reduce of ``size`` bytes over n servers, and bytes every edge carries in all of them.

    2(n-1) rounds of size/n; small ones run in a single round, of all these bytes below ``small_packet`` per server
    and of size/n between that and 2(n-1) packets (reference/packet-simulator.md section 3.2).  A phase of a parameter
    server is one round of everything.
    """
    if by_server:
        return 1, 1.0 * size
    if size < small_packet * n:
        return 1, 2.0 * (n - 1) / n * size
    if size <= 2 * (n - 1) * small_packet:
        return 1, size / n
    return 2 * (n - 1), 2.0 * (n - 1) / n * size


@njit(cache=True, error_model="numpy")
def _load(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Bytes every link carries, in ``work.link_bytes``; returns a time no schedule can beat.

    None ends before the busiest server has computed and the busiest link has carried its bytes.
    """
    load, kind, place, bytes_ = work.link_bytes, tasks.kind, tasks.place, tasks.bytes
    route_ptr, route, group_ptr = network.route_ptr, network.route, tasks.group_ptr
    compute = work.server_load
    load[:] = 0.0
    compute[:] = 0.0
    for t in range(kind.shape[0]):
        if kind[t] <= BACKWARD:
            compute[place[t]] += tasks.seconds[t]
        elif kind[t] == NOMINAL_COMM:
            path = routes.transfer[t]
            for i in range(route_ptr[path], route_ptr[path + 1]):
                load[route[i]] += bytes_[t]
        else:
            c = place[t]
            n = group_ptr[c + 1] - group_ptr[c]
            if n > 1:
                rings = work.ring_count[work.group_class[c]]
                first = work.first_ring[work.group_class[c]]
                share = _ring_rounds(n, bytes_[t], protocol.small_packet_bytes, protocol.by_server)[1]
                share /= 1 if protocol.by_server else rings
                for r in range(first, first + rings):
                    for i in range(work.class_begin[r], work.class_end[r]):
                        load[work.ring_link[i]] += share
    bound = 0.0
    for server in range(network.n_server):
        bound = max(bound, compute[server])
    for link in range(network.bandwidth.shape[0]):
        bound = max(bound, load[link] / network.bandwidth[link])
    return bound


@njit(cache=True, error_model="numpy", inline="always")
def _enqueue(queue_ptr, queue_len, queue, queue_time, queue_rank, server, task, now, rank):  # type: ignore[no-untyped-def]
    """Put a compute task in its server's queue, ordered by time, then rank."""
    base = queue_ptr[server]
    slot = base + queue_len[server]
    queue_len[server] += 1
    while slot > base and (queue_time[slot - 1] > now or (queue_time[slot - 1] == now and queue_rank[slot - 1] > rank)):
        queue[slot] = queue[slot - 1]
        queue_time[slot] = queue_time[slot - 1]
        queue_rank[slot] = queue_rank[slot - 1]
        slot -= 1
    queue[slot] = task
    queue_time[slot] = now
    queue_rank[slot] = rank


@njit(cache=True, error_model="numpy")
def _share(route, bandwidth, tolerance, n_active, n_ring, ring_weight, work):  # type: ignore[no-untyped-def]
    """Max-min fair rate per flow of the active classes, by filling all locally narrowest links at once.

    A link is a bottleneck when no class on it has a narrower link elsewhere; progressive filling would come to it
    with every one of its classes still growing, whatever happens on other links before.
    """
    active, open_, ring_link = work.active, work.open, work.ring_link
    begin, end, weight, rate, narrowest = (
        work.class_begin,
        work.class_end,
        work.class_weight,
        work.class_rate,
        work.class_share,
    )
    users, count, left, share, least, touched = (
        work.link_users,
        work.link_count,
        work.link_left,
        work.link_share,
        work.link_least,
        work.touched,
    )
    n_touched = 0
    for link in range(bandwidth.shape[0]):
        count[link] = users[link]
        if users[link] > NOBODY:
            left[link] = bandwidth[link]
            touched[n_touched] = link
            n_touched += 1
    open_[:n_active] = active[:n_active]
    n_open = n_active
    while n_open > 0:
        kept = 0
        for i in range(n_touched):
            link = touched[i]
            if count[link] > NOBODY:
                touched[kept] = link
                kept += 1
                share[link] = left[link] / count[link]
                least[link] = share[link]
        n_touched = kept
        for a in range(n_open):
            c = open_[a]
            m = np.inf
            for i in range(begin[c], end[c]):
                m = min(m, share[ring_link[i] if c < n_ring else route[i]])
            narrowest[c] = m
            for i in range(begin[c], end[c]):
                link = ring_link[i] if c < n_ring else route[i]
                least[link] = min(least[link], m)
        kept = 0
        for a in range(n_open):
            c = open_[a]
            m = narrowest[c]
            frozen = False
            for i in range(begin[c], end[c]):
                link = ring_link[i] if c < n_ring else route[i]
                if least[link] >= share[link] * (1.0 - tolerance):
                    frozen = True
                    break
            if not frozen:
                open_[kept] = c
                kept += 1
                continue
            share_of_flow = ring_weight if c < n_ring else 1.0
            rate[c] = m * share_of_flow
            for i in range(begin[c], end[c]):
                link = ring_link[i] if c < n_ring else route[i]
                left[link] -= rate[c] * weight[c]
                count[link] -= share_of_flow * weight[c]
        n_open = kept


@njit(cache=True, error_model="numpy", inline="always")
def _serve(network, work, c, n_ring, now):  # type: ignore[no-untyped-def]
    """Serve the flows of class ``c`` until ``now``; count what its links carry if that is watched."""
    elapsed = now - work.class_since[c]
    work.class_served[c] += work.class_rate[c] * elapsed
    if work.link_carried.shape[0] > 0:
        carried = work.class_rate[c] * work.class_weight[c] * elapsed
        for i in range(work.class_begin[c], work.class_end[c]):
            work.link_carried[work.ring_link[i] if c < n_ring else network.route[i]] += carried


@njit(cache=True, error_model="numpy")
def _watch(network, work, n_active, n_ring):  # type: ignore[no-untyped-def]
    """Keep the highest rate every link has had."""
    total = work.link_share
    total[:] = 0.0
    for a in range(n_active):
        c = work.active[a]
        for i in range(work.class_begin[c], work.class_end[c]):
            total[work.ring_link[i] if c < n_ring else network.route[i]] += work.class_rate[c] * work.class_weight[c]
    for link in range(work.link_peak.shape[0]):
        work.link_peak[link] = max(work.link_peak[link], total[link])


@njit(cache=True, error_model="numpy")
def simulate_fair(tasks, network, routes, protocol, window, tolerance, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration on links that simultaneous flows share max-min fairly; return when its last task ends.

    A transfer is a fluid flow over the links of its route.  A ring all-reduce is one coflow per ring: all its edges
    carry 2(n-1)/n of the bytes at one rate, the rate of the slowest, because each of its 2(n-1) rounds ends with a
    barrier.  Rates are weighted max-min fair (Bertsekas and Gallager, Data Networks, 6.5.2): nobody's rate can grow
    without taking from someone who has no more for his weight.  This is where congestion control with equal round
    trips converges (the packet simulator's DCTCP), and it has no order: rates depend on which flows are there, not on
    which came first, so ties between tasks cannot matter.  A flow arrives ``round_trips`` x hops x latency, and a
    packet for every hop but one, after its last byte left; a ring pays that in every round.  Latency never occupies a
    link.

    Compute is first in, first out per server; of tasks ready at the same time the earlier operator runs first.

    Parameters
    ----------
    tasks : flexnet.taskgraph.TaskArrays
    network : flexnet.simulate.NetworkArrays
    routes : flexnet.simulate.FlowRoutes
        Which of the network's routes every transfer, and every edge of a collective, takes.
    protocol : flexnet.protocol.Protocol
    window : float
        Rates are solved anew at most once per this time (0: at every start and end of a flow).  A flow that starts
        in between gets an equal share of its narrowest link until then; one that ends does so when its bytes are
        served, and what it frees is handed out later.
    tolerance : float
        Links within this relative distance of being a bottleneck count as one (0: exact).
    limit : float
        Stop as soon as some task ends after this time, or at once if no schedule can meet it.
    work : flexnet.simulate.FairWork

    Returns
    -------
    float
        End of the last task, or a value above ``limit``; ``work.start`` and ``work.end`` hold every task's times,
        ``work.link_bytes`` what every link is asked to carry.  With ``window`` 0, ``work.link_peak`` and
        ``work.link_carried`` receive every link's highest rate and the bytes it did carry, unless they are empty.
    """
    kind, place, seconds, bytes_, rank = tasks.kind, tasks.place, tasks.seconds, tasks.bytes, tasks.rank
    n_pred, succ_ptr, succ, group_ptr = tasks.n_pred, tasks.succ_ptr, tasks.succ, tasks.group_ptr
    route_ptr, route, bandwidth, ring_count = network.route_ptr, network.route, network.bandwidth, work.ring_count
    times, ids, waiting, start, end = work.heap_time, work.heap_id, work.waiting, work.start, work.end
    queue_ptr, queue_len, queue = work.queue_ptr, work.queue_len, work.queue
    queue_time, queue_rank, running, wake = work.queue_time, work.queue_rank, work.running, work.wake
    group_class, first_ring, path_class = work.group_class, work.first_ring, work.path_class
    class_weight, class_rate, class_served = work.class_weight, work.class_rate, work.class_served
    class_head, class_next_end, class_hops = work.class_head, work.class_next_end, work.class_hops
    class_finish = work.class_finish
    class_begin, class_end, class_since, class_listed = (
        work.class_begin,
        work.class_end,
        work.class_since,
        work.class_listed,
    )
    flow_bytes, flow_next, flow_item, flow_delay = work.flow_bytes, work.flow_next, work.flow_item, work.flow_delay
    active, link_users, ring_link = work.active, work.link_users, work.ring_link
    n_task = kind.shape[0]
    tolerance = max(tolerance, SAME_TIME)

    n_ring = _lay_out_rings(tasks, network, routes, protocol, work)
    packet_bytes, round_trips, ring_weight = protocol.packet_bytes, protocol.round_trips, protocol.ring_weight
    by_server, transfer_path = protocol.by_server, routes.transfer
    bound = _load(tasks, network, routes, protocol, work)
    if bound > limit:
        return bound
    n_class = n_ring
    class_weight[:n_ring] = 0
    class_listed[:n_ring] = False
    class_head[:n_ring] = -1
    path_class[:] = -1
    work.link_peak[:] = 0.0
    work.link_carried[:] = 0.0
    link_users[:] = 0
    queue_ptr[:] = 0
    queue_len[:] = 0
    running[:] = -1
    for t in range(n_task):
        waiting[t] = n_pred[t]
        if kind[t] <= BACKWARD:
            queue_ptr[place[t] + 1] += 1
    for server in range(network.n_server):
        queue_ptr[server + 1] += queue_ptr[server]
        wake[server] = server
    n_wake = network.n_server
    n_heap = 0
    n_active = 0
    n_flow = 0
    now = 0.0
    solved = -np.inf
    next_end = np.inf
    dirty = False
    finish = 0.0
    for t in range(n_task):
        if n_pred[t] == 0:
            if kind[t] <= BACKWARD:
                _enqueue(queue_ptr, queue_len, queue, queue_time, queue_rank, place[t], t, 0.0, rank[t])
            else:
                n_heap = _push(times, ids, n_heap, seconds[t], 2 * n_task + t)
    while True:
        for i in range(n_wake):
            server = wake[i]
            if running[server] < 0 and queue_len[server] > 0:
                task = queue[queue_ptr[server]]
                queue_ptr[server] += 1
                queue_len[server] -= 1
                running[server] = task
                start[task] = now
                n_heap = _push(times, ids, n_heap, now + seconds[task], task)
        n_wake = 0
        network_time = max(now, solved + window) if dirty else next_end
        if n_heap == 0 and network_time == np.inf:
            return finish
        if n_heap > 0 and times[0] <= network_time * (1.0 + SAME_TIME):
            now = max(now, times[0])
            while n_heap > 0 and times[0] <= now * (1.0 + SAME_TIME):
                item = ids[0]
                n_heap = _pop(times, ids, n_heap)
                if item >= 2 * n_task:  # a transfer or the rings of an all-reduce start
                    task = item - 2 * n_task if item < 3 * n_task else item - 3 * n_task
                    if kind[task] == NOMINAL_COMM:
                        path = transfer_path[task]
                        c = path_class[path]
                        if c < 0:
                            c = n_class
                            n_class += 1
                            path_class[path] = c
                            class_begin[c] = route_ptr[path]
                            class_end[c] = route_ptr[path + 1]
                            class_hops[c] = route_ptr[path + 1] - route_ptr[path]
                            class_weight[c] = 0
                            class_listed[c] = False
                            class_head[c] = -1
                        first = c
                        n_new = 1
                        rounds = 1
                        size = np.float64(bytes_[task])
                        what = task
                    else:
                        end[task] = now
                        finish = max(finish, now)
                        c = place[task]
                        n = group_ptr[c + 1] - group_ptr[c]
                        n_new = 0
                        if n > 1:
                            n_new = 1 if by_server else ring_count[group_class[c]]
                        first = first_ring[group_class[c]] + (1 if item >= 3 * n_task else 0)
                        rounds, size = _ring_rounds(n, bytes_[task], protocol.small_packet_bytes, by_server)
                        size /= max(n_new, 1)
                        what = n_task + task
                        if by_server and item < 3 * n_task:
                            what = 3 * n_task + task  # when all have sent to the first member, it sends back
                    for c in range(first, first + n_new):
                        if class_begin[c] == class_end[c]:  # all within one server: there at once
                            n_heap = _push(times, ids, n_heap, now, what)
                            continue
                        weight = ring_weight if c < n_ring else 1.0
                        narrowest = np.inf
                        if class_weight[c] == 0:
                            class_served[c] = 0.0  # counted anew, so that sums stay short
                            class_next_end[c] = np.inf
                            class_rate[c] = np.inf
                            if not class_listed[c]:
                                class_listed[c] = True
                                active[n_active] = c
                                n_active += 1
                        else:
                            _serve(network, work, c, n_ring, now)
                        class_since[c] = now
                        class_weight[c] += 1
                        provisional = np.inf  # until rates are solved: an equal share of the narrowest link
                        for i in range(class_begin[c], class_end[c]):
                            link = ring_link[i] if c < n_ring else route[i]
                            link_users[link] += weight
                            provisional = min(provisional, weight * bandwidth[link] / link_users[link])
                            narrowest = min(narrowest, bandwidth[link])
                        class_rate[c] = min(class_rate[c], provisional)
                        flow_bytes[n_flow] = class_served[c] + size
                        flow_item[n_flow] = what
                        packet = min(packet_bytes, size / rounds)
                        flow_delay[n_flow] = rounds * (
                            round_trips * class_hops[c] * network.latency + (class_hops[c] - 1) * packet / narrowest
                        )
                        flow_next[n_flow] = class_head[c]
                        class_head[c] = n_flow
                        class_next_end[c] = min(class_next_end[c], flow_bytes[n_flow])
                        n_flow += 1
                        class_finish[c] = now + (class_next_end[c] - class_served[c]) / class_rate[c]
                        if window > 0.0 and class_finish[c] <= solved + window:
                            target = class_served[c] + class_rate[c] * (solved + window - now)
                            rate = class_rate[c]
                            n_heap = _retire(
                                times, ids, n_heap, work, network, c, n_ring, ring_weight, target, now, rate
                            )
                            class_finish[c] = now + (class_next_end[c] - class_served[c]) / class_rate[c]
                        next_end = min(next_end, class_finish[c])
                        dirty = True
                    continue
                finish = max(finish, now)
                if item >= n_task:  # one ring of an all-reduce is done
                    end[item - n_task] = now
                    continue
                end[item] = now
                if kind[item] <= BACKWARD:
                    running[place[item]] = -1
                    wake[n_wake] = place[item]
                    n_wake += 1
                for p in range(succ_ptr[item], succ_ptr[item + 1]):
                    task = succ[p]
                    waiting[task] -= 1
                    if waiting[task] > 0:
                        continue
                    start[task] = now
                    if kind[task] <= BACKWARD:
                        server = place[task]
                        _enqueue(queue_ptr, queue_len, queue, queue_time, queue_rank, server, task, now, rank[task])
                        wake[n_wake] = server
                        n_wake += 1
                    else:
                        n_heap = _push(times, ids, n_heap, now + seconds[task], 2 * n_task + task)
            if finish > limit:
                return finish
            continue

        # the set of flows has changed: serve bytes, retire what ended, share the links anew
        now = max(now, network_time)
        kept = 0
        for a in range(n_active):
            c = active[a]
            if class_weight[c] > 0:
                _serve(network, work, c, n_ring, now)
                class_since[c] = now
                if class_finish[c] <= now * (1.0 + SAME_TIME):  # by time: bytes of a short span round too coarsely
                    target = max(class_served[c], class_next_end[c]) * (1.0 + SAME_TIME)
                    n_heap = _retire(times, ids, n_heap, work, network, c, n_ring, ring_weight, target, now, 0.0)
            if class_weight[c] > 0:
                active[kept] = c
                kept += 1
            else:
                class_listed[c] = False
        n_active = kept
        solved = now
        dirty = False
        next_end = np.inf
        if n_active > 0:
            _share(route, bandwidth, tolerance, n_active, n_ring, ring_weight, work)
            if work.link_peak.shape[0] > 0:
                _watch(network, work, n_active, n_ring)
        for a in range(n_active):
            c = active[a]
            if window > 0.0 and class_next_end[c] <= class_served[c] + class_rate[c] * window:
                # ends before rates can change again; the class keeps its weight until then
                target = class_served[c] + class_rate[c] * window
                rate = class_rate[c]
                n_heap = _retire(times, ids, n_heap, work, network, c, n_ring, ring_weight, target, now, rate)
                dirty = True
            class_finish[c] = now + (class_next_end[c] - class_served[c]) / class_rate[c]
            next_end = min(next_end, class_finish[c])


@njit(cache=True, error_model="numpy")
def _retire(  # type: ignore[no-untyped-def]
    times, ids, n_heap, work, network, c, n_ring, ring_weight, target, now, rate
):
    """Take the flows out of class ``c`` whose last byte is at most ``target``; schedule their arrival.

    With ``rate`` 0 they end now, otherwise when their last byte has been served at that rate from now on.
    """
    flow_next, flow_bytes = work.flow_next, work.flow_bytes
    before = -1
    n_done = 0
    f = work.class_head[c]
    soonest = np.inf
    while f >= 0:
        after = flow_next[f]
        if flow_bytes[f] <= target:
            at = now if rate == 0.0 else now + max(flow_bytes[f] - work.class_served[c], 0.0) / rate
            n_heap = _push(times, ids, n_heap, at + work.flow_delay[f], work.flow_item[f])
            if before < 0:
                work.class_head[c] = after
            else:
                flow_next[before] = after
            n_done += 1
        else:
            soonest = min(soonest, flow_bytes[f])
            before = f
        f = after
    work.class_next_end[c] = soonest
    work.class_weight[c] -= n_done
    ring_link, route, link_users = work.ring_link, network.route, work.link_users
    freed = n_done * (ring_weight if c < n_ring else 1.0)
    for i in range(work.class_begin[c], work.class_end[c]):
        link_users[ring_link[i] if c < n_ring else route[i]] -= freed
    return n_heap
