"""One part of an operator, which is what one GPU runs: its shapes, what it computes and moves, and its memory.

Every operator kind knows this of itself (`flexnet.model.operators.kind.OperatorKind`); here it is asked for an operator
that is cut, by a config or into so many pieces of its batch.
"""

from dataclasses import replace

from flexnet.errors import FlexNetError
from flexnet.model.cutting import divisors
from flexnet.model.graph import Operator, Tensor
from flexnet.model.operators import kind_of
from flexnet.model.operators.kind import Passes

__all__ = ["flops", "irregular_bytes", "largest_piece", "launches", "moved_bytes", "part_of", "required_bytes"]


def part_of(op: Operator, degrees: tuple[int, ...], big_gpu: int) -> Operator:
    """Return the operator that one GPU runs for one part of ``op``: the same kind with the part's shapes.

    The GPUs of a server share its part of the batch as far as they divide it; an embedding is never cut.

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("m", batch_size=64)
    >>> x = b.conv2d(b.input(3, 8, 8), 4, (3, 3), padding=(1, 1))
    >>> part = part_of(b.build().operators[0], (1, 2, 1, 4), 2)
    >>> part.inputs[0].tensor.dims, part.outputs[0].dims
    ((8, 6, 3, 8), (8, 4, 4, 8))
    """
    kind = kind_of(op)
    if kind.whole:
        return op
    batch = op.rank - 1
    used = _gpus_used(op, degrees[batch], big_gpu)
    return kind.part(op, (*degrees[:batch], degrees[batch] * used, *degrees[batch + 1 :]))


def largest_piece(op: Operator, parts: int) -> Operator:
    """The operator that computes the largest of ``parts`` pieces of the batch of ``op``, all equal if they can be."""

    def piece(tensor: Tensor) -> Tensor:
        return Tensor((*tensor.dims[:-1], -(-tensor.dims[-1] // parts)), tensor.dtype)

    if parts == 1:
        return op
    inputs = tuple(replace(source, tensor=piece(source.tensor)) for source in op.inputs)
    return replace(op, inputs=inputs, outputs=tuple(map(piece, op.outputs)))


def flops(op: Operator, parts: int) -> Passes:
    """Arithmetic operations of one of ``parts`` pieces of the batch (the largest if they are not equal).

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> flops(b.build().operators[0], 8)
    Passes(forward=16384, backward=32768)
    """
    return kind_of(op).flops(largest_piece(op, parts))


def moved_bytes(op: Operator, parts: int) -> Passes:
    """Bytes read from and written to device memory by one of ``parts`` pieces, embedding rows included.

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> moved_bytes(b.build().operators[0], 8)  # x, w and y are 128 x 16, 16 x 4 + 4 and 128 x 4 elements
    Passes(forward=10512, backward=29488)
    """
    return kind_of(op).moved_bytes(largest_piece(op, parts))


def irregular_bytes(op: Operator, parts: int) -> Passes:
    """The bytes of `moved_bytes` that do not stream: looked-up rows (embeddings, experts) and pooling windows."""
    return kind_of(op).irregular_bytes(largest_piece(op, parts))


def launches(op: Operator) -> Passes:
    """Kernels started one after the other, as FlexFlow's operators do."""
    return kind_of(op).launches(op)


def required_bytes(op: Operator, parts: int) -> int:
    """Bytes of memory one device needs for one of ``parts`` equal pieces of the batch of ``op``.

    A server that acts as ``big_gpu`` GPUs counts as that many parts: what a file measured so records as degree ``i``
    is ``required_bytes(op, i * big_gpu)`` (embeddings, never cut, stay at 1).

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=1024)
    >>> x = b.dense(b.input(16), 4)
    >>> required_bytes(b.build().operators[0], 8)
    21024

    Raises
    ------
    FlexNetError
        If the batch of one of its tensors cannot be cut into ``parts`` equal pieces.
    """
    for tensor in (*(source.tensor for source in op.inputs), *op.outputs):
        batch = tensor.dims[-1]
        if parts < 1 or batch % parts:
            raise FlexNetError(
                f"operator {op.name} ({op.key}) cannot be cut into {parts} equal parts: "
                f"its batch is {batch}, of which the parts must be a divisor"
            )
    return kind_of(op).memory_bytes(largest_piece(op, parts))


def _gpus_used(op: Operator, degree: int, big_gpu: int) -> int:
    """Most GPUs of a server that can share its part of the batch evenly: all, where profilers measure."""
    batch = op.outputs[0].dims[-1]
    return max(g for g in divisors(max(big_gpu, 1), big_gpu or 1) if batch % (degree * g) == 0)
