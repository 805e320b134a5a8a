"""Device memory of one part of an operator: the ``mem_req`` of measurement files.

The original's profiler adds up what its bump allocator hands out for an operator: activations, weights and, except
for convolutions, their gradients, 4 bytes an element.  With ``x`` the elements of all inputs of one part, ``y`` those
of its outputs, and ``w`` those of its weights, which no part shares out, it comes to (bytes; reference: the
``measure_operator_cost`` functions of FlexFlow's ops/*.cu):

=============================================================  =================================================
Linear (bias counted also where there is none)                 8 (x + y + in out + out)
Conv2D (no gradients)                                          4 (x + y + w)
Embedding (8-byte indices)                                     16 x + 8 y + 8 w
Multi-head attention, einsum, LSTM, layer normalization        8 (x + y + w)
Pool2D, Flat, Softmax, Reshape, Transpose, Reverse, Dropout,   8 (x + y)
Concat, batch matrix multiplication
Batch normalization (scale and shift)                          8 (x + y + 2 channels)
Element-wise binary, in place                                  8 x
Element-wise binary, else                                      8 (x + y)
Element-wise unary, in place                                   8 x
Element-wise unary, else                                       8 (x + y)
Split                                                          4 (x + y)
Group_by, Aggregate, AggregateSpec, Cache, TopK                8 (x + y), ours: the original cannot measure them
=============================================================  =================================================
"""

from flexnet.errors import FlexNetError
from flexnet.graph import BINARY, UNARY, Operator, OpType, Tensor

__all__ = ["required_bytes"]

_WEIGHTED = frozenset({OpType.MULTI_HEAD_ATTENTION, OpType.EINSUM, OpType.LSTM, OpType.LAYER_NORM})


def required_bytes(op: Operator, parts: int) -> int:
    """Bytes one device needs for one of ``parts`` equal pieces of the batch of ``op``.

    A server that acts as ``big_gpu`` GPUs counts as that many parts: what a file measured so records as degree ``i``
    is ``required_bytes(op, i * big_gpu)`` (embeddings, never cut, stay at 1).

    >>> from flexnet.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> required_bytes(b.build().operators[0], 8)
    21024

    Raises
    ------
    FlexNetError
        If the batch of one of its tensors cannot be cut into ``parts`` equal pieces.
    """
    x = sum(_piece(op, source.tensor, parts) for source in op.inputs)
    y = sum(_piece(op, tensor, parts) for tensor in op.outputs)
    weights = sum(tensor.volume for tensor in op.weights)
    if op.kind == OpType.LINEAR:
        fan_in, out = op.inputs[0].tensor.dims[0], op.outputs[0].dims[0]
        return 8 * (x + y + fan_in * out + out)
    if op.kind == OpType.CONV2D:
        return 4 * (x + y + weights)
    if op.kind == OpType.EMBEDDING:
        return 16 * x + 8 * y + 8 * weights
    if op.kind in _WEIGHTED:
        return 8 * (x + y + weights)
    if op.kind == OpType.BATCH_NORM:
        return 8 * (x + y + 2 * op.outputs[0].dims[-2])
    if op.kind == OpType.SPLIT:
        return 4 * (x + y)
    if op.kind in UNARY | BINARY and op.attrs.get("inplace", 0):
        return 8 * x
    return 8 * (x + y)


def _piece(op: Operator, tensor: Tensor, parts: int) -> int:
    batch = tensor.dims[-1]
    if parts < 1 or batch % parts:
        raise FlexNetError(
            f"operator {op.name} ({op.key}) cannot be cut into {parts} equal parts: "
            f"its batch is {batch}, of which the parts must be a divisor"
        )
    return tensor.volume // parts
