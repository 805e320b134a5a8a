"""2-D convolution."""

from collections.abc import Mapping, Sequence

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import activation_of, check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, fused
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, Passes, elements, tensor_bytes
from flexnet.model.operators.windows import LARGEST, WindowKind, windows

__all__ = ["THIN_CHANNELS", "Conv2D"]

THIN_CHANNELS = 8
"""Of fewer, as of images, no kernel has tiles so thin."""

# Of the rate of a product, forward and back, in single precision on an H100: windows are gathered, and back scattered;
# of square images cuDNN transforms windows of 3 and 5 at every place, for fewer multiplications (arXiv:1509.09308).
_GATHERED = (0.8, 0.5)
_TRANSFORMED = {3: (1.1, 1.2), 5: (2.0, 2.0)}
_THIN = (0.35, 0.3)
_LEAST_IMAGE = 8  # pixels wide


class Conv2D(WindowKind):
    """A 2-D convolution, with or without bias, in groups, optionally with a fused activation."""

    number = OpType.CONV2D
    name = "Conv2D"
    label = "conv2d"
    arithmetic = Arithmetic.CONVOLUTION

    def layer(
        self,
        x: Tensor,
        *,
        out: int,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        groups: int = 1,
        bias: bool = True,
        activation: OpType | None = None,
    ) -> Layer:
        """(N, C, H, W) to (N, out, height, width) of `windows`; ``Conv2D_<kernel height>_<width>_<out>``."""
        check_shape(self.label, x, "(N, C, H, W)")
        w, h, channels, batch = x.dims
        out, groups = whole_number("conv2d: out", out), whole_number("conv2d: groups", groups)
        if channels % groups or out % groups:
            raise FlexNetError(f"conv2d: groups is {groups}; it must divide the channels, {channels} in and {out} out")
        (width, height), attrs = windows(self.label, (w, h), kernel, stride, padding)
        kh, kw = attrs["kernel_h"], attrs["kernel_w"]
        weights = [Tensor((kw, kh, channels // groups, out))] + ([Tensor((out,))] if bias else [])
        attrs |= {"groups": groups, "activation": activation_of(self.label, activation)}
        return Layer(f"Conv2D_{kh}_{kw}_{out}", [Tensor((width, height, out, batch), x.dtype)], weights, attrs)

    def details(self, op: Operator) -> Mapping[str, int]:
        """Attributes, and that there is no bias."""
        return op.attrs if len(op.weights) > 1 else {**op.attrs, "bias": 0}

    def flops(self, op: Operator) -> Passes:
        """Forward 2 y kh kw inC/groups, back twice."""
        width, height, channels, _ = op.weights[0].dims
        forward = 2 * op.outputs[0].volume * width * height * channels
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y): filter, then data."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)

    def launches(self, op: Operator) -> Passes:
        """As of Linear."""
        return Passes(3, 6)

    def kernels(self, op: Operator) -> Kernels:
        """A convolution, its bias and its activation; back the activation, the bias, and one for each gradient."""
        forward, back = _shares(op)
        moved, work, y = sum(tensor_bytes(op)), self.flops(op).forward, op.outputs[0].n_byte
        activation, bias = fused(op), (Kernel(y),) if len(op.weights) > 1 else ()
        gradient = Kernel(moved, flops=work / back)
        return Kernels(
            (Kernel(moved, flops=work / forward), *bias, *activation.forward),
            (*activation.backward, *bias, gradient, gradient),
        )

    def memory_bytes(self, op: Operator) -> int:
        """4 (x + y + w): no gradients."""
        return 4 * sum(elements(op))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Width, height and samples; both channels too, unless they are in groups."""
        found = {0: Axis.ATTRIBUTE, 1: Axis.ATTRIBUTE, 3: Axis.SAMPLE}
        return found if op.attrs["groups"] > 1 else {**found, 2: Axis.PARAMETER, 4: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the output channels reads all input channels, as in Linear."""
        return (0, 1, 4, 3)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As of Linear."""
        return (-1, -1, 4, 2) if i == 0 else (2,)

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """Input and output."""
        return [(op.inputs[0].tensor, LARGEST), (op.outputs[0], LARGEST)]


def _shares(op: Operator) -> tuple[float, float]:
    """Of the rate of a product that a convolution reaches, forward and back."""
    width, height, channels, _ = op.weights[0].dims
    if channels < THIN_CHANNELS:
        return _THIN
    image = op.outputs[0].dims[:2]
    everywhere = op.attrs["stride_w"] == op.attrs["stride_h"] == 1
    if width == height and everywhere and image[0] == image[1] >= _LEAST_IMAGE:
        return _TRANSFORMED.get(width, _GATHERED)
    return _GATHERED
