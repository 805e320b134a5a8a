"""Normalizations, with scale and shift."""

from collections.abc import Mapping
from math import ceil, gcd, inf

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, elements, image_axes, tensor_bytes

__all__ = ["BatchNorm", "GroupNorm", "LayerNorm", "RMSNorm"]

# PyTorch's layer_norm_kernel.cu
_MANY_ROWS = 64 * 1024
_COLUMNS = 32


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


class _RowNorm(_Norm):
    """Normalization of rows; ``one_by_one`` is how often the forward pass handles each element by itself."""

    one_by_one: float

    def kernels(self, op: Operator) -> Kernels:
        """Back the input's gradient and, if there are weights, theirs: sums of columns, of which a block has 32.

        Unless there are more than 65,536 rows, of which blocks then have some each.
        """
        x = op.inputs[0].tensor
        forward = Kernel(2 * x.n_byte, indexed=self.one_by_one * x.volume)
        blocks = inf if x.volume // x.dims[0] > _MANY_ROWS else ceil(x.dims[0] / _COLUMNS)
        weights = (Kernel(2 * x.n_byte, indexed=0.45 * x.volume, blocks=blocks),) if op.weights else ()
        return Kernels((forward,), (Kernel(3 * x.n_byte), *weights))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but the one it normalizes over."""
        return {k: axis for k, axis in image_axes(op).items() if k > 0}


class LayerNorm(_RowNorm):
    """Normalization over the innermost dimension."""

    number = OpType.LAYER_NORM
    name = "LayerNorm"
    label = "layer_norm"
    one_by_one = 1.0

    def layer(self, x: Tensor, *, scale: bool = True, shift: bool = True) -> Layer:
        """Any shape; ``LayerNorm``."""
        return Layer("LayerNorm", [x], [Tensor((x.dims[0],))] * (scale + shift))

    def details(self, op: Operator) -> Mapping[str, int]:
        """How many weights there are, unless both."""
        return {} if len(op.weights) == 2 else {"weights": len(op.weights)}


class RMSNorm(_RowNorm):
    """Division by the root mean square over the innermost dimension, with scale (arXiv:1910.07467)."""

    number = OpType.RMS_NORM
    name = "RMSNorm"
    label = "rms_norm"
    one_by_one = 0.65

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``RMSNorm``."""
        return Layer("RMSNorm", [x], [Tensor((x.dims[0],))])


class GroupNorm(_Norm):
    """Normalization of groups of channels, the dimension next to the batch, of every sample (arXiv:1803.08494)."""

    number = OpType.GROUP_NORM
    name = "GroupNorm"
    label = "group_norm"

    def layer(self, x: Tensor, *, groups: int) -> Layer:
        """(N, C, ...); ``GroupNorm_<groups>``; ``attrs`` has the channels of a group."""
        check_shape(self.label, x, "(N, C)", "(N, C, L)", "(N, C, H, W)")
        groups, channels = whole_number("group_norm: groups", groups), x.dims[-2]
        if channels % groups:
            raise FlexNetError(f"group_norm: groups is {groups}; it must divide the {channels} channels")
        return Layer(f"GroupNorm_{groups}", [x], [Tensor((channels,))] * 2, {"channels": channels // groups})

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Groups and samples."""
        return {op.rank - 2: Axis.PARAMETER, op.rank - 1: Axis.SAMPLE}

    def cut_sizes(self, op: Operator) -> Mapping[int, int]:
        """A group stays whole."""
        sizes = dict(super().cut_sizes(op))
        channels = op.rank - 2
        return {**sizes, channels: gcd(sizes[channels], op.outputs[0].dims[channels] // op.attrs["channels"])}

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Scale and shift are cut as the channels."""
        return (op.rank - 2,)
