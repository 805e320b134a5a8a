"""Three matchings, of which any two make one cycle."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network.cubic import has_half, ring_and_half, third_matching, whole_and_half, with_whole


def links_of(cycle):
    return [frozenset(link) for link in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]


@given(st.integers(2, 100), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_every_link_is_in_two_of_three_cycles(half, seed):
    ring = np.random.default_rng(seed).permutation(3 * half)[: 2 * half].tolist()
    pairs = third_matching(ring, Random(seed))
    assert pairs is not None
    assert sorted(server for pair in pairs for server in pair) == sorted(ring)
    cycles = ring_and_half(ring, pairs)
    assert cycles[0] == tuple(ring)
    assert all(sorted(cycle) == sorted(ring) for cycle in cycles)
    links = [link for cycle in cycles for link in links_of(cycle)]
    assert all(links.count(link) == 2 for link in links)
    assert set(links) == {*links_of(ring), *map(frozenset, pairs)}
    assert has_half(cycles)
    assert not has_half([cycles[0], cycles[1], cycles[1]])
    assert not has_half(cycles[:2])
    assert third_matching(ring, Random(seed)) == pairs


@given(st.integers(2, 40), st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_whole_rings_are_told_twice_beside_a_half(half, n_whole, seed):
    """Every link of them is in two rings then, also where two rings have the same links, as of four servers."""
    rng = np.random.default_rng(seed)
    ring, *whole = ([0, *(1 + rng.permutation(2 * half - 1)).tolist()] for _ in range(n_whole + 1))
    halves = ring_and_half(ring, third_matching(ring, Random(seed)))
    told = with_whole([tuple(one) for one in whole], halves)
    assert len(told) == 3 + 2 * n_whole
    assert has_half(told)
    assert not has_half(told[1:])
    assert not has_half([*told, tuple(ring)])
    every = {cycle: sorted(map(sorted, links_of(cycle))) for cycle in told}
    found, three = whole_and_half(told)
    assert sorted(every[cycle] for cycle in found) == sorted(every[tuple(one)] for one in whole)
    assert sorted(every[cycle] for cycle in three) == sorted(every[cycle] for cycle in halves)


@pytest.mark.parametrize("n", [2, 3, 5, 17])
def test_two_servers_or_an_odd_number_have_no_third_matching(n):
    assert third_matching(range(n), Random(0)) is None
