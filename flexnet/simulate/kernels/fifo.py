"""The original's event simulation: links serve whole messages first in, first out, cut through.

Event loop, transfers and all-reduces are those of simulator.cc:1570, 1143 and 1827 in FlexNet (all-reduces without
rings: 1241); the arithmetic follows the original operation for operation, because ties decide its cost.  It orders
events by time alone, so that its heap decides which of several at once comes first.
"""

import numpy as np

from flexnet.kernels import inlined, kernel
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.kernels.fifo_flows import lay_out_flows, load_machines, message_bytes
from flexnet.simulate.kernels.libstdcxx_heap import pop, push

__all__ = ["simulate_fifo"]

# Loads are summed in another order than messages are sent.
ROUNDING = 1e-9


@kernel
def simulate_fifo(tasks, network, directions, segment_bytes, keep_lone_sync, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration and return when its last task ends, in milliseconds.

    Everything is computed in the original's unit and precision (milliseconds as doubles; run times and latency
    rounded to float32), because ties between sums of such times decide its cost.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    network : flexnet.simulate.arrays.NetworkArrays
    directions : int8 (n_allreduce,)
        +1 or -1: which way a ring over routes runs (simulator.cc:1241).
    segment_bytes : int
        Transfers are cut into messages of at most this size; 0 for no cutting.
    keep_lone_sync : bool
        Count the intra-server time of one-server groups.
    limit : float
        Stop as soon as some task ends after this time in ms, or a server or link still has too much to do; what is
        returned then exceeds it but is only a lower bound.
    work : flexnet.simulate.kernels.fifo_state.FifoWork

    Returns
    -------
    float
        End of the last task, or nan if it was to stop; ``work.end`` and ``work.start`` hold every task's times.
    """
    heap, n_task = work.heap, tasks.kind.shape[0]
    latency = np.float64(np.float32(network.latency * 1e3))
    # Items of the heap: tasks, flows of collectives, closings of collectives.
    first_closing = n_task + work.flow_route.shape[0]
    _clear_work(tasks, network, work)
    lay_out_flows(tasks, network, directions, work)
    enough = limit * (1.0 + ROUNDING)
    work.latest[0] = load_machines(tasks, network, latency, segment_bytes, work)
    finish = 0.0
    while heap.n[0] > 0:
        if work.stop[0] != 0:
            return np.nan
        if work.latest[0] > enough:
            return work.latest[0]
        item = pop(heap)
        if item >= first_closing:
            finish = max(finish, _close_collective(tasks, work, np.uint32(item - first_closing)))
            continue
        if item >= n_task:
            flow = np.uint32(item - n_task)
            sent, end = _send_flow(network, work, latency, segment_bytes, item, flow)
            if sent:
                finish = max(finish, end)
                _end_flow(work, flow, end, first_closing)
                if finish > limit:
                    return finish
            continue
        task = np.uint32(item)
        if tasks.kind[task] == ALLREDUCE:
            alone, end = _start_collective(tasks, work, task)
            if alone and keep_lone_sync:
                finish = max(finish, end)
            continue
        if tasks.kind[task] == NOMINAL_COMM:
            sent, end = _send_transfer(tasks, network, work, latency, segment_bytes, task)
            if not sent:
                continue
        else:
            end = _compute(tasks, work, task)
        finish = max(finish, end)
        if finish > limit:
            return finish
        _release_successors(tasks, work, task, end)
    return finish


@inlined
def _clear_work(tasks, network, work):  # type: ignore[no-untyped-def]
    """Nothing has begun but what waits for nothing."""
    for link in range(network.bandwidth.shape[0]):
        work.link_bandwidth[link] = network.bandwidth[link] / 1e3
    work.link_free[:] = 0.0
    work.server_free[:] = 0.0
    work.heap.n[0] = 0
    for task in range(tasks.kind.shape[0]):
        work.ready[task] = 0.0
        work.waiting[task] = tasks.n_pred[task]
        work.left[task] = tasks.bytes[task]
        if tasks.n_pred[task] == 0:
            push(work.heap, 0.0, task)


@inlined
def _compute(tasks, work, task):  # type: ignore[no-untyped-def]
    """Run a task as soon as its server is free; return its end."""
    server = np.uint32(tasks.place[task])
    start = max(work.server_free[server], work.ready[task])
    seconds = np.float64(np.float32(tasks.seconds[task] * 1e3))
    end = start + seconds
    work.server_free[server] = end
    work.server_left[server] -= seconds
    work.latest[0] = max(work.latest[0], end + work.server_left[server])
    work.start[task] = start
    work.end[task] = end
    return end


@inlined
def _release_successors(tasks, work, task, end):  # type: ignore[no-untyped-def]
    """Let the tasks begin that waited for this one last."""
    for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
        following = np.uint32(tasks.succ[p])
        if end > work.ready[following]:
            work.ready[following] = end
        work.waiting[following] -= 1
        if work.waiting[following] == 0:
            push(work.heap, work.ready[following], following)


@inlined
def _send(network, work, latency, links, route, stop, at, size):  # type: ignore[no-untyped-def]
    """Send one message over ``links[route:stop]``; return when the first link begins, and it and all have ended."""
    begin = at
    first_end = at
    end = 0.0 if route == stop else at
    for h in range(route, stop):
        link = np.uint32(links[h])
        s = max(work.link_free[link], at)
        if h == route:
            begin = s
        at = s + latency
        if network.extra_latency.shape[0] > 0:
            at += network.extra_latency[link] * 1e3
        e = at + size / work.link_bandwidth[link]
        work.link_free[link] = e
        work.link_left[link] -= e - s
        work.latest[0] = max(work.latest[0], e + work.link_left[link])
        end = max(end, e)
        if h == route:
            first_end = e
    return begin, first_end, end


@inlined
def _send_transfer(tasks, network, work, latency, segment_bytes, task):  # type: ignore[no-untyped-def]
    """Send a transfer's next message; return whether it was the last, and its end."""
    pair = np.uint32(tasks.place[task])
    route, stop = np.uint32(network.route_ptr[pair]), np.uint32(network.route_ptr[pair + 1])
    size = message_bytes(work.left[task], segment_bytes)
    begin, first_end, end = _send(network, work, latency, network.route, route, stop, work.ready[task], size)
    if size < work.left[task]:
        work.left[task] -= size
        work.ready[task] = first_end
        push(work.heap, first_end, task)
        return False, end
    work.start[task] = begin
    work.end[task] = end
    return True, end


@inlined
def _send_flow(network, work, latency, segment_bytes, item, flow):  # type: ignore[no-untyped-def]
    """Send the next message of a collective's flow; return whether it was the last, and its end."""
    links = network.ring_links if work.flow_on_ring[flow] else network.route
    route, stop = np.uint32(work.flow_route[flow]), np.uint32(work.flow_route_end[flow])
    size = message_bytes(work.flow_left[flow], segment_bytes)
    _, first_end, end = _send(network, work, latency, links, route, stop, work.flow_ready[flow], size)
    if size < work.flow_left[flow]:
        work.flow_left[flow] -= size
        work.flow_ready[flow] = first_end
        push(work.heap, first_end, item)
        return False, end
    return True, end


@inlined
def _end_flow(work, flow, end, first_closing):  # type: ignore[no-untyped-def]
    """Close the collective of a flow that has ended if it was the last."""
    collective = np.uint32(work.flow_collective[flow])
    work.collective_ready[collective] = max(work.collective_ready[collective], end)
    work.collective_waiting[collective] -= 1
    if work.collective_waiting[collective] == 0:
        push(work.heap, work.collective_ready[collective], first_closing + collective)


@inlined
def _close_collective(tasks, work, collective):  # type: ignore[no-untyped-def]
    """A task without run time on the first member's server ends a collective; return its end."""
    server = np.uint32(tasks.group[np.uint32(tasks.group_ptr[collective])])
    end = max(work.server_free[server], work.collective_ready[collective])
    work.server_free[server] = end
    return end


@inlined
def _start_collective(tasks, work, task):  # type: ignore[no-untyped-def]
    """After its intra-server part, start an all-reduce's flows.

    Returns whether there is one member only, and the end of that part.
    """
    n_task = tasks.kind.shape[0]
    collective = np.uint32(tasks.place[task])
    at = work.ready[task] + tasks.seconds[task] * 1e3
    work.start[task] = work.ready[task]
    work.end[task] = at
    work.collective_ready[collective] = 0.0
    begin, end = work.flow_ptr[collective], work.flow_ptr[collective + 1]
    work.collective_waiting[collective] = end - begin
    for flow in range(begin, end):
        work.flow_ready[flow] = at
        push(work.heap, at, n_task + flow)
    return begin == end, at
