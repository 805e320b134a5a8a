import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network import matching
from flexnet.network.kernels.matching import heavy_matching
from flexnet.network.matching import add_matchings, match
from flexnet.network.totient import ring_links_matrix


def symmetric(n, seed, levels):
    demand = np.random.default_rng(seed).integers(0, levels, (n, n)).astype(float)
    demand = demand + demand.T
    np.fill_diagonal(demand, 0)
    return demand


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 12), seed=st.integers(0, 99), levels=st.sampled_from([1, 3, 1000]))
def test_perfect_and_as_heavy_as_networkx_finds(n, seed, levels):
    demand = symmetric(n, seed, levels)
    pairs = match(demand)
    assert len(pairs) == n // 2
    assert len({server for pair in pairs for server in pair}) == 2 * len(pairs)
    assert list(pairs) == sorted(pairs)
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, demand[a, b]) for a in range(n) for b in range(a))
    best = sum(demand[pair] for pair in nx.max_weight_matching(graph, maxcardinality=True))
    assert sum(demand[pair] for pair in pairs) == best
    assert match(demand * 7.0) == pairs


def test_many_servers_get_a_perfect_matching_too():
    hubs = np.zeros((90, 90))
    hubs[:9] = hubs[:, :9] = 1.0
    hubs[:9, :9] = 0.0
    for n, demand in ((90, hubs), (91, np.zeros((91, 91))), (128, symmetric(128, 1, 1000))):
        pairs = match(demand)
        assert len(pairs) == n // 2
        assert len({server for pair in pairs for server in pair}) == n // 2 * 2
    assert sum(hubs[pair] for pair in match(hubs)) == 9


def test_every_link_shrinks_the_demand_it_serves():
    demand = np.zeros((4, 4))
    demand[0, 1] = 10.0
    demand[2, 0] = 6.0
    empty = np.zeros((4, 4), np.int64)
    assert add_matchings(empty, demand, 1)[0].tolist() == [0, 1, 0, 0]
    assert add_matchings(empty, demand, 2)[0].tolist() == [0, 1, 1, 0]  # 10/2 < 6
    assert add_matchings(empty, demand, 3)[0].tolist() == [0, 2, 1, 0]  # 10/2 > 6/2
    assert add_matchings(empty, demand, 4)[0].tolist() == [0, 3, 1, 0]  # 10/3 > 6/2
    ring = ring_links_matrix(4, (1,))
    assert add_matchings(ring, demand, 1)[0].tolist() == [0, 1, 1, 1]  # the ring serves 0-1 already
    assert not empty.any()


def test_tiny_demands_count_too():
    demand = np.zeros((4, 4))
    demand[0, 3] = demand[3, 0] = 5e-324
    assert match(demand) == ((0, 3), (1, 2))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_degree_of_matchings(n):
    links = add_matchings(np.zeros((n, n), np.int64), np.zeros((n, n)), 3)
    assert (links == links.T).all()
    assert links.sum() == 2 * 3 * (n // 2)
    assert links.sum(axis=1).max(initial=0) <= 3


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 14), seed=st.integers(0, 99), levels=st.sampled_from([1, 3, 1000]))
def test_of_thousands_of_servers_partners_have_much_for_each_other(n, seed, levels):
    demand = symmetric(n, seed, levels)
    partner = heavy_matching(demand)
    matched = [(a, int(b)) for a, b in enumerate(partner) if a < b]
    assert len(matched) == n // 2
    assert all(partner[b] == a for a, b in matched)
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, demand[a, b]) for a in range(n) for b in range(a))
    best = sum(demand[pair] for pair in nx.max_weight_matching(graph))
    assert best / 2 <= sum(demand[pair] for pair in matched) <= best
    for a, b in matched:
        for c, d in matched:
            assert (a, b) == (c, d) or demand[a, c] + demand[b, d] <= (demand[a, b] + demand[c, d]) * (1 + 1e-9)
            assert (a, b) == (c, d) or demand[a, d] + demand[b, c] <= (demand[a, b] + demand[c, d]) * (1 + 1e-9)


def test_more_than_a_thousand_servers_are_matched_so():
    n = matching.MANY_SERVERS + 2
    demand = np.zeros((n, n))
    for a in range(0, n, 2):
        demand[a, n - 1 - a] = demand[n - 1 - a, a] = 5.0
    assert match(demand) == tuple(sorted((min(a, n - 1 - a), max(a, n - 1 - a)) for a in range(0, n, 2)))


def test_servers_that_have_nothing_for_each_other_are_paired_by_no_pattern():
    pairs = [(a, int(b)) for a, b in enumerate(heavy_matching(np.zeros((200, 200)))) if a < b]
    assert len({(b - a) % 200 for a, b in pairs}) > 50
