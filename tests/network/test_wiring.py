"""Networks that are wired link by link: within the degree, connected, with cycles over the groups."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_demands import grouped_demands
from route_ends import routes_ends

from flexnet.errors import FlexNetError
from flexnet.network.build import build_network, build_topology
from flexnet.network.demand import Demand
from flexnet.network.network import connect
from flexnet.network.packing import interfaces_of
from flexnet.network.routes import shortest_routes
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topology import by_members
from flexnet.network.wiring import orders
from flexnet.network.wiring.balance import link_seconds
from flexnet.network.wiring.changes import undirected
from flexnet.network.wiring.links import join_components, links_of_cycles
from flexnet.network.wiring.orders import regular_orders, serving_order
from flexnet.network.wiring.propose import KINDS, ROUTES, propose_network
from flexnet.network.wiring.shares import Traffic, best_shares, ring_shares, sent_by_group
from flexnet.network.wiring.wire import wire
from flexnet.plan.cluster import Cluster
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.protocol import FLUID
from flexnet.simulate.replay import replay

seeds = st.integers(0, 999)


def rng(seed=0):
    return np.random.default_rng(seed)


def two_sizes(pairs=0.0) -> Demand:
    """All of 16 servers reduce, and every half of them; pairs of halves talk."""
    matrix = np.zeros((16, 16))
    matrix[np.arange(8), np.arange(8) + 8] = pairs
    matrix[np.arange(8), (np.arange(8) + 3) % 8] = 0.1 * pairs
    halves = {tuple(range(8)): 1e9, tuple(range(8, 16)): 1e9}
    return Demand(16, matrix, {8: 2e9, 16: 1e9}, {**halves, tuple(range(16)): 1e9})


def along_links(ring, links):
    return links[list(ring), [*ring[1:], ring[0]]].all()


def connected(topology, demand=None):
    return connect(topology, 1e9, 1e-6, shortest_routes(topology, rng()))


@given(grouped_demands(), st.integers(2, 8), seeds, st.booleans())
@settings(deadline=None, max_examples=150)
def test_whatever_is_asked_all_are_connected_within_the_degree(demand, degree, seed, regular):
    topology = wire(demand, degree, rng(seed), regular=regular)
    topology.check(degree)
    assert (topology.links.sum(axis=1) < degree).sum() <= 1 or demand.n_server == 1
    wanted = {group for group, volume in demand.groups.items() if len(group) > 2 and volume > 0}
    assert wanted <= {tuple(sorted(cycle)) for cycle in topology.cycles}
    again = wire(demand, degree, rng(seed), regular=regular)
    assert (topology.links == again.links).all()
    assert topology.cycles == again.cycles


def test_several_group_sizes_have_rings_at_once():
    topology = wire(two_sizes(), 6, rng())
    rings = [ring for ring in undirected(topology.cycles) if topology.links[list(ring), [*ring[1:], ring[0]]].all()]
    by_group = {}
    for ring in rings:
        by_group[tuple(sorted(ring))] = by_group.get(tuple(sorted(ring)), 0) + 1
    assert by_group == {tuple(range(8)): 1, tuple(range(8, 16)): 1, tuple(range(16)): 2}


def test_rings_and_pairs_as_asked():
    halves = {tuple(range(8)): 1, tuple(range(8, 16)): 1}
    topology = wire(two_sizes(1e9), 4, rng(), rings=halves)
    assert (topology.links[np.arange(8), np.arange(8) + 8] >= 1).all()  # pairs talk directly
    with pytest.raises(FlexNetError, match="leave too few of 4 interfaces to connect 16 servers"):
        wire(two_sizes(), 4, rng(), rings=dict.fromkeys(halves, 2))
    with pytest.raises(FlexNetError, match="leave too few of 4"):
        wire(two_sizes(), 4, rng(), rings=dict.fromkeys(halves, 3))
    for group, share in ((tuple(range(7)), 1.5), ((0, 1), 1.5), (tuple(range(8)), 2.25), (tuple(range(8)), 0.5)):
        with pytest.raises(FlexNetError, match=f"{share} rings over {len(group)} servers; expected are whole ones or"):
            wire(two_sizes(), 4, rng(), rings={group: share})
    for group in ((0,), (0, 0), (0, 16)):
        with pytest.raises(FlexNetError, match="expected are 0 or more, over 2 or more of 0 to 15"):
            wire(two_sizes(), 4, rng(), rings={group: 1})
    with pytest.raises(FlexNetError, match="degree 1 cannot connect 16 servers"):
        wire(two_sizes(), 1, rng())


def test_shares_of_the_degree():
    """Rings where groups have the bytes; direct links where pairs have them; several sizes if that pays."""
    none = np.zeros((16, 16))
    every, evens, odds = tuple(range(16)), tuple(range(0, 16, 2)), tuple(range(1, 16, 2))
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 4) == {every: 2}
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 5, least=2) == {every: 1.5}
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 5) == {every: 2.5}
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 5, halves=False) == {every: 2}
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 3, halves=False) == {every: 1.5}
    assert best_shares(Demand(16, none, {}, {every[:15]: 1e9}), 5, least=2) == {every[:15]: 1}
    assert best_shares(Demand(16, none, {}, {every: 1e9}), 4, least=2) == {every: 1}
    both = {every: 1e9, evens: 1.2e9, odds: 1.2e9}
    assert best_shares(Demand(16, none, {}, both), 4) == dict.fromkeys(both, 1)
    partners = none.copy()
    partners[np.arange(16), np.arange(16) ^ 1] = 1e12
    assert best_shares(Demand(16, partners, {}, {every: 1.0}), 4) == {}
    assert ring_shares(sent_by_group(Demand(16, none, {}, both)), np.full(16, 8))[every] == 2
    demand = Demand(16, none, {}, {every: 8e9})
    assert Traffic(demand, sent_by_group(demand), 4).busiest({every: 2}) == pytest.approx(2 * 15 / 16 * 8e9 / 4)


@given(st.integers(0, 2**32 - 1))
def test_a_ring_more_goes_where_most_bytes_are_for_each(seed):
    """As the method says it, step by step."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    groups = {tuple(sorted(rng.permutation(n)[: rng.integers(2, n + 1)].tolist())) for _ in range(4)}
    sent = {group: float(rng.integers(1, 5)) for group in sorted(groups)}
    free = rng.integers(0, 7, n)
    left, shares = free.copy(), dict.fromkeys(sent, 0)
    while wanting := [group for group in sent if left[list(group)].min() >= 2]:
        group = max(wanting, key=lambda group: sent[group] / (shares[group] + 1))
        shares[group] += 1
        left[list(group)] -= 2
    assert ring_shares(sent, free) == {group: share for group, share in shares.items() if share}


def test_groups_known_by_size_alone_count_as_all_servers():
    assert sent_by_group(Demand(4, np.zeros((4, 4)), {2: 3.0, 4: 1.0})) == {(0, 1, 2, 3): 2 * 3 / 4 * 4.0}


def test_orders_serve_pairs_that_have_no_link():
    demand = np.zeros((6, 6))
    for a, b in ((0, 3), (3, 1), (1, 4), (4, 2), (2, 5), (5, 0)):
        demand[a, b] = demand[b, a] = 1.0
    order = serving_order(range(6), np.zeros((6, 6), np.int64), demand, rng())
    assert all(demand[a, b] for a, b in zip(order, (*order[1:], order[0]), strict=True))
    laid = (demand > 0).astype(np.int64)
    other = serving_order(range(6), laid, demand, rng())
    assert not any(demand[a, b] for a, b in zip(other, (*other[1:], other[0]), strict=True))
    assert regular_orders((4, 7), 2) == [(4, 7)] * 2


def test_rings_of_thousands_go_to_whom_most_is_to_be_sent(monkeypatch):
    demand = np.zeros((6, 6))
    for a, b in ((0, 3), (3, 1), (1, 4), (4, 2), (2, 5), (5, 0)):
        demand[a, b] = demand[b, a] = 1.0
    monkeypatch.setattr(orders, "MOST_EXCHANGED", 5)
    order = serving_order(range(6), np.zeros((6, 6), np.int64), demand, rng())
    assert sorted(order) == list(range(6))
    assert all(demand[a, b] for a, b in zip(order, (*order[1:], order[0]), strict=True))
    group, laid = (1, 4, 9, 2, 7, 5, 8), np.zeros((12, 12), np.int64)
    laid[1, 4] = laid[4, 1] = laid[1, 9] = laid[9, 1] = 1
    for seed in range(20):  # whoever has a link already comes last, though some cost as much at random
        assert serving_order(group, laid, np.zeros((12, 12)), rng(seed))[1] not in (4, 9)


def test_parts_are_joined_where_interfaces_are_left():
    links = np.kron(np.eye(3, dtype=np.int64), 1 - np.eye(2, dtype=np.int64))
    free = np.array([1, 0, 1, 1, 0, 1])
    assert join_components(links, free, np.zeros((6, 6)))
    assert free.tolist() == [0] * 6
    links = np.kron(np.eye(3, dtype=np.int64), 1 - np.eye(2, dtype=np.int64))
    assert not join_components(links, np.array([1, 0, 1, 0, 0, 1]), np.zeros((6, 6)))


def test_links_of_cycles_count_both_ways_once():
    links = np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]])
    assert links_of_cycles([(0, 1, 2), (0, 2, 1)], links).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert links_of_cycles([(0, 1, 2), (0, 1, 2), (0, 1, 2)], links)[0, 1] == 2


@given(grouped_demands(12), st.integers(2, 6), seeds, st.sampled_from(list(KINDS)))
@settings(deadline=None, max_examples=200)
def test_changes_keep_degrees_and_all_connected(demand, degree, seed, kind):
    network = connected(wire(demand, degree, rng(seed)))
    changed = network
    draw = rng(seed)
    for _ in range(3):
        changed = propose_network(draw, changed, demand, kinds={kind: 1.0})
        changed.topology.check(degree)
        before, after = network.topology, changed.topology
        assert after.links.sum() <= before.links.sum()
        wanted = {tuple(sorted(cycle)) for cycle in before.cycles}
        assert wanted <= {tuple(sorted(cycle)) for cycle in after.cycles} or kind == "share"
        ends = routes_ends(changed)
        assert ends == [(a, b) for a in range(demand.n_server) for b in range(demand.n_server)]
    if kind in {*ROUTES, "pack"}:
        assert (changed.topology.links == network.topology.links).all()
    if kind == "swap" and changed is not network:
        assert (changed.topology.links.sum(axis=1) == network.topology.links.sum(axis=1)).all()


def test_every_kind_changes_something():
    demand = replace(two_sizes(), model_parallel=1e8 * (1 - np.eye(16)))
    network = connected(wire(demand, 6, rng()))
    for kind in KINDS:
        others = [propose_network(rng(seed), network, demand, kinds={kind: 1.0}) for seed in range(5)]
        assert any(other is not network for other in others), kind
    mixed = [propose_network(rng(seed), network, demand) for seed in range(20)]
    assert sum(other is not network for other in mixed) > 10
    with pytest.raises(
        FlexNetError, match="there is no change 'shuffle'; changes are swap, turn, share, half, order, pack"
    ):
        propose_network(rng(), network, demand, kinds={"shuffle": 1.0})


def test_interfaces_of_pairs_go_to_rings_though_rings_run_over_all_links():
    every = tuple(range(16))
    quarters = {tuple(range(first, 16, 4)): 1e9 for first in range(4)}
    demand = Demand(16, 1e7 * (1 - np.eye(16)), {}, {every: 2e9, **quarters})
    network = connected(wire(demand, 8, rng()))
    more = 0
    for seed in range(40):
        changed = propose_network(rng(seed), network, demand, kinds={"share": 1.0})
        more += len(undirected(changed.topology.cycles)) > len(undirected(network.topology.cycles))
    assert more > 5


def test_a_ring_gets_an_interface_of_every_server_and_gives_it_back():
    halves = {tuple(range(8)): 1e9, tuple(range(8, 16)): 1e9}
    demand = replace(two_sizes(1e6), groups=halves)
    network = connected(wire(demand, 4, rng(), rings=dict.fromkeys(halves, 1)))
    seen = []
    for seed in range(60):
        network = propose_network(rng(seed), network, demand, kinds={"half": 1.0})
        network.topology.check(4)
        own = by_members(network.topology.cycles)
        for group in halves:
            links = network.topology.links[np.ix_(group, group)]
            assert all(along_links(ring, network.topology.links) for ring in own[group])
            assert links.sum(axis=1).min() >= interfaces_of(own[group])
        seen.append(tuple(interfaces_of(own[group]) for group in halves))
    assert {(2, 2), (2, 3), (3, 2), (3, 3)} == set(seen)


def test_more_rings_than_one_get_an_interface_more_too():
    every = tuple(range(12))
    demand = Demand(12, np.where(np.eye(12, k=5), 1e6, 0.0), {}, {every: 1e9})
    network = connected(wire(demand, 6, rng(), rings={every: 2}))
    seen = set()
    for seed in range(40):
        network = propose_network(rng(seed), network, demand, kinds={"half": 0.7, "share": 0.3})
        network.topology.check(6)
        own = by_members(network.topology.cycles)[every]
        assert all(along_links(ring, network.topology.links) for ring in own)
        used = interfaces_of(own)
        assert network.topology.links.sum(axis=1).min() >= used
        links = np.zeros((12, 12), np.int64)
        for ring in own:
            np.add.at(links, (list(ring), [*ring[1:], ring[0]]), 1)
        assert (links <= (2 if used % 2 else 1) * network.topology.links).all()
        seen.add(used)
    assert {3, 4, 5} <= seen


@pytest.mark.compiled
def test_all_reduces_fill_an_odd_number_of_links_of_every_server():
    """In the time that three links of each would take, or five, packets or not; one ring takes that of two."""
    members = np.arange(8, dtype=np.int32)
    size = 100_000_000
    graph = TaskGraph(
        8,
        np.array([ALLREDUCE], np.int8),
        np.zeros(1, np.int32),
        np.zeros(1),
        np.array([size]),
        np.zeros(2, np.int32),
        np.zeros(0, np.int32),
        np.array([0, 8], np.int32),
        members,
        np.zeros(1, np.int32),
    )
    every = tuple(range(8))
    for share, links in ((1, 2), (1.5, 3), (2.5, 5)):
        wired = wire(Demand(8, np.zeros((8, 8)), {}, {every: 1e9}), max(links, 3), rng(), rings={every: share})
        network = connected(wired)
        least = 2 * 7 / 8 * size / (links * 1e9)
        for model in (FairLinks(protocol=FLUID), FairLinks(), FollowedPackets()):
            assert least < replay(graph, network, links=model).seconds < 1.03 * least


def test_a_turned_ring_still_runs_along_its_links():
    demand = Demand(12, np.zeros((12, 12)), {}, {tuple(range(12)): 1e9})
    network = connected(wire(demand, 4, rng()))
    for seed in range(20):
        for kind in ("turn", "order"):
            changed = propose_network(rng(seed), network, demand, kinds={kind: 1.0})
            assert (np.diff(changed.cycle_hops) == 1).all()
            loads = np.bincount(changed.cycle_links, minlength=len(changed.bandwidth))
            assert (loads <= changed.topology.links[changed.link_from, changed.link_to]).all()


def test_routes_that_are_still_shortest_stay():
    demand = two_sizes(1e8)
    network = connected(wire(demand, 6, rng()))
    changed = propose_network(rng(3), network, demand, kinds={"swap": 1.0})

    def paths(net):
        return [
            tuple(zip(net.link_from[links].tolist(), net.link_to[links].tolist(), strict=True))
            for links in np.split(net.route, net.route_ptr[1:-1])
        ]

    old, new = paths(network), paths(changed)
    n_same = sum(a == b for a, b in zip(old, new, strict=True))
    assert n_same > 0.6 * len(old)
    for a, b in zip(old, new, strict=True):
        kept = all(changed.topology.links[link] for link in a)
        assert a == b or not kept or len(b) < len(a)


def test_rerouting_relieves_the_busiest_link():
    demand = two_sizes(1e9)
    pairs = np.ones((16, 16)) - np.eye(16)
    demand = replace(demand, model_parallel=pairs * 1e8, groups={}, allreduce={})
    network = connected(build_topology("random", 16, degree=4))
    before = link_seconds(network, demand)
    best = network
    draw = rng()
    for _ in range(200):
        other = propose_network(draw, best, demand, kinds={"reroute": 1.0})
        if (link_seconds(other, demand) ** 4).sum() <= (link_seconds(best, demand) ** 4).sum():
            best = other
    assert link_seconds(best, demand).max() < 0.9 * before.max()
    assert len(best.route) < 1.1 * len(network.route)


def test_regular_rings_become_cycles():
    demand = Demand(16, np.zeros((16, 16)), {16: 1e9, 8: 1e8}, {tuple(range(16)): 1e9, tuple(range(0, 16, 2)): 1e8})
    network = build_network("topoopt", Cluster(16, degree=4), demand=demand)
    changed = propose_network(rng(), network, demand, kinds={"swap": 1.0})
    assert not changed.topology.rings
    assert {tuple(sorted(cycle)) for cycle in changed.cycles} == set(demand.groups)


def test_only_servers_are_wired_anew():
    for topology in (build_topology("fattree", 4), replace_speeds(full_mesh(4))):
        network = connected(topology)
        with pytest.raises(FlexNetError, match="has switches or links of several speeds"):
            propose_network(rng(), network, Demand(4, np.zeros((4, 4)), {}))


def replace_speeds(topology):
    graph = topology.to_networkx(bandwidth=1e9, latency=1e-6)
    graph[0][1]["bandwidth"] = 2e9
    return type(topology).from_networkx(graph)
