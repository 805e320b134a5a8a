"""Circulant graphs for a demand."""

from math import gcd

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.network.demand import Demand
from flexnet.network.kernels.circulants import busiest_jumps
from flexnet.network.routes import circulant_coins
from flexnet.network.wiring.circulants import best_circulants, circulant

NO_GROUPS = np.zeros(0, np.int64), np.zeros(0)


def rng(seed=0):
    return np.random.default_rng(seed)


def busiest(jumps, sent, sizes=NO_GROUPS[0], volumes=NO_GROUPS[1]):
    found, n = np.empty((1, 1)), len(sent)
    coins = [coin for jump in jumps for coin in dict.fromkeys((jump, n - jump))]
    busiest_jumps(np.array([coins], np.int64), np.array([sent], np.float64), sizes, volumes[None], found)
    return float(found[0, 0])


@given(st.integers(3, 24), st.lists(st.integers(1, 12), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_links_carry_bytes_along_shortest_paths_alone(n, jumps, seed):
    """The mean over links is what hops by another library say, the busiest carries no less and at most all of it."""
    jumps = sorted(min(jump, n // 2) for jump in jumps)
    sent = rng(seed).random(n) * (rng(seed).random(n) < 0.5)
    sent[0] = 0.0
    topology = circulant(n, tuple(jumps))
    assert circulant_coins(topology) == tuple(sorted({*jumps, *(n - jump for jump in jumps)}))
    graph = nx.from_numpy_array(topology.links > 0)
    if not nx.is_connected(graph):
        assert busiest(jumps, sent) == np.inf
        return
    hops = nx.single_source_shortest_path_length(graph, 0)
    total = sum(sent[ahead] * hops[ahead] for ahead in range(n))
    most = busiest(jumps, sent)
    assert total / topology.links[0].sum() <= most * (1 + 1e-9)
    assert most <= total * (1 + 1e-9)


def test_bytes_take_all_shortest_paths_and_parallel_links():
    ahead = np.zeros(16)
    ahead[4] = 1.0
    assert busiest([1, 3], ahead) == 1.0  # by one of each
    assert busiest([1, 4], ahead) == 1.0
    assert busiest([4, 4, 1], ahead) == 0.5
    assert busiest([1, 3, 5], ahead) == pytest.approx(0.5)  # 1 + 3, or 5 and 1 back: twice as much over the first
    assert busiest([2, 2], ahead) == np.inf
    half = np.zeros(16)
    half[8] = 1.0
    assert busiest([1, 8], half) == 1.0
    two = np.zeros(12)
    two[2] = 1.0
    assert busiest([1, 4, 6], two) == pytest.approx(2 / 3)  # twice 1, or 6 ahead and 4 back, or the other way round


def test_rings_go_by_the_jumps_with_fewest_links():
    sizes, volumes = np.array([16, 4]), np.array([12.0, 0.0])
    assert busiest([1, 3], np.zeros(16), sizes, volumes) == 3.0  # 1, 3, 13, 15
    assert busiest([1, 4], np.zeros(16), sizes, volumes) == 6.0  # by 4 no ring goes through all
    volumes = np.array([0.0, 12.0])
    assert busiest([1, 4], np.zeros(16), sizes, volumes) == 6.0
    assert busiest([1, 3], np.zeros(16), sizes, volumes) == 6.0  # 1 and 3 ahead, or back: both by both


def test_neighbours_that_send_get_links():
    """Of all sets of jumps the one that carries everything over one link each is found."""
    n = 16
    server = np.arange(n)
    matrix = np.zeros((n, n))
    for ahead in (3, 13, 6, 10):
        matrix[server, (server + ahead) % n] = 1e6
    found = best_circulants(Demand(n, matrix, {}, {}), 4, 1, rng())
    assert [circulant_coins(topology) for topology in found] == [(3, 6, 10, 13)]
    quarters = {tuple(range(first, n, 4)): 1e6 for first in range(4)}
    (found,) = best_circulants(Demand(n, np.zeros((n, n)), {}, quarters), 2, 1, rng())
    assert circulant_coins(found) == (1, 15)  # by 4 alone not all are connected
    found, *_ = best_circulants(Demand(n, matrix / 10, {}, {**quarters, tuple(range(n)): 1e5}), 6, 1, rng())
    assert {3, 4} <= {*circulant_coins(found)}


@pytest.mark.compiled
@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_graphs_are_connected_within_the_degree_and_none_is_told_twice(n, degree, most, seed):
    draw = rng(seed)
    matrix = draw.random((n, n)) * (draw.random((n, n)) < 0.2) * (1 - np.eye(n))
    every = tuple(range(n))
    odd = tuple(sorted(draw.permutation(n)[: max(n // 3, 1)].tolist()))
    demand = Demand(n, matrix, {}, {every: 1.0, odd: 2.0, tuple(range(0, n, 2)): 3.0})
    found = best_circulants(demand, degree, most, rng(seed))
    assert len(found) <= 2 * most
    assert len({topology.links.tobytes() for topology in found}) == len(found)
    for topology in found:
        topology.check(degree)
        coins = circulant_coins(topology)
        assert gcd(n, *coins) == 1
        assert topology.links.sum(axis=1).max() <= degree
    again = best_circulants(demand, degree, most, rng(seed))
    assert [topology.links.tolist() for topology in again] == [topology.links.tolist() for topology in found]
    if n >= 5 and degree in (2, 4):
        assert found
