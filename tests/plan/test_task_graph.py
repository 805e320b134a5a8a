"""The build kernel against its plain-Python reference, and what a task graph must be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import random_graph
from random_models import (
    cost_table,
    crowded_strategy,
    mlp,
    own_keys,
    problem_of,
    random_configs,
    random_problem,
    waiting,
)
from reference import build as reference_build
from task_graphs import permuted

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM

seeds = st.integers(0, 2**32 - 1)
CREATED = replace(CORRECTED, spread_transfers=False, transfers_in_turn=False)  # as the reference lists transfers
semantics = st.sampled_from([ORIGINAL, CREATED, replace(CREATED, share_transfers=False)])


def assert_same(graph, tasks) -> None:
    """Equal to what the reference builder lists, to the last bit and in the same order."""
    assert graph.kind.tolist() == tasks.kind
    assert graph.place.tolist() == tasks.place
    assert graph.seconds.tolist() == tasks.seconds
    assert graph.bytes.tolist() == tasks.bytes
    assert graph.op.tolist() == tasks.op
    assert [graph.successors(t).tolist() for t in range(graph.n_task)] == tasks.succ
    groups = [graph.group[a:b].tolist() for a, b in zip(graph.group_ptr, graph.group_ptr[1:], strict=False)]
    assert groups == tasks.groups


@given(seeds, semantics, st.booleans())
@settings(max_examples=150, deadline=None)
def test_tasks_are_those_of_the_reference(seed, semantics, distinct):
    """Any degrees, parts on any servers; with ``distinct`` false several parts of an operator may share one."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, semantics)
    configs = waiting(rng, problem, random_configs(rng, problem, distinct=distinct))
    graph = build(problem, crowded_strategy(problem, configs))
    tasks = reference_build(problem, configs)
    assert_same(graph, tasks)
    if all(len(set(group)) == len(group) for group in tasks.groups):
        graph.check()
    else:
        with pytest.raises(FlexNetError, match="twice in its group"):
            graph.check()


@given(seeds, semantics)
@settings(max_examples=20, deadline=None)
def test_memory_used_again_leaves_nothing_behind(seed, semantics):
    """One builder, many strategies: views hold what a fresh builder makes, predecessor counts included."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, semantics)
    builder = Builder(problem)
    for _ in range(4):
        strategy = make_strategy(problem, random_configs(rng, problem))
        for ours, fresh in zip(builder.arrays(strategy), build(problem, strategy).arrays(), strict=True):
            assert np.array_equal(ours, fresh)
        assert builder.arrays(strategy) is builder.arrays(strategy)


def test_a_graph_larger_than_the_first_memory():
    """A thousand parts and their transfers: the workspace grows until everything fits."""
    problem = problem_of(mlp(30, batch=32), Cluster(32), CREATED)
    rng = np.random.default_rng(0)
    configs = [Config((1, 32), tuple(int(d) for d in rng.permutation(32))) for _ in range(30)]
    builder = Builder(problem)
    before = len(builder._work.kind)
    graph = builder.arrays(make_strategy(problem, configs))
    assert len(graph.kind) > before
    tasks = reference_build(problem, configs)
    assert graph.kind.tolist() == tasks.kind
    assert graph.succ.tolist() == [s for succ in tasks.succ for s in succ]
    assert graph.group.tolist() == [m for group in tasks.groups for m in group]


@pytest.mark.parametrize("preset", [ORIGINAL, CREATED], ids=lambda preset: preset.name)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_built_as_the_reference_builds_it(model, preset):
    graph = MODELS[model].build({}, 40)
    graph = own_keys(graph)
    rng = np.random.default_rng(1)
    ways = [[(*[1] * (op.rank - 1), n) for n in (1, 2)] for op in graph.operators]
    problem = make_problem(graph, cost_table(graph, 2, ways), Cluster(2, 4), preset)
    configs = random_configs(rng, problem)
    ours = build(problem, make_strategy(problem, configs))
    ours.check()
    assert_same(ours, reference_build(problem, configs))


def linear_pair(preset, producer, consumer):
    """Transfers (source, target, bytes) forward and all-reduces (members, bytes) of two Linear operators."""
    problem = problem_of(mlp(2, width=8, batch=16), Cluster(4), preset)
    graph = build(problem, make_strategy(problem, [producer, consumer]))
    comm = np.flatnonzero(graph.kind == NOMINAL_COMM)[::2]
    sent = [(*divmod(int(graph.place[t]), 4), int(graph.bytes[t])) for t in comm]
    reduced = [
        (graph.members(int(t)).tolist(), int(graph.bytes[t]))
        for t in np.flatnonzero((graph.kind == ALLREDUCE) & (graph.op == 1))
    ]
    return sent, reduced


def test_channel_parts_split_inputs_and_hold_whole_weights_as_the_original_has_it():
    sent, reduced = linear_pair(ORIGINAL, Config((1, 1), (0,)), Config((2, 2), (0, 1, 2, 3)))
    assert sent == [(0, server, 8 * 16 * 4 // 4) for server in (1, 2, 3)]
    assert reduced == [([0, 1, 2, 3], 8 * 8 * 4), ([0, 1, 2, 3], 8 * 4)]


def test_channel_parts_read_all_channels_and_reduce_their_shard_when_corrected():
    sent, reduced = linear_pair(CORRECTED, Config((1, 1), (0,)), Config((2, 2), (0, 1, 2, 3)))
    assert sent == [(0, server, 8 * 16 * 4 // 2) for server in (1, 2, 3)]
    half = [([0, 2], 8 * 8 * 4 // 2), ([1, 3], 8 * 8 * 4 // 2), ([0, 2], 8 * 4 // 2), ([1, 3], 8 * 4 // 2)]
    assert reduced == half


def test_a_shard_on_one_server_has_a_group_of_one():
    _, reduced = linear_pair(CORRECTED, Config((1, 1), (0,)), Config((4, 1), (3, 1, 0, 2)))
    assert [members for members, _ in reduced] == [[3], [1], [0], [2]] * 2


def test_embedding_activations_count_eight_bytes_only_in_the_original():
    sizes = {}
    for preset in (ORIGINAL, CORRECTED):
        b = GraphBuilder("bag", 4)
        b.dense(b.embedding(b.input(3, dtype="int64"), 10, 5), 2)
        problem = problem_of(own_keys(b.build()), Cluster(2), preset)
        graph = build(problem, make_strategy(problem, [Config((1, 1), (0,)), Config((1, 1), (1,))]))
        sizes[preset.name] = graph.bytes[graph.kind == NOMINAL_COMM].tolist()
    assert sizes == {"original": [160, 160], "corrected": [80, 80]}


def test_time_inside_a_server():
    """Section 4.6 worked: 4 MiB, 4 GPUs at 25 GB/s; the original divides bytes as integers and takes 2/k."""
    b = GraphBuilder("one", 4)
    b.dense(b.input(1024), 1024, bias=False)
    seconds = {}
    for preset in (ORIGINAL, CORRECTED):
        problem = problem_of(own_keys(b.build()), Cluster(2, 4, 25e9), preset)
        graph = build(problem, make_strategy(problem, [Config((1, 2), (0, 1))]))
        seconds[preset.name] = float(graph.seconds[-1])
    assert seconds["original"] == pytest.approx(0.0838861e-3, rel=1e-6)
    assert seconds["corrected"] == pytest.approx(3 * seconds["original"])


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_renaming_tasks_keeps_the_graph(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 4)
    order = rng.permutation(graph.n_task)
    renamed = permuted(graph, order)
    renamed.check()
    new_id = np.argsort(order)
    for old in range(graph.n_task):
        new = int(new_id[old])
        for column in ("kind", "place", "seconds", "bytes", "op"):
            assert getattr(renamed, column)[new] == getattr(graph, column)[old]
        assert renamed.successors(new).tolist() == new_id[graph.successors(old)].tolist()
        if graph.kind[old] == ALLREDUCE:
            assert renamed.members(new).tolist() == graph.members(old).tolist()
    back = permuted(renamed, new_id)
    for column in TaskGraph.__slots__:
        assert np.array_equal(getattr(back, column), getattr(graph, column))


def legal() -> TaskGraph:
    """A forward and a backward task on both of two servers, a transfer, and an all-reduce over both."""
    return TaskGraph(
        2,
        np.array([FORWARD, BACKWARD, NOMINAL_COMM, FORWARD, ALLREDUCE], np.int8),
        np.array([0, 0, 1, 1, 0], np.int32),
        np.array([1e-3, 2e-3, 0.0, 1e-3, 1e-4]),
        np.array([0, 0, 100, 0, 50]),
        np.array([0, 2, 3, 4, 5, 5], np.int32),
        np.array([1, 2, 4, 3, 4], np.int32),
        np.array([0, 2], np.int32),
        np.array([0, 1], np.int32),
        np.array([0, 0, 1, 1, 0], np.int32),
    )


def broken(column: str, at: int, value: object) -> TaskGraph:
    graph = legal()
    array = getattr(graph, column).copy()
    array[at] = value
    return replace(graph, **{column: array})


def test_a_legal_graph_passes():
    legal().check()


@pytest.mark.parametrize(
    ("column", "at", "value", "sentence"),
    [
        ("kind", 3, 2, r"task 3 has an unknown kind; known are \(0, 1, 5, 6\)"),
        ("seconds", 1, -1e-9, "task 1 has a time that is negative or not finite"),
        ("seconds", 4, np.nan, "task 4 has a time that is negative or not finite"),
        ("seconds", 0, np.inf, "task 0 has a time that is negative or not finite"),
        ("place", 0, 2, "task 0 is on a server, pair or group that does not exist"),
        ("place", 1, -1, "task 1 is on a server, pair or group that does not exist"),
        ("place", 2, 4, "task 2 is on a server, pair or group that does not exist"),
        ("place", 4, 1, "task 4 is on a server, pair or group that does not exist"),
        ("place", 2, 3, "task 2 sends to its own server"),
        ("bytes", 2, 0, "task 2 transfers no bytes"),
        ("bytes", 4, -5, "task 4 has a negative size"),
        ("group", 1, 2, "an all-reduce has a member outside servers 0 to 1"),
        ("group", 0, -1, "an all-reduce has a member outside servers 0 to 1"),
        ("group", 1, 0, "all-reduce 0 has a server twice in its group"),
        ("succ", 3, 5, "a task points at a successor outside 0 to 4"),
        ("succ", 3, -1, "a task points at a successor outside 0 to 4"),
        ("succ", 4, 2, "task 2 is part of, or waits for, a cycle of tasks"),
        ("succ", 0, 0, "task 0 is part of, or waits for, a cycle of tasks"),
    ],
)
def test_a_broken_graph_is_refused(column, at, value, sentence):
    with pytest.raises(FlexNetError, match=f"^{sentence}$"):
        broken(column, at, value).check()


def test_an_all_reduce_with_successors_is_refused():
    graph = legal()
    succ_ptr = np.array([0, 2, 3, 4, 4, 5], np.int32)
    with pytest.raises(FlexNetError, match=r"^task 4 is an all-reduce with successors$"):
        replace(graph, succ_ptr=succ_ptr).check()


def test_an_empty_group_is_refused():
    graph = replace(legal(), group_ptr=np.array([0, 0], np.int32), group=np.zeros(0, np.int32))
    with pytest.raises(FlexNetError, match=r"^all-reduce 0 has an empty group$"):
        graph.check()
