"""Distances as networkx has them, however they are found."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network.kernels.hops import DENSE, MOST_SWEEPS, hops_to
from flexnet.network.topology import adjacency

SHUFFLED = np.random.default_rng(0).permutation(200)


def hops_of(graph, targets):
    ptr, _, link_to = adjacency(nx.to_numpy_array(graph, nodelist=range(len(graph)), dtype=np.int64))
    return hops_to(ptr, link_to, np.array(targets, np.int64))


def expected(graph, targets):
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    return [[distance[target].get(node, -1) for node in range(len(graph))] for target in targets]


@given(n=st.integers(1, 40), share=st.floats(0.0, 0.3), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=60, deadline=None)
def test_some_targets_of_graphs_that_need_not_be_connected(n, share, seed, data):
    graph = nx.gnp_random_graph(n, share, seed)
    targets = data.draw(st.lists(st.integers(0, n - 1), max_size=n))
    assert hops_of(graph, targets).tolist() == expected(graph, targets)


@pytest.mark.parametrize(
    "graph",
    [
        nx.random_regular_graph(4, 300, seed=1),  # more targets than are told at once
        nx.relabel_nodes(nx.cycle_graph(200), dict(enumerate(SHUFFLED.tolist()))),  # too long for sweeps
        nx.complete_graph(DENSE + 9),
    ],
    ids=["blocks", "long", "dense"],
)
def test_large_long_and_dense_graphs(graph):
    everyone = list(range(len(graph)))
    assert hops_of(graph, everyone).tolist() == expected(graph, everyone)


def test_the_long_one_is_longer_than_sweeps_reach():
    """In steps of two ways along shuffled numbers; else the test above would not come to the search."""
    path = nx.relabel_nodes(nx.cycle_graph(200), dict(enumerate(SHUFFLED.tolist())))
    known = np.full(200, 999)
    known[0] = 0
    for sweep in range(MOST_SWEEPS):
        for node in range(200) if sweep % 2 == 0 else range(199, -1, -1):
            known[node] = min(known[node], *(known[other] + 1 for other in path[node]))
    assert known.max() == 999
