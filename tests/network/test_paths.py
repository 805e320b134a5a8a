import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network.paths import Paths, draw_shortest
from flexnet.network.routes import all_shortest_paths
from flexnet.network.topologies.kary import kary_fat_tree
from flexnet.network.topologies.leafspine import leaf_spine
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topology import adjacency


def nodes(topology, links):
    _, link_from, link_to = adjacency(topology.links)
    return (int(link_from[links[0]]), *(int(node) for node in link_to[links])) if len(links) else ()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_drawn_routes_are_shortest_paths_and_listed_once(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    topology = [random_graph(n, 3, rng), kary_fat_tree(n), leaf_spine(n, 2, 1.0)][seed % 3]
    source, target = rng.integers(0, n, 30), rng.integers(0, n, 30)
    drawn = draw_shortest(topology, source, target, rng)
    routes = [drawn.link[a:b] for a, b in itertools.pairwise(drawn.ptr)]
    for flow, (a, b) in enumerate(zip(source, target, strict=True)):
        path = nodes(topology, routes[drawn.route[flow]])
        assert path == () if a == b else path in {path for path, _ in all_shortest_paths(topology, a, b)}
    keys = [tuple(path) for path in routes]
    assert len(set(keys)) == len(keys)


def test_every_equal_path_of_a_fat_tree_is_as_likely():
    topology = kary_fat_tree(16)
    n_flow = 4000
    drawn = draw_shortest(topology, np.zeros(n_flow, int), np.full(n_flow, 15), np.random.default_rng(0))
    assert np.bincount(drawn.route) == pytest.approx([1000] * 4, abs=100)


def test_same_seed_same_draw_another_seed_another():
    topology, pairs = kary_fat_tree(16), (np.arange(16).repeat(15), np.tile(np.arange(15), 16))
    first, again, other = (draw_shortest(topology, *pairs, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.link, again.link) and np.array_equal(first.route, again.route)
    assert not np.array_equal(first.link, other.link)


def test_a_flow_within_a_server_takes_no_link():
    for drawn in (
        draw_shortest(leaf_spine(2, 2, 1.0), np.array([0, 0]), np.array([0, 1]), np.random.default_rng(0)),
        Paths(2, np.array([0, 0, 1, 1, 1]), np.ones(1), np.array([0, 2]), np.array([0, 1], np.int32)).draw(
            np.array([0, 0]), np.array([0, 1]), np.random.default_rng(0)
        ),
    ):
        lengths = np.diff(drawn.ptr)[drawn.route]
        assert lengths.tolist() == [0, 2]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_listed_paths_are_drawn_from_their_own_pair(counts, seed):
    rng = np.random.default_rng(seed)
    n = 3
    counts = np.resize(counts, n * n)
    pair_ptr = np.concatenate([[0], np.cumsum(counts)])
    n_path = int(pair_ptr[-1])
    hop_ptr = np.concatenate([[0], np.cumsum(rng.integers(1, 4, n_path))])
    paths = Paths(n, pair_ptr, rng.uniform(0.1, 9, n_path), hop_ptr, np.arange(hop_ptr[-1], dtype=np.int32))
    source, target = rng.integers(0, n, 50), rng.integers(0, n, 50)
    drawn = paths.draw(source, target, rng)
    for flow, pair in enumerate(source * n + target):
        links = drawn.link[drawn.ptr[drawn.route[flow]] : drawn.ptr[drawn.route[flow] + 1]].tolist()
        mine = range(pair_ptr[pair], pair_ptr[pair + 1])
        assert links in [list(range(hop_ptr[p], hop_ptr[p + 1])) for p in mine] or not (links or mine)
