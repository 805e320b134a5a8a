"""What a transport protocol adds to fluid flows: named parameters, and presets of them.

Nothing here is fitted: values are settings of FlexNetPacket, read in its source or measured on graphs made for it
(docs/replay.md).  What `Protocol.by_window` stands for is told in `flexnet.simulate.kernels.windows`.
"""

from typing import NamedTuple

from flexnet.errors import FlexNetError
from flexnet.plan.ring_packets import FLEXNETPACKET, RingPackets

__all__ = ["FLUID", "PACKET", "PROTOCOLS", "ROCE", "TCP", "Protocol", "protocol_called"]


class Protocol(NamedTuple):
    """Protocol effects; what is said of FlexNetPacket was found by running it on graphs made for the purpose.

    Parameters
    ----------
    packet_bytes : float
        Payload of a packet.  Switches and forwarding servers pass packets on whole, so every hop after the first
        delays a message by one packet, and a flow is whole packets: ceil((bytes - 1) / packet_bytes), at least one,
        in every round of a ring too.  0 for a fluid.
    round_trips : float
        One-way trips before the last byte arrives: 2 where a SYN crosses before the data, 1 for a bare wire.
    by_window : bool
        For fluid flows: shares of a link are as DCTCP's windows (`flexnet.simulate.kernels.windows`), not equal.
    small_packet_bytes : float
        An all-reduce of at most 2 (g-1) times this over g servers runs in one round, which from g times this on
        carries size/g an edge, and below 2 (g-1)/g times that: a short cut of the packet simulator, not of any
        network; 0 for never.
    rings_by_index : bool
        Rings of a flat network start at the server whose id is a member's *index* in its group, not at the member:
        what FlexNetPacket does.  The same for the group of all servers; another ring for others.
    by_server : bool
        All-reduces go through a parameter server instead of a ring: all members send everything to the first one
        and, when that has all, it sends everything back (FlexNetPacket's ``-ar ps``).
    by_packet : bool
        Replays follow every packet, if there are not too many (`flexnet.simulate.packets`); the fields below are for
        that.  Fair sharing knows ``first_window``, ``least_patience`` and ``tick`` of them.
    first_window : int
        Packets a connection sends at once when it is open.
    slow_start : int
        Packets up to which a window grows by one for every acknowledgement; FlexNetPacket's ``-ssthresh``.
    mark_packets : int
        Packets in a link's queue above which one that leaves it is marked.
    gain : float
        Weight of the newest window in DCTCP's moving average of marks (SIGCOMM 2010, equation 1).
    first_patience, first_ring_patience : float
        Seconds until a SYN is sent again: of a transfer or an edge of the network's rings, and of an edge along routes.
    least_patience : float
        Seconds, the least until data is sent again.
    tick : float
        Seconds between two looks at all timers.
    host_marks : bool
        Whether queues at servers mark packets, as those of switches do.
    """

    packet_bytes: float
    round_trips: float
    by_window: bool
    small_packet_bytes: float
    rings_by_index: bool = False
    by_server: bool = False
    by_packet: bool = False
    first_window: int = 100
    slow_start: int = 10_000
    mark_packets: int = 50
    gain: float = 1 / 16
    first_patience: float = 10e-3
    first_ring_patience: float = 1e-3
    least_patience: float = 10e-3
    tick: float = 1e-3
    host_marks: bool = True

    @property
    def ring_packets(self) -> RingPackets:
        """By which an all-reduce over several rings is divided."""
        return RingPackets(self.packet_bytes, self.small_packet_bytes)


PACKET = Protocol(
    packet_bytes=FLEXNETPACKET.packet_bytes,
    round_trips=2.0,
    by_window=True,
    small_packet_bytes=FLEXNETPACKET.small_bytes,
    rings_by_index=True,
    by_packet=True,
)
"""What FlexNetPacket does: DCTCP on 8936 B packets, SYN first, first in first out on every link, short cuts."""

TCP = PACKET._replace(small_packet_bytes=0.0, rings_by_index=False)
"""The same transport on a real network: every round of every all-reduce, rings where they are meant."""

ROCE = Protocol(packet_bytes=4096.0, round_trips=1.0, by_window=False, small_packet_bytes=0.0)
"""RoCE v2 with DCQCN, as clusters run it today; assumptions, not measurements.

Queue pairs stay open, so no SYN and no window to begin with; messages of an all-reduce follow each other on them and
keep their rate, so an edge of a ring weighs what a transfer does; DCQCN (Zhu et al., SIGCOMM 2015) converges to equal
rates at a bottleneck whatever the hops; links are lossless, so nothing times out.  4096 B is InfiniBand's largest MTU.
"""

FLUID = Protocol(packet_bytes=0.0, round_trips=1.0, by_window=False, small_packet_bytes=0.0)
"""Ideal flows: bytes over bandwidth plus latency, nothing else."""

PROTOCOLS = {"flexnetpacket": PACKET, "dctcp": TCP, "fluid": FLUID, "roce": ROCE}
"""By the names ``--protocol`` takes."""


def protocol_called(name: str) -> Protocol:
    """A protocol by its name in `PROTOCOLS`.

    Raises
    ------
    FlexNetError
        If none is called so.

    Examples
    --------
    >>> protocol_called("dctcp") is TCP
    True
    """
    if name not in PROTOCOLS:
        raise FlexNetError(f"unknown protocol {name!r}; choose one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]
