"""Scratch memory of a simulation packet by packet, as its kernels see it; times are whole picoseconds.

Packets wait in the queue of a link, then travel in its *pipe* for as long as its latency.  Both are first in, first
out, so a link has at most two events at a time: the packet being sent leaves, and the first in the pipe arrives.
Single numbers that kernels change are arrays of shape (1,).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.simulate.kernels.fair_state import Queues
from flexnet.structs import struct

__all__ = ["Connections", "Events", "PacketLinks", "PacketWork", "Packets", "Reduces", "Transport"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@struct
class Events(NamedTuple):
    """A tournament of links and a heap of others, see `flexnet.simulate.kernels.packet_events`.

    Parameters
    ----------
    time, order, item : int64 (n_event,)
        The heap: when (picoseconds), as which event it was scheduled, what.
    n : int64 (1,)
        How many are in the heap.
    of_link, of_link_order : int64 (2 * n_leaf,)
        When and as which event, of links, two places each; n_leaf is a power of two, no less than links.
    winner : int64 (2 * n_leaf,)
        A tree over links, the root at 1, a link itself at n_leaf + link: the place with the first event below.
    made : int64 (1,)
        Events that were ever scheduled.
    full : bool (1,)
        Whether this struct or another one was too small, and what was simulated is void.
    """

    time: Ints
    order: Ints
    item: Ints
    n: Ints
    of_link: Ints
    of_link_order: Ints
    winner: Ints
    made: Ints
    full: npt.NDArray[np.bool_]


@struct
class Packets(NamedTuple):
    """Packets under way.

    Parameters
    ----------
    connection : int64 (n_packet,)
    hop : int64 (n_packet,)
        Where in ``PacketWork.hops`` the link is whose queue or pipe it is in.
    last_byte : int64 (n_packet,)
        Of the connection's bytes; 1 for a SYN, which is one byte.
    sent : int64 (n_packet,)
        When it left its sender.
    due : int64 (n_packet,)
        When it leaves the pipe it is in.
    marked : bool (n_packet,)
    following : int64 (n_packet,)
        The next one in the same queue, pipe, or list of unused ones.
    unused : int64 (1,)
        The first packet that is not under way, or -1.
    """

    connection: Ints
    hop: Ints
    last_byte: Ints
    sent: Ints
    due: Ints
    marked: npt.NDArray[np.bool_]
    following: Ints
    unused: Ints


@struct
class PacketLinks(NamedTuple):
    """Links; int64 (n_link,).

    Parameters
    ----------
    byte, latency
        Picoseconds that a byte takes, and of latency.
    most_unmarked
        Bytes in the queue up to which no packet is marked.
    first, last, pipe_first, pipe_last
        Packets in queue and pipe; first is -1 if there is none.
    queued
        Bytes.
    """

    byte: Ints
    latency: Ints
    most_unmarked: Ints
    first: Ints
    last: Ints
    queued: Ints
    pipe_first: Ints
    pipe_last: Ints


@struct
class Connections(NamedTuple):
    """Both ends of every connection; int64 (n_connection,) unless said otherwise; bytes are numbered from 1, the SYN's.

    Parameters
    ----------
    begin, end
        Its links in ``PacketWork.hops``.
    size
        Bytes to send.
    task, ring
        The task it is of, and its ring's place among those of the all-reduce; -1 for a transfer.
    sent_to, acked, received
        Last byte that was sent, acknowledged, and received in order.
    window, threshold
        Bytes; of congestion window and slow start.
    open : bool
        Whether the SYN has been acknowledged.
    seen, marked, cycle, fraction
        DCTCP: acknowledgements and marks since the last update, bytes until the next, moving average of marks, which
        is float64.
    rtt, deviation, patience, timer
        Smoothed round trip and its deviation; time without news after which packets are sent again, and when that is.
    duplicates, recovering, recover_to
        Fast recovery.
    under_way
        Packets in the network.
    done : bool
    following
        The next one in the list of unused ones; ``unused`` (1,) is the first, ``n`` (1,) those ever used.
    timeouts : int64 (1,)
        Timers that went off, of all connections.
    """

    begin: Ints
    end: Ints
    size: Ints
    task: Ints
    ring: Ints
    sent_to: Ints
    acked: Ints
    received: Ints
    window: Ints
    threshold: Ints
    open: npt.NDArray[np.bool_]
    seen: Ints
    marked: Ints
    cycle: Ints
    fraction: Floats
    rtt: Ints
    deviation: Ints
    patience: Ints
    timer: Ints
    duplicates: Ints
    recovering: npt.NDArray[np.bool_]
    recover_to: Ints
    under_way: Ints
    done: npt.NDArray[np.bool_]
    following: Ints
    unused: Ints
    n: Ints
    timeouts: Ints


class Transport(NamedTuple):
    """Integers of a `flexnet.simulate.protocol.Protocol`: bytes, packets, picoseconds."""

    packet_bytes: int
    first_window: int
    slow_start: int
    gain: float
    first_patience: int
    first_ring_patience: int
    least_patience: int
    tick: int


@struct
class Reduces(NamedTuple):
    """Rings of all-reduces under way.

    Parameters
    ----------
    first : int64 (n_task,)
        Place of the first ring of every all-reduce task in the other arrays.
    round, open : int64 (n_ring,)
        Rounds that are left, this one included, and connections of this round that are.
    rings_open : int64 (n_task,)
        Rings of every all-reduce that have rounds left.
    apart : bool (1,)
        Whether every ring counts as an all-reduce of its own (`flexnet.simulate.kernels.rings.rings_apart`).
    """

    first: Ints
    round: Ints
    open: Ints
    rings_open: Ints
    apart: npt.NDArray[np.bool_]


@struct
class PacketWork(NamedTuple):
    """Everything together.

    ``start`` and ``end`` of every task are in seconds; ``waiting`` counts the predecessors it waits for; ``roots`` are
    the tasks that wait for none, in the order in which they begin; ``hops`` are the links of all routes, then of all
    rings, then of all cycles; ``stop`` is `flexnet.kernels.STOP`.
    """

    events: Events
    start: Floats
    end: Floats
    waiting: Ints
    roots: Ints
    queues: Queues
    hops: npt.NDArray[np.int32]
    packets: Packets
    links: PacketLinks
    connections: Connections
    reduces: Reduces
    stop: Ints
