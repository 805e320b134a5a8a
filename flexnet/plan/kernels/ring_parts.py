"""What every ring of an all-reduce carries, where files tell each as an all-reduce of its own: whole packets a round.

An edge of a ring carries a part of the bytes in every round, in whole packets.  Equal parts over several rings waste
most of a packet a ring: 2.4 MB over 32 servers are 8.3 packets a round, and four rings of equal parts 12.  Dealt out as
packets, rings carry 3, 2, 2 and 2 of them.  Those that carry one more than others take turns.

NCCL too uses fewer channels where there is little to reduce.
"""

import numpy as np

from flexnet.kernels import called, kernel

__all__ = ["deal_out", "ring_part", "turns_on"]


@called
def _packets_dealt(n, size, n_ring, packet_bytes, small_bytes):  # type: ignore[no-untyped-def]
    """How an all-reduce of ``size`` bytes over ``n`` servers is dealt out to at most ``n_ring`` rings.

    Returns
    -------
    used : int
        Rings that carry something.  No ring gets so little that FlexNetPacket would cut it short
        (`flexnet.plan.ring_packets.RingPackets`), unless equal parts over all rings are.
    each : int
        Packets that every one of them carries in a round; 0 if they carry equal bytes, as where that takes no more.
    more : int
        How many of them carry one more.
    """
    least_told = 2.0 * (n - 1) * small_bytes
    if packet_bytes == 0.0 or size <= n_ring * least_told:
        return np.int64(n_ring), np.int64(0), np.int64(0)
    packets = np.int64(max(np.ceil((size / n - 1.0) / packet_bytes), 1.0))
    least = np.int64(least_told / (n * packet_bytes)) + 1
    used = max(min(np.int64(n_ring), packets // least), np.int64(1))
    more = packets % used
    return used, packets // used if more > 0 else np.int64(0), more


@called
def ring_part(n, size, n_ring, place, packet_bytes, small_bytes):  # type: ignore[no-untyped-def]
    """Bytes that a ring of an all-reduce of ``size`` bytes over ``n`` servers carries; -1 if the ring is left out.

    Parameters
    ----------
    n, size, n_ring : int
    place : int
        Of the ring, among ``n_ring``: 0 for the one that carries most.
    packet_bytes, small_bytes : float
        As of `flexnet.plan.ring_packets.RingPackets`.
    """
    used, each, more = _packets_dealt(n, size, n_ring, packet_bytes, small_bytes)
    if place >= used:
        return np.int64(-1)
    if each == 0:
        return np.int64(size // used + (1 if place < size % used else 0))
    packet = np.int64(packet_bytes) * n  # of all rounds in which something is reduced
    if place > 0:
        return np.int64(packet * (each + (1 if place < more else 0)))
    return np.int64(size - packet * ((more - 1) * (each + 1) + (used - more) * each))


@called
def turns_on(n, size, n_ring, packet_bytes, small_bytes):  # type: ignore[no-untyped-def]
    """By how many rings the place of most moves on after an all-reduce."""
    used, _, more = _packets_dealt(n, size, n_ring, packet_bytes, small_bytes)
    return more if used == n_ring else used


@kernel
def deal_out(n, size, n_ring, packet_bytes, small_bytes, parts):  # type: ignore[no-untyped-def]
    """What the rings of all-reduces carry, in the order of their tasks.

    Parameters
    ----------
    n, size, n_ring : int64 (n_reduce,)
        Servers, bytes, and rings to run over, 1 or more.
    packet_bytes, small_bytes : float
        As of `flexnet.plan.ring_packets.RingPackets`.
    parts : int64 (n_reduce, most)
        Receives bytes, -1 for rings that are left out or not there.
    """
    turn = np.int64(0)
    for i in range(n.shape[0]):
        parts[i] = -1
        for r in range(n_ring[i]):
            place = (r - turn) % n_ring[i]
            parts[i, r] = ring_part(n[i], size[i], n_ring[i], place, packet_bytes, small_bytes)
        turn += turns_on(n[i], size[i], n_ring[i], packet_bytes, small_bytes)
