"""Products of two tensors, matrix by matrix."""

from collections.abc import Mapping

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["BatchMatmul"]


class BatchMatmul(OperatorKind):
    """A matrix product for each sample."""

    number = OpType.BATCH_MATMUL
    name = "BatchMatmul_"  # with the guid's, two underscores, as in the original
    label = "batch_matmul"
    arithmetic = Arithmetic.PRODUCT

    def layer(self, a: Tensor, b: Tensor) -> Layer:
        """(N, R, K) and (N, K, C) to (N, R, C); ``BatchMatmul``."""
        for x in (a, b):
            check_shape(self.label, x, "(N, R, C)")
        if (a.dims[0], a.dims[2]) != (b.dims[1], b.dims[2]):
            raise FlexNetError(f"batch_matmul cannot multiply {a.shape} by {b.shape}; it takes (N, R, K) and (N, K, C)")
        return Layer("BatchMatmul", [Tensor((b.dims[0], *a.dims[1:]), a.dtype)])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Rows, columns, samples, and what is summed over."""
        return {0: Axis.PARAMETER, 1: Axis.ATTRIBUTE, 2: Axis.SAMPLE, 3: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part reads rows of the first and columns of the second."""
        return (3, 1, 2) if i == 0 else (0, 3, 2)

    def flops(self, op: Operator) -> Passes:
        """Forward 2 y K, back twice."""
        forward = 2 * op.outputs[0].volume * op.inputs[0].tensor.dims[0]
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back 2 (x + y)."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)
