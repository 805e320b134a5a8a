"""Rings whose edges do the same at the same time: one of them is followed, and stands for all.

The links of an edge of a ring are its *lane*.  Where the lanes of a ring share no link, are alike, and carry nothing
but rounds of rings over just these lanes, all are in the same state at any time, to the picosecond and to the order of
events: the first lane is simulated alone (`flexnet.simulate.kernels.packet_state.Lockstep`).  As soon as something else
is to be sent over one of their links, the state of the first is copied to the others, and all go on by themselves until
their links are empty again.
"""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.simulate.kernels.dctcp import open_connection
from flexnet.simulate.kernels.packet_events import GO_BACK, NEVER, play, schedule
from flexnet.simulate.kernels.packet_queues import after, push, serve_first
from flexnet.simulate.kernels.rings import edge_hops

__all__ = ["begin_connection", "end_of_connection", "new_connection"]

NOT_OPEN = -1  # packets under way of a connection that is to open


@inlined
def new_connection(work, task, ring, track, begin, end, size, patience):  # type: ignore[no-untyped-def]
    """A connection over links ``begin`` to ``end`` that is to open; -1 if there is no room.

    One that is followed for all edges of ring ``ring`` has a ``track``; others have -1.
    """
    connections = work.connections
    c = connections.unused[0]
    if c >= 0:
        connections.unused[0] = connections.following[c]
    elif connections.n[0] < connections.begin.shape[0]:
        c = connections.n[0]
        connections.n[0] += 1
    else:
        work.events.full[0] = True
        return -1
    connections.done[c] = False
    connections.timer[c] = NEVER
    connections.patience[c] = patience
    connections.task[c] = task
    connections.ring[c] = ring
    connections.track[c] = track
    connections.under_way[c] = NOT_OPEN
    connections.begin[c] = begin
    connections.end[c] = end
    connections.size[c] = size
    return c


@called
def begin_connection(tasks, network, routes, protocol, transport, work, c, now):  # type: ignore[no-untyped-def]
    """Open a connection; of one that is followed for all edges of a ring, each by itself if they meet others."""
    connections, lanes = work.connections, work.lockstep
    track = connections.track[c]
    if track < 0:
        _meet(tasks, network, routes, protocol, work, c)
        open_connection(transport, work, c, now)
        return
    if lanes.others[track] == 0:
        if lanes.alive[track] == 0:
            lanes.begun_by[track] = lanes.first[tasks.place[connections.task[c]]] + connections.ring[c]
        lanes.alive[track] += 1
        for i in range(lanes.near_ptr[track], lanes.near_ptr[track + 1]):
            lanes.others[lanes.near[i]] += 1
        open_connection(transport, work, c, now)
        return
    task, r = connections.task[c], connections.ring[c]
    reduces = work.reduces
    collective = tasks.place[task]
    n = tasks.group_ptr[collective + 1] - tasks.group_ptr[collective]
    followed = lanes.edge[lanes.edge_ptr[lanes.first[collective] + r]]
    size, patience = connections.size[c], connections.patience[c]
    reduces.open[reduces.first[task] + r] = n
    connections.track[c] = -1
    for m in range(n):
        one = c
        if m != followed:
            begin, end = edge_hops(tasks, network, routes, protocol, collective, r, m, -1)
            one = new_connection(work, task, r, -1, begin, end, size, patience)
            if one < 0:
                return
        _meet(tasks, network, routes, protocol, work, one)
        open_connection(transport, work, one, now)


@called
def end_of_connection(work, c):  # type: ignore[no-untyped-def]
    """Connection ``c`` is done and none of its packets is under way: its place may be taken by another."""
    connections, lanes = work.connections, work.lockstep
    track = connections.track[c]
    if track >= 0:
        lanes.alive[track] -= 1
        for i in range(lanes.near_ptr[track], lanes.near_ptr[track + 1]):
            lanes.others[lanes.near[i]] -= 1
    else:
        _count(work, c, -1)
    connections.under_way[c] = NOT_OPEN
    connections.following[c] = connections.unused[0]
    connections.unused[0] = c


@inlined
def _count(work, c, one):  # type: ignore[no-untyped-def]
    """Count connection ``c`` among those that tracks meet on their links, or (-1) no longer."""
    lanes = work.lockstep
    for h in range(work.connections.begin[c], work.connections.end[c]):
        link = work.hops[h]
        for i in range(lanes.of_link_ptr[link], lanes.of_link_ptr[link + 1]):
            lanes.others[lanes.of_link[i]] += one


@inlined
def _meet(tasks, network, routes, protocol, work, c):  # type: ignore[no-untyped-def]
    """Part the lanes that connection ``c`` touches, which goes by itself."""
    lanes = work.lockstep
    for h in range(work.connections.begin[c], work.connections.end[c]):
        link = work.hops[h]
        for i in range(lanes.of_link_ptr[link], lanes.of_link_ptr[link + 1]):
            if lanes.alive[lanes.of_link[i]] > 0:
                _part(tasks, network, routes, protocol, work, lanes.of_link[i])
    _count(work, c, 1)


@called
def _part(tasks, network, routes, protocol, work, track):  # type: ignore[no-untyped-def]
    """Give every lane of a track what the first one has; from now on each goes by itself."""
    connections, lanes, reduces = work.connections, work.lockstep, work.reduces
    n_used = connections.n[0]  # twins come after these, or in places of others that are not open
    order = lanes.edge_ptr[lanes.begun_by[track]]
    for lane in range(1, lanes.n_lane[track]):
        for c in range(n_used):
            if connections.track[c] != track or connections.under_way[c] == NOT_OPEN:
                continue
            task, r = connections.task[c], connections.ring[c]
            collective = tasks.place[task]
            edge = lanes.edge[lanes.edge_ptr[lanes.first[collective] + r] + lane]
            begin, end = edge_hops(tasks, network, routes, protocol, collective, r, edge, -1)
            twin = new_connection(work, task, r, -1, begin, end, connections.size[c], connections.patience[c])
            if twin < 0:
                return
            _copy_connection(connections, c, twin)
            connections.twin[c] = twin
            _count(work, twin, 1)
            _go_back_too(work.events, c, twin)
            if not connections.done[c]:
                reduces.open[reduces.first[task] + r] += 1
        for h in range(lanes.n_hop[track]):
            first = lanes.ptr[track] + h
            _copy_link(work, lanes.link[first], lanes.link[first + lane * lanes.n_hop[track]], lanes.edge[order + lane])
            if work.events.full[0]:
                return
    for h in range(lanes.n_hop[track]):
        _move_back(work.events, lanes.link[lanes.ptr[track] + h], lanes.edge[order])
    for c in range(n_used):
        if connections.track[c] == track and connections.under_way[c] != NOT_OPEN:
            connections.track[c] = -1
            _count(work, c, 1)
            for i in range(lanes.near_ptr[track], lanes.near_ptr[track + 1]):
                lanes.others[lanes.near[i]] -= 1
    lanes.alive[track] = 0


@inlined
def _copy_connection(connections, c, twin):  # type: ignore[no-untyped-def]
    """What a connection has sent, heard and waits for; its task, links and size are known."""
    connections.sent_to[twin] = connections.sent_to[c]
    connections.acked[twin] = connections.acked[c]
    connections.received[twin] = connections.received[c]
    connections.window[twin] = connections.window[c]
    connections.threshold[twin] = connections.threshold[c]
    connections.open[twin] = connections.open[c]
    connections.seen[twin] = connections.seen[c]
    connections.marked[twin] = connections.marked[c]
    connections.cycle[twin] = connections.cycle[c]
    connections.fraction[twin] = connections.fraction[c]
    connections.rtt[twin] = connections.rtt[c]
    connections.deviation[twin] = connections.deviation[c]
    connections.timer[twin] = connections.timer[c]
    connections.duplicates[twin] = connections.duplicates[c]
    connections.recovering[twin] = connections.recovering[c]
    connections.recover_to[twin] = connections.recover_to[c]
    connections.under_way[twin] = connections.under_way[c]
    connections.done[twin] = connections.done[c]


@inlined
def _go_back_too(events, c, twin):  # type: ignore[no-untyped-def]
    """Where the timer of a connection has gone off and it is about to go back, so is its twin."""
    for i in range(events.n[0]):
        if events.item[i] == GO_BACK + 8 * c:
            schedule(events, events.time[i], GO_BACK + 8 * twin)
            return


@called
def _copy_link(work, link, other, edge):  # type: ignore[no-untyped-def]
    """Put twins of all packets of a link in the queue and pipe of another, which are empty; and its events.

    Of what is due at one time edges come one after the other, in the order in which the first ring there opened them.
    """
    packets, links, connections, events = work.packets, work.links, work.connections, work.events
    n_pipe = links.n_pipe[link]
    p = links.head[link]
    for i in range(n_pipe + links.n_queue[link]):
        c = packets.connection[p]
        twin = connections.twin[c]
        hop = packets.hop[p] - connections.begin[c] + connections.begin[twin]
        if not push(packets, links, other, twin, hop, packets.last_byte[p], packets.sent[p], packets.marked[p]):
            events.full[0] = True
            return
        packets.due[links.write[other] - 1] = packets.due[p]
        if i < n_pipe:
            serve_first(packets, links, other)
        p = after(packets, p)
    links.queued[other] = links.queued[link]
    for place in range(2):
        events.of_link[2 * other + place] = events.of_link[2 * link + place]
        events.of_link_order[2 * other + place] = events.of_link_order[2 * link + place]
    _move_back(events, other, edge)


@inlined
def _move_back(events, link, edge):  # type: ignore[no-untyped-def]
    """Let the events of a link of an edge be after those of the edges before it."""
    events.of_link_order[2 * link] += edge
    events.of_link_order[2 * link + 1] += edge
    play(events, np.int64(link))
