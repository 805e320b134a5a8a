"""Linear layers: the one kind of the original that may be cut along its output channels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import activation_of, check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, fused
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, elements, tensor_bytes

__all__ = ["Linear"]

_LARGEST = 2**31 - 1  # bytes of a tensor that cuDNN's activations take
_LIMITED = (OpType.RELU, OpType.SIGMOID, OpType.TANH)
_TILE = 128  # rows and columns of an output that a block of threads computes


class Linear(OperatorKind):
    """A linear layer over the innermost dimension, optionally with a bias and a fused activation.

    A part of its output channels reads the whole input and holds its share of the weights; a part of its input channels
    reads those, and a fused activation waits for the sum, which whoever reads it makes.
    """

    number = OpType.LINEAR
    name = "Dense"
    label = "dense"
    arithmetic = Arithmetic.PRODUCT
    channel_parallel = True

    def layer(self, x: Tensor, *, out: int, bias: bool = True, activation: OpType | None = None) -> Layer:
        """(N, F) to (N, out), (N, S, F) to (N, S, out); ``Dense_<F>_<out>``."""
        check_shape(self.label, x, "(N, F)", "(N, S, F)", hint="; flat makes (N, F) of an image")
        fan_in, *rest = x.dims
        out, fused = whole_number("dense: out", out), activation_of(self.label, activation)
        weights = [Tensor((fan_in, out))] + ([Tensor((out,))] if bias else [])
        return Layer(f"Dense_{fan_in}_{out}", [Tensor((out, *rest), x.dtype)], weights, {"activation": fused})

    def details(self, op: Operator) -> Mapping[str, int]:
        """Attributes, and how many weights there are: one more with a bias."""
        return {**op.attrs, "weights": len(op.weights)}

    def flops(self, op: Operator) -> Passes:
        """Forward 2 x out, back twice."""
        forward = 2 * op.inputs[0].tensor.volume * op.outputs[0].dims[0]
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 3 x + 3 w + 2 y: weights' gradient, then inputs', both added to what is there."""
        x, y, w = tensor_bytes(op)
        return Passes(x + w + y, 3 * x + 3 * w + 2 * y)

    def launches(self, op: Operator) -> Passes:
        """Product, bias, activation; back: activation, weights, bias (two steps), inputs, and a sum."""
        return Passes(3, 6)

    def kernels(self, op: Operator) -> Kernels:
        """A product and its activation; back the activation, the bias, and a product for each gradient."""
        activation, y = fused(op), op.outputs[0].n_byte
        product = Kernel(sum(tensor_bytes(op)), flops=self.flops(op).forward)
        columns = op.outputs[0].dims[0]
        tiles = ceil(columns / _TILE) * ceil(op.outputs[0].volume // columns / _TILE)
        bias = (Kernel(y),) if len(op.weights) > 1 else ()
        return Kernels(
            (replace(product, blocks=tiles), *activation.forward), (*activation.backward, *bias, product, product)
        )

    def memory_bytes(self, op: Operator) -> int:
        """8 (x + y + in out + out): the bias is counted also where there is none."""
        x, y, _ = elements(op)
        fan_in, out = op.inputs[0].tensor.dims[0], op.outputs[0].dims[0]
        return 8 * (x + y + fan_in * out + out)

    def kept_elements(self, op: Operator) -> int:
        """The output, and what an activation was given unless the output tells its derivative."""
        told = (0, OpType.IDENTITY, *_LIMITED)
        return op.outputs[0].volume * (1 if op.attrs["activation"] in told else 2)

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """The output, where cuDNN computes the activation."""
        return [(op.outputs[0], _LARGEST)] if op.attrs.get("activation", 0) in _LIMITED else []

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All: output channels, steps of a sequence, samples, and input channels."""
        steps = dict.fromkeys(range(1, op.rank - 1), Axis.ATTRIBUTE)
        return {0: Axis.PARAMETER, **steps, op.rank - 1: Axis.SAMPLE, op.rank: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the output channels needs all input channels; model.cc:798 cuts them."""
        return (op.rank, *range(1, op.rank))

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """The kernel is cut along both channels, the bias as the output."""
        return (op.rank, 0) if i == 0 else (0,)
