"""Weights that several operators share: one parameter, one gradient, wherever its users lie."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from random_models import cost_table, own_keys

from flexnet.cost.configs import every_degrees
from flexnet.model.builder import GraphBuilder
from flexnet.network.build import build_network
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.replay import replay

N = 4
BYTES = 4 * 8 * 8  # of the weight


def problem(*, tied: bool = True, users: int = 2):
    """A layer of 8 x 8 without bias that is called so often, in a row."""
    b = GraphBuilder("called", 8)
    x = b.dense(b.input(8), 8, bias=False)
    for _ in range(users - 1):
        x = b.dense(x, 8, bias=False, tied=x if tied else None)
    graph = own_keys(b.build())
    ways = [every_degrees(op, n_server=N, big_gpu=0) for op in graph.operators]
    return make_problem(graph, cost_table(graph, N, ways), Cluster(N, 0, 1e9, 1e9), CORRECTED)


def reduces(one, *configs: Config):
    """Of every all-reduce its members, its bytes, and how many tasks it waits for."""
    tasks = build(one, make_strategy(one, configs))
    waits = np.bincount(tasks.succ, minlength=tasks.n_task)
    found = np.flatnonzero(tasks.kind == ALLREDUCE)
    return [(sorted(tasks.members(int(t)).tolist()), int(tasks.bytes[t]), int(waits[t])) for t in found]


ALL = Config((1, N), (0, 1, 2, 3))


def test_calls_that_lie_alike_reduce_once_after_the_last() -> None:
    assert reduces(problem(), ALL, ALL) == [([0, 1, 2, 3], BYTES, 8)]
    assert reduces(problem(tied=False), ALL, ALL) == [([0, 1, 2, 3], BYTES, 4)] * 2
    moved = Config((1, N), (2, 3, 0, 1))
    assert reduces(problem(users=5), ALL, ALL, moved, ALL, ALL) == [([0, 1, 2, 3], BYTES, 20)]


def test_servers_of_calls_that_lie_apart_reduce_together() -> None:
    pair, other = Config((1, 2), (0, 1)), Config((1, 2), (2, 3))
    assert reduces(problem(), pair, other) == [([0, 1, 2, 3], BYTES, 4)]
    assert reduces(problem(), Config((1, 1), (0,)), Config((1, 1), (3,))) == [([0, 3], BYTES, 2)]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ((2, 1), (2, 1), [([0, 2], BYTES // 2, 2), ([1, 3], BYTES // 2, 2)]),
        ((2, 1), (1, 1), [([0, 2], BYTES // 2, 2), ([1, 2], BYTES // 2, 2)]),
        # along the inputs, and along the outputs: quarters
        ((1, 1, 2), (2, 1), [([i, j], BYTES // 4, 2) for i in (0, 1) for j in (2, 3)]),
    ],
)
def test_pieces_are_those_that_shards_of_all_calls_consist_of(first, second, wanted) -> None:
    at = {1: (2,), 2: (2, 3)}
    found = reduces(problem(), Config(first, (0, 1)), Config(second, at[int(np.prod(second))]))
    assert sorted(found) == sorted(wanted)


def test_a_weight_of_another_shape_is_another_weight() -> None:
    one = problem(tied=False)
    wide = replace(one.graph.operators[0], weights=(replace(one.graph.operators[0].weights[0], dims=(8, 16)),))
    last = replace(one.graph.operators[1], tied=MappingProxyType({0: (0, 0)}))
    odd = make_problem(replace(one.graph, operators=(wide, last)), one.table, one.cluster, one.semantics)
    assert not odd.arrays.weight_is_tied.any() and not len(odd.arrays.user_op)


def test_a_shared_weight_costs_an_iteration_one_reduction() -> None:
    """Of eight calls under data parallelism the exposed time is that of one, where each for itself takes eight."""
    network = build_network("fattree", Cluster(N, 0, 1e5, 1e5))
    exposed = []
    for one in (problem(users=8), problem(users=8, tied=False), problem(users=1)):
        tasks = build(one, make_strategy(one, [ALL] * len(one.graph.operators)))
        exposed.append(replay(tasks, network).seconds - float(tasks.seconds[tasks.place == 0].sum()))
    assert exposed[0] == pytest.approx(exposed[2], rel=0.05)
    assert exposed[1] > 3 * exposed[0]
