"""What plans take at least with their cuts and places, and their network, fixed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import small_problem

from flexnet.cost.roofline import roofline_table
from flexnet.exact.plan_bounds import bound_with_network, bound_with_strategy
from flexnet.model.zoo import MODELS
from flexnet.network.build import build_network, family_of
from flexnet.network.network import Network
from flexnet.network.relays import relay_trees
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.search.find import find_plan
from flexnet.search.packet_speed import packet_cluster, packet_network
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import fixed_network, rebuilder
from flexnet.search.settings import Settings
from flexnet.simulate.protocol import FLUID, PACKET
from flexnet.simulate.replay import replay

B = 1e9
"""Bytes/s of a link in graphs made by hand."""


def by_hand(
    n_server: int,
    tasks: Sequence[tuple[int, int, float, float]],
    edges: Sequence[tuple[int, int]] = (),
    groups: Sequence[Sequence[int]] = (),
) -> TaskGraph:
    """Tasks (kind, place, seconds, bytes / B), edges between them, and members of all-reduces."""
    succ = [[b for a, b in edges if a == task] for task in range(len(tasks))]
    ints = [np.cumsum([0, *map(len, lists)]).astype(np.int32) for lists in (succ, groups)]
    kind, place, seconds, size = zip(*tasks, strict=True)
    return TaskGraph(
        n_server,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.array(seconds, np.float64),
        (np.array(size) * B).astype(np.int64),
        ints[0],
        np.array([b for lists in succ for b in lists], np.int32),
        ints[1],
        np.array([member for members in groups for member in members], np.int32),
        np.zeros(len(tasks), np.int32),
    )


def on_a_switch(graph: TaskGraph) -> tuple[float, str]:
    cluster = Cluster(graph.n_server, link_bandwidth=B)
    bound = bound_with_strategy(graph, cluster, family_of("fattree"))
    return round(bound.seconds, 4), bound.words


def test_a_path_and_what_one_server_sends() -> None:
    first, last = (FORWARD, 0, 1.0, 0.0), (BACKWARD, 1, 3.0, 0.0)
    path = by_hand(3, [first, (NOMINAL_COMM, 1, 0.0, 2.0), last], [(0, 1), (1, 2)])
    assert on_a_switch(path) == (6.0, "critical path")
    both = [first, (NOMINAL_COMM, 1, 0.0, 2.0), (NOMINAL_COMM, 2, 0.0, 2.0), last, (FORWARD, 0, 0.0, 0.0)]
    both += [(BACKWARD, 2, 3.0, 0.0)]
    sent = by_hand(3, both, [(0, 1), (0, 4), (4, 2), (1, 3), (2, 5)])
    assert on_a_switch(sent) == (8.0, "bytes sent by server 0")  # 1, then 4 through one interface, then 3


def test_late_tasks_bind_without_early_ones() -> None:
    """The early transfer makes the least head 0, but what comes late fits in behind 5 s alone."""
    sends = [(NOMINAL_COMM, 1, 0.0, 2.0), (NOMINAL_COMM, 2, 0.0, 2.0)]
    tasks = [(NOMINAL_COMM, 1, 0.0, 0.5), (FORWARD, 0, 5.0, 0.0), (FORWARD, 0, 0.0, 0.0), *sends]
    assert on_a_switch(by_hand(3, tasks, [(1, 2), (1, 3), (2, 4)])) == (9.0, "bytes sent by server 0")


def test_what_waits_for_several_transfers_waits_for_all_their_bytes() -> None:
    """Server 0 sends 2 s to each of two others, which send 2 s back; what is early enough does not count."""
    ask, answer = [(NOMINAL_COMM, at, 0.0, 2.0) for at in (1, 2)], [(NOMINAL_COMM, at, 0.0, 2.0) for at in (3, 6)]
    work = [(FORWARD, 0, 1.0, 0.0), (FORWARD, 1, 1.0, 0.0), (FORWARD, 2, 1.0, 0.0), (BACKWARD, 0, 1.0, 0.0)]
    edges = [(0, 4), (0, 5), (4, 1), (5, 2), (1, 6), (2, 7), (6, 3), (7, 3)]
    assert on_a_switch(by_hand(3, [*work, *ask, *answer], edges)) == (1 + 2 + 1 + 2 * 2 + 1, "critical path")
    early = [*work, *ask, *answer, (NOMINAL_COMM, 3, 0.0, 1.0)]
    assert on_a_switch(by_hand(3, early, [*edges, (8, 3)])) == (1 + 2 + 1 + 2 * 2 + 1, "critical path")


def test_all_reduces_are_rings() -> None:
    reduced = by_hand(4, [(BACKWARD, 0, 1.0, 0.0), (ALLREDUCE, 0, 0.5, 2.0)], [(0, 1)], [[0, 1, 2, 3]])
    assert on_a_switch(reduced) == (1.0 + 0.5 + 2 * 3 / 4 * 2.0, "critical path")


def test_forwarded_bytes_count_for_every_link() -> None:
    """All to all of 5 servers with two interfaces: of 4 others two are two links away."""
    graph = by_hand(5, [(NOMINAL_COMM, a * 5 + b, 0.0, 1.0) for a in range(5) for b in range(5) if a != b])
    family, cluster = family_of("topoopt", degree=2, semantics=CORRECTED), Cluster(5, link_bandwidth=B, degree=2)
    bound = bound_with_strategy(graph, cluster, family)
    assert bound.seconds == pytest.approx(5 * (1 + 1 + 2 + 2) / (5 * 2))
    assert bound.words == "bytes of all servers over the links they take"


def test_a_narrow_place_of_the_network_binds() -> None:
    """Two triangles joined by one link, which carries what all of one send to the other."""
    links = np.zeros((6, 6), np.int64)
    for a, b in ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)):
        links[a, b] = links[b, a] = 1
    network = build_network(Topology("triangles", 6, 0, links, {}), Cluster(6, link_bandwidth=B, degree=3))
    graph = by_hand(6, [(NOMINAL_COMM, a * 6 + a + 3, 0.0, 1.0) for a in range(3)])
    bound = bound_with_network(graph, network)
    assert (round(bound.seconds, 4), bound.words) == (3.0, "links from or to servers 0 1 2")
    assert bound_with_strategy(graph, Cluster(6, link_bandwidth=B, degree=3), family_of("random", degree=3)).seconds < 1


def test_a_pair_of_servers_has_one_route() -> None:
    """Of three servers, each linked to both others, one sends for 2 s to another, or for 1 s to each."""
    network = build_network("fc", Cluster(3, link_bandwidth=B))
    apart = by_hand(3, [(NOMINAL_COMM, 1, 0.0, 1.0), (NOMINAL_COMM, 2, 0.0, 1.0)])
    together = by_hand(3, [(NOMINAL_COMM, 1, 0.0, 1.0), (NOMINAL_COMM, 1, 0.0, 1.0)])
    assert bound_with_network(apart, network).seconds == pytest.approx(1.0)
    bound = bound_with_network(together, network)
    assert (round(bound.seconds, 4), bound.words) == (2.0, "bytes from server 0 to server 1")
    cluster, family = Cluster(3, link_bandwidth=B, degree=2), family_of("random", degree=2)
    assert bound_with_strategy(together, cluster, family).seconds == pytest.approx(1.0)  # links may be parallel
    assert bound_with_strategy(together, cluster, family, route=B).seconds == pytest.approx(2.0)
    assert bound_with_strategy(apart, cluster, family, route=B).seconds == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("family", "links"), [("fattree", 1), ("topoopt", 4), ("random", 1), ("fc", 1), ("leafspine", 1)]
)
def test_what_a_route_has_as_a_rule(family: str, links: int) -> None:
    """All interfaces of a server may be wired to another one, but seldom are by chance."""
    cluster = Cluster(16, link_bandwidth=B, degree=4)
    assert family_of(family, degree=4, semantics=CORRECTED).route_bandwidth(cluster) == links * B


def test_a_route_over_a_drawing_has_its_widest_link() -> None:
    links = np.zeros((4, 4), np.int64)
    for a, b, n in ((0, 1, 1), (1, 2, 3), (2, 0, 1), (2, 3, 1)):
        links[a, b] = links[b, a] = n
    family = family_of(Topology("drawn", 4, 0, links, {}))
    assert family.route_bandwidth(Cluster(4, link_bandwidth=B)) == 3 * B


def test_one_server_sends_nothing() -> None:
    graph = by_hand(
        1, [(FORWARD, 0, 1.0, 0.0), (BACKWARD, 0, 2.0, 0.0), (ALLREDUCE, 0, 0.5, 4.0)], [(0, 1), (1, 2)], [[0]]
    )
    network = build_network("fc", Cluster(1, link_bandwidth=B))
    assert bound_with_network(graph, network).seconds == pytest.approx(3.5)
    assert on_a_switch(graph) == (3.5, "critical path")


def random_strategy(rng: np.random.Generator, problem: Problem) -> Strategy:
    configs = []
    for entries in problem.candidates:
        entry = entries[int(rng.integers(len(entries)))]
        devices = rng.permutation(problem.cluster.n_server)[: int(np.prod(entry.degrees))]
        configs.append(Config(entry.degrees, tuple(devices.tolist())))
    return make_strategy(problem, configs)


def larger(graph: TaskGraph, network: Network, times: int) -> tuple[TaskGraph, Network]:
    """As many times the bytes over as many times the bandwidth."""
    bandwidth, link = network.bandwidth * times, network.link_bandwidth * times
    return replace(graph, bytes=graph.bytes * times), replace(network, bandwidth=bandwidth, link_bandwidth=link)


@pytest.mark.compiled  # hundreds of small replays
@pytest.mark.parametrize(("topology", "n_server"), [("fattree", 3), ("topoopt", 4), ("random", 6), ("fc", 4)])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_no_replay_takes_less(topology: str, n_server: int, seed: int) -> None:
    """Of transfers and all-reduces of tens of bytes to tens of MB, followed by packets and as fluids."""
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, n_server, int(rng.integers(2, 6)), 4)
    problem = replace(problem, arrays=problem.arrays._replace(interfaces=1))  # the same for two goes on
    family = family_of(topology, degree=2, semantics=CORRECTED)
    strategy = random_strategy(rng, problem)
    rebuild = rebuilder(problem, family) if family.follows_demand else None
    demand = Pricer(problem).demand(strategy)
    network = fixed_network(problem, family, rng) if rebuild is None else rebuild(rng, demand)
    times, copies = int(rng.choice([1, 1_000, 30_000, 300_000])), Builder(problem).alike(strategy).copy()
    direct, _ = larger(build(problem, strategy), network, times)
    graph, network = larger(build(problem, strategy, trees=partial(relay_trees, network)), network, times)
    cluster = replace(problem.cluster, link_bandwidth=network.link_bandwidth)
    by_members = PACKET._replace(rings_by_index=False)
    for protocol in (by_members, FLUID):
        takes = replay(graph, network, protocol=protocol).seconds
        small, as_fast, there = protocol.small_packet_bytes, cluster, network
        if protocol.by_packet:
            as_fast, there = packet_cluster(cluster, family.interfaces(n_server)), packet_network(network)
        assert bound_with_strategy(direct, as_fast, family, small, copies).seconds <= takes
        assert bound_with_network(graph, there, small).seconds <= takes
        takes = replay(direct, network, protocol=protocol).seconds
        assert bound_with_strategy(direct, as_fast, family, small).seconds <= takes
        assert bound_with_network(direct, there, small).seconds <= takes


def test_bytes_take_whole_picoseconds_where_packets_are_followed() -> None:
    """At 138.24 Gbps a byte takes 57 ps, not 57.87; at 25 Gbps 320; three such links are one of 106 ps, not 106.67."""
    odd, even = (Cluster(2, link_bandwidth=bandwidth) for bandwidth in (17.28e9, 3.125e9))
    assert packet_cluster(odd, 1).link_bandwidth == pytest.approx(1e12 / 57)
    assert packet_cluster(even, 2).link_bandwidth == 3.125e9
    assert packet_cluster(even, 3).link_bandwidth == pytest.approx(3.125e9 * 106.6667 / 106, rel=1e-6)
    assert packet_network(build_network("fc", odd)).bandwidth.tolist() == pytest.approx([1e12 / 57] * 2)


def test_small_all_reduces_of_several_rings_are_cut_short() -> None:
    """One of 504 kB over 8 servers linked to each other: six rings of one round each."""
    graph = by_hand(8, [(BACKWARD, 0, 0.0, 0.0), (ALLREDUCE, 0, 0.0, 504_000 / B)], [(0, 1)], [range(8)])
    cluster, family = Cluster(8, link_bandwidth=1e9), family_of("fc")
    network = build_network("fc", cluster)
    takes = replay(graph, network).seconds
    assert takes < 2 * 7 / 8 * 504_000 / 7e9 < replay(graph, network, protocol=FLUID).seconds
    for small, least in ((PACKET.small_packet_bytes, 0.0), (0.0, 1.2e-4)):
        assert least < bound_with_strategy(graph, cluster, family, small).seconds < (takes if small else 1.3e-4)


@pytest.mark.compiled
def test_a_search_whose_all_reduces_are_cut_short_is_not_below_its_bound() -> None:
    """A transformer whose weights are all small: FlexNetPacket runs them in one round of 62."""
    graph = MODELS["transformer"].build({"--num-layers": "2", "--hidden-size": "320"}, 64)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=32), Cluster(32, 0, 1e9, 1e8, 1e-6), CORRECTED)
    found = find_plan(problem, Settings("topoopt", 120, strided=True))
    assert found.bound is not None and found.seconds < 0.5 * found.plan.all_rounds_seconds()
    assert found.bound.seconds <= found.fixed[0].seconds <= found.fixed[1].seconds <= found.seconds
