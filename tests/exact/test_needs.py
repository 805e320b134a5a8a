"""What choices need at least, against the transfers and all-reduces of task graphs."""

import itertools
from math import prod

import numpy as np
import pytest
from random_models import cost_table, mlp, own_keys, ways_to_cut

from flexnet.exact.needs import least_needs
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM

N_SERVER = 4


def problem_of(graph: ModelGraph) -> Problem:
    ways = [ways_to_cut(op, N_SERVER, everywhere=False) for op in graph.operators]
    return make_problem(graph, cost_table(graph, N_SERVER, ways), Cluster(N_SERVER, 4, 25e9), CORRECTED)


def normed() -> ModelGraph:
    b = GraphBuilder("normed", 12)
    b.softmax(b.dense(b.input(8), 12))
    return own_keys(b.build())


@pytest.mark.parametrize("graph", [mlp(2, 12, 12), normed()], ids=["layers", "softmax"])
def test_transfers_of_the_best_placement(graph: ModelGraph) -> None:
    """No placement needs less; and where one cut refines the other, some placement needs just that."""
    problem = problem_of(graph)
    needs = least_needs(problem).edges[0, 1]
    exact = 0
    for i, j in np.ndindex(*needs.total.shape):
        first, second = problem.candidates[0][i].degrees, problem.candidates[1][j].degrees
        received, sent, total = np.inf, np.inf, np.inf
        for servers in itertools.permutations(range(N_SERVER), prod(second)):
            configs = [Config(first, tuple(range(prod(first)))), Config(second, servers)]
            tasks = build(problem, make_strategy(problem, configs))
            there = np.flatnonzero(tasks.kind == NOMINAL_COMM)[::2]
            source, target = np.divmod(tasks.place[there], N_SERVER)
            into = np.bincount(target, tasks.bytes[there], N_SERVER)[list(servers)]
            out = np.bincount(source, tasks.bytes[there], N_SERVER)[: prod(first)]
            received, sent = min(received, into.min()), min(sent, out.min())
            total = min(total, into.sum())
        assert needs.receive[i, j] <= received + 1e-6
        assert needs.send[i, j] <= sent + 1e-6
        assert needs.total[i, j] <= total + 1e-6
        if all(a % b == 0 or b % a == 0 for a, b in zip(first, second, strict=True)):
            assert needs.receive[i, j] == pytest.approx(received)
            assert needs.send[i, j] == pytest.approx(sent)
            exact += needs.total[i, j] == pytest.approx(total)
    assert exact >= 0.7 * needs.total.size


def test_all_reduces() -> None:
    problem = problem_of(mlp(1, 12, 12))
    needs = least_needs(problem)
    for i, entry in enumerate(problem.candidates[0]):
        tasks = build(problem, make_strategy(problem, [Config(entry.degrees, tuple(range(prod(entry.degrees))))]))
        members = np.diff(tasks.group_ptr)
        bytes_, inside = (x[tasks.kind == ALLREDUCE] for x in (tasks.bytes, tasks.seconds))
        assert needs.reduced_total[0][i] == pytest.approx((2 * (members - 1) * bytes_).sum())
        assert needs.reduced[0][:, i].sum() * prod(entry.degrees) == pytest.approx(needs.reduced_total[0][i])
        assert needs.in_server[0][:, i].max() == pytest.approx(inside.max())


def test_distant_partners_count_for_every_link() -> None:
    """A part that 7 others read, each server linked to 2: 2 of them are next to it, 2 at two hops, 2 at three."""
    b = GraphBuilder("table", 8)
    b.softmax(b.embedding(b.input(1, dtype="int64"), 10, 4))
    graph = own_keys(b.build())
    ways = [[(1, 1)], [(1, 8)]]
    problem = make_problem(graph, cost_table(graph, 8, ways), Cluster(8), CORRECTED)
    near, far = (least_needs(problem, neighbours).edges[0, 1].total.item() for neighbours in (None, 2))
    assert near == 7 * 16
    assert far == (2 * 1 + 2 * 2 + 2 * 3 + 1 * 4) * 16
