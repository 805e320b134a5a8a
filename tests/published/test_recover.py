"""The strategy comes back out of a task graph made with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cost_table, mlp, random_configs, random_problem

from flexnet.cost.table import Entry
from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import FORWARD
from flexnet.published.recover import recover_strategy


@given(st.integers(0, 2**32 - 1), st.sampled_from([ORIGINAL, CORRECTED]))
@settings(max_examples=60, deadline=None)
def test_a_recovered_strategy_rebuilds_the_graph(seed, semantics):
    """Times go through float32 of ms, as in files; configs of equal times may come back as one another."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, semantics)
    configs = random_configs(rng, problem)
    graph = build(problem, make_strategy(problem, configs))
    held = (graph.seconds * 1e3).astype(np.float32).astype(np.float64) * 1e-3
    found = recover_strategy(problem, replace(graph, seconds=held))
    again = build(problem, make_strategy(problem, found))
    assert found == configs or again.seconds.tolist() == graph.seconds.tolist()
    assert again.place[again.kind <= 1].tolist() == graph.place[graph.kind <= 1].tolist()


def alike(*ways: list[tuple[tuple[int, int], float]]) -> Problem:
    """A chain of Linear operators on 4 servers with these configs and forward times."""
    graph = mlp(len(ways))
    table = cost_table(graph, 4, [[degrees for degrees, _ in way] for way in ways])
    entries = {
        op.key: tuple(Entry(degrees, ms * 1e-3, 2e-3 * ms, 1) for degrees, ms in way)
        for op, way in zip(graph.operators, ways, strict=True)
    }
    return make_problem(graph, replace(table, entries=entries), Cluster(4), ORIGINAL)


ONE, TWO, FOUR = (1, 1), (1, 2), (1, 4)


def test_equal_times_are_told_apart_by_what_follows():
    """Every config takes 1 ms: how many parts an operator has is known only once the last one fits."""
    problem = alike([(ONE, 1.0), (TWO, 1.0)], [(ONE, 1.0), (TWO, 1.0)], [(TWO, 1.0), (FOUR, 3.0)])
    configs = [Config(TWO, (0, 1)), Config(TWO, (2, 3)), Config(TWO, (1, 0))]
    graph = build(problem, make_strategy(problem, configs))
    assert recover_strategy(problem, graph) == configs
    configs = [Config(ONE, (3,)), Config(ONE, (2,)), Config(FOUR, (3, 2, 1, 0))]
    graph = build(problem, make_strategy(problem, configs))
    assert recover_strategy(problem, graph) == configs


def test_run_times_of_another_measurement_are_refused():
    problem = alike([(ONE, 1.0)], [(TWO, 1.0)])
    graph = build(problem, make_strategy(problem, [Config(ONE, (0,)), Config(TWO, (0, 1))]))
    other = alike([(ONE, 1.0)], [(TWO, 1.5)])
    sentence = r"the run times of the graph are not those of m\.json \(from Dense_100 on\)"
    with pytest.raises(FlexNetError, match=sentence):
        recover_strategy(other, graph)
    with pytest.raises(FlexNetError, match=sentence):  # the graph goes on after the last operator
        recover_strategy(alike([(ONE, 1.0)]), graph)
    with pytest.raises(FlexNetError, match=sentence):  # the graph ends too soon
        recover_strategy(alike([(ONE, 1.0)], [(TWO, 1.0)], [(ONE, 1.0)]), graph)


def test_many_configs_of_equal_times_are_refused_at_once():
    """Two to the power of sixty strategies fit all but the end."""
    ways = [[(ONE, 1.0), (TWO, 1.0)]] * 60
    problem = alike(*ways, [(FOUR, 3.0)])
    configs = [Config(TWO, (0, 1))] * 60 + [Config(FOUR, (0, 1, 2, 3))]
    graph = build(problem, make_strategy(problem, configs))
    with pytest.raises(FlexNetError, match="are not those of"):
        recover_strategy(alike(*ways, [(FOUR, 4.0)]), graph)
    assert recover_strategy(problem, graph) == configs


def test_tasks_that_are_no_pairs_are_refused():
    problem = alike([(ONE, 1.0)])
    graph = build(problem, make_strategy(problem, [Config(ONE, (0,))]))
    kind = graph.kind.copy()
    kind[1] = FORWARD
    with pytest.raises(FlexNetError, match="do not come in pairs of forward and backward"):
        recover_strategy(problem, replace(graph, kind=kind))
    kind[1] = 5
    with pytest.raises(FlexNetError, match="do not come in pairs of forward and backward"):
        recover_strategy(problem, replace(graph, kind=kind))
