"""What convolution and pooling have in common: windows that slide over images."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from flexnet.model.graph import Operator, Tensor
from flexnet.model.operators.checks import pair
from flexnet.model.operators.kind import OperatorKind, Window

__all__ = ["LARGEST", "WindowKind", "windows"]

LARGEST = 2**31 - 1
"""Bytes of a tensor that cuDNN's convolutions and poolings take."""


def windows(
    label: str, sizes: tuple[int, int], kernel: object, stride: object, padding: object
) -> tuple[tuple[int, int], dict[str, Any]]:
    """Width and height that sliding windows put out, of the width and height they read; and their attributes.

    >>> windows("pool2d", (30, 20), (3, 5), (2, 3), (1, 0))[0]
    (9, 10)
    """
    width, height = sizes
    kernel_h, kernel_w = pair(f"{label}: kernel", kernel)
    stride_h, stride_w = pair(f"{label}: stride", stride)
    padding_h, padding_w = pair(f"{label}: padding", padding, 0)
    attrs: dict[str, Any] = {"kernel_h": kernel_h, "kernel_w": kernel_w, "stride_h": stride_h, "stride_w": stride_w}
    attrs |= {"padding_h": padding_h, "padding_w": padding_w}
    return (_window(width, kernel_w, stride_w, padding_w), _window(height, kernel_h, stride_h, padding_h)), attrs


class WindowKind(OperatorKind):
    """A kind whose layers have the attributes of `windows`."""

    def reach(self, op: Operator, i: int) -> tuple[Window, ...]:
        """The windows along width and height; border rows are read by the parts on both sides of it."""
        attrs = op.attrs
        across = Window(attrs["stride_w"], attrs["kernel_w"], attrs["padding_w"])
        return across, Window(attrs["stride_h"], attrs["kernel_h"], attrs["padding_h"]), Window(), Window()

    def part(self, op: Operator, degrees: tuple[int, ...]) -> Operator:
        """A part of the width or height reads what its windows reach over, and needs no padding."""
        part = super().part(op, degrees)
        across, down = degrees[:2]
        attrs = dict(op.attrs)
        read, written = part.inputs[0], part.outputs[0].dims
        width, height, *rest = read.tensor.dims
        if across > 1:
            width = (written[0] - 1) * attrs["stride_w"] + attrs["kernel_w"]
            attrs["padding_w"] = 0
        if down > 1:
            height = (written[1] - 1) * attrs["stride_h"] + attrs["kernel_h"]
            attrs["padding_h"] = 0
        read = replace(read, tensor=Tensor((width, height, *rest), read.tensor.dtype))
        return replace(part, inputs=(read,), attrs=MappingProxyType(attrs))


def _window(size: int, kernel: int, stride: int, padding: int) -> int:
    """Output size of a sliding window: 1 + floor((size + 2 padding - kernel) / stride)."""
    return 1 + (size + 2 * padding - kernel) // stride
