from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.errors import FlexNetError
from flexnet.network.build import build_network, build_topology
from flexnet.network.cycles import cycles_for, more_cycles, with_cycles
from flexnet.network.demand import Demand
from flexnet.network.routes import mean_hops
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topologies.random_graph import RandomGraph, random_graph
from flexnet.network.wiring.wire import wire
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL


def rng(seed=0):
    return np.random.default_rng(seed)


@given(st.integers(2, 20), st.integers(2, 6), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_every_group_gets_cycles_over_just_its_members(n, degree, seed):
    topology = random_graph(n, degree, rng(seed))
    draw = rng(seed)
    sizes = draw.integers(1, n + 1, 3).tolist()
    groups = {tuple(sorted(draw.permutation(n)[:size].tolist())): 1e6 for size in sizes}
    cycles = cycles_for(topology, groups, rng(1))
    replace(topology, cycles=cycles).check(None)
    assert {tuple(sorted(cycle)) for cycle in cycles} == {group for group in groups if len(group) > 1}
    assert cycles == cycles_for(topology, groups, rng(1))


def test_groups_without_bytes_or_on_switches_get_none():
    assert cycles_for(full_mesh(6), {(0, 1, 2): 0.0, (3,): 5.0}, rng()) == ()
    assert cycles_for(build_topology("fattree", 6), {(0, 1, 2): 1.0}, rng()) == ()
    for group in ((0, 6), (0, 0), (-1, 2)):
        with pytest.raises(FlexNetError, match="members are distinct servers of 0 to 5"):
            cycles_for(full_mesh(6), {group: 1.0}, rng())


def test_links_of_all_groups_are_for_each_of_them():
    """A ring over 8 and two over every second one: together they hold two cycles over all."""
    every, evens, odds = tuple(range(8)), (0, 2, 4, 6), (1, 3, 5, 7)
    demand = Demand(8, np.zeros((8, 8)), {}, {every: 3e9, evens: 3e9, odds: 3e9})
    topology = wire(demand, 4, rng(), rings=dict.fromkeys(demand.groups, 1), regular=True)
    cycles = more_cycles(topology, demand.groups)
    replace(topology, cycles=cycles).check(4)
    count = Counter(tuple(sorted(cycle)) for cycle in cycles)
    before = Counter(tuple(sorted(cycle)) for cycle in topology.cycles)
    assert before == {every: 2, evens: 2, odds: 2}
    assert count == {every: 4, evens: 2, odds: 2}
    links = Counter(edge for c in cycles if len(c) == 8 for edge in pairwise((*c, c[0])))
    assert all(used <= topology.links[edge] for edge, used in links.items())
    assert more_cycles(topology, {every: 0.0, (0, 5): 1.0, (1, 2, 6): 1.0}) is topology.cycles
    packed = replace(topology, cycles=cycles)
    assert more_cycles(packed, demand.groups) is packed.cycles
    rings = build_topology("topoopt", 8, degree=4, demand=demand)
    assert len(more_cycles(rings, {(0, 1, 2, 3): 1.0})) == 0  # no ring joins servers side by side
    assert more_cycles(rings, {every: 1.0}) is rings.cycles  # has as many already


def test_networks_of_given_links_have_cycles_in_corrected_semantics_alone():
    cluster = Cluster(16, degree=4)
    for name, n_cycle in (("random", 4), ("fc", 14), ("fattree", 0)):
        network = build_network(name, cluster)
        assert len(network.cycles) == n_cycle
        assert not build_network(name, cluster, semantics=ORIGINAL).cycles
    for name in ("random", "fc"):
        network = build_network(name, cluster)
        assert (np.diff(network.cycle_hops) == 1).all()  # all along links
        loads = np.bincount(network.cycle_links, minlength=len(network.bandwidth))
        assert (loads <= network.topology.links[network.link_from, network.link_to]).all()


def test_cycles_follow_groups_while_links_stay():
    network = build_network("random", Cluster(16, degree=4))
    halves = {tuple(range(0, 16, 2)): 1e9, tuple(range(1, 16, 2)): 1e9}
    changed = with_cycles(network, halves, rng())
    assert {tuple(sorted(cycle)) for cycle in changed.cycles} == set(halves)
    assert changed.topology.links is network.topology.links
    assert changed.route is network.route


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_several_random_graphs_is_taken(seed):
    family = RandomGraph(4, CORRECTED)
    best = family.build(16, None, rng(seed))
    best.check(4)
    assert len(best.cycles) == 4
    plain = RandomGraph(4, ORIGINAL).build(16, None, rng(seed))
    assert (plain.links == random_graph(16, 4, rng(seed)).links).all()
    assert not plain.cycles
    draw = rng(seed)
    full = [graph for graph in (random_graph(16, 4, draw) for _ in range(8)) if (graph.links.sum(axis=1) == 4).all()]
    assert mean_hops(best) <= min(map(mean_hops, full)) + 0.05


@pytest.mark.parametrize(("n", "degree"), [(1, 4), (2, 1), (2, 4), (3, 2), (5, 3), (7, 2)])
def test_small_random_networks(n, degree):
    network = build_network("random", Cluster(n, degree=degree))
    network.topology.check(degree)
    assert bool(network.cycles) == (n > 1)
