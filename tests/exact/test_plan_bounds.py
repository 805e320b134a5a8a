"""What plans take at least with their cuts and places, and their network, fixed."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import small_problem

from flexnet.exact.plan_bounds import bound_with_network, bound_with_strategy
from flexnet.network.build import build_network, family_of
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.search.networks import fixed_network, rebuilder
from flexnet.search.pricing import Pricer
from flexnet.simulate.protocol import PACKET
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
    return round(bound.seconds, 6), bound.words


def test_a_path_and_what_one_server_sends() -> None:
    first, last = (FORWARD, 0, 1.0, 0.0), (BACKWARD, 1, 3.0, 0.0)
    path = by_hand(3, [first, (NOMINAL_COMM, 1, 0.0, 2.0), last], [(0, 1), (1, 2)])
    assert on_a_switch(path) == (6.0, "critical path")
    both = [first, (NOMINAL_COMM, 1, 0.0, 2.0), (NOMINAL_COMM, 2, 0.0, 2.0), last]
    sent = by_hand(3, both, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert on_a_switch(sent) == (8.0, "bytes sent by server 0")  # 1, then 4 through one interface, then 3


def test_late_tasks_bind_without_early_ones() -> None:
    """The early transfer makes the least head 0, but what comes late fits in behind 5 s alone."""
    sends = [(NOMINAL_COMM, 1, 0.0, 2.0), (NOMINAL_COMM, 2, 0.0, 2.0)]
    tasks = [(NOMINAL_COMM, 1, 0.0, 0.5), (FORWARD, 0, 5.0, 0.0), *sends]
    assert on_a_switch(by_hand(3, tasks, [(1, 2), (1, 3)])) == (9.0, "bytes sent by server 0")


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
    assert (round(bound.seconds, 6), bound.words) == (3.0, "links of 3 servers, 0 the first")
    assert bound_with_strategy(graph, Cluster(6, link_bandwidth=B, degree=3), family_of("random", degree=3)).seconds < 1


def random_strategy(rng: np.random.Generator, problem: Problem) -> Strategy:
    configs = []
    for entries in problem.candidates:
        entry = entries[int(rng.integers(len(entries)))]
        devices = rng.permutation(problem.cluster.n_server)[: int(np.prod(entry.degrees))]
        configs.append(Config(entry.degrees, tuple(devices.tolist())))
    return make_strategy(problem, configs)


@pytest.mark.compiled  # hundreds of small replays
@pytest.mark.parametrize(("topology", "n_server"), [("fattree", 3), ("topoopt", 4), ("random", 6), ("fc", 4)])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_bounds_are_in_order_and_below_prices_and_replays(topology: str, n_server: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, n_server, int(rng.integers(2, 6)), 4)
    family = family_of(topology, degree=2, semantics=CORRECTED)
    pricer, strategy = Pricer(problem, every_exact=True), random_strategy(rng, problem)
    rebuild = rebuilder(problem, family) if family.follows_demand else None
    demand = pricer.demand(strategy)
    network = fixed_network(problem, family, rng) if rebuild is None else rebuild(rng, demand)
    graph, small = build(problem, strategy), PACKET.small_packet_bytes
    of_strategy = bound_with_strategy(graph, problem.cluster, family).seconds
    of_network = bound_with_network(graph, network).seconds
    assert of_strategy <= of_network * (1 + 1e-6) or topology == "topoopt"  # which may link pairs by all interfaces
    takes = min(pricer.price(rng, strategy, network).seconds, replay(graph, network, protocol=PACKET).seconds)
    assert bound_with_strategy(graph, problem.cluster, family, small).seconds <= takes * (1 + 1e-6)
    assert bound_with_network(graph, network, small).seconds <= takes * (1 + 1e-6)
