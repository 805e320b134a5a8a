"""2-D pooling."""

from collections.abc import Mapping, Sequence

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape
from flexnet.model.operators.kernel import Kernel, Kernels
from flexnet.model.operators.kind import Axis, Layer, Passes, tensor_bytes
from flexnet.model.operators.windows import LARGEST, WindowKind, windows

__all__ = ["Pool2D"]


class Pool2D(WindowKind):
    """2-D max or average pooling."""

    number = OpType.POOL2D
    name = "Pool2D"
    label = "pool2d"

    def layer(
        self,
        x: Tensor,
        *,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        average: bool = False,
    ) -> Layer:
        """(N, C, H, W) to (N, C, height, width) of `windows`; ``Pool2D_<kernel height>_<width>``."""
        check_shape(self.label, x, "(N, C, H, W)")
        w, h, channels, batch = x.dims
        (width, height), attrs = windows(self.label, (w, h), kernel, stride, padding)
        key = f"Pool2D_{attrs['kernel_h']}_{attrs['kernel_w']}"
        output = Tensor((width, height, channels, batch), x.dtype)
        return Layer(key, [output], attrs=attrs | {"average": int(average)})

    def flops(self, op: Operator) -> Passes:
        """Forward y kh kw, back the same."""
        forward = op.outputs[0].volume * op.attrs["kernel_h"] * op.attrs["kernel_w"]
        return Passes(forward, forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back 3 x + 2 y: x, y and both gradients."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, 3 * x + 2 * y)

    def irregular_bytes(self, op: Operator) -> Passes:
        """All: windows overlap."""
        return self.moved_bytes(op)

    def kernels(self, op: Operator) -> Kernels:
        """Windows are read element by element; the largest one's index has 8 bytes."""
        x, y, _ = tensor_bytes(op)
        read = op.outputs[0].volume * op.attrs["kernel_h"] * op.attrs["kernel_w"]
        indices = 0 if op.attrs["average"] else 8 * op.outputs[0].volume
        forward = Kernel(x + y + indices, indexed=0.7 * read)
        return Kernels((forward,), (Kernel(x + y + indices, indexed=3 * op.inputs[0].tensor.volume + read),))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All; channels pass through."""
        return {0: Axis.ATTRIBUTE, 1: Axis.ATTRIBUTE, 2: Axis.PARAMETER, 3: Axis.SAMPLE}

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """The input."""
        return [(op.inputs[0].tensor, LARGEST)]
