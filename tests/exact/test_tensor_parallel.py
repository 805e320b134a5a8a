"""Groups of GPUs that share parts: the fastest way of all, and what a problem makes of any way."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import in_random_groups, random_configs, random_problem

from flexnet import Cluster, FlexNetError, GraphBuilder, ModelGraph, OpType, make_strategy, roofline_table
from flexnet.cost.configs import every_degrees
from flexnet.cost.estimate import complete_table
from flexnet.cost.gpus import find_gpu
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.cost.table import CostTable
from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.exact.needs import least_needs
from flexnet.exact.tensor_parallel import tensor_parallel
from flexnet.model.precision import PRECISIONS
from flexnet.model.zoo import MODELS
from flexnet.plan.excerpt import excerpt, kept_operators
from flexnet.plan.in_server import weight_pieces
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.plan.tied import first_user

NVLINK = 450e9
BF16 = PRECISIONS["bf16"]


def feed_forward(width: int = 1024, tokens: int = 512, batch: int = 8) -> ModelGraph:
    """As in a transformer: a norm, a wide matrix and a narrow one, and a norm again."""
    b = GraphBuilder("ffn", batch)
    (x,) = b.add(OpType.LAYER_NORM, b.dense(b.input(tokens, width), width))
    b.add(OpType.LAYER_NORM, b.dense(b.dense(x, 4 * width), width))
    return b.build()


def table_of(graph: ModelGraph, n_server: int, gpus: int) -> CostTable:
    return complete_table(
        roofline_table(graph, "h100", n_server=n_server, big_gpu=gpus, dtype="bf16"), graph, big_gpu=gpus
    )


def seconds_on_one_server(graph: ModelGraph, table: CostTable, cluster: Cluster, parallel: TensorParallel) -> float:
    """Of all operators one after the other, and of all gradients that GPUs of the server add up."""
    problem = make_problem(graph, table, cluster, CORRECTED, parallel=parallel)
    strategy = make_strategy(problem, [Config(entries[0].degrees, (0,)) for entries in problem.candidates])
    return float(build(problem, strategy).seconds.sum())


def chain() -> ModelGraph:
    b = GraphBuilder("chain", 8)
    b.softmax(b.dense(b.dense(b.input(4, 2048), 4096), 1024))
    return b.build()


def tied() -> ModelGraph:
    """As tokens and the head of a language model: one matrix, first and last."""
    b = GraphBuilder("tied", 8)
    (tokens,) = b.add(OpType.TOKEN_EMBEDDING, b.input(64, dtype="int64"), entries=4096, out=1024)
    b.dense(b.softmax(tokens), 4096, bias=False, tied=tokens)
    return b.build()


def three_readers() -> ModelGraph:
    b = GraphBuilder("readers", 8)
    (x,) = b.add(OpType.LAYER_NORM, b.input(64, 4096))
    for _ in range(3):
        b.dense(x, 4096)
    return b.build()


@pytest.mark.parametrize("bandwidth", [1e9, 50e9, NVLINK])
@pytest.mark.parametrize("model", [chain, tied, three_readers])
def test_no_other_way_is_faster(model: Callable[[], ModelGraph], bandwidth: float) -> None:
    graph, cluster = model(), Cluster(1, 2, inter_gpu_bandwidth=bandwidth)
    table = table_of(graph, 1, 2)
    found = seconds_on_one_server(graph, table, cluster, tensor_parallel(graph, table, cluster, 2))
    read = graph.read_operators()
    ways = [
        [cut for cut in every_degrees(op, n_server=2, big_gpu=0) if op.index in read or len(cut) == op.rank]
        for op in graph.operators
    ]
    totals = []
    for degrees in itertools.product(*ways):
        parallel = tensor_parallel(graph, table, cluster, 2, degrees=degrees)
        totals.append(seconds_on_one_server(graph, table, cluster, parallel))
    assert len(totals) > 30 and max(totals) > 1.1 * min(totals)
    assert found == pytest.approx(min(totals))


def test_columns_then_rows_bring_tokens_alone() -> None:
    """Between the matrices nothing is brought; before and behind them the tokens that others have."""
    graph, cluster = feed_forward(), Cluster(1, 4, inter_gpu_bandwidth=NVLINK)
    by_tokens = (1, 4, 1)
    cut = [by_tokens, by_tokens, (4, 1, 1), (1, 1, 1, 4), by_tokens]
    parallel = tensor_parallel(graph, table_of(graph, 1, 4), cluster, 4, degrees=cut)
    assert parallel.lacking == ((0.0,), (0.0,), (0.75,), (0.0,), (0.75,))
    wide, part = graph.operators[2], 8 * 512 * 1024 * BF16.activation_bytes
    assert parallel.brought_seconds(wide, (1, 1, 1), BF16) == pytest.approx(0.75 * part / NVLINK)
    assert parallel.brought_seconds(wide, (1, 1, 8), BF16) == pytest.approx(0.75 * part / 8 / NVLINK)
    assert all(parallel.shares_more(op) and not parallel.shares_samples(op) for op in graph.operators)


def test_what_one_reader_got_others_that_are_cut_alike_need_not_get() -> None:
    b = GraphBuilder("gated", 8)
    (x,) = b.add(OpType.LAYER_NORM, b.dense(b.input(512, 1024), 1024))
    one, other, third = (b.dense(x, 1024) for _ in range(3))
    b.concat([one, other], axis=2)
    b.softmax(third)
    graph, cluster = b.build(), Cluster(1, 2, inter_gpu_bandwidth=NVLINK)
    columns, tokens, alone = (2, 1, 1), (1, 2, 1), (1, 1, 1)
    cut = [tokens, tokens, columns, columns, alone, tokens, alone]
    lacking = tensor_parallel(graph, table_of(graph, 1, 2), cluster, 2, degrees=cut).lacking
    assert lacking[2:5] == ((0.5,), (0.0,), (0.5,)), "all of the tokens, once, and once for one GPU alone"
    assert lacking[5] == (0.25, 0.25), "a quarter of each matrix is on the other GPU"


@pytest.mark.parametrize(("micro_batches", "priced"), [(1, True), (64, False)])
def test_weights_are_cut_where_they_do_not_fit(micro_batches: int, priced: bool) -> None:
    """Not else, where samples suffice; and the more micro-batches there are the less do stages cost."""
    graph, cluster = feed_forward(tokens=4096, batch=64), Cluster(16, 4, inter_gpu_bandwidth=NVLINK)
    table, held = table_of(graph, 16, 4), {}
    for memory in (None, 80e9, 100e6, 12e6):
        parallel = tensor_parallel(
            graph, table, cluster, 4, optimizer="adam", micro_batches=micro_batches, gpu_memory=memory
        )
        problem = make_problem(graph, table, cluster, CORRECTED, optimizer="adam", micro_batches=2, parallel=parallel)
        first = problem.arrays.candidate_ptr[:-1]
        held[memory] = int((problem.arrays.memory[first] - problem.arrays.kept[first]).sum())
    assert held[None] == held[80e9]
    assert (held[100e6] < held[None]) == priced
    assert held[12e6] < held[None], "of which all GPUs of the cluster could not hold what stages have"


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_groups_that_share_samples_are_gpus_that_do(seed: int) -> None:
    """Of one group of all GPUs that cuts the batch as they do everything is as without."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder("net", 16)
    x = b.dense(b.input(3, 64), 64)
    for _ in range(int(rng.integers(1, 4))):
        x = b.dense(x, int(rng.choice([32, 64])), bias=bool(rng.integers(2)))
    b.softmax(x)
    graph, cluster = b.build(), Cluster(4, 4, inter_gpu_bandwidth=NVLINK)
    table = roofline_table(graph, "h100", n_server=4, big_gpu=4, dtype="bf16")
    nothing = tuple((0.0,) * len(op.inputs) for op in graph.operators)
    parallel = TensorParallel(4, 1, NVLINK, tuple((1, 1, 4) for _ in graph.operators), nothing)
    plain, grouped = (
        make_problem(graph, table, cluster, CORRECTED, optimizer="adam-zero1", micro_batches=2, parallel=of)
        for of in (None, parallel)
    )
    for one, other in zip(plain.arrays, grouped.arrays, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("estimated", [True, False])
def test_a_part_takes_its_share_and_what_it_lacks(estimated: bool) -> None:
    """Of measured times, in the ratio of the estimates."""
    graph, cluster = feed_forward(), Cluster(2, 4, inter_gpu_bandwidth=NVLINK)
    table = table_of(graph, 2, 4)
    slower = 1.0 if estimated else 1.5
    measured = {
        name: tuple(replace(e, forward=slower * e.forward, backward=slower * e.backward) for e in entries)
        for name, entries in table.shapes.items()
    }
    table = replace(table, shapes=MappingProxyType(measured), estimated=estimated)
    cut = [(1, 2, 1), (1, 2, 1), (2, 1, 1), (1, 1, 1, 2), (1, 2, 1)]
    parallel = tensor_parallel(graph, table, cluster, 2, degrees=cut)
    problem, readers = make_problem(graph, table, cluster, CORRECTED, parallel=parallel), readers_of(graph)
    for op, entries in zip(graph.operators, problem.candidates, strict=True):
        of_table = {entry.degrees: entry for entry in table.candidates(op)}
        assert len(entries) > 1
        for entry in entries:
            of_gpu = parallel.of_gpus(op, entry.degrees)
            assert np.prod(of_gpu) == 2 * np.prod(entry.degrees)
            forward, backward = part_seconds(part_of(op, of_gpu, 2), 1, find_gpu("h100"), precision=BF16)
            brought = parallel.brought_seconds(op, entry.degrees, BF16)
            assert entry.forward == pytest.approx(slower * forward + brought, rel=1e-6)
            assert entry.backward == pytest.approx(slower * backward + brought, rel=1e-6)
            assert entry.memory == held_bytes(op, of_gpu, 2, BF16, readers[op.index])
            assert entry.estimated == (not estimated or of_table[entry.degrees].estimated)
    matrix = graph.operators[2]
    assert problem.candidates[2][0].memory < held_bytes(matrix, (1, 1, 1), 4, BF16, readers[2])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_gpus_add_up_gradients_of_what_several_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = in_random_groups(rng, random_problem(rng, CORRECTED))
    parallel, operators = problem.parallel, problem.graph.operators
    users: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
    for op in operators:
        for i in range(len(op.weights)):
            cut = weight_pieces(op, i, parallel.degrees[op.index])
            users.setdefault(first_user(operators, op.index, i), []).append((op.index, cut))
    per_byte = {}
    for (op, i), found in users.items():
        n, holders = int(np.prod(found[0][1])), max(int(np.prod(parallel.degrees[user])) for user, _ in found)
        gpus = parallel.groups * holders // n
        if any(cut != found[0][1] for _, cut in found):  # each may have a gradient of what any other holds
            n, gpus = 1, parallel.groups * parallel.gpus
        per_byte[op, i] = 2 * (gpus - 1) / gpus / n / 25e9 if gpus and not problem.arrays.is_whole[op] else 0.0
    configs = random_configs(rng, problem)
    graph, needs = build(problem, make_strategy(problem, configs)), least_needs(problem)
    for op, config in zip(operators, configs, strict=True):
        tasks = np.flatnonzero((graph.kind == ALLREDUCE) & (graph.op == op.index)).tolist()
        own = [rate for (user, _), rate in per_byte.items() if user == op.index]
        assert bool(tasks) == bool(own)
        for task in tasks:
            assert any(graph.seconds[task] == pytest.approx(rate * graph.bytes[task]) for rate in own)
        row = list(dict.fromkeys(e.degrees for e in problem.candidates[op.index])).index(config.degrees)
        if len(own) == 1 and (op.index, 0) in users:
            (least,) = needs.in_server[op.index][:, row]
            shared = len(users[op.index, 0]) > 1
            assert least == pytest.approx(0.0 if shared else max(graph.seconds[task] for task in tasks))


def test_layers_left_out_take_their_ways_along() -> None:
    graph = MODELS["llama"].build(
        {
            "--hidden-size": 64,
            "--num-heads": 4,
            "--num-kv-heads": 2,
            "--intermediate-size": 64,
            "--num-layers": 6,
            "--sequence-length": 16,
            "--vocabulary-size": 128,
        },
        64,
    )
    cluster = Cluster(4, 2, inter_gpu_bandwidth=NVLINK)
    table = table_of(graph, 4, 2)
    parallel = tensor_parallel(graph, table, cluster, 2)
    short = excerpt(make_problem(graph, table, cluster, CORRECTED, parallel=parallel), 2)
    kept = sorted(set(kept_operators(graph)))
    assert short.parallel.degrees == tuple(parallel.degrees[op] for op in kept)
    assert len(kept) < len(graph.operators)


@pytest.mark.parametrize("gpus", [0, 3, 8])
def test_servers_must_fall_into_groups(gpus: int) -> None:
    graph = feed_forward()
    with pytest.raises(FlexNetError, match=f"4 GPUs of a server do not fall into groups of {gpus}"):
        tensor_parallel(graph, table_of(graph, 1, 4), Cluster(1, 4), gpus)


def test_groups_have_a_gpu_for_every_part() -> None:
    graph = feed_forward()
    with pytest.raises(FlexNetError, match=r"operator Dense_100 cannot be cut \(4, 1, 1\) among 2 GPUs"):
        tensor_parallel(graph, table_of(graph, 1, 4), Cluster(1, 4), 2, degrees=[(4, 1, 1)] * 5)
