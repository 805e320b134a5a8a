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

__all__ = ["Connections", "Events", "Lockstep", "PacketLinks", "PacketWork", "Packets", "Reduces", "Transport"]

Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
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
        Events that were ever scheduled, times ``APART``.
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
    """Packets under way, in chunks; see `flexnet.simulate.kernels.packet_queues`.

    Parameters
    ----------
    connection : int32 (n_packet,)
    hop : int32 (n_packet,)
        Where in ``PacketWork.hops`` the link is whose queue or pipe it is in.
    last_byte : int64 (n_packet,)
        Of the connection's bytes; 1 for a SYN, which is one byte.
    sent : int64 (n_packet,)
        When it left its sender.
    due : int64 (n_packet,)
        When it leaves the pipe it is in.
    marked : bool (n_packet,)
    next_chunk : int64 (n_chunk,)
        The one that the same link went on with, or the next one that is not in use.
    unused : int64 (1,)
        The first chunk that is not in use, or -1.
    """

    connection: Ints32
    hop: Ints32
    last_byte: Ints
    sent: Ints
    due: Ints
    marked: npt.NDArray[np.bool_]
    next_chunk: Ints
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
    head, served, write
        Where the first packet in the pipe is, or in the queue where that is empty; where the first in the queue is; and
        where the next one would be, in a new chunk if that is the end of one.
    n_pipe, n_queue
        Packets.
    queued
        Bytes in the queue.
    """

    byte: Ints
    latency: Ints
    most_unmarked: Ints
    head: Ints
    served: Ints
    write: Ints
    n_pipe: Ints
    n_queue: Ints
    queued: Ints


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
    track, twin
        The track of `Lockstep` all of whose lanes it is followed for, or -1; scratch.
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
        Packets in the network; -1 before it opens.
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
    track: Ints
    twin: Ints
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
    turn : int64 (n_allreduce,)
        By how many rings those that carry more have moved on (`flexnet.plan.kernels.ring_parts`).
    """

    first: Ints
    round: Ints
    open: Ints
    rings_open: Ints
    apart: npt.NDArray[np.bool_]
    turn: Ints


@struct
class Lockstep(NamedTuple):
    """Rings over the same lanes, see `flexnet.simulate.kernels.lockstep`: they run on the same *track*.

    Parameters
    ----------
    first : int64 (n_collective + 1,)
        The number of the first ring of every collective.
    track : int64 (n_ring,)
        That a ring runs on, or -1 where its edges cannot be followed together.
    edge_ptr : int64 (n_ring,)
    edge : int64 (n_edge,)
        ``edge[edge_ptr[ring] + lane]`` is the edge of a ring along a lane of its track; that of lane 0 is followed.
    n_lane, n_hop : int64 (n_track,)
        Lanes of a track, and links of each.
    ptr : int64 (n_track + 1,)
    link : int64 (n_lane_link,)
        Link h of lane k of a track is ``link[ptr[track] + k * n_hop[track] + h]``.
    sum_of : int64 (n_track,)
        A sum over lanes by which tracks are told apart.
    lane : int64 (n_link,)
        Scratch, -1.
    of_link_ptr : int64 (n_link + 1,)
    of_link : int64
        The tracks with a lane over a link.
    near_ptr : int64 (n_track + 1,)
    near : int64
        Other tracks that share links with a track.
    alive : int64 (n_track,)
        Connections that are followed for all lanes of a track.
    begun_by : int64 (n_track,)
        The ring that opened the first of them.
    others : int64 (n_track,)
        Connections on links of a track that are followed by themselves, once a link, or for a near track.
    """

    first: Ints
    track: Ints
    edge_ptr: Ints
    edge: Ints
    n_lane: Ints
    n_hop: Ints
    ptr: Ints
    link: Ints
    sum_of: Ints
    lane: Ints
    of_link_ptr: Ints
    of_link: Ints
    near_ptr: Ints
    near: Ints
    alive: Ints
    begun_by: Ints
    others: Ints


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
    hops: Ints32
    packets: Packets
    links: PacketLinks
    connections: Connections
    reduces: Reduces
    lockstep: Lockstep
    stop: Ints
