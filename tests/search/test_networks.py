"""Networks that are wired anew during a search."""

from dataclasses import dataclass, replace
from typing import ClassVar

import networkx as nx
import numpy as np
from random_models import mlp, problem_of

from flexnet.network.build import build_network
from flexnet.network.cycles import add_cycles
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.link_speeds import LinkSpeeds
from flexnet.network.topologies.fattree import FatTree
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topologies.random_graph import RandomGraph
from flexnet.network.topology import Topology
from flexnet.network.wiring.balance import link_seconds
from flexnet.network.wiring.circulants import circulant
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.search.networks import Networks, other_draw
from flexnet.search.prepare import prepare
from flexnet.search.rebuild import cycle_follower, fixed_network, follows_groups, later_draws, rebuilder
from flexnet.search.settings import Settings


@dataclass(frozen=True)
class Drifting(TopologyFamily):
    """A full mesh whose links are as fast as there is demand."""

    name: ClassVar[str] = "drifting"
    follows_demand: ClassVar[bool] = True

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        assert demand is not None
        mesh = full_mesh(n_server)
        speed = np.where(mesh.links > 0, demand.allreduce[4], 0.0)
        return replace(mesh, speeds=LinkSpeeds(speed, np.zeros_like(speed)))

    def interfaces(self, n_server: int) -> int:
        return n_server - 1


def test_links_alike_of_other_speeds_are_another_network():
    rebuild = rebuilder(problem_of(mlp(), Cluster(4), CORRECTED), Drifting())
    rng = np.random.default_rng(0)
    speeds = [1e9, 2e9, 1e9]
    networks = [rebuild(rng, Demand(4, np.zeros((4, 4)), {4: speed})) for speed in speeds]
    assert [network.link_bandwidth for network in networks] == speeds
    assert networks[0].topology is networks[2].topology


def test_networks_of_a_family_are_fitted_to_a_demand():
    """Routes share the load, in our semantics; where there are switches they stay."""
    cluster, rng = Cluster(16, degree=4), np.random.default_rng(0)
    demand = Demand(16, 1e8 * (1 - np.eye(16)), {})
    for semantics, less in ((CORRECTED, True), (ORIGINAL, False)):
        problem = problem_of(mlp(), cluster, semantics)
        plain = fixed_network(problem, RandomGraph(4), np.random.default_rng(0))
        fitted = Networks(problem, lambda rng, demand, plain=plain: plain, None).of_family(rng, demand)[0]
        busiest, before = link_seconds(fitted, demand).max(), link_seconds(plain, demand).max()
        assert (busiest < before) == less
        assert (fitted is plain) != less
    problem = problem_of(mlp(), cluster, CORRECTED)
    star = fixed_network(problem, FatTree(), rng)
    assert Networks(problem, lambda rng, demand: star, None).of_family(rng, demand) == [star]
    one, other = (other_draw(problem, RandomGraph(4), demand, [0, 1], fitted=fitted)[0] for fitted in (False, True))
    assert (one.topology.links == other.topology.links).all()
    assert link_seconds(other, demand).max() < link_seconds(one, demand).max()


def test_networks_at_random_have_round_trips_for_the_groups_of_a_demand():
    """And routes that share the load of its pairs; each draw has other links."""
    cluster, groups = Cluster(12, degree=4), {tuple(range(0, 12, 2)): 1e8, tuple(range(12)): 1e8}
    demand = Demand(12, 1e6 * (1 - np.eye(12)), {}, groups)
    problem, rng = problem_of(mlp(), cluster, CORRECTED), np.random.default_rng(0)
    networks = Networks(problem, rebuilder(problem, RandomGraph(4)), 4)
    drawn = [network for _ in range(3) for network in networks.at_random(rng, demand)]
    assert len({network.topology.links.tobytes() for network in drawn}) == 3
    for network in drawn:
        assert (network.topology.links.sum(axis=1) <= 4).all()
        assert {tuple(sorted(cycle)) for cycle in network.topology.cycles} == set(groups)
        assert np.isfinite(link_seconds(network, demand)).all()
    built = [networks.built(rng, demand)[0].topology.links.tobytes() for _ in range(40)]
    assert len(set(built)) > 3


def test_other_draws_of_a_random_family_are_built_too(monkeypatch):
    """Each with rings for the demand; the same draws for the same seeds."""
    monkeypatch.setattr("flexnet.search.rebuild.MOST_LOOKED_AT", 16)
    problem = problem_of(mlp(), Cluster(12, degree=4), CORRECTED)
    groups = {tuple(range(0, 12, 2)): 1e8, tuple(range(12)): 1e8}
    demand = Demand(12, 1e6 * (1 - np.eye(12)), {}, groups)

    def links(n_other: int) -> list[bytes]:
        rng = np.random.default_rng(0)
        others = later_draws(problem, RandomGraph(4), 0)[:n_other]
        own = cycle_follower(fixed_network(problem, RandomGraph(4), rng))
        networks = Networks(problem, own, None, others=others)
        built = [networks.built(rng, demand)[0] for _ in range(60)]
        for network in built:
            assert set(groups) <= {tuple(sorted(cycle)) for cycle in network.topology.cycles}
        assert networks.of_family(rng, demand)[0].topology.links is own(rng, demand).topology.links
        return [network.topology.links.tobytes() for network in built]

    assert len(set(links(0))) == 1
    assert len(set(links(3))) == 4
    assert links(3) == links(3)


def test_of_other_draws_those_whose_servers_are_nearest_are_taken(monkeypatch):
    monkeypatch.setattr("flexnet.search.rebuild.MOST_LOOKED_AT", 24)
    problem, family = problem_of(mlp(), Cluster(12, degree=3), CORRECTED), RandomGraph(3)
    demand, rng = Demand(12, 1e6 * (1 - np.eye(12)), {}, {}), np.random.default_rng(0)

    def farness(topology: Topology) -> tuple[int, int]:
        lengths = dict(nx.all_pairs_shortest_path_length(nx.Graph(topology.to_networkx())))
        sums = [sum(to.values()) for to in lengths.values()]
        return max(sums), sum(sums)

    drawn = [family.build(12, None, np.random.default_rng([5, 0, k])) for k in range(1, 25)]
    expected = sorted(map(farness, drawn))[:7]
    assert [farness(draw(rng, demand).topology) for draw in later_draws(problem, family, 5)] == expected
    assert expected[-1] < sorted(map(farness, drawn))[-1]


def test_circulant_graphs_have_routes_and_rings_that_look_alike_from_every_server():
    """Ring edges over two links each fill links evenly, which routes drawn one by one do not."""
    n = 16
    problem, rng = problem_of(mlp(), Cluster(n, degree=4), CORRECTED), np.random.default_rng(0)
    networks, server = Networks(problem, rebuilder(problem, RandomGraph(4)), 4), np.arange(n)
    pairs = np.zeros((n, n))
    for ahead in (1, 3, 13, 15):
        pairs[server, (server + ahead) % n] = 1e8
    groups = {tuple(range(first, n, 4)): 1e8 for first in range(4)}
    demand = Demand(n, pairs, {4: 4e8}, groups)
    found = networks.circulants(rng, demand)
    for network in found:
        assert (network.topology.links.sum(axis=1) == 4).all()
        assert {tuple(sorted(cycle)) for cycle in network.topology.cycles} == set(groups)
    alike = [network for network in found if network.topology.links[0].nonzero()[0].tolist() == [1, 3, 13, 15]]
    seconds = link_seconds(alike[0], demand)
    assert np.allclose(seconds, seconds[0])
    drawn = build_network(circulant(n, (1, 3)), problem.cluster, semantics=CORRECTED, rng=rng)
    drawn = add_cycles(drawn, groups, rng)
    assert link_seconds(drawn, demand).max() > 1.2 * seconds[0]
    built = {network.topology.links.tobytes() for _ in range(60) for network in networks.built(rng, demand)}
    assert {network.topology.links.tobytes() for network in found} & built
    many = Demand(256, np.ones((256, 256)), {}, {})
    assert networks.circulants(rng, many) == []


def test_networks_have_two_sides_where_pairs_send_more_than_rings():
    problem, rng = problem_of(mlp(), Cluster(8, degree=4), CORRECTED), np.random.default_rng(0)
    networks, every = Networks(problem, rebuilder(problem, RandomGraph(4)), 4), tuple(range(8))
    pairs = 1e6 * (1 - np.eye(8))
    (network, *_) = networks.two_sided(rng, Demand(8, pairs, {}, {every: 1e5}))
    assert (network.topology.links.sum(axis=1) == 4).all()
    assert {tuple(sorted(cycle)) for cycle in network.topology.cycles} == {every}
    assert networks.two_sided(rng, Demand(8, pairs, {}, {every: 1e9})) == []


def test_cycles_follow_the_groups_of_a_strategy():
    problem = problem_of(mlp(), Cluster(8, degree=3), CORRECTED)
    base = fixed_network(problem, RandomGraph(3), np.random.default_rng(0))
    has = {tuple(sorted(cycle)) for cycle in base.cycles}
    assert has == {tuple(range(8)), (0, 2, 4, 6), (1, 3, 5, 7)}
    follow = cycle_follower(base)
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    groups = {(0, 1, 2, 3): 1e6, (4, 5): 1e6, (1, 3, 5, 7): 1.0}
    one, again = (follow(rng, Demand(8, np.zeros((8, 8)), {}, groups)) for _ in range(2))
    assert rng.bit_generator.state == state
    assert one is not again
    assert one.cycles == again.cycles
    assert {tuple(sorted(cycle)) for cycle in one.cycles} == {*has, (0, 1, 2, 3)}
    assert one.topology.links is base.topology.links
    assert one.route is base.route


def test_original_semantics_and_switches_follow_nothing():
    for semantics, family, follows in (
        (CORRECTED, RandomGraph(3), True),
        (CORRECTED, FatTree(), False),
        (ORIGINAL, RandomGraph(4, ORIGINAL), False),
    ):
        problem = problem_of(mlp(), Cluster(8, degree=4), semantics)
        network = fixed_network(problem, family, np.random.default_rng(0))
        assert follows_groups(problem, network) == bool(network.cycles) == follows


def test_odd_numbers_of_interfaces_are_all_used_from_the_start():
    """TotientPerm's rings take two each; a ring and a half, on a network of another kind, takes all three."""
    starts = []
    for degree in (2, 3):
        cluster = Cluster(8, link_bandwidth=1e8, degree=degree)
        starts.append(prepare(problem_of(mlp(width=512), cluster, CORRECTED), Settings("topoopt", 0)).start.seconds)
    assert starts[1] < 0.8 * starts[0]
