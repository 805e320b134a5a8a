"""Memory of operator parts: worked examples, and every ``mem_req`` of the published measurements."""

import json
from pathlib import Path

import pytest

from flexnet.builder import GraphBuilder
from flexnet.errors import FlexNetError
from flexnet.graph import ModelGraph, Operator, OpType, Source, Tensor
from flexnet.memory import required_bytes
from flexnet.models import MODELS
from flexnet.published import published_measurements


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
