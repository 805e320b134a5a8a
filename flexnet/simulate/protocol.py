"""What a transport protocol adds to fluid flows: named parameters, with the packet simulator's settings as defaults."""

from typing import NamedTuple

__all__ = ["FLUID", "PACKET", "TCP", "Protocol"]


class Protocol(NamedTuple):
    """Protocol effects; what is said of FlexNetPacket was found by running it on graphs made for the purpose.

    Parameters
    ----------
    packet_bytes : float
        Payload of a packet.  Switches and forwarding servers pass packets on whole, so every hop after the first
        delays a message by one packet.
    round_trips : float
        One-way trips before the last byte arrives: 2 where a SYN crosses before the data, 1 for a bare wire.
    ring_weight : float
        Share of a link an edge of a ring all-reduce gets beside a transfer.  A ring opens fresh connections every
        round, which start with a window of 100 packets; a transfer's window has by then been marked down to about
        the threshold of 50 packets in the queue.  Shares of a queue are as windows: 100 / 50 = 2.
    small_packet_bytes : float
        An all-reduce of at most 2 (g-1) times this over g servers runs in one round, which between g and 2 (g-1)
        times this carries only size/g: a shortcut of the packet simulator, not of any network; 0 for never.
    rings_by_index : bool
        Rings of a flat network start at the server whose id is a member's *index* in its group, not at the member:
        what FlexNetPacket does.  The same for the group of all servers; another ring for others.
    by_server : bool
        All-reduces go through a parameter server instead of a ring: all members send everything to the first one
        and, when that has all, it sends everything back (FlexNetPacket's ``-ar ps``).
    """

    packet_bytes: float
    round_trips: float
    ring_weight: float
    small_packet_bytes: float
    rings_by_index: bool = False
    by_server: bool = False


PACKET = Protocol(packet_bytes=8936.0, round_trips=2.0, ring_weight=2.0, small_packet_bytes=9000.0)
"""What FlexNetPacket does: 8936 B packets, SYN first, start window 100 and marking threshold 50 packets, shortcuts."""

TCP = PACKET._replace(small_packet_bytes=0.0)
"""The same transport with every round of every all-reduce: what plans are priced with."""

FLUID = Protocol(packet_bytes=0.0, round_trips=1.0, ring_weight=1.0, small_packet_bytes=0.0)
"""Ideal flows: bytes over bandwidth plus latency, nothing else."""
