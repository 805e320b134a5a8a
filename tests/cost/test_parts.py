"""Parts of operators: their shapes, work and memory, and every ``mem_req`` of the published measurements."""

import json
from pathlib import Path

import pytest

from flexnet.cost.parts import flops, irregular_bytes, launches, moved_bytes, part_of, required_bytes
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Operator, OpType, Source, Tensor
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurements


def one(build, batch=8):
    b = GraphBuilder("m", batch)
    build(b)
    return b.build().operators[-1]


def test_linear_counts_two_operations_a_multiply_add():
    op = one(lambda b: b.dense(b.input(5, 16), 4))  # 5 positions a sample
    assert flops(op, 2) == (2 * 4 * 5 * 16 * 4, 2 * 2 * 4 * 5 * 16 * 4)
    assert moved_bytes(op, 2).forward == 4 * (4 * 5 * 16 + 16 * 4 + 4 + 4 * 5 * 4)


def test_convolution_counts_its_window_and_group():
    op = one(lambda b: b.conv2d(b.input(4, 9, 7), 6, (3, 2), groups=2))
    assert flops(op, 1).forward == 2 * (8 * 6 * 7 * 6) * (3 * 2 * 2)
    assert flops(op, 1).backward == 2 * flops(op, 1).forward


def test_attention_counts_projections_and_pairs():
    def attention(b):
        x = b.input(10, 12)
        b.attention(x, x, x, 12, 3)

    op = one(attention)
    rows = 8 * 10
    assert flops(op, 1).forward == 2 * 4 * rows * 12 * 12 + 4 * 8 * 10 * 10 * 12
    per_element = 3 * rows * 12 + 4 * 12 * 12 + rows * 12 + 8 * rows * 12 + 4 * 8 * 10 * 10 * 3
    assert moved_bytes(op, 1) == (4 * per_element, 8 * per_element)


def test_embedding_reads_a_row_for_each_index():
    op = one(lambda b: b.embedding(b.input(10, dtype="int64"), 1000, 16))
    rows = 4 * 8 * 10 * 16
    assert irregular_bytes(op, 1) == (rows, 2 * rows)
    assert moved_bytes(op, 1) == (8 * 80 + rows + 4 * 8 * 16, 8 * 80 + 2 * rows + 4 * 8 * 16)


def test_addition_moves_three_tensors_and_back_six():
    def add(b):
        x = b.input(10)
        b.binary(OpType.ADD, x, x)

    assert moved_bytes(one(add), 1) == (3 * 4 * 80, 6 * 4 * 80)
    assert launches(one(add)) == (1, 2)


def test_concat_starts_a_kernel_for_each_input():
    op = one(lambda b: b.concat([b.input(2), b.input(3), b.input(4)], axis=1))
    assert launches(op) == (3, 3)
    assert flops(op, 1) == (0, 0)


def test_cache_has_no_gradient():
    op = one(lambda b: b.cache(b.input(4)))
    assert moved_bytes(op, 1).backward == launches(op).backward == 0


def test_parts_that_do_not_divide_count_the_largest():
    op = one(lambda b: b.softmax(b.input(10)))
    assert moved_bytes(op, 3) == (2 * 4 * 10 * 3, 2 * 4 * 10 * 3)


@pytest.mark.parametrize("name", MODELS)
def test_every_operator_of_every_model_is_counted(name):
    graph = MODELS[name].build({}, 320)
    for op in graph.operators:
        for parts in (1, 2):
            assert min(flops(op, parts)) >= 0
            assert moved_bytes(op, parts).forward > 0
            streamed = [a - b for a, b in zip(moved_bytes(op, parts), irregular_bytes(op, parts), strict=True)]
            assert min(streamed) >= 0
        assert flops(op, 2).forward * 2 == flops(op, 1).forward


def test_sequence_operators_count_their_products() -> None:
    b = GraphBuilder("net", batch_size=8)
    x = b.einsum("bsd,de->bse", b.input(4, 16), (16, 32))
    b.lstm(x, 24, 2)
    einsum, lstm = b.build().operators
    assert flops(einsum, 2) == (2 * 4 * 4 * 32 * 16, 4 * 4 * 4 * 32 * 16)
    assert flops(lstm, 1).forward == 2 * 8 * 4 * 4 * 24 * ((32 + 24) + (24 + 24))


def test_batch_parts_are_shared_by_the_gpus_of_a_server():
    op = one(lambda b: b.dense(b.input(5, 8), 4), 64)
    part = part_of(op, (1, 1, 4), 2)
    assert part.inputs[0].tensor.dims == (8, 5, 8)
    assert part.outputs[0].dims == (4, 5, 8)
    assert part.weights == op.weights
    assert required_bytes(part, 1) == required_bytes(op, 8)


def test_gpus_that_do_not_divide_a_part_stay_out():
    assert part_of(one(lambda b: b.dense(b.input(8), 4), 6), (1, 3), 4).outputs[0].dims == (4, 1)


def test_channel_parts_read_everything_and_hold_their_share():
    part = part_of(one(lambda b: b.dense(b.input(8), 6), 64), (3, 2), 0)
    assert part.inputs[0].tensor.dims == (8, 32)
    assert [tensor.dims for tensor in (*part.outputs, *part.weights)] == [(2, 32), (8, 2), (2,)]


def test_embeddings_stay_whole():
    op = one(lambda b: b.embedding(b.input(10, dtype="int64"), 100, 8))
    assert part_of(op, (1, 1), 4) is op


def test_spatial_parts_read_what_their_windows_reach():
    op = one(lambda b: b.conv2d(b.input(3, 16, 12), 4, (5, 3), stride=(2, 1), padding=(2, 1)), 64)
    assert op.outputs[0].dims == (12, 8, 4, 64)
    part = part_of(op, (3, 2, 1, 4), 0)
    assert part.outputs[0].dims == (4, 4, 4, 16)
    assert part.inputs[0].tensor.dims == (6, 11, 3, 16)
    assert (part.attrs["padding_h"], part.attrs["padding_w"]) == (0, 0)
    down = part_of(op, (1, 2, 1, 4), 0)
    assert down.inputs[0].tensor.dims == (12, 11, 3, 16)
    assert (down.attrs["padding_h"], down.attrs["padding_w"]) == (0, 1)


def test_spatial_parts_of_element_wise_operators():
    op = one(lambda b: b.binary(OpType.ADD, b.input(3, 8, 4), b.input(3, 8, 4)), 64)
    part = part_of(op, (2, 4, 1, 1), 0)
    assert [source.tensor.dims for source in part.inputs] == [(2, 2, 3, 64)] * 2
    assert part.outputs[0].dims == (2, 2, 3, 64)


def op_of(b: GraphBuilder) -> Operator:
    return b.build().operators[-1]


def test_published_memory_is_reproduced(shared_data: Path) -> None:
    """Every entry of every published file that is here."""
    checked, wrong = [], []
    for name, published in published_measurements().items():
        path = shared_data / "measurements" / f"{name}.json"
        if not path.exists():
            continue
        first = {op.key: op for op in reversed(published.build().operators)}  # the first of a key is the one measured
        for entry in json.loads(path.read_text())["measurements"]:
            op = first[entry["name"]]
            parts = int(entry["pc_str"].split("-")[-1])
            if op.kind != OpType.EMBEDDING:
                parts *= published.big_gpu or 1
            checked.append(name)
            if required_bytes(op, parts) != entry["mem_req"]:
                wrong.append((name, entry, required_bytes(op, parts)))
    assert checked
    assert wrong == []


def test_linear_counts_a_bias_it_does_not_have() -> None:
    b = GraphBuilder("m", 64)
    b.dense(b.input(16), 4)
    with_bias = required_bytes(op_of(b), 2)
    b.dense(b.input(16), 4, bias=False)
    assert required_bytes(op_of(b), 2) == with_bias == 8 * (32 * 16 + 32 * 4 + 16 * 4 + 4)


def test_convolution_has_no_gradients() -> None:
    b = GraphBuilder("m", 64)
    b.conv2d(b.input(6, 9, 9), 10, (3, 3), groups=2)
    assert required_bytes(op_of(b), 4) == 4 * (16 * 6 * 81 + 16 * 10 * 49 + 9 * 3 * 10 + 10)


def test_embedding_holds_the_whole_table_in_every_part() -> None:
    b = GraphBuilder("m", 64)
    b.embedding(b.input(5, dtype="int64"), 1000, 16)
    assert required_bytes(op_of(b), 1) == 16 * 5 * 64 + 8 * 16 * 64 + 8 * 16000
    assert required_bytes(op_of(b), 64) == 16 * 5 + 8 * 16 + 8 * 16000


def test_attention() -> None:
    b = GraphBuilder("m", 8)
    x = b.input(10, 32)
    b.attention(x, x, x, 32, 4)
    assert required_bytes(op_of(b), 8) == 8 * (4 * 320 + 4 * 32**2)


def test_element_wise() -> None:
    b = GraphBuilder("m", 8)
    x, y = b.input(4), b.input(4)
    expected = []
    for inplace in (False, True):
        b.binary(OpType.MUL, x, y, inplace=inplace)
        expected.append(16 * 32 if inplace else 24 * 32)
        b.unary(OpType.RELU, x, inplace=inplace)
        expected.append(8 * 32 if inplace else 16 * 32)
    assert [required_bytes(op, 1) for op in b.build().operators] == expected


def test_pool_concat_flat_softmax() -> None:
    b = GraphBuilder("m", 8)
    b.pool2d(b.input(2, 6, 6), (3, 3), stride=(3, 3))
    assert required_bytes(op_of(b), 2) == 8 * 4 * (72 + 8)
    b.concat([b.input(3), b.input(5)], axis=1)
    assert required_bytes(op_of(b), 2) == 8 * 4 * 16
    b.softmax(b.flat(b.input(2, 3)))
    assert required_bytes(op_of(b), 8) == 8 * 12


def test_kinds_no_model_has() -> None:
    image, row = Tensor((5, 4, 3, 2)), Tensor((6, 2))
    half = Tensor((3, 2))

    def op(kind: OpType, inputs: list[Tensor], outputs: list[Tensor]) -> Operator:
        return Operator(0, kind, "x_100", "x", tuple(Source(None, 0, t) for t in inputs), tuple(outputs))

    assert required_bytes(op(OpType.BATCH_NORM, [image], [image]), 2) == 8 * (60 + 60 + 2 * 3)
    assert required_bytes(op(OpType.SPLIT, [row], [half, half]), 1) == 4 * 24
    assert required_bytes(op(OpType.BATCH_MATMUL, [image, image], [image]), 1) == 8 * 360
    assert required_bytes(op(OpType.TRANSPOSE, [image], [image]), 1) == 8 * 240


@pytest.mark.parametrize("model", MODELS)
def test_every_operator_of_every_model_has_a_size(model: str) -> None:
    graph: ModelGraph = MODELS[model].build({}, 80)
    assert all(required_bytes(op, 1) > required_bytes(op, 8) > 0 for op in graph.operators)


@pytest.mark.parametrize("parts", [3, 0, -2, 128])
def test_parts_must_divide_the_batch(parts: int) -> None:
    b = GraphBuilder("m", 64)
    b.dense(b.input(16), 4)
    with pytest.raises(FlexNetError, match=f"Dense_100 .* into {parts} equal parts"):
        required_bytes(op_of(b), parts)
