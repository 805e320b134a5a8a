"""The demand of a task graph against a sum over its tasks, one by one."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import random_graph
from random_models import mlp, problem_of

from flexnet.network.demand import demand_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.plan.traffic import traffic_bytes


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_demand_is_the_sum_over_tasks(seed, n_server):
    graph = random_graph(np.random.default_rng(seed), n_server)
    pairs = np.zeros((n_server, n_server))
    groups = defaultdict(float)
    members = defaultdict(float)
    on_rings = 0
    for task in range(graph.n_task):
        size = int(graph.bytes[task])
        if graph.kind[task] == NOMINAL_COMM:
            pairs[divmod(int(graph.place[task]), n_server)] += size
        elif graph.kind[task] == ALLREDUCE:
            n = len(graph.members(task))
            on_rings += 2 * (n - 1) * size
            if n > 1:
                groups[n] += size
                members[tuple(sorted(graph.members(task).tolist()))] += size
    demand = demand_of(graph.arrays(), n_server)
    assert (demand.model_parallel == pairs).all()
    assert dict(demand.allreduce) == dict(groups)
    assert dict(demand.groups) == {group: size for group, size in members.items() if size}
    assert traffic_bytes(graph.arrays()) == (pytest.approx(on_rings), pairs.sum())


def test_worked_example():
    """Two Linear of 8 x 8 weights and 16 samples: the first whole on server 3, the second over servers 0 and 1."""
    problem = problem_of(mlp(2, width=8, batch=16), Cluster(4))
    graph = build(problem, make_strategy(problem, [Config((1, 1), (3,)), Config((1, 2), (0, 1))]))
    demand = demand_of(graph.arrays(), 4)
    half = 4 * 8 * 8
    expected = np.zeros((4, 4))
    expected[3, :2] = expected[:2, 3] = half
    assert (demand.model_parallel == expected).all()
    weights = 4 * (8 * 8 + 8)
    assert dict(demand.allreduce) == {2: weights}
    assert dict(demand.groups) == {(0, 1): weights}
    assert traffic_bytes(graph.arrays()) == (2 * weights, 4 * half)
