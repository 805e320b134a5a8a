"""The original's event simulation: links serve whole messages first in, first out, cut through.

Reference sections 4.3 (event loop and heap order), 4.5 (transfers) and 4.6 (all-reduces); the arithmetic follows the
original operation for operation, because ties decide its cost.
"""

import numpy as np
from numba import njit

__all__ = ["flow_count", "simulate_fifo"]

FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE = 0, 1, 5, 6

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
def flow_count(tasks, network):  # type: ignore[no-untyped-def]
    """Number of flows all collectives expand to: one for every member and ring."""
    n_flow = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
        if n > 1:
            n_flow += n * max(network.ring_ptr[n + 1] - network.ring_ptr[n], 1)
    return n_flow
