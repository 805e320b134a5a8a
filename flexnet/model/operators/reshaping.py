"""Operators that put the elements of one tensor in another shape or order, and compute nothing."""

from collections.abc import Mapping, Sequence
from math import prod

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_axis, check_shape, whole_number
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, image_axes

__all__ = ["Flat", "Reshape", "Reverse", "Transpose"]


class Flat(CopyingKind):
    """Everything but the batch in one dimension."""

    number = OpType.FLAT
    name = "Flat"
    label = "flat"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``Flat``."""
        *inner, batch = x.dims
        return Layer("Flat", [Tensor((prod(inner), batch), x.dtype)])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Samples, and channels of an image, whose elements follow one another."""
        return image_axes(op)

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Pieces of the result are made of those of the outermost dimension but the batch."""
        return (*[-1] * (len(op.inputs[i].tensor.dims) - 2), 0, op.rank - 1)


class Reshape(CopyingKind):
    """The same elements in another shape."""

    number = OpType.RESHAPE
    name = "Reshape"
    label = "reshape"

    def layer(self, x: Tensor, *, shape: Sequence[int]) -> Layer:
        """``Reshape_<size>x<size>...``, outermost first."""
        shape = tuple(whole_number("reshape: a size", size) for size in shape)
        output = Tensor(tuple(reversed(shape)), x.dtype)
        if output.volume != x.volume:
            raise FlexNetError(f"cannot reshape {x.shape} to {shape}: sizes differ")
        return Layer("Reshape_" + "x".join(map(str, shape)), [output])


class Transpose(CopyingKind):
    """The two innermost dimensions exchanged."""

    number = OpType.TRANSPOSE
    name = "Transpose"
    label = "transpose"

    def layer(self, x: Tensor) -> Layer:
        """(N, S, F) to (N, F, S); ``Transpose``."""
        check_shape(self.label, x, "(N, S, F)", "(N, C, H, W)")
        return Layer("Transpose", [Tensor((x.dims[1], x.dims[0], *x.dims[2:]), x.dtype)])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All."""
        return image_axes(op)

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """The two innermost dimensions exchanged."""
        return (1, 0, *range(2, op.rank))


class Reverse(CopyingKind):
    """The elements along an axis, which is counted with the batch as 0, from the last to the first."""

    number = OpType.REVERSE
    name = "Reverse"
    label = "reverse"

    def layer(self, x: Tensor, *, axis: int) -> Layer:
        """Any shape; ``Reverse_<axis>``, where the original counts the innermost axis as 0, and so does ``attrs``."""
        k = len(x.dims) - 1 - check_axis("reverse: axis", axis, len(x.dims))
        return Layer(f"Reverse_{k}", [x], attrs={"axis": k})

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but the reversed one."""
        return {k: axis for k, axis in image_axes(op).items() if k != op.attrs["axis"]}
