"""The two event simulations of a task graph, and what they share: the heap and the size of collectives.

`simulate_fifo` is the original's: links serve whole messages first in, first out, cut through (reference sections
4.3 event loop and heap order, 4.5 transfers, 4.6 all-reduces); its arithmetic follows the original operation for
operation, because ties decide its cost.  `simulate_fair` lets simultaneous flows share links max-min fairly.
"""

import numpy as np
from numba import njit

__all__ = ["collective_sizes", "simulate_fair", "simulate_fifo"]

FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE = 0, 1, 5, 6

# Times closer than this, relatively, are the same instant: sums of equal terms in another order differ by less.
SAME_TIME = 1e-10

# Masking tells the compiler that an index is not negative, which spares Python's wrap-around: 20 % of the run time.
INDEX = 0x7FFFFFFF


@njit(cache=True, error_model="numpy")
def _push(times, ids, n, ready, item):  # type: ignore[no-untyped-def]
    """libstdc++ push_heap: append, move up while the parent is strictly later."""
    hole = n & INDEX
    while hole > 0:
        parent = ((hole - 1) >> 1) & INDEX
        if not times[parent] > ready:
            break
        times[hole] = times[parent]
        ids[hole] = ids[parent]
        hole = parent
    times[hole] = ready
    ids[hole] = item
    return n + 1


@njit(cache=True, error_model="numpy")
def _pop(times, ids, n):  # type: ignore[no-untyped-def]
    """libstdc++ pop_heap of the root (read it before): walk the hole to a leaf, ties right, then sift up."""
    n -= 1
    ready = times[n]
    item = ids[n]
    hole = 0
    child = 2
    while child < n:
        child = (child - (times[child] > times[child - 1])) & INDEX  # no branch: 40 % of the run time
        times[hole] = times[child]
        ids[hole] = ids[child]
        hole = child
        child = 2 * child + 2
    if child == n:  # a lone left child
        child -= 1
        times[hole] = times[child]
        ids[hole] = ids[child]
        hole = child
    while hole > 0:
        parent = ((hole - 1) >> 1) & INDEX
        if not times[parent] > ready:
            break
        times[hole] = times[parent]
        ids[hole] = ids[parent]
        hole = parent
    times[hole] = ready
    ids[hole] = item
    return n


@njit(cache=True, error_model="numpy")
def simulate_fifo(tasks, network, directions, segment_bytes, keep_lone_sync, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration and return when its last task ends, in milliseconds.

    Everything is computed in the original's unit and precision (milliseconds as doubles; run times and latency
    rounded to float32), because ties between sums of such times decide its cost.

    Parameters
    ----------
    tasks : flexnet.taskgraph.TaskArrays
    network : flexnet.simulate.NetworkArrays
    directions : int8 (n_allreduce,)
        +1 or -1: which way a ring over routes runs (simulator.cc:1241).
    segment_bytes : int
        Transfers are cut into messages of at most this size; 0 for no cutting.
    keep_lone_sync : bool
        Count the intra-server time of one-server groups.
    limit : float
        Stop as soon as some task ends after this time in ms; what is returned then exceeds it but is only a lower
        bound.
    work : flexnet.simulate.FifoWork

    Returns
    -------
    float
        End of the last task; ``work.end`` and ``work.start`` hold every task's times.
    """
    n_task = tasks.kind.shape[0]
    n_server = network.n_server
    latency = np.float64(np.float32(network.latency * 1e3))
    kind, place, seconds, bytes_, n_pred = tasks.kind, tasks.place, tasks.seconds, tasks.bytes, tasks.n_pred
    succ_ptr, succ, group_ptr, group = tasks.succ_ptr, tasks.succ, tasks.group_ptr, tasks.group
    route_ptr, route_links = network.route_ptr, network.route
    ring_ptr, ring_hops, ring_links = network.ring_ptr, network.ring_hops, network.ring_links
    times, ids, ready, waiting = work.heap_time, work.heap_id, work.ready, work.waiting
    task_start, task_end, task_left = work.start, work.end, work.left
    flow_route, flow_route_end, flow_on_ring = work.flow_route, work.flow_route_end, work.flow_on_ring
    flow_left, flow_ready, flow_collective = work.flow_left, work.flow_ready, work.flow_collective
    collective_ready, collective_waiting = work.collective_ready, work.collective_waiting
    link_free, server_free, bandwidth = work.link_free, work.server_free, work.link_bandwidth
    for link in range(network.bandwidth.shape[0]):
        bandwidth[link] = network.bandwidth[link] / 1e3
    link_free[:] = 0.0
    server_free[:] = 0.0
    n_heap = 0
    for t in range(n_task):
        ready[t] = 0.0
        waiting[t] = n_pred[t]
        task_left[t] = bytes_[t]
        if n_pred[t] == 0:
            n_heap = _push(times, ids, n_heap, 0.0, t)
    n_flow = 0
    first_update = n_task + flow_route.shape[0]
    finish = 0.0
    while n_heap > 0:
        item = ids[0]
        n_heap = _pop(times, ids, n_heap)
        if item >= first_update:  # closes a collective on its first member's GPU
            collective = item - first_update
            server = group[group_ptr[collective]]
            end = max(server_free[server], collective_ready[collective])
            server_free[server] = end
            finish = max(finish, end)
            continue
        if item >= n_task or kind[item] == NOMINAL_COMM:
            if item >= n_task:
                flow = item - n_task
                route = flow_route[flow]
                stop = flow_route_end[flow]
                on_ring = flow_on_ring[flow]
                at = flow_ready[flow]
                left = flow_left[flow]
            else:
                flow = -1
                route = route_ptr[place[item]]
                stop = route_ptr[place[item] + 1]
                on_ring = False
                at = ready[item]
                left = task_left[item]
            size = left
            if segment_bytes > 0 and left > segment_bytes:
                size = segment_bytes
            begin = at
            first_end = at
            end = 0.0 if route == stop else at
            for h in range(route, stop):
                link = ring_links[h] if on_ring else route_links[h]
                s = max(link_free[link], at)
                if h == route:
                    begin = s
                at = s + latency
                e = at + size / bandwidth[link]
                link_free[link] = e
                end = max(end, e)
                if h == route:
                    first_end = e
            if size < left:
                if flow >= 0:
                    flow_left[flow] = left - size
                    flow_ready[flow] = first_end
                else:
                    task_left[item] = left - size
                    ready[item] = first_end
                n_heap = _push(times, ids, n_heap, first_end, item)
                continue
            finish = max(finish, end)
            if flow >= 0:
                collective = flow_collective[flow]
                collective_ready[collective] = max(collective_ready[collective], end)
                collective_waiting[collective] -= 1
                if collective_waiting[collective] == 0:
                    n_heap = _push(times, ids, n_heap, collective_ready[collective], first_update + collective)
                if finish > limit:
                    return finish
                continue
            task_start[item] = begin
            task_end[item] = end
        elif kind[item] == ALLREDUCE:
            collective = place[item]
            start = group_ptr[collective]
            n = group_ptr[collective + 1] - start
            at = ready[item] + seconds[item] * 1e3
            task_start[item] = ready[item]
            task_end[item] = at
            if n == 1:
                if keep_lone_sync:
                    finish = max(finish, at)
                continue
            collective_ready[collective] = 0.0
            first_ring = ring_ptr[n]
            n_ring = ring_ptr[n + 1] - first_ring
            share = 2.0 * (n - 1) / n * bytes_[item]
            if n_ring > 0:
                size = int(np.ceil(share / n_ring))
                collective_waiting[collective] = n * n_ring
                for m in range(n):
                    member = group[start + m]
                    for r in range(first_ring, first_ring + n_ring):
                        hops = (ring_hops[r + 1] - ring_hops[r]) // n_server
                        flow_route[n_flow] = ring_hops[r] + member * hops
                        flow_route_end[n_flow] = flow_route[n_flow] + hops
                        flow_on_ring[n_flow] = True
                        flow_left[n_flow] = size
                        flow_ready[n_flow] = at
                        flow_collective[n_flow] = collective
                        n_heap = _push(times, ids, n_heap, at, n_task + n_flow)
                        n_flow += 1
            else:
                size = int(share)
                collective_waiting[collective] = n
                m = 0
                for _ in range(n):
                    to = (m + directions[collective] + n) % n
                    pair = group[start + m] * n_server + group[start + to]
                    flow_route[n_flow] = route_ptr[pair]
                    flow_route_end[n_flow] = route_ptr[pair + 1]
                    flow_on_ring[n_flow] = False
                    flow_left[n_flow] = size
                    flow_ready[n_flow] = at
                    flow_collective[n_flow] = collective
                    n_heap = _push(times, ids, n_heap, at, n_task + n_flow)
                    n_flow += 1
                    m = to
            continue
        else:
            server = place[item]
            start_time = max(server_free[server], ready[item])
            end = start_time + np.float64(np.float32(seconds[item] * 1e3))
            server_free[server] = end
            task_start[item] = start_time
            task_end[item] = end
            finish = max(finish, end)
        if finish > limit:
            return finish
        for p in range(succ_ptr[item], succ_ptr[item + 1]):
            nxt = succ[p]
            if end > ready[nxt]:
                ready[nxt] = end
            waiting[nxt] -= 1
            if waiting[nxt] == 0:
                n_heap = _push(times, ids, n_heap, ready[nxt], nxt)
    return finish


@njit(cache=True, error_model="numpy")
def collective_sizes(tasks, network):  # type: ignore[no-untyped-def]
    """Room the expanded collectives need: flows when every edge is one, rings, and links over all their edges."""
    n_server = network.n_server
    n_edge = 0
    n_ring = 0
    n_link = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        start = tasks.group_ptr[c]
        n = tasks.group_ptr[c + 1] - start
        if n == 1:
            continue
        rings = network.ring_ptr[n + 1] - network.ring_ptr[n]
        if rings > 0:
            hops = network.ring_hops[network.ring_ptr[n + 1]] - network.ring_hops[network.ring_ptr[n]]
            n_link += n * hops // n_server
        else:
            rings = 1
            for m in range(n):
                pair = tasks.group[start + m] * n_server + tasks.group[start + (m + 1) % n]
                n_link += network.route_ptr[pair + 1] - network.route_ptr[pair]
        n_edge += n * rings
        n_ring += rings
    return n_edge, n_ring, n_link


@njit(cache=True, error_model="numpy", inline="always")
def _enqueue(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Put a compute task in its server's queue, ordered by time, then operator, then kind."""
    server = tasks.place[task]
    base = work.queue_ptr[server]
    slot = base + work.queue_len[server]
    work.queue_len[server] += 1
    rank = 2 * tasks.op[task] + tasks.kind[task]
    while slot > base and (
        work.queue_time[slot - 1] > now or (work.queue_time[slot - 1] == now and work.queue_rank[slot - 1] > rank)
    ):
        work.queue[slot] = work.queue[slot - 1]
        work.queue_time[slot] = work.queue_time[slot - 1]
        work.queue_rank[slot] = work.queue_rank[slot - 1]
        slot -= 1
    work.queue[slot] = task
    work.queue_time[slot] = now
    work.queue_rank[slot] = rank


@njit(cache=True, error_model="numpy")
def _layout_queues(tasks, n_server, work):  # type: ignore[no-untyped-def]
    """Give every server room for all its compute tasks."""
    work.queue_ptr[:] = 0
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] <= BACKWARD:
            work.queue_ptr[tasks.place[t] + 1] += 1
    for server in range(n_server):
        work.queue_ptr[server + 1] += work.queue_ptr[server]
    work.queue_len[:] = 0
    work.running[:] = -1


@njit(cache=True, error_model="numpy")
def _lower_bound(tasks, network, work):  # type: ignore[no-untyped-def]
    """No schedule ends before the busiest server has computed and the busiest link has carried its bytes.

    Leaves the bytes every link carries in ``work.link_bytes``.
    """
    n_server = network.n_server
    load = work.link_bytes
    load[:] = 0.0
    compute = work.link_left  # scratch until rates are solved
    compute[:] = 0.0
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] <= BACKWARD:
            compute[tasks.place[t]] += tasks.seconds[t]
        elif tasks.kind[t] == NOMINAL_COMM:
            for i in range(network.route_ptr[tasks.place[t]], network.route_ptr[tasks.place[t] + 1]):
                load[network.route[i]] += tasks.bytes[t]
        else:
            start = tasks.group_ptr[tasks.place[t]]
            n = tasks.group_ptr[tasks.place[t] + 1] - start
            first_ring = network.ring_ptr[n]
            rings = network.ring_ptr[n + 1] - first_ring
            share = 2.0 * (n - 1) / n * tasks.bytes[t] / max(rings, 1)
            for m in range(n if n > 1 else 0):
                member = tasks.group[start + m]
                if rings == 0:
                    pair = member * n_server + tasks.group[start + (m + 1) % n]
                    for i in range(network.route_ptr[pair], network.route_ptr[pair + 1]):
                        load[network.route[i]] += share
                for r in range(first_ring, first_ring + rings):
                    hops = (network.ring_hops[r + 1] - network.ring_hops[r]) // n_server
                    begin = network.ring_hops[r] + member * hops
                    for i in range(begin, begin + hops):
                        load[network.ring_links[i]] += share
    bound = 0.0
    for server in range(n_server):
        bound = max(bound, compute[server])
    for link in range(network.bandwidth.shape[0]):
        bound = max(bound, load[link] / network.bandwidth[link])
    return bound


@njit(cache=True, error_model="numpy")
def _start_rings(tasks, network, task, n_active, n_flow, n_inc, work):  # type: ignore[no-untyped-def]
    """Make one coflow of every ring of an all-reduce."""
    n_server = network.n_server
    collective = tasks.place[task]
    start = tasks.group_ptr[collective]
    n = tasks.group_ptr[collective + 1] - start
    first_ring = network.ring_ptr[n]
    rings = network.ring_ptr[n + 1] - first_ring
    on_route = rings == 0
    rings = max(rings, 1)
    share = 2.0 * (n - 1) / n * tasks.bytes[task] / rings
    for r in range(first_ring, first_ring + rings):
        work.flow_begin[n_flow] = n_inc
        longest = 0
        for m in range(n):
            member = tasks.group[start + m]
            if on_route:
                pair = member * n_server + tasks.group[start + (m + 1) % n]
                begin = network.route_ptr[pair]
                end = network.route_ptr[pair + 1]
                links = network.route
            else:
                hops = (network.ring_hops[r + 1] - network.ring_hops[r]) // n_server
                begin = network.ring_hops[r] + member * hops
                end = begin + hops
                links = network.ring_links
            longest = max(longest, end - begin)
            for h in range(begin, end):
                work.ring_link[n_inc] = links[h]
                n_inc += 1
        work.flow_end[n_flow] = n_inc
        work.flow_on_ring[n_flow] = True
        work.flow_left[n_flow] = share
        work.flow_item[n_flow] = tasks.kind.shape[0] + task
        work.flow_delay[n_flow] = 2 * (n - 1) * longest * network.latency
        work.flow_rate[n_flow] = 0.0
        work.active[n_active] = n_flow
        n_active += 1
        n_flow += 1
    return n_active, n_flow, n_inc


@njit(cache=True, error_model="numpy")
def _share(network, tolerance, n_active, work):  # type: ignore[no-untyped-def]
    """Max-min fair rates of the active flows, by progressive filling."""
    n_touched = 0
    for a in range(n_active):
        f = work.active[a]
        work.open[a] = f
        links = work.ring_link if work.flow_on_ring[f] else network.route
        for i in range(work.flow_begin[f], work.flow_end[f]):
            link = links[i]
            if work.link_count[link] == 0:
                work.link_left[link] = network.bandwidth[link]
                work.touched[n_touched] = link
                n_touched += 1
            work.link_count[link] += 1
    n_open = n_active
    while n_open > 0:
        level = np.inf
        kept = 0
        for i in range(n_touched):
            link = work.touched[i]
            if work.link_count[link] > 0:
                work.touched[kept] = link
                kept += 1
                level = min(level, work.link_left[link] / work.link_count[link])
        n_touched = kept
        bound = level * (1.0 + tolerance)
        for i in range(n_touched):
            link = work.touched[i]
            work.link_full[link] = work.link_left[link] <= bound * work.link_count[link]
        kept = 0
        for a in range(n_open):
            f = work.open[a]
            links = work.ring_link if work.flow_on_ring[f] else network.route
            full = False
            for i in range(work.flow_begin[f], work.flow_end[f]):
                if work.link_full[links[i]]:
                    full = True
                    break
            if full:
                work.flow_rate[f] = level
                for i in range(work.flow_begin[f], work.flow_end[f]):
                    work.link_left[links[i]] -= level
                    work.link_count[links[i]] -= 1
            else:
                work.open[kept] = f
                kept += 1
        n_open = kept


@njit(cache=True, error_model="numpy")
def simulate_fair(tasks, network, window, tolerance, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration on links that simultaneous flows share max-min fairly; return when its last task ends.

    A transfer is a fluid flow over the links of its route.  A ring all-reduce is one coflow per ring: all its edges
    carry 2(n-1)/n of the bytes at one rate, the rate of the slowest, because each of its 2(n-1) rounds ends with a
    barrier.  Rates solve max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2):
    all rates grow together until a link is full; flows over it are frozen, the rest grow on.  This is where
    congestion control with equal round trips converges (the packet simulator's DCTCP), and it has no order: rates
    depend on which flows are there, not on which came first, so ties between tasks cannot matter.  A flow arrives
    hops x latency after its last byte left; a ring pays that in every round.  Latency never occupies a link.

    Compute is first in, first out per server; of tasks ready at the same time the earlier operator runs first.

    Parameters
    ----------
    tasks : flexnet.taskgraph.TaskArrays
    network : flexnet.simulate.NetworkArrays
    window : float
        Rates are solved anew at most once per this time (0: at every start and end of a flow).  Flows that end in
        between end exactly when they should; only what they free is handed out later.
    tolerance : float
        Links within this relative distance of the fullest are filled together (0: exact).
    limit : float
        Stop as soon as some task ends after this time.
    work : flexnet.simulate.FairWork

    Returns
    -------
    float
        End of the last task, or a value above ``limit``; ``work.start`` and ``work.end`` hold every task's times,
        ``work.link_bytes`` what every link carries.
    """
    n_task = tasks.kind.shape[0]
    latency = network.latency
    tolerance = max(tolerance, SAME_TIME)
    times = work.heap_time
    ids = work.heap_id
    waiting = work.waiting
    work.link_count[:] = 0
    bound = _lower_bound(tasks, network, work)
    if bound > limit:
        return bound
    _layout_queues(tasks, network.n_server, work)
    n_heap = 0
    n_active = 0
    n_flow = 0
    n_inc = 0
    now = 0.0
    solved = -np.inf
    next_end = np.inf
    dirty = False
    finish = 0.0
    for t in range(n_task):
        waiting[t] = tasks.n_pred[t]
        if tasks.n_pred[t] == 0:
            if tasks.kind[t] <= BACKWARD:
                _enqueue(tasks, work, t, 0.0)
            else:
                n_heap = _push(times, ids, n_heap, tasks.seconds[t], 2 * n_task + t)
    n_wake = network.n_server
    for server in range(n_wake):
        work.wake[server] = server
    while True:
        for i in range(n_wake):
            server = work.wake[i]
            if work.running[server] < 0 and work.queue_len[server] > 0:
                slot = work.queue_ptr[server]
                task = work.queue[slot]
                work.queue_ptr[server] += 1
                work.queue_len[server] -= 1
                work.running[server] = task
                work.start[task] = now
                n_heap = _push(times, ids, n_heap, now + tasks.seconds[task], task)
        n_wake = 0
        network_time = max(now, solved + window) if dirty else next_end
        if n_heap == 0 and network_time == np.inf:
            return finish
        if n_heap > 0 and times[0] <= network_time * (1.0 + SAME_TIME):
            now = max(now, times[0])
            while n_heap > 0 and times[0] <= now * (1.0 + SAME_TIME):
                item = ids[0]
                n_heap = _pop(times, ids, n_heap)
                if item >= 2 * n_task:
                    task = item - 2 * n_task
                    if tasks.kind[task] == ALLREDUCE:
                        collective = tasks.place[task]
                        if tasks.group_ptr[collective + 1] - tasks.group_ptr[collective] > 1:
                            n_active, n_flow, n_inc = _start_rings(
                                tasks, network, task, n_active, n_flow, n_inc, work
                            )
                            dirty = True
                        work.end[task] = now
                        finish = max(finish, now)
                    else:
                        n_active, n_flow = _start_transfer(tasks, network, task, n_active, n_flow, work)
                        dirty = True
                    continue
                finish = max(finish, now)
                if item >= n_task:  # one ring of an all-reduce is done
                    work.end[item - n_task] = now
                    continue
                work.end[item] = now
                if tasks.kind[item] <= BACKWARD:
                    work.running[tasks.place[item]] = -1
                    work.wake[n_wake] = tasks.place[item]
                    n_wake += 1
                for p in range(tasks.succ_ptr[item], tasks.succ_ptr[item + 1]):
                    task = tasks.succ[p]
                    waiting[task] -= 1
                    if waiting[task] > 0:
                        continue
                    work.start[task] = now
                    if tasks.kind[task] <= BACKWARD:
                        _enqueue(tasks, work, task, now)
                        work.wake[n_wake] = tasks.place[task]
                        n_wake += 1
                    elif tasks.kind[task] == NOMINAL_COMM:
                        n_active, n_flow = _start_transfer(tasks, network, task, n_active, n_flow, work)
                        dirty = True
                    else:
                        n_heap = _push(times, ids, n_heap, now + tasks.seconds[task], 2 * n_task + task)
            if finish > limit:
                return finish
            continue
        # the set of flows has changed: move bytes, retire what ended, share the links anew
        now = max(now, network_time)
        kept = 0
        for a in range(n_active):
            f = work.active[a]
            if work.flow_rate[f] > 0.0:
                if work.flow_finish[f] <= now * (1.0 + SAME_TIME):
                    if work.flow_finish[f] > solved + window:
                        n_heap = _push(times, ids, n_heap, now + work.flow_delay[f], work.flow_item[f])
                    continue
                work.flow_left[f] -= work.flow_rate[f] * (now - solved)
            work.active[kept] = f
            kept += 1
        n_active = kept
        solved = now
        dirty = False
        next_end = np.inf
        if n_active > 0:
            _share(network, tolerance, n_active, work)
        for a in range(n_active):
            f = work.active[a]
            work.flow_finish[f] = now + work.flow_left[f] / work.flow_rate[f]
            if work.flow_finish[f] <= now + window:  # ends before rates can change again
                n_heap = _push(times, ids, n_heap, work.flow_finish[f] + work.flow_delay[f], work.flow_item[f])
                dirty = True
            else:
                next_end = min(next_end, work.flow_finish[f])


@njit(cache=True, error_model="numpy", inline="always")
def _start_transfer(tasks, network, task, n_active, n_flow, work):  # type: ignore[no-untyped-def]
    """Make a flow of a transfer."""
    pair = tasks.place[task]
    begin = network.route_ptr[pair]
    end = network.route_ptr[pair + 1]
    work.flow_begin[n_flow] = begin
    work.flow_end[n_flow] = end
    work.flow_on_ring[n_flow] = False
    work.flow_left[n_flow] = tasks.bytes[task]
    work.flow_item[n_flow] = task
    work.flow_delay[n_flow] = network.latency * (end - begin)
    work.flow_rate[n_flow] = 0.0
    work.active[n_active] = n_flow
    return n_active + 1, n_flow + 1
