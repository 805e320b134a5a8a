"""The graph builder: shapes, weights, names and keys of single operators."""

import pytest

from flexnet.builder import GraphBuilder
from flexnet.errors import FlexNetError
from flexnet.graph import Operator, OpType


def last(b: GraphBuilder) -> Operator:
    return b.build().operators[-1]


def test_dense() -> None:
    b = GraphBuilder("m", 8)
    x = b.dense(b.input(5, 16), 4, activation=OpType.RELU)
    assert x.tensor.dims == (4, 5, 8)
    op = last(b)
    assert (op.name, op.key, op.rank) == ("Dense_100", "Dense_16_4", 3)
    assert [w.dims for w in op.weights] == [(16, 4), (4,)]
    b.dense(x, 2, bias=False)
    assert [w.dims for w in last(b).weights] == [(4, 2)]
    assert (last(b).name, last(b).attrs["activation"]) == ("Dense_101", 0)


def test_embedding() -> None:
    b = GraphBuilder("m", 8)
    out = b.embedding(b.input(100, dtype="int64"), 1000, 16)
    assert (out.tensor.dims, out.tensor.dtype) == ((16, 8), "float")
    assert (last(b).name, last(b).key, last(b).weights[0].volume) == ("Embedding_100", "Embed_1000x16", 16000)


def test_concat_axis_counts_from_the_batch() -> None:
    b = GraphBuilder("m", 8)
    channels = b.concat([b.input(3, 5, 7), b.input(4, 5, 7)], axis=1)
    assert channels.tensor.dims == (7, 5, 7, 8)
    assert last(b).key == "Concat_1"
    assert b.concat([b.input(3, 5, 7), b.input(3, 6, 7)], axis=2).tensor.dims == (7, 11, 3, 8)


def test_conv_is_height_by_width() -> None:
    b = GraphBuilder("m", 8)
    y = b.conv2d(b.input(6, 20, 30), 10, (3, 5), stride=(2, 3), padding=(1, 0), groups=2)
    assert y.tensor.dims == (1 + (30 - 5) // 3, 1 + (20 + 2 - 3) // 2, 10, 8)
    assert last(b).key == "Conv2D_3_5_10"
    assert [w.volume for w in last(b).weights] == [3 * 5 * 3 * 10, 10]


def test_pool_flat_softmax() -> None:
    b = GraphBuilder("m", 8)
    y = b.pool2d(b.input(6, 20, 30), (3, 5), stride=(2, 3), padding=(1, 0))
    assert (y.tensor.dims, last(b).key, last(b).weights) == ((9, 10, 6, 8), "Pool2D_3_5", ())
    y = b.flat(y)
    assert (y.tensor.dims, last(b).key) == ((540, 8), "Flat")
    y = b.softmax(y)
    assert (y.tensor.dims, last(b).key) == ((540, 8), "Softmax")


def test_attention() -> None:
    b = GraphBuilder("m", 8)
    x = b.input(256, 1024)
    y = b.attention(x, x, x, 1024, 16)
    assert (y.tensor.dims, last(b).key) == ((1024, 256, 8), "MultiHeadAttention_102416")
    assert last(b).weights[0].dims == (4 * 1024 * 64, 16)


def test_element_wise() -> None:
    b = GraphBuilder("m", 8)
    y = b.binary(OpType.MUL, b.input(4), b.input(4), inplace=False, name="gmf")
    assert (y.tensor.dims, last(b).name, last(b).key) == ((4, 8), "gmf_100", "ElementBinary_32")
    assert last(b).attrs["inplace"] == 0
    b.unary(OpType.RELU, y)
    assert (last(b).name, last(b).key, last(b).attrs["inplace"]) == ("ReLU_101", "ElementUnary_13", 1)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 5, 32, 33])
def test_group_by_rounds_rows_up(batch_size: int) -> None:
    b = GraphBuilder("m", batch_size)
    x = b.input(7)
    _, assignment = b.topk(x, 2)
    outputs = b.group_by(x, assignment, 5, 2.0)
    assert [out.output for out in outputs] == [0, 1, 2, 3, 4]
    rows = outputs[0].tensor.dims[-1]
    assert 5 * (rows - 1) < 4 * batch_size <= 5 * rows


def test_topk_and_aggregates() -> None:
    b = GraphBuilder("m", 10)
    values, assignment = b.topk(b.input(7), 2)
    assert (values.tensor.dtype, assignment.tensor.dtype, assignment.output) == ("float", "int32", 1)
    assert b.cache(assignment).tensor.dtype == "int32"
    experts = b.group_by(b.input(3), assignment, 4, 1.0)
    assert b.aggregate(values, assignment, experts).tensor.dims == (3, 10)
    assert b.aggregate_spec(values, assignment, experts).tensor.dims == (3, 20)


def test_keys_in_order_of_first_appearance() -> None:
    b = GraphBuilder("m", 8)
    x = b.input(4)
    for width in (4, 2, 4, 2):
        x = b.dense(x, width)
    assert b.build().keys() == ("Dense_4_4", "Dense_4_2", "Dense_2_4")


def test_impossible_operators() -> None:
    b = GraphBuilder("m", 8)
    with pytest.raises(FlexNetError, match="batch size is -1"):
        GraphBuilder("m", -1)
    with pytest.raises(FlexNetError, match="every size must be at least 1"):
        b.conv2d(b.input(3, 4, 4), 8, (7, 7))
    with pytest.raises(FlexNetError, match="every size must be at least 1"):
        b.dense(b.input(4), 0)
    with pytest.raises(FlexNetError, match="must divide"):
        b.attention(b.input(4, 10), b.input(4, 10), b.input(4, 10), 10, 3)
    with pytest.raises(FlexNetError, match="equal shapes"):
        b.binary(OpType.ADD, b.input(4), b.input(5))
    with pytest.raises(FlexNetError, match="cannot join"):
        b.concat([b.input(3, 5), b.input(3, 6)], axis=1)
    assert b.build().operators == ()
