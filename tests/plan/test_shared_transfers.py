"""What several operators on the same servers read of a tensor is sent to them once."""

from dataclasses import replace

import numpy as np
import pytest
from random_models import cost_table, own_keys

from flexnet.cost.configs import every_degrees
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import NOMINAL_COMM

BATCH, WIDTH, N_SERVER = 8, 16, 4
WHOLE = BATCH * WIDTH * 4  # bytes


def two_readers():
    """A Linear operator, two that read what it puts out, and their sum."""
    b = GraphBuilder("readers", BATCH)
    x = b.dense(b.input(WIDTH), WIDTH)
    b.binary(OpType.ADD, b.dense(x, WIDTH), b.dense(x, WIDTH))
    return own_keys(b.build())


def attention():
    """One tensor as queries, keys and values, and what is added to it."""
    b = GraphBuilder("attention", BATCH)
    x = b.dense(b.input(2, WIDTH), WIDTH)
    b.binary(OpType.ADD, b.attention(x, x, x, WIDTH, 2), x)
    return own_keys(b.build())


def built(graph, configs, semantics=CORRECTED):
    ways = [every_degrees(op, n_server=N_SERVER, big_gpu=0) for op in graph.operators]
    problem = make_problem(graph, cost_table(graph, N_SERVER, ways), Cluster(N_SERVER), semantics)
    tasks = build(problem, make_strategy(problem, [Config(*config) for config in configs]))
    tasks.check()
    return tasks


def transfers(tasks):
    """Source, target, bytes, and the operators and kinds of what comes before and after each transfer."""
    source = np.repeat(np.arange(tasks.n_task), np.diff(tasks.succ_ptr))

    def told(task):
        return int(tasks.op[task]), int(tasks.kind[task])

    return [
        (
            *divmod(int(tasks.place[t]), N_SERVER),
            int(tasks.bytes[t]),
            sorted(told(a) for a in source[tasks.succ == t]),
            sorted(told(b) for b in tasks.successors(t)),
        )
        for t in np.flatnonzero(tasks.kind == NOMINAL_COMM).tolist()
    ]


def test_both_wait_for_one_transfer_and_one_returns_both_gradients():
    alone, other = ((1, 1), (0,)), ((1, 1), (1,))
    found = transfers(built(two_readers(), [alone, other, other, other]))
    assert found == [
        (0, 1, WHOLE, [(0, 0)], [(1, 0), (2, 0)]),
        (1, 0, WHOLE, [(1, 1), (2, 1)], [(0, 1)]),
    ]


@pytest.mark.parametrize(
    ("first", "second", "n_transfer"),
    [
        (((1, 2), (1, 2)), ((1, 2), (1, 2)), 4),  # the same samples on the same servers
        (((2, 1), (1, 2)), ((2, 1), (1, 2)), 4),  # channels: each reads all
        (((1, 2), (1, 2)), ((1, 2), (2, 1)), 8),  # on each the other half
        (((1, 2), (1, 2)), ((2, 1), (1, 2)), 8),  # half of the samples, or all
        (((1, 2), (1, 2)), ((1, 2), (1, 3)), 8),
        (((1, 2), (1, 2)), ((1, 1), (1,)), 6),
        (((2, 2), (0, 1, 2, 3)), ((2, 2), (0, 1, 2, 3)), 6),  # one part of each is where the tensor is
        (((2, 2), (0, 1, 2, 3)), ((2, 2), (0, 2, 1, 3)), 12),
    ],
)
def test_only_what_is_read_alike_on_the_same_servers(first, second, n_transfer):
    configs = [((1, 1), (0,)), first, second, ((1, 1), (0,))]

    def of_tensor(semantics):
        tasks = built(two_readers(), configs, semantics)
        return [t for t in transfers(tasks) if (0, 0) in t[3] or (0, 1) in t[4]]

    assert len(of_tensor(CORRECTED)) == n_transfer
    each = of_tensor(replace(CORRECTED, share_transfers=False))
    assert len(each) == 2 * (len(first[1]) + len(second[1]) - sum(0 in servers for _, servers in (first, second)))
    assert {t[:2] for t in each} == {t[:2] for t in of_tensor(CORRECTED)}


def test_queries_keys_and_values_come_once():
    alone, halves = ((1, 1, 1), (0,)), ((1, 1, 2), (1, 2))
    found = transfers(built(attention(), [alone, halves, halves]))
    assert [t[:3] for t in found] == [(a, b, WHOLE) for server in (1, 2) for a, b in ((0, server), (server, 0))]
    assert all(t[3:] == ([(0, 0)], [(1, 0), (2, 0)]) for t in found[::2])


def test_steps_of_queries_are_not_all_of_keys():
    """Cut along the sequence, a part reads some of the queries and all keys, which are the values too."""
    alone, steps = ((1, 1, 1), (0,)), ((1, 2, 1), (1, 2))
    found = transfers(built(attention(), [alone, steps, steps]))
    assert sorted(t[2] for t in found if t[0] == 0) == [WHOLE, WHOLE, 2 * WHOLE, 2 * WHOLE]
