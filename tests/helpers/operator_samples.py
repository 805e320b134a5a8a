"""One operator of every kind there is, for what all kinds must satisfy."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import BINARY, UNARY, Operator, OpType

_LAYERS = {
    OpType.CONV2D: lambda b: b.conv2d(b.input(4, 8, 8), 6, 3, padding=1, groups=2),
    OpType.DROPOUT: lambda b: b.add(OpType.DROPOUT, b.input(3, 8, 8)),
    OpType.LINEAR: lambda b: b.dense(b.input(5, 16), 4, activation=OpType.RELU),
    OpType.BATCH_MATMUL: lambda b: b.add(OpType.BATCH_MATMUL, b.input(5, 7), b.input(7, 3)),
    OpType.POOL2D: lambda b: b.pool2d(b.input(3, 8, 8), 2, stride=2),
    OpType.FLAT: lambda b: b.flat(b.input(3, 4, 5)),
    OpType.SOFTMAX: lambda b: b.softmax(b.input(10)),
    OpType.BATCH_NORM: lambda b: b.batch_norm(b.input(3, 8, 8)),
    OpType.CONCAT: lambda b: b.concat([b.input(3, 8, 8), b.input(5, 8, 8)], axis=1),
    OpType.SPLIT: lambda b: b.add(OpType.SPLIT, b.input(6, 5), sizes=(1, 3, 2), axis=1),
    OpType.EMBEDDING: lambda b: b.embedding(b.input(3, dtype="int64"), 50, 8),
    OpType.GROUP_BY: lambda b: b.group_by(b.input(7), b.input(2, dtype="int32"), 4, 2.0),
    OpType.CACHE: lambda b: b.cache(b.input(7)),
    OpType.AGGREGATE: lambda b: b.aggregate(b.input(2), b.input(2, dtype="int32"), [b.input(7), b.input(7)]),
    OpType.AGGREGATE_SPEC: lambda b: b.aggregate_spec(b.input(2), b.input(2, dtype="int32"), [b.input(7), b.input(7)]),
    OpType.RESHAPE: lambda b: b.reshape(b.input(6), 8, 2, 3),
    OpType.REVERSE: lambda b: b.add(OpType.REVERSE, b.input(6, 5), axis=1),
    OpType.TRANSPOSE: lambda b: b.add(OpType.TRANSPOSE, b.input(6, 5)),
    OpType.TOPK: lambda b: b.topk(b.input(7), 2),
    OpType.MULTI_HEAD_ATTENTION: lambda b: b.attention(b.input(3, 6), b.input(5, 7), b.input(5, 7), 8, 2),
    OpType.EINSUM: lambda b: b.einsum("bsd,de->bse", b.input(4, 6), (6, 2)),
    OpType.LSTM: lambda b: b.lstm(b.input(4, 6), 5, 2),
    OpType.LAYER_NORM: lambda b: b.layer_norm(b.input(4, 6)),
    OpType.REDUCE_MEAN: lambda b: b.reduce_mean(b.input(3, 8, 8), (2, 3)),
    OpType.STACK: lambda b: b.stack([b.input(4)] * 8),
    OpType.UNSTACK: lambda b: b.unstack(b.reshape(b.input(24), 4, 8, 6)),
    OpType.SOFTMAX_CROSS_ENTROPY: lambda b: b.cross_entropy(b.input(10)),
    OpType.RMS_NORM: lambda b: b.rms_norm(b.input(4, 6)),
    OpType.GROUP_NORM: lambda b: b.add(OpType.GROUP_NORM, b.input(6, 8, 8), groups=3),
    OpType.ROPE: lambda b: b.rope(b.input(4, 12), b.input(4, 6), head=6),
    OpType.TOKEN_EMBEDDING: lambda b: b.token_embedding(b.input(4, dtype="int64"), 50, 8),
    OpType.SCALED_DOT_PRODUCT: lambda b: b.scaled_dot_product(
        b.input(3, 8), b.input(5, 4), b.input(5, 6), 4, shared=2, causal=True
    ),
    OpType.GATED: lambda b: b.gated(b.input(4, 6), b.input(4, 6)),
    OpType.DISPATCH: lambda b: b.dispatch(b.input(6, 5), b.input(6, 2, dtype="int32"), 4, capacity=1.25),
    OpType.COMBINE: lambda b: b.combine(b.input(6, 2), b.input(6, 2, dtype="int32"), b.input(4, 3, 5)),
    OpType.PERMUTE: lambda b: b.add(OpType.PERMUTE, b.input(3, 8, 4), order=(0, 1, 3, 2)),
    OpType.SLICE: lambda b: b.add(OpType.SLICE, b.input(3, 6), axis=1, start=1, size=2),
    OpType.ADD_WEIGHT: lambda b: b.add(OpType.ADD_WEIGHT, b.input(4, 6), shape=(4, 6)),
    OpType.MUL_WEIGHT: lambda b: b.add(OpType.MUL_WEIGHT, b.input(6, 4, 4), shape=(6, 1, 1)),
    OpType.FUSION: lambda b: b.add(
        OpType.FUSION, b.input(4, 6), equation="ab.,.->ab*", outputs=[(8, 4, 3)], weights=[(6,)], operations=2
    ),
    OpType.CONVOLUTION: lambda b: b.add(
        OpType.CONVOLUTION, b.input(6, 9), shape=(8, 4, 7), weight=(4, 6, 3), groups=1, transposed=False, bias=True
    ),
    OpType.GROUPED_LINEAR: lambda b: b.add(OpType.GROUPED_LINEAR, b.input(2, 4, 6), experts=4, out=5),
    OpType.PREPEND: lambda b: b.add(OpType.PREPEND, b.input(4, 6), tokens=2),
    **{kind: lambda b, kind=kind: b.unary(kind, b.input(3, 8, 8)) for kind in UNARY},
    **{kind: lambda b, kind=kind: b.binary(kind, b.input(3, 8, 8), b.input(3, 8, 8)) for kind in BINARY},
}

SAMPLES: dict[int, Operator] = {}
for number, build in _LAYERS.items():
    b = GraphBuilder("sample", batch_size=8)
    build(b)
    SAMPLES[number] = b.build().operators[-1]
