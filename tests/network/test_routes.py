import hashlib
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_demands import demands

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.network import connect
from flexnet.network.routes import all_shortest_paths, circulant_coins, coin_change_routes, routes_for, shortest_routes
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topologies.topoopt import build_topoopt
from flexnet.network.topology import Topology
from flexnet.network.totient import ring_links_matrix
from flexnet.plan.semantics import CORRECTED, ORIGINAL


def rng(seed=0):
    return np.random.default_rng(seed)


def circulant(n, *jumps):
    return Topology("circulant", n, 0, ring_links_matrix(n, jumps), {n: ((1,),)})


def paths(topology, routes):
    """Node ids of every route by (source, target); fails where a link does not follow on the one before."""
    network = connect(topology, 1.0, 0.0, routes)
    n = topology.n_server
    found = {}
    for pair in range(n * n):
        links = network.route[network.route_ptr[pair] : network.route_ptr[pair + 1]]
        nodes = [pair // n, *network.link_to[links].tolist()]
        assert network.link_from[links].tolist() == nodes[:-1]
        found[divmod(pair, n)] = tuple(nodes)
    return found


def assert_shortest(topology, routes):
    distance = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(topology.links)))
    for (source, target), nodes in paths(topology, routes).items():
        assert nodes[-1] == target
        assert len(nodes) - 1 == distance[source][target]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 30), degree=st.integers(2, 6), seed=st.integers(0, 99))
def test_routes_over_random_graphs_are_shortest(n, degree, seed):
    topology = random_graph(n, degree, rng(seed))
    routes = shortest_routes(topology, rng(seed))
    assert_shortest(topology, routes)
    assert (shortest_routes(topology, rng(seed))[1] == routes[1]).all()


@settings(max_examples=60, deadline=None)
@given(demand=demands(16), semantics=st.sampled_from([ORIGINAL, CORRECTED]), degree=st.sampled_from([2, 4, 6]))
def test_routes_over_topoopt_are_shortest(demand, semantics, degree):
    topology = build_topoopt(demand, degree, semantics, rng())
    routes = routes_for(topology, semantics, rng())
    assert_shortest(topology, routes)
    assert routes[0].dtype == routes[1].dtype == np.int32


@pytest.mark.parametrize("n", [1, 2, 7])
def test_direct_links_and_switches(n):
    mesh = paths(full_mesh(n), shortest_routes(full_mesh(n), rng()))
    tree = paths(fat_tree(n), routes_for(fat_tree(n), CORRECTED, rng()))
    for (source, target), nodes in mesh.items():
        assert nodes == ((source, target) if source != target else (source,))
        assert tree[source, target] == ((source, n, target) if source != target else (source,))


def test_unreachable_pairs_have_no_route():
    topology = Topology("halves", 4, 0, ring_links_matrix(4, (2,)), {})
    route_ptr, route = shortest_routes(topology, rng())
    assert np.diff(route_ptr).reshape(4, 4).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    assert len(route) == 4
    assert all_shortest_paths(topology, 0, 1) == []


def test_routes_are_drawn_with_the_probabilities_of_all_shortest_paths():
    topology = circulant(12, 1, 3)
    expected = dict(all_shortest_paths(topology, 0, 5))
    counts = dict.fromkeys(expected, 0)
    for seed in range(2000):
        counts[paths_of_pair(topology, shortest_routes(topology, rng(seed)), 5)] += 1
    for path, probability in expected.items():
        assert counts[path] / 2000 == pytest.approx(probability, abs=0.05)


def paths_of_pair(topology, routes, target):
    route_ptr, route = routes
    link_to = np.argwhere(topology.links)[:, 1]
    return (0, *link_to[route[route_ptr[target] : route_ptr[target + 1]]].tolist())


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 16), seed=st.integers(0, 99))
def test_all_shortest_paths_are_those_of_networkx(n, seed):
    topology = random_graph(n, 4, rng(seed))
    graph = nx.from_numpy_array(topology.links)
    found = all_shortest_paths(topology, 0, n - 1)
    assert [path for path, _ in found] == sorted(tuple(p) for p in nx.all_shortest_paths(graph, 0, n - 1))
    assert sum(probability for _, probability in found) == pytest.approx(1)


def test_all_shortest_paths_splits_evenly_at_every_hop_and_stops_at_its_limit():
    diamond = circulant(4, 1)
    assert all_shortest_paths(diamond, 0, 2) == [((0, 1, 2), 0.5), ((0, 3, 2), 0.5)]
    assert all_shortest_paths(diamond, 0, 2, limit=1) == [((0, 1, 2), 0.5)]
    assert all_shortest_paths(diamond, 1, 1) == [((1,), 1.0)]
    with pytest.raises(FlexNetError, match="there is no server 4; servers are 0 to 3"):
        all_shortest_paths(diamond, 0, 4)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 40), jump=st.integers(1, 39), seed=st.integers(0, 9))
def test_coin_change_routes_are_shortest_and_load_links_of_a_jump_alike(n, jump, seed):
    topology = circulant(n, 1, jump % (n - 1) + 1)
    routes = coin_change_routes(topology, circulant_coins(topology), rng(seed))
    assert_shortest(topology, routes)
    load = np.bincount(routes[1], minlength=np.count_nonzero(topology.links))
    ends = np.argwhere(topology.links)
    by_jump = {}
    for (a, b), count in zip(ends.tolist(), load.tolist(), strict=True):
        by_jump.setdefault((b - a) % n, set()).add(count)
    assert all(len(counts) == 1 for counts in by_jump.values())


def test_coins_without_links_are_refused():
    with pytest.raises(FlexNetError, match="no link from server 0 by the jump 2"):
        coin_change_routes(circulant(8, 1), (1, 2, 7), rng())
    with pytest.raises(FlexNetError, match="do not lead from server 0"):
        coin_change_routes(circulant(8, 1, 2), (2, 6), rng())


def test_coin_change_is_used_for_rings_alone():
    rings = build_topoopt(Demand(16, np.zeros((16, 16)), {16: 1.0}), 4, CORRECTED, rng())
    assert circulant_coins(rings) == (1, 5, 11, 15)
    coin = coin_change_routes(rings, (1, 5, 11, 15), rng(3))
    assert (routes_for(rings, CORRECTED, rng(3))[1] == coin[1]).all()
    assert (routes_for(rings, ORIGINAL, rng(3))[1] == shortest_routes(rings, rng(3))[1]).all()
    matched = build_topoopt(Demand(16, np.ones((16, 16)), {16: 0.01}), 4, CORRECTED, rng())
    assert circulant_coins(matched) == ()
    assert (routes_for(matched, CORRECTED, rng(3))[1] == shortest_routes(matched, rng(3))[1]).all()


def test_mean_hops_of_published_graphs():
    for n, jumps, mean in ((16, (1, 5), 2.13), (128, (1, 13), 5.62), (128, (1, 3, 11, 37), 2.93)):
        topology = circulant(n, *jumps)
        assert len(shortest_routes(topology, rng())[1]) / (n * (n - 1)) == pytest.approx(mean, abs=0.005)


DIGEST = """
import hashlib
import numpy as np
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.network.demand import Demand
from flexnet.network.routes import routes_for
from flexnet.network.topologies.topoopt import build_topoopt
from flexnet.network.network import connect
digest = hashlib.sha256()
for semantics in (ORIGINAL, CORRECTED):
    for pairs in (0.0, 1.0):
        rng = np.random.default_rng(1)
        topology = build_topoopt(Demand(24, pairs * (1 - np.eye(24)), {24: 1.0, 6: 3.0}), 6, semantics, rng)
        network = connect(topology, 1.0, 0.0, routes_for(topology, semantics, rng))
        for array in (topology.links, network.route_ptr, network.route, network.ring_hops, network.ring_links):
            digest.update(array.astype("<i8").tobytes())
print(digest.hexdigest())
"""


def test_compiled_and_interpreted_runs_agree():
    digests = []
    for disable in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable, "PYTHONHASHSEED": disable}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", DIGEST],
            env=environment,
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        digests.append(done.stdout.strip())
    assert digests[0] == digests[1]
    assert len(digests[0]) == 2 * hashlib.sha256().digest_size
