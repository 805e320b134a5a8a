"""Event simulation packet by packet."""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.plan.kernels.ring_parts import ring_part
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.dctcp import acknowledged, enqueue_packet, go_back
from flexnet.simulate.kernels.lockstep import begin_connection, end_of_connection, new_connection
from flexnet.simulate.kernels.packet_events import (
    GO_BACK,
    NEVER,
    OPEN,
    PIPE_ARRIVES,
    QUEUE_SERVED,
    ROOT,
    TASK_ENDS,
    TASK_STARTS,
    TIMERS,
    clear_events,
    next_event,
    play,
    schedule,
    schedule_link,
)
from flexnet.simulate.kernels.packet_queues import clear_packets, pop, serve_first
from flexnet.simulate.kernels.rings import edge_hops, ring_count, ring_rounds
from flexnet.simulate.kernels.server_queues import clear_queues, enqueue, next_waiting, wake

__all__ = ["simulate_packets"]


@kernel
def simulate_packets(tasks, network, routes, protocol, transport, limit, work):  # type: ignore[no-untyped-def]
    """Replay one iteration packet by packet; return when its last task ends.

    Every connection is one of DCTCP (`flexnet.simulate.kernels.dctcp`), every link a queue, first in first out, that
    drops nothing and marks packets which leave more than a threshold behind, then a pipe as long as its latency.
    Acknowledgements arrive at once.  A transfer is a connection; a round of a ring opens one an edge and ends with
    the last, and where all edges do the same one is followed (`flexnet.simulate.kernels.lockstep`).  Compute is first
    in, first out per server.  Everything happens in whole picoseconds, and what happens at
    the same one, in the order in which it was scheduled: so FlexNetPacket does it (``tcp.cpp``, ``dctcp.cpp``,
    ``ecnqueue.cpp``, ``pipe.cpp``, ``ffapp.cpp`` of Flasew/ffsim-opera), whose times come out to the picosecond.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    network : flexnet.simulate.arrays.NetworkArrays
    routes : flexnet.simulate.arrays.FlowRoutes
    protocol : flexnet.simulate.protocol.Protocol
    transport : flexnet.simulate.kernels.packet_state.Transport
    limit : int
        Picoseconds at which to stop.
    work : flexnet.simulate.kernels.packet_state.PacketWork

    Returns
    -------
    int
        Picoseconds; some time above ``limit`` if the end is; -1 if ``work`` is too small; 0 if it was to stop.
        ``work.start`` and ``work.end`` hold every task's times.
    """
    events, packets, connections = work.events, work.packets, work.connections
    _clear(tasks, network, work)
    for i in range(work.roots.shape[0]):
        schedule(events, np.int64(i), ROOT + 8 * work.roots[i])
    schedule(events, np.int64(transport.tick), np.int64(TIMERS))
    n_left = tasks.kind.shape[0]
    now = np.int64(0)
    while n_left > 0:
        _start_computing(tasks, work, now)
        if events.full[0]:
            return np.int64(-1)
        if work.stop[0] != 0:
            return np.int64(0)
        now, item = next_event(events)
        if now > limit:
            return now
        what, which = item & 7, item >> 3
        if what == QUEUE_SERVED:
            _serve(transport, events, packets, work.links, which, now)
        elif what == PIPE_ARRIVES:
            links = work.links
            p = links.head[which]
            c, hop = packets.connection[p], packets.hop[p] + 1
            last_byte, sent, marked = packets.last_byte[p], packets.sent[p], packets.marked[p]
            pop(packets, links, which)
            if hop < connections.end[c]:
                enqueue_packet(transport, events, packets, links, work.hops[hop], c, hop, last_byte, sent, marked, now)
            else:
                if acknowledged(transport, work, c, last_byte, sent, marked, now):
                    n_left -= _end_connection(tasks, network, routes, protocol, transport, work, c, now)
                if connections.done[c] and connections.under_way[c] == 0:
                    end_of_connection(work, c)
            due = packets.due[links.head[which]] if links.n_pipe[which] > 0 else NEVER
            schedule_link(events, due, 2 * which + PIPE_ARRIVES)
            play(events, which)
        elif what == TASK_ENDS:
            _end_task(tasks, work, which, now)
            n_left -= 1
        elif what == TASK_STARTS:
            n_left -= _start_flows(tasks, network, routes, protocol, transport, work, which, now)
        elif what == TIMERS:
            _look_at_timers(transport, work, now)
            schedule(events, now + transport.tick, np.int64(TIMERS))
        elif what == OPEN:
            begin_connection(tasks, network, routes, protocol, transport, work, which, now)
        elif what == ROOT:
            _release(tasks, work, which, now)
        elif not connections.done[which]:  # it may have ended since its timer went off
            go_back(transport, work, which, now)
    return np.int64(-1) if events.full[0] else now


@called
def _clear(tasks, network, work):  # type: ignore[no-untyped-def]
    """Nothing has begun."""
    packets, connections = work.packets, work.connections
    clear_events(work.events)
    clear_packets(packets, work.links)
    connections.unused[0] = -1
    connections.n[0] = 0
    connections.timeouts[0] = 0
    work.lockstep.alive[:] = 0
    work.lockstep.others[:] = 0
    clear_queues(tasks, work.queues, work.waiting, network.n_server)


@inlined
def _picoseconds(seconds):  # type: ignore[no-untyped-def]
    return np.int64(seconds * 1e12 + 0.01)


@inlined
def _start_computing(tasks, work, now):  # type: ignore[no-untyped-def]
    """Start the first waiting task of every idle server."""
    queues = work.queues
    for i in range(queues.n_wake[0]):
        task = next_waiting(queues, queues.wake[i])
        if task >= 0:
            work.start[task] = now * 1e-12
            schedule(work.events, now + _picoseconds(tasks.seconds[task]), TASK_ENDS + 8 * np.int64(task))
    queues.n_wake[0] = 0


@inlined
def _release(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Let a task begin whose predecessors have ended."""
    work.start[task] = now * 1e-12
    if tasks.kind[task] <= BACKWARD:
        enqueue(work.queues, tasks.place[task], task, tasks.rank[task], now * 1.0)
    else:
        schedule(work.events, now + _picoseconds(tasks.seconds[task]), TASK_STARTS + 8 * np.int64(task))


@called
def _end_task(tasks, work, task, now):  # type: ignore[no-untyped-def]
    """Free the server of a task that has ended, and release the tasks that waited for it alone."""
    work.end[task] = now * 1e-12
    if tasks.kind[task] <= BACKWARD:
        work.queues.running[tasks.place[task]] = -1
        wake(work.queues, tasks.place[task])
    for s in range(tasks.succ_ptr[task], tasks.succ_ptr[task + 1]):
        following = tasks.succ[s]
        work.waiting[following] -= 1
        if work.waiting[following] == 0:
            _release(tasks, work, following, now)


@inlined
def _serve(transport, events, packets, links, link, now):  # type: ignore[no-untyped-def]
    """The first packet in a link's queue has left: mark it if the queue is long, and begin with the next one."""
    p = links.served[link]
    if links.queued[link] > links.most_unmarked[link]:
        packets.marked[p] = True
    links.queued[link] -= 1 if packets.last_byte[p] == 1 else transport.packet_bytes
    packets.due[p] = now + links.latency[link]
    serve_first(packets, links, link)
    if links.n_pipe[link] == 1:
        schedule_link(events, packets.due[p], 2 * link + PIPE_ARRIVES)
    if links.n_queue[link] > 0:
        size = 1 if packets.last_byte[links.served[link]] == 1 else transport.packet_bytes
        schedule_link(events, now + size * links.byte[link], 2 * link + QUEUE_SERVED)
    else:
        schedule_link(events, NEVER, 2 * link + QUEUE_SERVED)
    play(events, link)


@inlined
def _open_later(work, task, ring, track, begin, end, size, patience, now):  # type: ignore[no-untyped-def]
    """Open a connection after everything else that is due now."""
    size = max(size, 2)  # the SYN's byte, and one that has a packet of its own
    c = new_connection(work, task, ring, track, begin, end, size, patience)
    if c >= 0:
        schedule(work.events, now, OPEN + 8 * np.int64(c))


@called
def _start_flows(tasks, network, routes, protocol, transport, work, task, now):  # type: ignore[no-untyped-def]
    """Open the connection of a transfer, or all of an all-reduce's first round; return 1 if it has ended with that."""
    reduces = work.reduces
    if tasks.kind[task] == NOMINAL_COMM:
        path = routes.transfer[task]
        begin, end = network.route_ptr[path], network.route_ptr[path + 1]
        if begin == end:
            _end_task(tasks, work, task, now)
            return 1
        _open_later(work, task, -1, -1, begin, end, tasks.bytes[task], transport.first_patience, now)
        return 0
    c = tasks.place[task]
    n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
    count = max(ring_count(tasks, network, protocol, c), 1)
    reduces.rings_open[task] = count
    for r in range(count):
        rounds = 2
        if not protocol.by_server:
            turn, apart = reduces.turn[c], reduces.apart[0]
            rounds, _ = ring_rounds(n, tasks.bytes[task], count, r, turn, apart, protocol)
        reduces.round[reduces.first[task] + r] = rounds
        if rounds == 0 or not _open_round(tasks, network, routes, protocol, transport, work, task, r, now):
            reduces.rings_open[task] -= 1
    if reduces.rings_open[task] > 0:
        return 0
    _end_task(tasks, work, task, now)
    return 1


@called
def _open_round(tasks, network, routes, protocol, transport, work, task, r, now):  # type: ignore[no-untyped-def]
    """Open the connections of a round of ring ``r`` of an all-reduce; return whether there are any."""
    reduces = work.reduces
    ring = reduces.first[task] + r
    c = tasks.place[task]
    n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
    own = ring_count(tasks, network, protocol, c)
    size = np.int64(tasks.bytes[task])
    if not protocol.by_server:
        n_ring = max(own, 1)
        if reduces.apart[0]:
            place = (r - reduces.turn[c]) % n_ring
            size = ring_part(n, size, n_ring, place, protocol.packet_bytes, protocol.small_packet_bytes)
            n_ring = 1
        if size < protocol.small_packet_bytes * n:
            size = 2 * (n - 1) * size // n
        size = size // n // n_ring
    patience = transport.first_patience if own > 0 else transport.first_ring_patience
    phase = 2 - reduces.round[ring] if protocol.by_server else -1
    lanes = work.lockstep
    track = lanes.track[lanes.first[c] + r]
    if track >= 0:
        followed = lanes.edge[lanes.edge_ptr[lanes.first[c] + r]]
        begin, end = edge_hops(tasks, network, routes, protocol, c, r, followed, phase)
        reduces.open[ring] = 1
        _open_later(work, task, r, track, begin, end, size, patience, now)
        return True
    reduces.open[ring] = 0
    for m in range(n):
        begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, phase)
        if begin < end:
            reduces.open[ring] += 1
            _open_later(work, task, r, -1, begin, end, size, patience, now)
    return reduces.open[ring] > 0


@called
def _end_connection(tasks, network, routes, protocol, transport, work, c, now):  # type: ignore[no-untyped-def]
    """All bytes of a connection have arrived; return 1 if that was the last of its task."""
    connections, reduces = work.connections, work.reduces
    task, r = connections.task[c], connections.ring[c]
    if r >= 0:
        ring = reduces.first[task] + r
        reduces.open[ring] -= 1
        if reduces.open[ring] > 0:
            return 0
        reduces.round[ring] -= 1
        if reduces.round[ring] > 0:
            _open_round(tasks, network, routes, protocol, transport, work, task, r, now)
            return 0
        reduces.rings_open[task] -= 1
        if reduces.rings_open[task] > 0:
            return 0
    _end_task(tasks, work, task, now)
    return 1


@inlined
def _look_at_timers(transport, work, now):  # type: ignore[no-untyped-def]
    """Connections whose timer is over begin again, a little later, see `flexnet.simulate.kernels.dctcp.go_back`."""
    connections = work.connections
    for c in range(connections.n[0]):
        if connections.timer[c] < now and not connections.done[c]:
            late = now - connections.timer[c]
            while late > transport.tick:
                late >>= 1
            connections.patience[c] *= 2
            connections.timer[c] = now + connections.patience[c]
            track = connections.track[c]
            connections.timeouts[0] += work.lockstep.n_lane[track] if track >= 0 else 1
            schedule(work.events, now + (transport.tick - late) // 200, GO_BACK + 8 * np.int64(c))
