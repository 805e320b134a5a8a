"""A DCTCP connection: what it sends when it opens, when news comes, and when none comes.

M. Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010; TCP as in RFC 5681 (windows), RFC 6298 (timers) and RFC 3782
(fast recovery).  Nothing is ever lost, so packets arrive in order; what is sent twice is sent for a timer's sake.
"""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.simulate.kernels.packet_events import NEVER, QUEUE_SERVED, play, schedule_link
from flexnet.simulate.kernels.packet_queues import push

__all__ = ["acknowledged", "enqueue_packet", "go_back", "open_connection"]


@inlined
def _size(transport, last_byte):  # type: ignore[no-untyped-def]
    """Bytes of a packet: a SYN is one byte."""
    return 1 if last_byte == 1 else transport.packet_bytes


@inlined
def enqueue_packet(  # type: ignore[no-untyped-def]
    transport, events, packets, links, link, c, hop, last_byte, sent, marked, now
):
    """Put a packet of connection ``c`` at the end of a link's queue."""
    size = _size(transport, last_byte)
    if not push(packets, links, link, c, hop, last_byte, sent, marked):
        events.full[0] = True
        return
    links.queued[link] += size
    if links.n_queue[link] == 1:
        schedule_link(events, now + size * links.byte[link], 2 * np.int64(link) + QUEUE_SERVED)
        play(events, np.int64(link))


@inlined
def _send(transport, work, c, last_byte, now):  # type: ignore[no-untyped-def]
    """Send a packet of connection ``c``."""
    connections = work.connections
    connections.under_way[c] += 1
    if connections.timer[c] == NEVER:
        connections.timer[c] = now + connections.patience[c]
    hop = connections.begin[c]
    enqueue_packet(transport, work.events, work.packets, work.links, work.hops[hop], c, hop, last_byte, now, False, now)


@called
def open_connection(transport, work, c, now):  # type: ignore[no-untyped-def]
    """Set a connection up whose links, size, task and patience are known, and send its SYN."""
    connections = work.connections
    connections.sent_to[c] = 1
    connections.acked[c] = 0
    connections.received[c] = 0
    connections.window[c] = transport.first_window * transport.packet_bytes
    connections.threshold[c] = transport.slow_start * transport.packet_bytes
    connections.open[c] = False
    connections.seen[c] = 0
    connections.marked[c] = 0
    connections.cycle[c] = 2 * transport.packet_bytes
    connections.fraction[c] = 0.0
    connections.rtt[c] = 0
    connections.deviation[c] = 0
    connections.duplicates[c] = 0
    connections.recovering[c] = False
    connections.recover_to[c] = 0
    connections.under_way[c] = 0
    _send(transport, work, c, 1, now)


@inlined
def _send_window(transport, work, c, now):  # type: ignore[no-untyped-def]
    """Send what the window has room for."""
    connections, size = work.connections, transport.packet_bytes
    while (
        connections.acked[c] + connections.window[c] >= connections.sent_to[c] + size
        and connections.sent_to[c] <= connections.size[c]
    ):
        connections.sent_to[c] += size
        _send(transport, work, c, connections.sent_to[c], now)


@inlined
def _send_again(transport, work, c, now):  # type: ignore[no-untyped-def]
    """Send the first packet again that has not been acknowledged."""
    connections = work.connections
    if connections.open[c]:
        _send(transport, work, c, connections.acked[c] + transport.packet_bytes, now)
    else:
        _send(transport, work, c, 1, now)


@inlined
def _shrink(transport, connections, c):  # type: ignore[no-untyped-def]
    """What a timer and three duplicates have in common."""
    connections.seen[c] = 0
    connections.marked[c] = 0
    connections.threshold[c] = max(connections.window[c] // 2, 2 * transport.packet_bytes)
    connections.cycle[c] = connections.window[c]


@inlined
def _heed_marks(transport, connections, c, marked):  # type: ignore[no-untyped-def]
    """DCTCP: once a window, take off half the moving average of the share of marks."""
    connections.seen[c] += 1
    if marked:
        connections.marked[c] += 1
        connections.threshold[c] = min(connections.threshold[c], connections.window[c])
    if connections.seen[c] * transport.packet_bytes < connections.cycle[c]:
        return
    share = connections.marked[c] / connections.seen[c]
    fraction = (1.0 - transport.gain) * connections.fraction[c] + transport.gain * share
    connections.fraction[c] = fraction
    connections.seen[c] = 0
    connections.marked[c] = 0
    if fraction > 0.0:
        connections.window[c] = max(
            np.int64(connections.window[c] * (1.0 - fraction / 2.0)), np.int64(transport.packet_bytes)
        )
        connections.threshold[c] = connections.window[c]
    connections.cycle[c] = connections.window[c]


@inlined
def _time(transport, connections, c, trip):  # type: ignore[no-untyped-def]
    """RFC 6298, section 2."""
    if trip != 0:
        if connections.rtt[c] > 0:
            connections.deviation[c] = 3 * connections.deviation[c] // 4 + abs(trip - connections.rtt[c]) // 4
            connections.rtt[c] = 7 * connections.rtt[c] // 8 + trip // 8
        else:
            connections.rtt[c] = trip
            connections.deviation[c] = trip // 2
        connections.patience[c] = connections.rtt[c] + 4 * connections.deviation[c]
    connections.patience[c] = max(connections.patience[c], transport.least_patience)


@inlined
def _grow(transport, connections, c):  # type: ignore[no-untyped-def]
    """Slow start, or one packet a window."""
    size = transport.packet_bytes
    room = min(connections.acked[c] + connections.window[c] - connections.sent_to[c], size)
    if room < 0:
        return
    if connections.window[c] < connections.threshold[c]:
        connections.window[c] += min(connections.threshold[c] - connections.window[c], room)
    else:
        connections.window[c] += room * size // connections.window[c]


@called
def acknowledged(transport, work, c, last_byte, sent, marked, now):  # type: ignore[no-untyped-def]
    """A packet of connection ``c`` has arrived, and its sender knows at once; return whether it was the last one."""
    connections, size = work.connections, transport.packet_bytes
    length = 1 if last_byte == 1 else size
    if last_byte - length == connections.received[c]:
        connections.received[c] = last_byte
    ack = connections.received[c]
    connections.under_way[c] -= 1
    if connections.done[c]:
        return False
    _heed_marks(transport, connections, c, marked)
    if ack < connections.acked[c]:
        return False
    if ack == 1:
        connections.open[c] = True
    _time(transport, connections, c, now - sent)
    if ack >= connections.size[c] and ack > 1:
        connections.done[c] = True
        connections.timer[c] = NEVER
        return True
    if ack > connections.acked[c]:
        connections.timer[c] = now + connections.patience[c]
        if ack >= connections.sent_to[c]:
            connections.sent_to[c] = ack
            connections.timer[c] = NEVER
        if not connections.recovering[c]:
            connections.acked[c] = ack
            connections.duplicates[c] = 0
            _grow(transport, connections, c)
        elif ack >= connections.recover_to[c]:
            connections.window[c] = min(connections.threshold[c], connections.sent_to[c] - ack + size)
            connections.acked[c] = ack
            connections.duplicates[c] = 0
            connections.recovering[c] = False
        else:
            connections.window[c] = max(connections.window[c] - (ack - connections.acked[c]), 0) + size
            connections.acked[c] = ack
            _send_again(transport, work, c, now)
    elif connections.recovering[c]:
        connections.window[c] += size
    else:
        connections.duplicates[c] += 1
        if connections.duplicates[c] == 3:
            if ack < connections.recover_to[c]:
                return False
            _shrink(transport, connections, c)
            _send_again(transport, work, c, now)
            connections.window[c] = connections.threshold[c] + 3 * size
            connections.recovering[c] = True
            connections.recover_to[c] = connections.sent_to[c]
            return False
    _send_window(transport, work, c, now)
    return False


@called
def go_back(transport, work, c, now):  # type: ignore[no-untyped-def]
    """The timer of connection ``c`` went off: begin again with the first packet that has not been acknowledged."""
    connections, size = work.connections, transport.packet_bytes
    if connections.recovering[c]:
        connections.window[c] = min(connections.threshold[c], connections.sent_to[c] - connections.acked[c] + size)
    _shrink(transport, connections, c)
    connections.window[c] = size
    connections.recovering[c] = False
    connections.recover_to[c] = connections.sent_to[c]
    if connections.open[c]:
        connections.sent_to[c] = connections.acked[c] + size
    connections.duplicates[c] = 0
    _send_again(transport, work, c, now)
