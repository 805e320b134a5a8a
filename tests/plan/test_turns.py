"""Transfers between two servers that take turns: who waits for whom, that nothing waits in a circle, what it brings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, problem_of, random_configs, random_problem

from flexnet import Cluster, build_network, replay
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.plan.turns import LATENCIES, needs, take_turns
from flexnet.simulate.packets import FollowedPackets

AT_ONCE = replace(CORRECTED, transfers_in_turn=False)


def waits(graph: TaskGraph) -> dict[int, list[int]]:
    """Of every transfer the transfers that wait for it."""
    found = {t: graph.successors(t).tolist() for t in np.flatnonzero(graph.kind == NOMINAL_COMM).tolist()}
    return {t: [s for s in after if graph.kind[s] == NOMINAL_COMM] for t, after in found.items()}


def senders(graph: TaskGraph) -> dict[int, int]:
    """Of every transfer the task that computes what it carries."""
    compute = np.flatnonzero(graph.kind <= BACKWARD).tolist()
    return {s: t for t in compute for s in graph.successors(t).tolist() if graph.kind[s] == NOMINAL_COMM}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_transfers_wait_for_one_that_their_operator_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, AT_ONCE)
    plain = build(problem, make_strategy(problem, random_configs(rng, problem)))
    arrays = problem.arrays
    needed = needs(len(arrays.rank), arrays.edge_src, arrays.edge_dst)
    graph = take_turns(plain, needed, 0.0)
    graph.check()
    assert (graph.bytes == plain.bytes).all()
    sender, after = senders(plain), waits(graph)
    met: dict[int, int] = {}
    for one, others in after.items():
        for other in others:
            back = plain.kind[sender[one]] == BACKWARD
            assert plain.place[one] == plain.place[other]
            assert back == (plain.kind[sender[other]] == BACKWARD)
            assert needed[plain.op[one], plain.op[other]] if back else needed[plain.op[other], plain.op[one]]
            met[other] = met.get(other, 0) + 1
        assert graph.successors(one).tolist()[: len(plain.successors(one))] == plain.successors(one).tolist()
    assert set(met.values()) <= {1}
    for one in after:  # who waits for nobody could not
        pairs = [o for o in after if plain.place[o] == plain.place[one] and o not in met and o != one]
        for other in pairs if one in met else []:
            same_pass = (plain.kind[sender[one]] == BACKWARD) == (plain.kind[sender[other]] == BACKWARD)
            first, last = (one, other) if plain.kind[sender[one]] != BACKWARD else (other, one)
            assert not (same_pass and needed[plain.op[last], plain.op[first]])


def test_short_transfers_take_no_turns() -> None:
    """Not those that a link carries in less than some latencies; all where there is none."""
    configs = [Config((2, 1), (0, 1))] * 4
    for bandwidth, latency, taken in ((1e9, 0.0, True), (1e9, 1e-3, False), (1e4, 1e-6, True)):
        problem = problem_of(mlp(4), Cluster(2, link_bandwidth=bandwidth, latency=latency, degree=1), CORRECTED)
        graph = build(problem, make_strategy(problem, configs))
        sizes = graph.bytes[graph.kind == NOMINAL_COMM]
        assert taken == (sizes.min() >= LATENCIES * latency * bandwidth)
        assert any(waits(graph).values()) == taken


def exchanges(n_layer: int, seconds: float, size: int, late: float) -> TaskGraph:
    """Two servers compute layer after layer; each needs what both computed of the one before, and one begins late."""
    kind, place, time, bytes_, op = [0, 0], [0, 1], [0.0, late], [0, 0], [0, 0]
    succ: list[list[int]] = [[], []]
    last = [0, 1]
    for layer in range(1, n_layer + 1):
        compute = [len(kind), len(kind) + 1]
        for server in (0, 1):
            kind.append(0), place.append(server), time.append(seconds), bytes_.append(0), op.append(layer)
            succ.append([])
        for server in (0, 1):
            kind.append(NOMINAL_COMM), place.append(1 if server == 0 else 2), time.append(0.0), bytes_.append(size)
            op.append(layer), succ.append([compute[1 - server]])
            succ[last[server]] += [compute[server], len(kind) - 1]
        last = compute
    return TaskGraph(
        2,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.array(time),
        np.array(bytes_, np.int64),
        np.cumsum([0, *map(len, succ)]).astype(np.int32),
        np.array([s for after in succ for s in after], np.int32),
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.array(op, np.int32),
    )


@pytest.mark.parametrize("late", [0.0, 0.2e-3, 0.7e-3])
def test_servers_that_exchange_what_layers_put_out_stay_in_step(late: float) -> None:
    """By packets: who falls behind by less than a transfer takes falls back by up to one more in every layer."""
    n_layer, size = 12, 1500 * 8936
    graph = exchanges(n_layer, 0.3e-3, size, late)
    layers = np.arange(n_layer)
    turns = take_turns(graph, needs(n_layer + 1, layers, layers + 1), 0.0)
    network = build_network("star", Cluster(2, link_bandwidth=12.5e9, latency=1e-6))
    before, after = (replay(one, network, links=FollowedPackets()).seconds for one in (graph, turns))
    in_step = n_layer * (0.3e-3 + size / 12.5e9)
    assert after <= before * 1.001
    assert after == pytest.approx(in_step + late, rel=0.02)
    if late > 0.5e-3:
        assert before > 1.2 * after
