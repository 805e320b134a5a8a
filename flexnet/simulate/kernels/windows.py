"""Which share of a link DCTCP's windows give a flow beside others, by how much it has sent and over how many links.

Flows in one queue are served as their windows are.  A *young* flow's window grows with every acknowledgement until
marks come back and have brought it down, which takes some 700 packets; until then it has nearly all of a link beside
*old* flows, whose windows are marked down, and as much as other young ones.  Over several links that others use too an
old flow is marked on each of them, so that its share falls towards hops^-2; a link that it has for itself does not mark
it.  A transfer is young, then old.  Every round of a ring is a flow of its own on every edge, freshly opened and young
at first; all rounds meet the same links, so a ring has one weight, that of a whole round of P packets beside old flows,
P / (P - 720) or more, as if it shared all of its longest edge.

A transfer of no more than a first window is put into the queue of its link as a whole when it starts.  Of such ones
over one link the first to start is served first: they have as much of it together as if they shared it, and each has
that when its turn comes.  (On their way over several links packets of some get between those of others.)

The numbers are from small experiments with FlexNetPacket: an edge of a ring beside a long transfer over one link weighs
12, 5.4, 2.5, 1.7, 1.3 and 1.2 with rounds of 784, 896, 1120, 1340 to 1790, 3360 and 6700 packets, and more below: with
the first 720 ahead of everything, it would weigh 12, 5.1, 2.8, 2.2 to 1.7, 1.3 and 1.1.  A transfer over two congested
links has 0.46, 0.30 and 0.20 of what both links carry after 2,000, 6,400 and 27,800 packet times.
"""

from flexnet.kernels import inlined

__all__ = ["BURST", "LENGTHS", "OLD", "YOUNG", "YOUTH", "age_at_start", "length_of", "share_of"]

# Packets from which a round is of the next length, what it weighs over one link, and the power of hops that falls with.
PACKETS = (850.0, 1250.0, 2800.0)
SHARES = (12.0, 3.5, 1.5, 1.0)
POWERS = (0.0, 0.3, 1.2, 2.0)
LENGTHS = len(SHARES)

YOUNG, OLD = 0, LENGTHS - 1  # transfers weigh as the shortest rounds, then as the longest
BURST = 1  # young ones over one link that are sent at once, one after the other
YOUTH = 720.0  # packets that a transfer sends before it is marked down


@inlined
def length_of(size, protocol):  # type: ignore[no-untyped-def]
    """Which of the `LENGTHS` a round of ``size`` bytes has; 0 where that makes no difference."""
    length = 0
    if protocol.by_window:
        for packets in PACKETS:
            if size >= packets * protocol.packet_bytes:
                length += 1
    return length


@inlined
def age_at_start(size, hops, protocol):  # type: ignore[no-untyped-def]
    """Of a transfer of ``size`` bytes over so many links: `YOUNG`, or `BURST`."""
    if protocol.by_window and hops == 1 and size <= protocol.first_window * protocol.packet_bytes:
        return BURST
    return YOUNG


@inlined
def share_of(length, shared):  # type: ignore[no-untyped-def]
    """What a flow of a length weighs that shares so many links of its path."""
    return SHARES[length] * max(shared, 1) ** -POWERS[length]
