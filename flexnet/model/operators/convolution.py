"""Convolutions over any number of dimensions, dilated or transposed."""

from collections.abc import Mapping, Sequence
from math import gcd

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import whole_number
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Convolution"]


class Convolution(OperatorKind):
    """What `flexnet.model.operators.conv2d.Conv2D` is not: over lines or volumes, dilated, transposed.

    Positions are not cut; channels are if there is one group, and groups if there are several.
    """

    number = OpType.CONVOLUTION
    name = "Convolution"
    label = "convolution"

    def layer(
        self, x: Tensor, *, shape: Sequence[int], weight: Sequence[int], groups: int, transposed: bool, bias: bool
    ) -> Layer:
        """(N, C, ...) to ``shape``, (N, out, ...), by a weight of this shape, both outermost first.

        ``Convolution_<size>x<size>...`` of the weight.
        """
        sizes = [whole_number("convolution: a size", size) for size in shape]
        kernel = [whole_number("convolution: a size of the weight", size) for size in weight]
        groups = whole_number("convolution: groups", groups)
        reads, writes = (kernel[0], kernel[1] * groups) if transposed else (kernel[1] * groups, kernel[0])
        if len(sizes) != len(x.dims) or len(kernel) != len(sizes) or (reads, writes) != (x.shape[1], sizes[1]):
            raise FlexNetError(
                f"convolution: a weight of shape {tuple(kernel)} in {groups} groups does not make {tuple(sizes)} of "
                f"{x.shape}"
            )
        weights = [Tensor(tuple(reversed(kernel)))] + ([Tensor((sizes[1],))] if bias else [])
        key = "Convolution_" + "x".join(map(str, kernel))
        output = Tensor(tuple(reversed(sizes)), x.dtype)
        return Layer(key, [output], weights, {"groups": groups, "transposed": int(transposed)})

    def details(self, op: Operator) -> Mapping[str, int]:
        """Attributes, and how many weights there are: one more with a bias."""
        return {**op.attrs, "weights": len(op.weights)}

    def flops(self, op: Operator) -> Passes:
        """Forward 2 w / channels for each element of the output (transposed: of the input), back twice."""
        moved = op.inputs[0].tensor if op.attrs["transposed"] else op.outputs[0]
        weight = op.weights[0]
        forward = 2 * moved.volume * (weight.volume // weight.dims[-1])
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y): filter, then data."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Output channels and samples."""
        return {op.rank - 2: Axis.PARAMETER, op.rank - 1: Axis.SAMPLE}

    def cut_sizes(self, op: Operator) -> Mapping[int, int]:
        """Groups stay whole."""
        sizes = super().cut_sizes(op)
        groups = op.attrs["groups"]
        channels = op.rank - 2
        return {**sizes, channels: gcd(sizes[channels], groups) if groups > 1 else sizes[channels]}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the channels reads all input channels, or those of its groups."""
        channel = op.rank - 2 if op.attrs["groups"] > 1 else -1
        return (*[-1] * (op.rank - 2), channel, op.rank - 1)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As the output channels; of groups, the weight's outermost dimension is cut, transposed or not."""
        if i == 1:
            return (op.rank - 2,)
        inner = [-1] * (op.rank - 2)
        if op.attrs["transposed"] and op.attrs["groups"] == 1:
            return (*inner, op.rank - 2, -1)
        return (*inner, -1, op.rank - 2)
