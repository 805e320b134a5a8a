"""Packets that rings of all-reduces are sent in, by which an all-reduce over several rings is divided."""

from typing import NamedTuple

__all__ = ["FLEXNETPACKET", "RingPackets"]


class RingPackets(NamedTuple):
    """Packets that an edge of a ring sends, whole ones in every round (`flexnet.plan.kernels.ring_parts`).

    Parameters
    ----------
    packet_bytes : float
        Payload; 0 where there are no packets, and parts are equal.
    small_bytes : float
        All-reduces of at most 2 (g - 1) times this over g servers are cut short
        (`flexnet.simulate.protocol.Protocol.small_packet_bytes`); 0 for never.
    """

    packet_bytes: float
    small_bytes: float


FLEXNETPACKET = RingPackets(8936.0, 9000.0)
