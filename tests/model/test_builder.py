"""The graph builder: shapes, weights, names and keys of single operators."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import Operator, OpType, Source


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
    with pytest.raises(FlexNetError, match="must divide"):
        b.attention(b.input(4, 10), b.input(4, 10), b.input(4, 10), 10, 3)
    with pytest.raises(FlexNetError, match="equal shapes"):
        b.binary(OpType.ADD, b.input(4), b.input(5))
    with pytest.raises(FlexNetError, match="cannot join"):
        b.concat([b.input(3, 5), b.input(3, 6)], axis=1)
    with pytest.raises(FlexNetError, match="model m has no operators; add at least one layer"):
        b.build()


def test_one_number_is_height_and_width() -> None:
    b, other = GraphBuilder("m", 8), GraphBuilder("m", 8)
    image = b.input(3, 8, 8)
    b.pool2d(b.conv2d(image, 4, 3, stride=2, padding=1), 2)
    x = other.conv2d(image, 4, (3, 3), stride=(2, 2), padding=(1, 1))
    other.pool2d(x, (2, 2))
    assert b.build() == other.build()


def test_sizes_of_any_integer_type() -> None:
    b = GraphBuilder("m", np.int64(8))
    assert b.dense(b.input(np.int32(16)), np.int64(4)).tensor.dims == (4, 8)
    assert all(type(size) is int for size in last(b).outputs[0].dims)


def foreign(layer: str) -> Source:
    """A tensor of a builder that has a layer of the same sizes."""
    b = GraphBuilder("other", 8)
    return b.dense(b.input(10), 10) if layer == "flat" else b.conv2d(b.input(3, 8, 8), 3, 3, padding=1)


# Of a builder with a row of ten numbers, an image and three indices: what is wrong, and the sentence.
MISTAKES: dict[str, tuple[Callable[[GraphBuilder, Any, Any, Any], object], str]] = {
    "batch of text": (lambda *_: GraphBuilder("m", "8"), "batch size is '8'; it must be a whole number, at least 1"),
    "type": (
        lambda b, *_: b.input(20, dtype="int"),
        "input: dtype is 'int'; it must be float, double, int32, int64 or bool (did you mean int64?)",
    ),
    "far-off type": (
        lambda b, *_: b.input(20, dtype=None),
        "input: dtype is None; it must be float, double, int32, int64 or bool",
    ),
    "negative data": (lambda b, *_: b.input(-3), "input: size 1 is -3; it must be a whole number, at least 1"),
    "empty data": (lambda b, *_: b.input(4, 0), "input: size 2 is 0; it must be a whole number, at least 1"),
    "fractional data": (lambda b, *_: b.input(2.5), "input: size 1 is 2.5; it must be a whole number, at least 1"),
    "shape for sizes": (lambda b, *_: b.input((3, 4)), "input: size 1 is (3, 4); it must be a whole number, at least"),
    "truth for a size": (lambda b, *_: b.input(True), "input: size 1 is True; it must be a whole number"),
    "data without sizes": (lambda b, *_: b.input(), "input needs the sizes of a sample, as in input(3, 224, 224)"),
    "convolution of a row": (
        lambda b, row, *_: b.conv2d(row, 4, (3, 3)),
        "conv2d takes a tensor of shape (N, C, H, W); got one of shape (8, 10)",
    ),
    "pool of a row": (lambda b, row, *_: b.pool2d(row, 2), "pool2d takes a tensor of shape (N, C, H, W); got one of"),
    "kernel of three": (
        lambda b, row, image, _: b.conv2d(image, 4, (3, 3, 3)),
        "conv2d: kernel is (3, 3, 3); it must be (height, width), or one number for both",
    ),
    "kernel of text": (lambda b, row, image, _: b.pool2d(image, "3"), "pool2d: kernel is '3'; it must be a whole"),
    "no stride": (lambda b, row, image, _: b.pool2d(image, 2, stride=0), "pool2d: stride is 0; it must be a whole"),
    "negative padding": (
        lambda b, row, image, _: b.conv2d(image, 4, 3, padding=-1),
        "conv2d: padding is -1; it must be a whole number, at least 0",
    ),
    "groups": (lambda b, row, image, _: b.conv2d(image, 4, 3, groups=2), "groups is 2; it must divide the channels, 3"),
    "unary by name": (
        lambda b, row, *_: b.unary("relu", row),
        "unary: kind is 'relu'; it must be OpType.RELU, OpType.IDENTITY, OpType.SIGMOID, OpType.TANH, OpType.ELU, ",
    ),
    "unary of two": (lambda b, row, *_: b.unary(OpType.ADD, row), "unary: kind is OpType.ADD; it must be OpType.RELU"),
    "binary by name": (
        lambda b, row, *_: b.binary("add", row, row),
        "binary: kind is 'add'; it must be OpType.ADD, OpType.MUL, OpType.SUB or OpType.DIV",
    ),
    "dense activation": (
        lambda b, row, *_: b.dense(row, 4, activation="relu"),
        "dense: activation is 'relu'; it must be OpType.RELU, ",
    ),
    "convolution activation": (
        lambda b, row, image, _: b.conv2d(image, 4, 3, activation=13),
        "conv2d: activation is 13; it must be OpType.RELU, ",
    ),
    "binary activation": (
        lambda b, row, *_: b.binary(OpType.ADD, row, row, activation=OpType.SOFTMAX),
        "binary: activation is OpType.SOFTMAX; it must be OpType.RELU, ",
    ),
    "embedding of numbers": (
        lambda b, row, *_: b.embedding(row, 100, 4),
        "embedding takes indices; got a float tensor, which must be int32 or int64",
    ),
    "empty embedding": (lambda b, row, image, bag: b.embedding(bag, 0, 4), "embedding: entries is 0; it must be"),
    "dense of an image": (
        lambda b, row, image, _: b.dense(image, 4),
        "dense takes a tensor of shape (N, F) or (N, S, F); got one of shape (8, 3, 8, 8); flat makes (N, F) of an",
    ),
    "dense of nothing": (lambda b, row, *_: b.dense(row, 0), "dense: out is 0; it must be a whole number, at least 1"),
    "no tensor": (lambda b, *_: b.dense(16, 4), "dense takes tensors that layers of its builder returned; got 16"),
    "two tensors for one": (lambda b, row, *_: b.softmax(b.topk(row, 2)), "softmax takes tensors that layers of its"),
    "another builder": (
        lambda b, *_: b.flat(foreign("flat")),
        "flat got a tensor of shape (8, 10) of another builder; build a model with one builder",
    ),
    "another builder's alike": (
        lambda b, row, image, _: b.binary(OpType.ADD, b.conv2d(image, 3, 3, padding=1), foreign("binary")),
        "binary got a tensor of shape (8, 3, 8, 8) of another builder",
    ),
    "another builder's data": (
        lambda b, *_: b.flat(GraphBuilder("other", 4).input(3)),
        "flat got a tensor of shape (4, 3) of another builder",
    ),
    "attention of rows": (lambda b, row, *_: b.attention(row, row, row, 10, 2), "attention takes a tensor of shape (N"),
    "nothing to join": (lambda b, *_: b.concat([], 1), "concat takes a list of at least one tensor; got []"),
    "axis": (
        lambda b, row, *_: b.concat([row, row], -1),
        "concat: axis is -1; it must be a whole number, at least 0",
    ),
    "axis beyond": (
        lambda b, row, *_: b.concat([row, row], 2),
        "concat: axis is 2; it must be from 0 (the batch) to 1",
    ),
    "more than there are": (lambda b, row, *_: b.topk(row, 11), "topk: k is 11; it must be at most 10"),
    "experts by numbers": (lambda b, row, *_: b.group_by(row, row, 2, 1.0), "group_by takes indices; got a float"),
    "no experts": (lambda b, row, image, bag: b.aggregate(row, bag, []), "aggregate takes a list of at least one"),
    "room for none": (lambda b, row, image, bag: b.group_by(row, bag, 2, 0.0), "group_by: alpha is 0.0; it must be"),
    "mean of everything": (lambda b, row, *_: b.reduce_mean(row, [0, 1]), "at least one dimension must remain"),
    "no layers": (lambda b, *_: b.lstm(b.input(4, 3), 8, 0), "lstm: layers is 0; it must be a whole number"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_where_they_are_made(mistake: str) -> None:
    b = GraphBuilder("m", 8)
    row, image, bag = b.input(10), b.input(3, 8, 8), b.input(3, dtype="int64")
    make, expected = MISTAKES[mistake]
    with pytest.raises(FlexNetError) as caught:
        make(b, row, image, bag)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
