"""One small operator of every kind and form that the models have."""

from operator_samples import SAMPLES

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import BINARY, UNARY, Operator, OpType, Source, Tensor


def built(build, batch=4) -> Operator:
    b = GraphBuilder("m", batch)
    build(b)
    return b.build().operators[-1]


def plain(kind, inputs, outputs, weights=(), **attrs) -> Operator:
    sources = tuple(Source(None, 0, Tensor(dims)) for dims in inputs)
    return Operator(0, kind, "x_100", "x", sources, tuple(map(Tensor, outputs)), tuple(map(Tensor, weights)), attrs)


SEQUENCE = [kind for kind in OpType if OpType.RMS_NORM <= kind <= OpType.PREPEND]
OTHERS = [
    plain(OpType.DROPOUT, [(6, 4)], [(6, 4)]),
    plain(OpType.BATCH_NORM, [(5, 4, 3, 2)], [(5, 4, 3, 2)]),
    plain(OpType.BATCH_MATMUL, [(7, 5, 2), (3, 7, 2)], [(3, 5, 2)]),
    plain(OpType.SPLIT, [(6, 2)], [(4, 2), (2, 2)]),
    plain(OpType.SPLIT, [(3, 6, 2)], [(3, 1, 2), (3, 5, 2)]),
    plain(OpType.RESHAPE, [(6, 2)], [(3, 2, 2)]),
    plain(OpType.REVERSE, [(6, 2)], [(6, 2)], axis=0),
    plain(OpType.TRANSPOSE, [(3, 5, 2)], [(5, 3, 2)]),
]
IMPORTED = [
    built(lambda b: b.add(OpType.FUSION, b.input(4, 6), b.input(4, 6), equation="abc,a..->acb", outputs=[(4, 6, 4)])),
    built(
        lambda b: b.add(OpType.FUSION, b.input(6), equation="ab->ab", outputs=[(4, 6), (4, 2)], dtypes=["float"] * 2)
    ),
    *(
        built(lambda b, form=form: b.add(OpType.CONVOLUTION, b.input(*form[0]), bias=False, **form[1]), 2)
        for form in (
            ((4, 9), {"shape": (2, 6, 5), "weight": (6, 2, 3), "groups": 2, "transposed": False}),
            ((4, 9, 9), {"shape": (2, 6, 5, 5), "weight": (6, 4, 3, 3), "groups": 1, "transposed": False}),
            ((4, 5, 5, 5), {"shape": (2, 6, 5, 5, 5), "weight": (6, 4, 3, 3, 3), "groups": 1, "transposed": False}),
            ((4, 5, 5), {"shape": (2, 6, 10, 10), "weight": (4, 6, 2, 2), "groups": 1, "transposed": True}),
            ((4, 5), {"shape": (2, 6, 11), "weight": (4, 3, 3), "groups": 2, "transposed": True}),
        )
    ),
]


def small_operators():
    for kind in UNARY:
        yield built(lambda b, kind=kind: b.unary(kind, b.input(5)))
        yield built(lambda b, kind=kind: b.dense(b.input(5), 3, activation=kind))
    for kind in BINARY:
        yield built(lambda b, kind=kind: b.binary(kind, b.input(5), b.input(5)))
    yield built(lambda b: b.dense(b.input(6, 5), 3, bias=False))
    yield built(lambda b: b.conv2d(b.input(4, 9, 8), 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2))
    yield built(lambda b: b.conv2d(b.input(4, 9, 8), 6, (1, 1), activation=OpType.RELU))
    yield built(lambda b: b.pool2d(b.input(4, 9, 8), (3, 3), stride=(2, 2), padding=(1, 1)))
    yield built(lambda b: b.pool2d(b.input(4, 9, 8), (1, 3), padding=(1, 1), average=True))
    yield built(lambda b: b.attention(b.input(3, 6), b.input(5, 7), b.input(5, 7), 8, 2))
    yield built(lambda b: b.embedding(b.input(3, dtype="int64"), 50, 6))
    yield built(lambda b: b.concat([b.input(2), b.input(3), b.input(4)], axis=1))
    yield built(lambda b: b.flat(b.input(2, 3, 4)))
    yield built(lambda b: b.softmax(b.input(9)))
    yield built(lambda b: b.conv2d(b.input(4, 9, 8), 6, (1, 1), bias=False))
    yield built(lambda b: b.binary(OpType.MUL, b.input(3, 4, 5), b.input(3, 1, 1)))
    yield built(lambda b: b.scaled_dot_product(b.input(3, 8), b.input(5, 8), b.input(5, 4), 4))
    yield built(
        lambda b: b.add(
            OpType.SCALED_DOT_PRODUCT, b.input(5, 8), b.input(5, 8), b.input(5, 4), heads=4, causal=True, buckets=3
        )
    )
    yield built(lambda b: b.gated(b.input(4, 6), activation=OpType.GELU))
    yield built(lambda b: b.layer_norm(b.input(4, 6), scale=False, shift=False))
    yield built(lambda b: b.dispatch(b.input(6, 5), b.input(6, 2, dtype="int64"), 4, capacity=0.5))
    yield from (SAMPLES[kind] for kind in (*SEQUENCE, OpType.EINSUM, OpType.LAYER_NORM, OpType.REDUCE_MEAN))
    yield SAMPLES[OpType.SOFTMAX_CROSS_ENTROPY]
    yield from (SAMPLES[kind] for kind in (OpType.FUSION, OpType.CONVOLUTION, OpType.GROUPED_LINEAR))
    yield from IMPORTED
    yield from OTHERS
