"""Normalizations, with scale and shift."""

from collections.abc import Mapping

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, elements, image_axes, tensor_bytes

__all__ = ["BatchNorm", "LayerNorm"]


class _Norm(OperatorKind):
    def flops(self, op: Operator) -> Passes:
        """Forward 5 x, back the same."""
        forward = 5 * op.inputs[0].tensor.volume
        return Passes(forward, forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward 2 x + y, back 3 x + 2 y."""
        x, y, _ = tensor_bytes(op)
        return Passes(2 * x + y, 3 * x + 2 * y)


class BatchNorm(_Norm):
    """Normalization of each channel, the dimension next to the batch."""

    number = OpType.BATCH_NORM
    name = "BatchNorm"
    label = "batch_norm"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``BatchNorm``."""
        return Layer("BatchNorm", [x], [Tensor((x.dims[-2],))] * 2)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All; a part normalizes by means of its own pieces of a channel, as one of the batch does."""
        found = image_axes(op)
        return {**found, op.rank - 2: Axis.PARAMETER}

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Scale and shift are cut as the channels."""
        return (op.rank - 2,)

    def memory_bytes(self, op: Operator) -> int:
        """8 (x + y + 2 channels): scale and shift."""
        x, y, _ = elements(op)
        return 8 * (x + y + 2 * op.outputs[0].dims[-2])


class LayerNorm(_Norm):
    """Normalization over the innermost dimension."""

    number = OpType.LAYER_NORM
    name = "LayerNorm"
    label = "layer_norm"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``LayerNorm``."""
        return Layer("LayerNorm", [x], [Tensor((x.dims[0],))] * 2)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but the one it normalizes over."""
        return {k: axis for k, axis in image_axes(op).items() if k > 0}
