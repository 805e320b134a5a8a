"""Costs in the arithmetic a model is trained in."""

from dataclasses import replace

import numpy as np
import pytest

from flexnet.cost.estimate import complete_table
from flexnet.cost.gpus import GPUS
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import largest_piece
from flexnet.cost.roofline import roofline_table
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Operator, OpType
from flexnet.model.operators import kind_of
from flexnet.model.operators.kernel import Kernels
from flexnet.model.precision import PRECISIONS, find_precision, in_precision
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics


def kernels(op: Operator, parts: int) -> Kernels:
    part = largest_piece(op, parts)
    found = kind_of(part).kernels(part)
    assert found is not None
    return found


def small(model: str) -> ModelGraph:
    layers = {"--num-layers": 1}
    return MODELS[model].build(layers, 64)


@pytest.mark.parametrize("gpu", ["a100", "h100", "h200", "b200"])
@pytest.mark.parametrize("dtype", ["fp32", "tf32", "bf16", "fp16"])
def test_nothing_runs_above_the_peak(gpu: str, dtype: str) -> None:
    """Products of a GPT, by the peak of their arithmetic; attention is one of them, less the pairs it leaves out."""
    graph = small("gpt")
    table = roofline_table(graph, gpu, n_server=2, dtype=dtype)
    for op in graph.operators:
        entry = next(entry for entry in table.candidates(op) if entry.degrees == (1,) * (op.rank - 1) + (2,))
        for seconds, run in zip((entry.forward, entry.backward), kernels(op, 2), strict=True):
            assert sum(kernel.flops for kernel in run) / seconds < GPUS[gpu].rate(dtype)


def test_a_faster_arithmetic_is_faster() -> None:
    graph = small("llama")
    op = next(op for op in graph.operators if op.kind == OpType.LINEAR)
    times = [
        roofline_table(graph, "h100", n_server=1, dtype=dtype).candidates(op)[0].forward
        for dtype in ("fp32", "tf32", "bf16", "fp8")
    ]
    assert times == sorted(times, reverse=True) and times[0] > 7 * times[2]
    bf16, fp16 = (roofline_table(graph, "h100", n_server=1, dtype=dtype).entries for dtype in ("bf16", "fp16"))
    assert bf16 == fp16


def test_eight_bits_are_for_products_of_weights_alone() -> None:
    graph = small("gpt")
    op = next(op for op in graph.operators if op.kind == OpType.SCALED_DOT_PRODUCT)
    bf16, fp8 = (
        roofline_table(graph, "h100", n_server=1, dtype=dtype).candidates(op)[0].forward for dtype in ("bf16", "fp8")
    )
    assert 0.75 * bf16 < fp8 <= bf16  # it moves fewer bytes, and computes as fast


@pytest.mark.parametrize(
    ("gpu", "dtype", "has"), [("a100", "fp8", "fp32, tf32, bf16 or fp16"), ("v100", "bf16", "fp32 or fp16")]
)
def test_an_arithmetic_a_gpu_does_not_have_is_refused(gpu: str, dtype: str, has: str) -> None:
    with pytest.raises(FlexNetError, match=f"^GPU {gpu} has no {dtype}; use {has}, or another GPU$"):
        roofline_table(small("gpt"), gpu, n_server=1, dtype=dtype)


def test_an_unknown_arithmetic_is_refused() -> None:
    with pytest.raises(FlexNetError, match=r"^dtype is 'bf15'; it must be fp32, .* \(did you mean bf16\?\)$"):
        find_precision("bf15")
    with pytest.raises(FlexNetError, match=r"^dtype is 'half'"):
        GraphBuilder("m", 8, dtype="half")


def test_models_of_the_original_keep_their_arithmetic() -> None:
    graph = MODELS["alexnet"].build({}, 64)
    table = roofline_table(graph, "h100", n_server=4)
    assert graph.dtype is None is table.dtype and "dtype" not in table.provenance
    assert small("bert").dtype == "bf16" == roofline_table(small("bert"), "a100", n_server=1).dtype
    problem = make_problem(graph, table, Cluster(4), CORRECTED)
    weights = [weight for op in graph.operators for weight in op.weights]
    assert problem.arrays.weight_bytes.tolist() == [4 * weight.volume for weight in weights]
    assert set(problem.arrays.edge_element_bytes.tolist()) == {4}


@pytest.mark.parametrize(("dtype", "activation", "gradient"), [("fp32", 4, 4), ("bf16", 2, 2), ("fp8", 1, 2)])
def test_elements_that_are_transferred_and_reduced(dtype: str, activation: int, gradient: int) -> None:
    graph = small("mixtral")
    problem = make_problem(graph, roofline_table(graph, "h100", n_server=2, dtype=dtype), Cluster(2), CORRECTED)
    sizes = {"float": activation, "int32": 4}
    tensors = [source.tensor for op in graph.operators for source in op.inputs if source.op is not None]
    assert problem.arrays.edge_element_bytes.tolist() == [sizes[tensor.dtype] for tensor in tensors]
    weights = [weight for op in graph.operators for weight in op.weights]
    assert problem.arrays.weight_bytes.tolist() == [gradient * weight.volume for weight in weights]


@pytest.mark.parametrize(
    ("dtype", "optimizer", "each"),
    [("fp32", "sgd", 8), ("fp32", "adam", 16), ("bf16", "sgd", 8), ("bf16", "adam", 16), ("fp8", "adam", 15)],
)
def test_memory_of_weights_their_gradients_and_the_optimizer(dtype: str, optimizer: str, each: int) -> None:
    """Weights and gradients in the arithmetic, a copy in single precision, and the state."""
    b = GraphBuilder("m", 8, dtype=dtype)
    b.dense(b.input(512), 256, bias=False)
    graph = b.build()
    problem = make_problem(graph, roofline_table(graph, "h100", n_server=1), Cluster(1), CORRECTED, optimizer=optimizer)
    output = PRECISIONS[dtype].activation_bytes * 8 * 256
    assert problem.arrays.memory.tolist() == [each * 512 * 256 + output]


@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL])
def test_a_sharded_optimizer_keeps_a_share_of_its_state_on_every_gpu_that_holds_a_weight(semantics: Semantics) -> None:
    """Adam's 12 bytes for each of 256 x 512 weights in bf16: over GPUs of a server, and over parts with the same."""
    b = GraphBuilder("m", 64, dtype="bf16")
    b.dense(b.dense(b.input(512), 256, bias=False), 256, bias=False)
    graph = b.build()
    cluster = Cluster(4, big_gpu=2)
    table = complete_table(roofline_table(graph, "h100", n_server=4, big_gpu=2), graph)
    memory = []
    for optimizer in ("adam", "adam-zero1"):
        problem = make_problem(graph, table, cluster, semantics, optimizer=optimizer)
        memory.append(dict(zip((c.degrees for c in problem.candidates[0]), problem.arrays.memory, strict=False)))
    saved = {degrees: memory[0][degrees] - memory[1][degrees] for degrees in memory[0]}
    state = 12 * 256 * 512
    assert saved[1, 1] == state - state // 2
    assert saved[1, 4] == state - state // 8
    if semantics.shard_parameters:
        assert saved[2, 2] == state // 2 - state // 8
        assert saved[4, 1] == state // 4 - state // 8
        assert saved[1, 1, 2] == state // 2 - state // 4
        assert saved[1, 2, 2] == state // 2 - state // 8


def test_a_table_is_on_one_gpu_which_keeps_all_of_its_state() -> None:
    b = GraphBuilder("m", 64)
    b.dense(b.embedding(b.input(1, dtype="int32"), 1000, 64), 8)
    graph = b.build()
    table = roofline_table(graph, "h100", n_server=2, big_gpu=4)
    adam, sharded = (
        make_problem(graph, table, Cluster(2, big_gpu=4), CORRECTED, optimizer=optimizer).arrays.memory[0]
        for optimizer in ("adam", "adam-zero1")
    )
    assert adam == sharded


def test_what_is_read_beyond_a_share_is_kept_once_for_all_readers() -> None:
    b = GraphBuilder("m", 8)
    x = b.unary(OpType.GELU, b.input(64), inplace=False)
    for _ in range(2):
        b.dense(x, 32, bias=False)
    graph = b.build()
    op, bf16 = graph.operators[1], PRECISIONS["bf16"]
    assert readers_of(graph) == ((1,), (2,), (2,))
    weights = 4 * 64 * 32
    assert held_bytes(op, (1, 4), 0, bf16, (2,)) == 2 * 2 * 32 + weights
    columns = held_bytes(op, (4, 1), 0, bf16, (2,))  # every part reads all: of 512 values 384 are others'
    assert columns == 2 * (8 * 8 + (512 - 128) // 2) + weights // 4
    assert held_bytes(op, (1, 1, 4), 0, bf16, (2,)) == 2 * (8 * 32 // 4) + weights // 4  # sums are kept in shares


def test_parts_of_joined_towers_keep_nothing_but_their_share() -> None:
    """Of three towers of two values, cut in six, a part has one value of a tower."""
    b = GraphBuilder("towers", 12)
    b.dense(b.concat([b.dense(b.input(4), 2) for _ in range(3)], axis=1), 4)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=6, dtype="bf16"), graph)
    (joined,) = (op for op in graph.operators if op.kind == OpType.CONCAT)
    memory = {entry.degrees: entry.memory for entry in table.candidates(joined)}
    assert memory[6, 1] == 2 * 12 and memory[1, 1] == 6 * memory[6, 1]


def test_measured_times_in_an_arithmetic_need_the_memory_of_estimated_ones() -> None:
    """Peaks of operators, which have scratch memory among them, are not added up; the original's semantics do."""
    graph = small("gpt")
    estimated = complete_table(roofline_table(graph, "h100", n_server=2), graph)
    shapes = {
        name: tuple(replace(entry, memory=7 * entry.memory) for entry in entries)
        for name, entries in estimated.shapes.items()
    }
    measured = replace(estimated, estimated=False, shapes=shapes)
    wanted, held, peaks = (
        make_problem(graph, table, Cluster(2), semantics).arrays.memory
        for table, semantics in (
            (estimated, CORRECTED),
            (measured, CORRECTED),
            (measured, replace(CORRECTED, limit_memory=False)),
        )
    )
    assert held.tolist() == wanted.tolist()
    assert (peaks > wanted).all()


def test_tied_weights_have_one_state() -> None:
    graph = small("gpt")
    free = replace(graph, operators=tuple(replace(op, tied={}) for op in graph.operators))
    table = roofline_table(graph, "h100", n_server=1)
    tied, twice = (make_problem(g, table, Cluster(1), CORRECTED, optimizer="adam") for g in (graph, free))
    assert (twice.arrays.memory - tied.arrays.memory).sum() == 12 * 50257 * 768


def test_estimates_of_other_cuts_are_of_the_same_arithmetic() -> None:
    graph = small("llama")
    table = complete_table(roofline_table(graph, "h100", n_server=4), graph)
    every = roofline_table(graph, "h100", n_server=4, every=True)
    for op in graph.operators:
        known = {entry.degrees: entry for entry in every.candidates(op)}
        for entry in table.candidates(op):
            exact = known[entry.degrees]
            assert np.allclose([entry.forward, entry.backward], [exact.forward, exact.backward], rtol=1e-5)
            assert entry.memory == pytest.approx(exact.memory, rel=1e-6)


def test_integers_keep_their_size() -> None:
    (op,) = (op for op in small("llama").operators if op.kind == OpType.TOKEN_EMBEDDING)
    cast = in_precision(op, PRECISIONS["bf16"])
    assert cast.inputs[0].tensor == op.inputs[0].tensor
    assert 2 * cast.outputs[0].n_byte == op.outputs[0].n_byte
