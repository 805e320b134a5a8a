"""The border between two stages moves, and what waited at it waits at the new one."""

import numpy as np
import pytest

from flexnet.cost.configs import every_degrees
from flexnet.cost.table import CostTable, Entry
from flexnet.model.builder import GraphBuilder
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.search.moves.blocks import home
from flexnet.search.moves.border import Border
from flexnet.search.moves.space import make_space


def chain(n: int) -> Problem:
    b = GraphBuilder("chain", 64)
    x = b.input(64)
    for _ in range(n):
        x = b.dense(x, 64, bias=False)
    graph = b.build()
    (key,) = {op.key for op in graph.operators}
    ways = every_degrees(graph.operators[0], n_server=4, big_gpu=0)
    entries = {key: tuple(Entry(degrees, 1e-4, 2e-4, 1000) for degrees in ways)}
    return make_problem(graph, CostTable(64, 4, entries, False, "m.json", {}), Cluster(4), CORRECTED)


@pytest.mark.parametrize("waits", [False, True])
def test_a_border_moves_and_takes_along_what_waits_at_it(waits: bool) -> None:
    """Six layers in two stages; those of the second reduce when the first stage has its gradients."""
    problem = chain(6)
    names = [op.name for op in problem.graph.operators]
    second = Config((1, 2), (2, 3), names[2]) if waits else Config((1, 2), (2, 3))
    strategy = make_strategy(problem, [Config((1, 2), (0, 1))] * 3 + [second] * 3)
    move, rng = Border(make_space(problem, strided=True)), np.random.default_rng(0)
    borders = set()
    for _ in range(60):
        changed = move.propose(rng, strategy)
        assert changed is not None
        homes = [tuple(home(changed, op).tolist()) for op in range(6)]
        border = homes.count((0, 1))
        assert homes == [(0, 1)] * border + [(2, 3)] * (6 - border)
        borders.add(border)
        expected = [-1] * border + [border - 1 if waits and border else -1] * (6 - border)
        assert changed.after.tolist() == expected
        assert np.array_equal(changed.choice, strategy.choice)
    assert borders == {0, 1, 2, 4, 5, 6}


def test_without_a_border_there_is_nothing_to_move() -> None:
    problem = chain(3)
    strategy = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))] * 3)
    assert Border(make_space(problem, strided=True)).propose(np.random.default_rng(0), strategy) is None


def test_a_part_fewer_is_cut_along_the_batch() -> None:
    """Of stages of two servers and of one, what goes over is cut into as many parts."""
    problem = chain(4)
    strategy = make_strategy(problem, [Config((2, 1), (0, 1))] * 2 + [Config((1, 1), (2,))] * 2)
    move, rng = Border(make_space(problem, strided=True)), np.random.default_rng(0)
    for _ in range(20):
        changed = move.propose(rng, strategy)
        assert changed is not None
        for op in range(4):
            parts = np.prod(problem.candidates[op][changed.choice[op]].degrees)
            assert parts == len(home(changed, op)) == (2 if set(home(changed, op)) == {0, 1} else 1)
