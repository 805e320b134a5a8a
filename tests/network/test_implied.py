"""Large networks give pairs a route when they need one; here every network counts as large."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from route_ends import routes_ends

from flexnet.errors import FlexNetError
from flexnet.network import implied
from flexnet.network.build import build_network
from flexnet.network.demand import Demand
from flexnet.network.implied import no_routes, with_pairs
from flexnet.network.network import connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topology import Topology, adjacency
from flexnet.network.totient import ring_links_matrix
from flexnet.network.wiring import rewire
from flexnet.network.wiring.balance import balanced, link_seconds, with_demand
from flexnet.network.wiring.propose import KINDS, propose_network
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED

RING8 = Topology("ring", 8, 0, ring_links_matrix(8, (1,)), {8: ((1,),)})


@pytest.fixture(autouse=True)
def every_network_is_large(monkeypatch):
    monkeypatch.setattr(implied, "MOST_ROUTED", 0)


def rng(seed=0):
    return np.random.default_rng(seed)


def unrouted(topology):
    return connect(topology, 1e9, 1e-6, no_routes(topology.n_server))


def drawn_pairs(draw, n, share):
    """Bytes between servers, of which a share of the ordered pairs sends some."""
    pairs = draw.random((n, n)) * (draw.random((n, n)) < share) * 1e6
    np.fill_diagonal(pairs, 0.0)
    return pairs


def rows(routes, pairs):
    return [routes[1][routes[0][p] : routes[0][p + 1]].tolist() for p in pairs]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 30), degree=st.integers(2, 5), seed=st.integers(0, 99), jumps=st.booleans())
def test_routes_are_shortest_and_do_not_depend_on_what_was_asked_before(n, degree, seed, jumps):
    if jumps:
        topology = Topology("circulant", n, 0, ring_links_matrix(n, (1, *rng(seed).integers(1, n, degree // 2))), {})
    else:
        topology = random_graph(n, degree, rng(seed))
    every = np.arange(n * n)
    network = unrouted(topology)
    at_once = network.routing(every)
    for some in np.array_split(rng(seed).permutation(np.concatenate([every, every[::3]])), 12):
        network = network.routing(some)
    assert network.route_ptr.tolist() == at_once.route_ptr.tolist()
    assert network.route.tolist() == at_once.route.tolist()
    assert network.routing(every) is network
    assert routes_ends(network) == [divmod(pair, n) for pair in range(n * n)]
    distance = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(topology.links)))
    hops = np.diff(network.route_ptr).reshape(n, n)
    assert all(hops[a, b] == distance[a][b] for a in range(n) for b in range(n))


@given(n=st.integers(2, 24), jump=st.integers(1, 23), seed=st.integers(0, 9))
@settings(deadline=None)
def test_routes_of_circulants_are_those_of_one_server_begun_elsewhere(n, jump, seed):
    jumps = (1, 1 + jump % n) if jump % n and 1 + jump % n < n else (1,)
    topology = Topology("circulant", n, 0, ring_links_matrix(n, jumps), {})
    network = unrouted(topology).routing(np.arange(n * n))
    steps = (network.link_to - network.link_from) % n
    of_server = [rows((network.route_ptr, steps[network.route]), range(s * n, s * n + n)) for s in range(n)]
    for server in range(n):
        assert [of_server[server][(server + d) % n] for d in range(n)] == of_server[0]
    load = np.bincount(network.route, minlength=len(steps))
    for step in set(steps.tolist()):
        assert len(set(load[steps == step].tolist())) == 1


def test_next_hops_are_drawn_evenly():
    """From corner to corner of tori of many sizes: about half of the first hops go either way."""
    first = []
    for n in range(6, 40):
        ring = nx.to_numpy_array(nx.grid_2d_graph(n // 2, 2), dtype=np.int64)
        topology = Topology("grid", 2 * (n // 2), 0, ring, {})
        network = unrouted(topology).routing(np.array([topology.n_server - 1]))
        first.append(int(network.link_to[network.route[0]]))
    assert 8 < first.count(1) < len(first) - 8


def test_a_network_holds_no_route_until_one_is_needed():
    network = build_network(RING8, Cluster(8, link_bandwidth=1e9), semantics=CORRECTED)
    assert not len(network.route)
    asked = network.routing(np.array([3, 3, 9]))
    assert routes_ends(asked)[3] == (0, 3)
    assert np.count_nonzero(np.diff(asked.route_ptr)) == 1  # 9 is a server and itself
    assert asked.with_routes((asked.route_ptr, asked.route)).route.tolist() == asked.route.tolist()


def test_routes_that_are_there_stay():
    network = unrouted(RING8)
    longer = network.link_id[[0, 7, 6, 5], [7, 6, 5, 4]]
    ptr = np.where(np.arange(65) > 4, 4, 0).astype(np.int32)
    network = network.with_routes((ptr, longer)).routing(np.arange(64))
    assert rows((network.route_ptr, network.route), [4]) == [longer.tolist()]


def test_edges_of_cycles_have_routes():
    network = unrouted(RING8).with_cycles(((0, 3, 1),))
    assert {end for end in routes_ends(network) if end and end[0] != end[1]} == {(0, 3), (3, 1), (1, 0)}
    assert network.cycle_hops.tolist() == [0, 3, 5, 6]


def test_networks_with_switches_hold_all():
    network = connect(fat_tree(5), 1e9, 0.0, routes_for(fat_tree(5), CORRECTED, rng()))
    assert np.count_nonzero(np.diff(network.route_ptr)) == 20
    assert network.routing(np.arange(25)) is network


def test_too_many_links_are_told(monkeypatch):
    monkeypatch.setattr(implied, "MOST_HOPS", 10)
    _, link_from, link_to = adjacency(RING8.links)
    with pytest.raises(FlexNetError, match="routes of 8 servers run over 128 links; at most 10 can be held"):
        with_pairs(8, link_from, link_to, no_routes(8), np.arange(64))


@given(seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_changed_networks_have_routes_for_their_demand(seed):
    draw = rng(seed)
    pairs = drawn_pairs(draw, 12, 0.2)
    groups = {tuple(range(12)): 1e6, (0, 2, 5): 1e5}
    demand = Demand(12, pairs, {12: 1e6, 3: 1e5}, groups)
    network = unrouted(random_graph(12, 4, draw))
    for kind in KINDS:
        network = propose_network(draw, network, demand, kinds={kind: 1.0})
        network.topology.check(4)
        needed = with_demand(network, demand)
        ends = routes_ends(needed)
        assert all(ends[p] == divmod(p, 12) for p in np.flatnonzero(pairs.ravel()).tolist())
        shared = balanced(needed, demand, draw)
        assert routes_ends(shared) == ends
        assert np.isfinite(link_seconds(shared, demand)).all()


@given(seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_routes_that_are_still_shortest_are_kept_when_links_change(seed):
    draw = rng(seed)
    pairs = drawn_pairs(draw, 10, 0.5)
    cycle = tuple(draw.permutation(10).tolist())
    demand = Demand(10, pairs, {10: 1e6}, {tuple(range(10)): 1e6})
    before = unrouted(random_graph(10, 3, draw)).routing(np.arange(100))
    links = random_graph(10, 3, draw).links
    links[0, 1:] = links[1:, 0] = before.topology.links[0, 1:]  # some links stay
    topology = Topology("other", 10, 0, links, {}, None, (cycle,))
    (ptr, route), stays = rewire._kept_routes(before, topology, demand)
    after = connect(topology, 1e9, 0.0, (ptr, route))
    wanted = pairs.ravel() > 0
    wanted[[a * 10 + b for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)]] = True
    distance = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(links)))
    old, new = (list(zip(n.link_from.tolist(), n.link_to.tolist(), strict=True)) for n in (before, after))
    for pair in range(100):
        a, b = divmod(pair, 10)
        was = [old[k] for k in rows((before.route_ptr, before.route), [pair])[0]]
        now = [new[k] for k in rows((ptr, route), [pair])[0]]
        assert bool(now) == (bool(wanted[pair]) and a != b and b in distance[a])
        may_stay = bool(now) and len(was) == distance[a][b] and all(links[end] for end in was)
        assert stays[pair] == may_stay
        assert not may_stay or now == was
        assert not now or len(now) == distance[a][b]
