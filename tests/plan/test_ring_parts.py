"""All-reduces over several rings, dealt out as packets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import deal, ring_rounds, whole_packets

from flexnet.plan.kernels.ring_parts import deal_out
from flexnet.simulate.protocol import PACKET, ROCE, TCP

reduces = st.lists(
    st.tuples(st.integers(2, 200), st.integers(1, 60_000_000), st.integers(1, 9)), min_size=1, max_size=12
)


def dealt(sizes, protocol):
    """Parts of every all-reduce of (servers, bytes, rings), as lists; None for rings that are left out."""
    n, size, n_ring = np.array(sizes, np.int64).T.copy()
    parts = np.zeros((len(n), int(n_ring.max())), np.int64)
    deal_out(n, size, n_ring, protocol.packet_bytes, protocol.small_packet_bytes, parts)
    return [[each if each >= 0 else None for each in row[:k]] for row, k in zip(parts.tolist(), n_ring, strict=True)]


@given(sizes=reduces, protocol=st.sampled_from([PACKET, TCP, ROCE]))
def test_parts_are_those_of_packets_dealt_one_by_one(sizes, protocol):
    turn = 0
    for (n, size, n_ring), parts in zip(sizes, dealt(sizes, protocol), strict=True):
        expected, after = deal(n, size, n_ring, turn % n_ring, protocol)
        turn += (after - turn) % n_ring
        assert parts == expected
        assert sum(part or 0 for part in parts) == size


@given(
    n=st.integers(2, 200), size=st.integers(1, 10**8), n_ring=st.integers(1, 9), protocol=st.sampled_from([PACKET, TCP])
)
def test_no_more_packets_than_of_equal_parts(n, size, n_ring, protocol):
    """Of all rings together; and of any ring, but where some are left out as FlexNetPacket would cut them short."""

    def packets(part):
        rounds, own = ring_rounds(n, part, 1, protocol)
        return rounds * whole_packets(own, protocol)

    (parts,) = dealt([(n, size, n_ring)], protocol)
    found = [packets(part) for part in parts if part is not None]
    equal = packets(size / n_ring)
    assert sum(found) <= n_ring * equal * (1 + 1e-12)
    if protocol is TCP or len(found) == n_ring:
        assert max(found) <= equal * (1 + 1e-12)


@pytest.mark.parametrize(
    ("n", "size", "parts"),
    [
        (32, 2_359_296, [643_584, 571_904, 571_904, 571_904]),  # 8.3 packets a round
        (16, 1_000_000, [250_000] * 4),  # of equal parts FlexNetPacket runs one round
        (16, 50, [13, 13, 12, 12]),
    ],
)
def test_a_few_are_as_told(n, size, parts):
    assert dealt([(n, size, 4)], PACKET) == [parts]


def test_rings_that_carry_more_take_turns():
    first, second, third = dealt([(32, 2_359_296, 4)] * 3, PACKET)
    assert [np.argmax(parts) for parts in (first, second, third)] == [0, 1, 2]


def test_few_packets_go_around_few_rings_where_all_rounds_are_run():
    assert dealt([(64, 1_100_000, 4)], TCP) == [[550_000, 550_000, None, None]]
