"""Transfers between two servers that take turns: who waits for whom, that nothing waits in a circle, what it brings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, problem_of, random_configs, random_problem
from reference_turns import with_turns

from flexnet import Cluster, build_network, replay
from flexnet.plan.problem import Problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.plan.turns import LATENCIES, needs
from flexnet.simulate.packets import FollowedPackets

PLAIN = replace(CORRECTED, spread_transfers=False)


def edges(graph: TaskGraph) -> list[list[int]]:
    return [sorted(graph.successors(task).tolist()) for task in range(graph.n_task)]


def turns(graph: TaskGraph) -> int:
    """How many transfers wait for another one."""
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    return int(np.sum((graph.kind[source] == NOMINAL_COMM) & (graph.kind[graph.succ] == NOMINAL_COMM)))


def any_size(problem: Problem) -> Problem:
    """All transfers take turns, however small."""
    return replace(problem, arrays=problem.arrays._replace(turn_bytes=0.0))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_transfers_wait_for_the_last_one_that_their_operator_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = any_size(random_problem(rng, PLAIN))
    strategy = make_strategy(problem, random_configs(rng, problem))
    graph, plain = build(problem, strategy), build(problem.with_transfers_at_once(), strategy)
    graph.check()
    assert turns(plain) == 0
    assert edges(graph) == edges(with_turns(plain, problem.arrays.needed, 0.0))


def test_every_layer_waits_for_the_one_before() -> None:
    """Four layers over two servers exchange three outputs, both ways, forward and backward."""
    problem = problem_of(mlp(4), Cluster(2, link_bandwidth=1e9, latency=0.0, degree=1), CORRECTED)
    strategy = make_strategy(problem, [Config((2, 1), (0, 1))] * 4)
    assert turns(build(problem, strategy)) == 2 * 2 * 2


def test_short_transfers_take_no_turns() -> None:
    """Not those that a link carries in less than some latencies; all where there is none."""
    for bandwidth, latency, taken in ((1e9, 0.0, True), (1e9, 1e-3, False), (1e4, 1e-6, True)):
        problem = problem_of(mlp(4), Cluster(2, link_bandwidth=bandwidth, latency=latency, degree=1), CORRECTED)
        graph = build(problem, make_strategy(problem, [Config((2, 1), (0, 1))] * 4))
        assert taken == (graph.bytes[graph.kind == NOMINAL_COMM].min() >= LATENCIES * latency * bandwidth)
        assert taken == (turns(graph) > 0)


def exchanges(n_layer: int, seconds: float, size: int, late: float) -> TaskGraph:
    """Two servers compute layer after layer; each needs what both computed of the one before, and one begins late."""
    kind, place, time, op = [0, 0], [0, 1], [0.0, late], [0, 0]
    succ: list[list[int]] = [[], []]
    last = [0, 1]
    for layer in range(1, n_layer + 1):
        first = len(kind)  # two computations, then what each of the servers sends
        kind += [0, 0, NOMINAL_COMM, NOMINAL_COMM]
        place += [0, 1, 0 * 2 + 1, 1 * 2 + 0]
        time += [seconds, seconds, 0.0, 0.0]
        op += [layer] * 4
        succ += [[], [], [first + 1], [first]]
        for server in (0, 1):
            succ[last[server]] += [first + server, first + 2 + server]
        last = [first, first + 1]
    return TaskGraph(
        2,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.array(time),
        np.where(np.array(kind) == NOMINAL_COMM, size, 0),
        np.cumsum([0, *map(len, succ)]).astype(np.int32),
        np.array([s for after in succ for s in after], np.int32),
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.array(op, np.int32),
    )


@pytest.mark.parametrize("late", [0.0, 0.2e-3, 0.7e-3])
def test_servers_that_exchange_what_layers_put_out_stay_in_step(late: float) -> None:
    """By packets: who is behind by less than a transfer takes falls back by up to one more in every layer."""
    n_layer, size = 12, 1500 * 8936
    graph = exchanges(n_layer, 0.3e-3, size, late)
    in_turn = with_turns(graph, needs(n_layer + 1, [(i, i + 1) for i in range(n_layer)]), 0.0)
    network = build_network("star", Cluster(2, link_bandwidth=12.5e9, latency=1e-6))
    before, after = (replay(one, network, links=FollowedPackets()).seconds for one in (graph, in_turn))
    assert after <= before * 1.001
    assert after == pytest.approx(n_layer * (0.3e-3 + size / 12.5e9) + late, rel=0.02)
    if late > 0.5e-3:
        assert before > 1.2 * after
