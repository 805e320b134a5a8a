"""Softmax, by itself and with the loss behind it."""

from collections.abc import Mapping

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.kernel import Kernel, Kernels
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, image_axes, tensor_bytes

__all__ = ["CrossEntropy", "Softmax"]


class _Softmax(OperatorKind):
    def layer(self, x: Tensor) -> Layer:
        """Any shape; the key is the name."""
        return Layer(self.name, [x])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but the innermost dimension."""
        return {k: axis for k, axis in image_axes(op).items() if k > 0}

    def flops(self, op: Operator) -> Passes:
        """Forward 4 x, back the same."""
        forward = 4 * op.inputs[0].tensor.volume
        return Passes(forward, forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back the same: the original copies."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, x + y)


class Softmax(_Softmax):
    """Softmax over the innermost dimension."""

    number = OpType.SOFTMAX
    name = "Softmax"
    label = "softmax"
    row_blocks = True


class CrossEntropy(_Softmax):
    """Softmax over the innermost dimension and its cross entropy with the labels."""

    number = OpType.SOFTMAX_CROSS_ENTROPY
    name = "CrossEntropy"
    label = "cross_entropy"

    def kernels(self, op: Operator) -> Kernels:
        """Rows are read twice, for their sum and for what is made of it; back the gradient is."""
        x = op.inputs[0].tensor
        return Kernels((Kernel(3 * x.n_byte, indexed=0.75 * x.volume),), (Kernel(4 * x.n_byte),))
