"""Embedding tables: bags of rows, and rows of tokens."""

from collections.abc import Mapping

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_indices, check_shape, whole_number
from flexnet.model.operators.kernel import SORT, Kernel, Kernels, copied
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, OperatorKind, Passes, elements, tensor_bytes

__all__ = ["Embedding", "TokenEmbedding", "row_bytes"]

_MISSED = 1.76  # times as long as rows that follow one another: 50 % of an H100's bandwidth, not 88 %


class Embedding(OperatorKind):
    """A sum-aggregated embedding bag: the table is never cut, one GPU looks up all samples."""

    number = OpType.EMBEDDING
    name = "Embedding"
    label = "embedding"
    whole = True

    def layer(self, x: Tensor, *, entries: int, out: int) -> Layer:
        """(N, bag) indices to (N, out); ``Embed_<entries>x<out>``."""
        check_shape(self.label, x, "(N, bag)")
        check_indices(self.label, x)
        bag, batch = x.dims
        entries, out = whole_number("embedding: entries", entries), whole_number("embedding: out", out)
        return Layer(f"Embed_{entries}x{out}", [Tensor((out, batch))], [Tensor((out, entries))], {"bag": bag})

    def flops(self, op: Operator) -> Passes:
        """Forward samples bag out, back the same."""
        forward = op.inputs[0].tensor.volume * op.outputs[0].dims[0]
        return Passes(forward, forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward indices, looked-up rows and y; back the rows twice (read, add)."""
        x, y, _ = tensor_bytes(op)
        rows = self.irregular_bytes(op)
        return Passes(x + rows.forward + y, x + rows.backward + y)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The looked-up rows."""
        return row_bytes(op)

    def kernels(self, op: Operator) -> Kernels:
        """Rows summed by bag, for which caches are of little use; back a sparse gradient, a row for every index."""
        rows, (once, _) = op.inputs[0].tensor.volume, self.irregular_bytes(op)
        return Kernels((Kernel(_MISSED * once),), (Kernel(once, rows=rows), copied(op.inputs[0].tensor)))

    def memory_bytes(self, op: Operator) -> int:
        """16 x + 8 y + 8 w: indices have 8 bytes."""
        x, y, w = elements(op)
        return 16 * x + 8 * y + 8 * w


class TokenEmbedding(CopyingKind):
    """One row of a table for every index; its gradient is dense.

    A part of the features has these columns of the table; a part of the reduction has some of its rows, and puts out
    zeros for the others.
    """

    number = OpType.TOKEN_EMBEDDING
    name = "TokenEmbedding"
    label = "token_embedding"

    def layer(self, x: Tensor, *, entries: int, out: int) -> Layer:
        """(N, S) indices to (N, S, out); ``TokenEmbed_<entries>x<out>``."""
        check_shape(self.label, x, "(N, S)")
        check_indices(self.label, x)
        entries, out = whole_number("token_embedding: entries", entries), whole_number("token_embedding: out", out)
        return Layer(f"TokenEmbed_{entries}x{out}", [Tensor((out, *x.dims))], [Tensor((out, entries))])

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward indices, looked-up rows and y; back the rows twice (read, add) and a table of zeros."""
        x, y, w = tensor_bytes(op)
        return Passes(x + 2 * y, x + 3 * y + w)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The looked-up rows."""
        _, y, _ = tensor_bytes(op)
        return Passes(y, 2 * y)

    def kernels(self, op: Operator) -> Kernels:
        """Back the indices are sorted, the table is set to zero, and what has the same index is added up."""
        y, table, rows = op.outputs[0], op.weights[0].n_byte, op.inputs[0].tensor.volume
        looked_up = Kernel(min(y.n_byte, table) + y.n_byte, rows=rows)
        return Kernels((looked_up,), (SORT, Kernel(table), Kernel(2 * y.n_byte, indexed=y.volume)))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Columns of the table, positions, samples, and rows of the table."""
        return {0: Axis.PARAMETER, 1: Axis.ATTRIBUTE, 2: Axis.SAMPLE, 3: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Indices are cut as what is made of them."""
        return (1, 2)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Columns and rows."""
        return (0, 3)


def row_bytes(op: Operator) -> Passes:
    """Bytes of the rows an operator takes, as wide as its output, one for each element of input 0; back twice."""
    once = op.inputs[0].tensor.volume * (op.outputs[0].n_byte // op.outputs[0].dims[-1])
    return Passes(once, 2 * once)
