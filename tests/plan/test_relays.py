"""Transfers along trees: everybody gets what it got, from somebody who has it, and counts once where it begins."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cost_table, mlp, random_configs, random_problem

from flexnet import Cluster
from flexnet.cost.configs import every_degrees
from flexnet.network.network import Network, connect
from flexnet.network.relays import relay_trees
from flexnet.network.routes import shortest_routes
from flexnet.network.topology import Topology
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, Semantics
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.protocol import FLUID

PLAIN = replace(CORRECTED, spread_transfers=False)
DIRECT = replace(PLAIN, relay_transfers=False)


def random_trees(rng: np.random.Generator, n: int) -> np.ndarray:
    """Of every server a tree to all others, in which it hands on to servers drawn at random."""
    parent = np.zeros((n, n), np.int16)
    for root in range(n):
        order = [root, *(int(t) for t in rng.permutation(n) if t != root)]
        parent[root, root] = root
        for k, t in enumerate(order[1:], 1):
            parent[root, t] = order[int(rng.integers(k))]
    return parent


def sent(graph: TaskGraph) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """From and to which server all transfers go, and which of them go forward and which back."""
    transfers = np.flatnonzero(graph.kind == NOMINAL_COMM).tolist()
    return [divmod(int(graph.place[t]), graph.n_server) for t in transfers], transfers[::2], transfers[1::2]


def any_set(problem: Problem) -> Problem:
    """Two that get the same are enough."""
    return replace(problem, arrays=problem.arrays._replace(interfaces=1))


def linked(n: int, *, round_: bool = False) -> Network:
    """Servers in a line, or on a ring."""
    near = np.eye(n, k=1, dtype=np.int64)
    near[-1, 0] = round_
    topology = Topology("line", n, 0, near + near.T, {})
    return connect(topology, 1e9, 0.0, shortest_routes(topology, np.random.default_rng(0)))


def waits_its_turn(graph: TaskGraph, task: int, following: int) -> bool:
    """Whether one of two transfers between the same servers waits for the other: needs no data of it."""
    are_transfers = graph.kind[task] == graph.kind[following] == NOMINAL_COMM
    return bool(are_transfers and graph.place[task] == graph.place[following])


def preceding(graph: TaskGraph) -> list[set[int]]:
    """Compute tasks of which each compute task needs something; a circle, through turns too, is an error."""
    before: list[set[int]] = [set() for _ in range(graph.n_task)]
    waits = np.bincount(graph.succ, minlength=graph.n_task)
    ready = np.flatnonzero(waits == 0).tolist()
    while ready:
        task = ready.pop()
        mine = {task} if graph.kind[task] <= BACKWARD else set()
        for following in graph.successors(task).tolist():
            if not waits_its_turn(graph, task, following):
                before[following] |= before[task] | mine
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)
    assert not waits.any(), "a circle"
    return [before[task] for task in np.flatnonzero(graph.kind <= BACKWARD)]


def ends(graph: TaskGraph) -> tuple[np.ndarray, np.ndarray]:
    return np.divmod(graph.place.astype(np.int64), graph.n_server)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=150, deadline=None)
def test_all_wait_for_the_same_and_data_is_where_it_leaves(seed: int, in_turn: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = any_set(random_problem(rng, replace(PLAIN, transfers_in_turn=in_turn)))
    strategy = make_strategy(problem, random_configs(rng, problem))
    parents = random_trees(rng, problem.cluster.n_server)
    graph, direct = build(problem, strategy, trees=lambda: parents), build(problem, strategy)
    graph.check()
    assert graph.kind.tolist() == direct.kind.tolist()
    assert graph.bytes.tolist() == direct.bytes.tolist()
    transfers = graph.kind == NOMINAL_COMM
    assert graph.place[~transfers].tolist() == direct.place[~transfers].tolist()
    assert preceding(graph) == preceding(direct)
    source, target = ends(graph)
    plain = build(problem.with_transfers_at_once(), strategy, trees=lambda: parents)
    for task in range(graph.n_task):
        for following in plain.successors(task).tolist():
            if waits_its_turn(plain, task, following):
                continue
            if transfers[task]:
                here = source[following] if transfers[following] else graph.place[following]
                assert target[task] == here
            elif transfers[following]:
                assert source[following] == graph.place[task]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_every_server_gets_a_message_once_and_sends_a_sum_once(seed: int) -> None:
    """Of what is alike the receivers of copies stay, and the senders of what is added up; the rest is untouched."""
    rng = np.random.default_rng(seed)
    problem = any_set(random_problem(rng, PLAIN))
    strategy = make_strategy(problem, random_configs(rng, problem))
    parents = random_trees(rng, problem.cluster.n_server)
    graph, direct = build(problem, strategy, trees=lambda: parents), build(problem, strategy)
    copies = Builder(problem).alike(strategy)
    (source, target), (first, last) = ends(graph), ends(direct)
    transfers = graph.kind == NOMINAL_COMM
    assert (copies[~transfers] == 1).all()
    assert (np.abs(copies) >= 1).all()
    assert np.array_equal(target[transfers & (copies >= 1)], last[transfers & (copies >= 1)])
    assert np.array_equal(source[transfers & (copies <= 1)], first[transfers & (copies <= 1)])
    back = np.flatnonzero(transfers)[1::2]
    assert np.array_equal(copies[back], np.where(copies[back - 1] == 1, 1, -copies[back - 1]))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_memory_used_again_leaves_nothing_behind(seed: int) -> None:
    """Of networks and strategies by turns, and of copies in between."""
    rng = np.random.default_rng(seed)
    problem = any_set(random_problem(rng, PLAIN))
    builder = Builder(problem)
    strategies = [make_strategy(problem, random_configs(rng, problem)) for _ in range(3)]
    networks = [None, *(random_trees(rng, problem.cluster.n_server) for _ in range(2))]
    for _ in range(8):
        strategy, parents = strategies[int(rng.integers(3))], networks[int(rng.integers(3))]
        trees = None if parents is None else lambda parents=parents: parents
        fresh = build(problem, strategy, trees=trees).arrays()
        for ours, other in zip(builder.arrays(strategy, trees), fresh, strict=True):
            assert np.array_equal(ours, other)
        if rng.random() < 0.3:
            builder.alike(strategies[int(rng.integers(3))])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_who_has_come_farther_or_has_less_far_to_go_waits_on_a_link(seed: int) -> None:
    """Of what leaves the root of its tree; what is on its way there comes in the opposite order."""
    rng = np.random.default_rng(seed)
    problem = any_set(random_problem(rng, PLAIN).with_transfers_at_once())
    strategy = make_strategy(problem, random_configs(rng, problem))
    parents = random_trees(rng, problem.cluster.n_server)
    graph, direct = build(problem, strategy, trees=lambda: parents), build(problem, strategy)
    copies = Builder(problem).alike(strategy)
    has_one_input = np.bincount(problem.arrays.edge_dst, minlength=len(problem.graph.operators)) == 1
    relayed = [t for t in np.flatnonzero(np.abs(copies) > 1).tolist() if has_one_input[graph.op[t]]]
    (source, target), (first, last) = ends(graph), ends(direct)
    roots, heights, links = {}, {}, {}
    for task in relayed:
        out = copies[task] > 1
        root, server, other = (each[task] for each in ((first, target, source) if out else (last, source, target)))
        roots[task] = int(root), int(server), int(graph.op[task]), bool(out)
        for k, at in enumerate(_path(parents, int(root), int(server))):
            key = int(root), at, int(graph.op[task]), bool(out)
            heights[key] = max(heights.get(key, 0), k)
        if parents[root, server] == other:
            links.setdefault((int(graph.place[task]), int(graph.op[task]), bool(out)), []).append(task)

    def rank(task: int) -> tuple[int, int]:
        root, server, _, out = roots[task]
        links, height = len(_path(parents, root, server)), heights[roots[task]]
        return (links, -height) if out else (-links, height)

    trees = Counter((root, op, out) for root, _, op, out in roots.values())
    several = {roots[task][2] for task in relayed if trees[roots[task][0], *roots[task][2:]] != abs(copies[task])}
    for (_, op, _), tasks in links.items():
        for a, b in pairwise(sorted(tasks, key=rank) if op not in several else []):  # several trees with one root
            assert rank(a) == rank(b) or _reaches(graph, a, b)
        assert sum(waits_its_turn(graph, a, b) for a in tasks for b in graph.successors(a).tolist()) >= len(tasks) - 1


def _path(parents: np.ndarray, root: int, server: int) -> list[int]:
    """A server and those it gets things over, without the root."""
    found = []
    while server != root:
        found.append(server)
        server = int(parents[root, server])
    return found


def _reaches(graph: TaskGraph, a: int, b: int) -> bool:
    """Whether one transfer waits for another over the same link, at once or through others there."""
    left = [a]
    while left:
        task = left.pop()
        if task == b:
            return True
        left += [other for other in graph.successors(task).tolist() if waits_its_turn(graph, task, other)]
    return False


def two_layers(n: int, semantics: Semantics = PLAIN) -> Problem:
    graph = mlp(2)
    ways = [every_degrees(op, n_server=n, big_gpu=0) for op in graph.operators]
    return make_problem(
        graph, cost_table(graph, n, ways), Cluster(n, link_bandwidth=1e9, latency=0.0, degree=2), semantics
    )


def on_a_line(*configs: Config) -> tuple[Problem, Strategy, Network, TaskGraph]:
    """Two layers on four servers in a line."""
    problem, network = two_layers(4), linked(4)
    strategy = make_strategy(problem, list(configs))
    return problem, strategy, network, build(problem, strategy, trees=lambda: relay_trees(network))


def test_what_all_read_goes_on_along_a_line() -> None:
    """The first layer on server 0; parts of the second, cut along output channels, read all of it."""
    problem, strategy, network, graph = on_a_line(Config((1, 1), (0,)), Config((4, 1), (0, 1, 2, 3)))
    places, there, back = sent(graph)
    assert places == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    assert all(b in graph.successors(a) for a, b in pairwise(there)), "handed on"
    assert all(a in graph.successors(b) for a, b in pairwise(back)), "added up"
    transfers = sorted([*there, *back])
    assert Builder(problem).alike(strategy)[transfers].tolist() == [3, -3] * 3
    links = FairLinks(protocol=FLUID)
    direct = build(problem, strategy)
    a, b = (links.timeline(each.arrays(), network_arrays(network)) for each in (graph, direct))
    size = float(graph.bytes[there[0]])
    landed = np.sort(a.end[there] - a.start[there[0]])
    assert landed == pytest.approx([size / 1e9, 2 * size / 1e9, 3 * size / 1e9])
    assert b.end[there].max() - b.start[there].min() == pytest.approx(3 * size / 1e9), "three share the first link"
    assert graph.bytes[transfers].sum() < sum(
        graph.bytes[t] * abs(divmod(int(direct.place[t]), 4)[0] - divmod(int(direct.place[t]), 4)[1]) for t in transfers
    )


@pytest.mark.parametrize(
    ("first", "second"), [((8, 1), (8, 1)), ((1, 1, 8), (1, 8))], ids=["what all read", "what all add to"]
)
def test_links_of_a_ring_never_idle(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """What eight servers on a ring get of each other, three parts from one side and four from the other."""
    n, everyone = 8, tuple(range(8))
    problem = two_layers(n)
    strategy = make_strategy(problem, [Config(first, everyone), Config(second, everyone)])
    network = linked(n, round_=True)
    graph = build(problem, strategy, trees=lambda: relay_trees(network))
    timeline = FairLinks(protocol=FLUID).timeline(graph.arrays(), network_arrays(network))
    _, there, back = sent(graph)
    assert np.bincount(graph.place[there]).max() == 4
    for way in (there,) if len(first) > 2 else (there, back):  # all-reduces share links with what returns of sums
        seconds = timeline.end[way].max() - timeline.start[way].min()
        assert seconds == pytest.approx(4 * graph.bytes[there[0]] / 1e9)


def test_partial_sums_are_added_up_on_the_way() -> None:
    """The first layer is cut along what it sums over, on servers 0 to 3; the second is on server 0."""
    *_, graph = on_a_line(Config((1, 1, 4), (0, 1, 2, 3)), Config((1, 1), (0,)))
    places, there, back = sent(graph)
    assert places == [(1, 0), (0, 1), (2, 1), (1, 2), (3, 2), (2, 3)]
    assert all(a in graph.successors(b) for a, b in pairwise(there)), "added up"
    assert all(b in graph.successors(a) for a, b in pairwise(back)), "handed on"


def test_few_that_a_server_may_be_linked_to_get_it_from_there() -> None:
    """Two of them, and two links of a server."""
    problem, strategy, network, graph = on_a_line(Config((1, 1), (0,)), Config((2, 1), (1, 3)))
    direct = build(problem, strategy)
    assert graph.place.tolist() == direct.place.tolist()
    assert (Builder(problem).alike(strategy) == 1).all()
    trees = relay_trees(network)
    assert build(any_set(problem), strategy, trees=lambda: trees).place.tolist() != direct.place.tolist()


def test_nobody_hands_on_under_other_semantics() -> None:
    problem = two_layers(4, DIRECT)
    strategy = make_strategy(problem, [Config((1, 1), (0,)), Config((4, 1), (0, 1, 2, 3))])
    parents = random_trees(np.random.default_rng(0), 4)
    graph, direct = build(problem, strategy, trees=lambda: parents), build(problem, strategy)
    assert graph.place.tolist() == direct.place.tolist()
    assert (Builder(problem).alike(strategy) == 1).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_bundles_bring_what_is_handed_on(seed: int) -> None:
    """Whatever waits for transfers gets them; bundles take no less than the busiest server."""
    rng = np.random.default_rng(seed)
    problem = any_set(random_problem(rng, PLAIN).with_transfers_at_once())
    strategy = make_strategy(problem, random_configs(rng, problem))
    network = linked(problem.cluster.n_server)
    graph = build(problem, strategy, trees=lambda: relay_trees(network))
    timeline = BundledLinks(protocol=FLUID).timeline(graph.arrays(), network_arrays(network))
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    follows = (graph.kind[graph.succ] <= BACKWARD) & (graph.kind[source] <= NOMINAL_COMM)
    assert (timeline.end[source[follows]] <= timeline.start[graph.succ[follows]] * (1 + 1e-9) + 1e-12).all()
    busy = np.bincount(graph.place[graph.kind <= BACKWARD], graph.seconds[graph.kind <= BACKWARD])
    assert timeline.seconds >= busy.max() * (1 - 1e-9)
