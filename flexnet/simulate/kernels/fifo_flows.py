"""What the first-in-first-out link model sends: flows of all-reduces, and the loads of servers and links.

A server or link is done no earlier than all it has to do takes from now on: what it has waited adds to its load.
"""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM

__all__ = ["flow_count", "lay_out_flows", "load_machines", "message_bytes"]


@kernel
def flow_count(tasks, network):  # type: ignore[no-untyped-def]
    """Number of flows all collectives expand to: one for every member and ring."""
    n_flow = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        n_flow += _n_flow(tasks, network, c)
    return n_flow


@inlined
def _n_flow(tasks, network, collective):  # type: ignore[no-untyped-def]
    """Number of flows one collective expands to; none for one server alone."""
    n = tasks.group_ptr[collective + 1] - tasks.group_ptr[collective]
    return n * max(network.ring_ptr[n + 1] - network.ring_ptr[n], 1) if n > 1 else 0


@inlined
def message_bytes(left, segment_bytes):  # type: ignore[no-untyped-def]
    """Size of the next message of what is left."""
    return segment_bytes if segment_bytes > 0 and left > segment_bytes else left


@called
def lay_out_flows(tasks, network, directions, work):  # type: ignore[no-untyped-def]
    """Expand every all-reduce to flows, one for every member and ring (simulator.cc:1827; without rings 1241)."""
    work.flow_ptr[0] = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        work.flow_ptr[c + 1] = work.flow_ptr[c] + _n_flow(tasks, network, c)
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] == ALLREDUCE:
            _expand(tasks, network, directions, work, task)


@inlined
def _expand(tasks, network, directions, work, task):  # type: ignore[no-untyped-def]
    """Expand one all-reduce."""
    n_server = network.n_server
    ring_ptr, ring_hops = network.ring_ptr, network.ring_hops
    collective = tasks.place[task]
    start = tasks.group_ptr[collective]
    n = tasks.group_ptr[collective + 1] - start
    if n < 2:
        return
    flow = np.uint32(work.flow_ptr[collective])
    n_ring = ring_ptr[n + 1] - ring_ptr[n]
    share = 2.0 * (n - 1) / n * tasks.bytes[task]
    if n_ring > 0:
        size = int(np.ceil(share / n_ring))
        for m in range(n):
            member = tasks.group[start + m]
            for r in range(ring_ptr[n], ring_ptr[n + 1]):
                hops = (ring_hops[r + 1] - ring_hops[r]) // n_server
                route = ring_hops[r] + member * hops
                _set_flow(work, flow, collective, True, route, route + hops, size)
                flow = np.uint32(flow + 1)
        return
    size = int(share)
    m = 0
    for _ in range(n):
        to = (m + directions[collective] + n) % n
        pair = tasks.group[start + m] * n_server + tasks.group[start + to]
        _set_flow(work, flow, collective, False, network.route_ptr[pair], network.route_ptr[pair + 1], size)
        flow = np.uint32(flow + 1)
        m = to


@inlined
def _set_flow(work, flow, collective, on_ring, route, stop, size):  # type: ignore[no-untyped-def]
    """Lay out a flow over links ``route`` to ``stop``, of the topology's rings or of routes."""
    work.flow_route[flow] = route
    work.flow_route_end[flow] = stop
    work.flow_on_ring[flow] = on_ring
    work.flow_left[flow] = size
    work.flow_collective[flow] = collective


@called
def load_machines(tasks, network, latency, segment_bytes, work):  # type: ignore[no-untyped-def]
    """Fill in what servers and links have to do, ms; return the largest load."""
    work.server_left[:] = 0.0
    work.link_left[:] = 0.0
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] <= BACKWARD:
            server = np.uint32(tasks.place[task])
            work.server_left[server] += np.float64(np.float32(tasks.seconds[task] * 1e3))
        elif tasks.kind[task] == NOMINAL_COMM:
            pair = np.uint32(tasks.place[task])
            route, stop = network.route_ptr[pair], network.route_ptr[pair + 1]
            _load(network, work, latency, segment_bytes, network.route, route, stop, tasks.bytes[task])
        else:
            collective = np.uint32(tasks.place[task])
            for flow in range(work.flow_ptr[collective], work.flow_ptr[np.uint32(collective + 1)]):
                links = network.ring_links if work.flow_on_ring[flow] else network.route
                route, stop = work.flow_route[flow], work.flow_route_end[flow]
                _load(network, work, latency, segment_bytes, links, route, stop, work.flow_left[flow])
    most = 0.0
    for k in range(network.n_server):
        most = max(most, work.server_left[k])
    for k in range(network.bandwidth.shape[0]):
        most = max(most, work.link_left[k])
    return most


@inlined
def _load(network, work, latency, segment_bytes, links, route, stop, size):  # type: ignore[no-untyped-def]
    """Let the links ``links[route:stop]`` have ``size`` bytes more to send, in as many messages as it takes."""
    n_message = max((size + segment_bytes - 1) // segment_bytes, 1) if segment_bytes > 0 else 1
    for h in range(np.uint32(route), np.uint32(stop)):
        link = np.uint32(links[h])
        each = latency
        if network.extra_latency.shape[0] > 0:
            each += network.extra_latency[link] * 1e3
        work.link_left[link] += n_message * each + size / work.link_bandwidth[link]
