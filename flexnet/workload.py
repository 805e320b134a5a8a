"""How much one part of an operator computes and moves: the inputs of a roofline.

With ``x`` and ``y`` the elements of the inputs and outputs of one part, ``w`` those of its weights (whole, for every
part holds them all), one multiply-add counted as two operations, and 4 bytes an element unless its type says else:

====================  =======================  ==========================  =====================================
operator              operations, forward      elements moved, forward     elements moved, backward
====================  =======================  ==========================  =====================================
Linear                2 x out                  x + w + y                   3 x + 3 w + 2 y: weights' gradient, then
                                                                           inputs', both added to what is there
Conv2D                2 y kh kw inC/groups     x + w + y                   2 (x + w + y): filter, then data
Attention             projections, scores,     x + w + y, projections      twice as many
                      weighted sum             twice, scores 4 times
Batch matrix product  2 y k                    x + y                       2 (x + y)
Embedding             samples bag out          indices, looked-up rows, y  y, looked-up rows twice (read, add)
Pool2D                y kh kw                  x + y                       3 x + 2 y: x, y and both gradients
Concat, Flat,         0                        x + y                       gradients are added: x + x + y
Reshape, Transpose,
Reverse
Unary, Dropout        x                        x + y                       x + x + y
Binary                y                        x + y                       3 x: for each input read two, write one
Softmax               4 x                      x + y                       x + y (the original copies)
BatchNorm             5 x                      2 x + y                     3 x + 2 y
Split                 0                        x + y                       x + y
TopK                  k x                      x + y                       x + y
Group_by              0                        y twice                     y twice
Aggregate(Spec)       2 rows read              rows read + y               2 rows read + y
Cache                 0                        x + y                       nothing: it has no gradient
Einsum                2 y summed letters       x + w + y                   2 (x + w + y)
LSTM                  2 tokens w               x + w + y                   2 (x + w + y)
LayerNorm             5 x                      2 x + y                     3 x + 2 y
ReduceMean            x                        x + y                       x + x + y
Stack, Unstack        0                        x + y                       gradients are added: x + x + y
Softmax with cross    4 x                      x + y                       x + y
entropy
====================  =======================  ==========================  =====================================

Backward operations are twice the forward ones where there are weights or two factors, else the same (reference:
the kernels of FlexFlow's ops/*.cu).
"""

from math import prod
from typing import NamedTuple

from flexnet.einsum import letter_sizes, parse_equation
from flexnet.graph import BINARY, ELEMENT_BYTES, Operator, OpType, Tensor

__all__ = ["Passes", "flops", "irregular_bytes", "launches", "moved_bytes"]


class Passes(NamedTuple):
    """A quantity of the forward and of the backward pass."""

    forward: int
    backward: int


_CONTRACTIONS = frozenset({OpType.EINSUM, OpType.LSTM})
_PRODUCTS = _CONTRACTIONS | {OpType.LINEAR, OpType.CONV2D, OpType.MULTI_HEAD_ATTENTION, OpType.BATCH_MATMUL}
_COPIES = frozenset(
    {OpType.CONCAT, OpType.FLAT, OpType.RESHAPE, OpType.TRANSPOSE, OpType.REVERSE, OpType.STACK, OpType.UNSTACK}
)
_NORMS = frozenset({OpType.BATCH_NORM, OpType.LAYER_NORM})
_SOFTMAXES = frozenset({OpType.SOFTMAX, OpType.SOFTMAX_CROSS_ENTROPY})
_GATHERS = frozenset({OpType.AGGREGATE, OpType.AGGREGATE_SPEC})


def flops(op: Operator, parts: int) -> Passes:
    """Arithmetic operations of one of ``parts`` pieces of the batch (the largest if they are not equal).

    >>> from flexnet.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> flops(b.build().operators[0], 8)
    Passes(forward=16384, backward=32768)
    """
    forward = _forward_flops(op, parts)
    return Passes(forward, 2 * forward if op.kind in _PRODUCTS | BINARY | _GATHERS else forward)


def moved_bytes(op: Operator, parts: int) -> Passes:
    """Bytes read from and written to device memory by one of ``parts`` pieces, embedding rows included.

    >>> from flexnet.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> moved_bytes(b.build().operators[0], 8)  # x, w and y are 128 x 16, 16 x 4 + 4 and 128 x 4 elements
    Passes(forward=10512, backward=29488)
    """
    x = sum(_bytes(source.tensor, parts) for source in op.inputs)
    y = sum(_bytes(tensor, parts) for tensor in op.outputs)
    w = sum(_bytes(tensor, 1) for tensor in op.weights)
    if op.kind == OpType.EMBEDDING:
        rows = irregular_bytes(op, parts)
        return Passes(x + rows.forward + y, x + rows.backward + y)
    if op.kind == OpType.MULTI_HEAD_ATTENTION:
        forward = x + w + y + _attention_bytes(op, parts)
        return Passes(forward, 2 * forward)
    if op.kind == OpType.LINEAR:
        return Passes(x + w + y, 3 * x + 3 * w + 2 * y)
    if op.kind in _PRODUCTS:
        return Passes(x + w + y, 2 * (x + w + y))
    if op.kind == OpType.POOL2D:
        return Passes(x + y, 3 * x + 2 * y)
    if op.kind in BINARY:
        return Passes(x + y, 3 * x)
    if op.kind in _NORMS:
        return Passes(2 * x + y, 3 * x + 2 * y)
    if op.kind == OpType.GROUP_BY:
        return Passes(2 * y, 2 * y)
    if op.kind in _GATHERS:
        rows = irregular_bytes(op, parts)
        return Passes(rows.forward + y, rows.backward + y)
    if op.kind == OpType.CACHE:
        return Passes(x + y, 0)
    if op.kind in _SOFTMAXES | {OpType.SPLIT, OpType.TOPK}:
        return Passes(x + y, x + y)
    return Passes(x + y, 2 * x + y)


def irregular_bytes(op: Operator, parts: int) -> Passes:
    """The bytes of `moved_bytes` that do not stream: looked-up rows (embeddings, experts) and pooling windows."""
    if op.kind == OpType.POOL2D:
        return moved_bytes(op, parts)
    if op.kind == OpType.EMBEDDING or op.kind in _GATHERS:
        rows = _volume(op.inputs[0].tensor, parts)  # one index, or one gate value, for each row taken
        once = ELEMENT_BYTES["float"] * rows * (op.outputs[0].volume // op.outputs[0].dims[-1])
    else:
        once = 0
    return Passes(once, 2 * once)


def launches(op: Operator) -> Passes:
    """Kernels started one after the other, as FlexFlow's operators do.

    Linear: product, bias, activation; back: activation, weights, bias (two steps), inputs, and a sum.  Concat:
    one for each input.  Attention: three projections, scores, scaling, softmax, sum, output, and layout changes.
    """
    if op.kind == OpType.LINEAR:
        return Passes(3, 6)
    if op.kind == OpType.CONV2D:
        return Passes(3, 6)
    if op.kind == OpType.MULTI_HEAD_ATTENTION:
        return Passes(12, 24)
    if op.kind == OpType.CONCAT:
        return Passes(len(op.inputs), len(op.inputs))
    if op.kind in BINARY:
        return Passes(1, 2)
    if op.kind == OpType.CACHE:
        return Passes(1, 0)
    return Passes(1, 1)


def _forward_flops(op: Operator, parts: int) -> int:
    x = _volume(op.inputs[0].tensor, parts)
    y = sum(_volume(tensor, parts) for tensor in op.outputs)
    if op.kind == OpType.LINEAR:
        return 2 * x * op.outputs[0].dims[0]
    if op.kind == OpType.CONV2D:
        width, height, channels, _ = op.weights[0].dims
        return 2 * y * width * height * channels
    if op.kind == OpType.MULTI_HEAD_ATTENTION:
        return _attention_flops(op, parts)
    if op.kind == OpType.EINSUM:
        return 2 * y * _summed(op)
    if op.kind == OpType.LSTM:
        tokens = x // op.inputs[0].tensor.dims[0]
        return 2 * tokens * sum(weight.volume for weight in op.weights if len(weight.dims) == 2)
    if op.kind == OpType.BATCH_MATMUL:
        return 2 * y * op.inputs[0].tensor.dims[0]
    if op.kind == OpType.POOL2D:
        return y * op.attrs["kernel_h"] * op.attrs["kernel_w"]
    if op.kind == OpType.EMBEDDING:
        return x * op.outputs[0].dims[0]
    if op.kind in _GATHERS:
        return 2 * x * (op.outputs[0].volume // op.outputs[0].dims[-1])
    if op.kind in _COPIES or op.kind in {OpType.SPLIT, OpType.GROUP_BY, OpType.CACHE}:
        return 0
    per_element = {**dict.fromkeys(_SOFTMAXES, 4), **dict.fromkeys(_NORMS, 5), OpType.TOPK: op.attrs.get("k", 1)}
    return x * per_element.get(op.kind, 1)


def _summed(op: Operator) -> int:
    """Multiply-adds for each element of an einsum's result."""
    equation = parse_equation(op.equation)
    second = op.inputs[1].tensor if len(op.inputs) > 1 else op.weights[0]
    sizes = letter_sizes(equation, op.inputs[0].tensor.shape, second.shape)
    return prod(sizes[letter] for letter in equation.summed)


def _attention_flops(op: Operator, parts: int) -> int:
    """Projections of query, key, value and output; scores and weighted sum over every pair of positions."""
    embed = op.outputs[0].dims[0]
    query, key, _ = (source.tensor for source in op.inputs)
    y = _volume(op.outputs[0], parts)
    projections = sum(_volume(source.tensor, parts) for source in op.inputs) * embed + y * embed
    pairs = _volume(query, parts) // query.dims[0] * (key.volume // key.dims[0] // key.dims[-1])
    return 2 * projections + 4 * pairs * embed


def _attention_bytes(op: Operator, parts: int) -> int:
    """What attention keeps between its steps: projections written and read, scores written and read twice."""
    query, key, value = (source.tensor for source in op.inputs)
    embed, heads = op.outputs[0].dims[0], op.attrs["heads"]
    rows = sum(_volume(tensor, parts) // tensor.dims[0] for tensor in (query, key, value, query))
    pairs = _volume(query, parts) // query.dims[0] * (key.volume // key.dims[0] // key.dims[-1])
    return 4 * (2 * rows * embed + 4 * pairs * heads)


def _volume(tensor: Tensor, parts: int) -> int:
    """Elements of the largest of ``parts`` pieces of the batch."""
    batch = tensor.dims[-1]
    return tensor.volume // batch * -(-batch // parts)


def _bytes(tensor: Tensor, parts: int) -> int:
    return ELEMENT_BYTES[tensor.dtype] * _volume(tensor, parts)
