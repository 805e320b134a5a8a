"""Operators that put the elements of one tensor in another shape or order, and compute nothing."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_axis, check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, copied, copied_back
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, Passes, image_axes

__all__ = ["Flat", "Permute", "Reshape", "Reverse", "Slice", "Transpose"]

_ACROSS = 2.5  # times as long as a strided copy


class Flat(CopyingKind):
    """Everything but the batch in one dimension."""

    number = OpType.FLAT
    name = "Flat"
    label = "flat"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``Flat``."""
        *inner, batch = x.dims
        return Layer("Flat", [Tensor((prod(inner), batch), x.dtype)])

    def kernels(self, op: Operator) -> Kernels:
        """A copy, and one back."""
        return copied_back(op.outputs[0])

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

    def kernels(self, op: Operator) -> Kernels:
        """A copy, and one back."""
        return copied_back(op.outputs[0])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """The outermost of the dimensions that some dimensions of the input become."""
        return {k: Axis.SAMPLE if k == op.rank - 1 else Axis.ATTRIBUTE for _, k in self._aligned(op)}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """The outermost of the dimensions that become some of the output."""
        found = dict(self._aligned(op))
        return tuple(found.get(j, -1) for j in range(len(op.inputs[i].tensor.dims)))

    def _aligned(self, op: Operator) -> Iterator[tuple[int, int]]:
        """Dimensions of the input and of the output of which equally many pieces hold the same elements."""
        read, written = op.inputs[0].tensor.dims, op.outputs[0].dims
        yield from zip(_long(read)[:1] or [len(read) - 1], _long(written)[:1] or [op.rank - 1], strict=True)
        inside, outside = 1, 1  # elements of the dimensions passed so far, from the outermost
        sources, targets = _long(read), _long(written)
        while sources and targets:
            inside *= read[sources.pop(0)]
            outside *= written[targets.pop(0)]
            while inside != outside:
                if inside < outside:
                    inside *= read[sources.pop(0)]
                else:
                    outside *= written[targets.pop(0)]
            if sources and targets:
                yield sources[0], targets[0]


class Transpose(CopyingKind):
    """The two innermost dimensions exchanged."""

    number = OpType.TRANSPOSE
    name = "Transpose"
    label = "transpose"

    def layer(self, x: Tensor) -> Layer:
        """(N, S, F) to (N, F, S); ``Transpose``."""
        check_shape(self.label, x, "(N, S, F)", "(N, C, H, W)")
        return Layer("Transpose", [Tensor((x.dims[1], x.dims[0], *x.dims[2:]), x.dtype)])

    def kernels(self, op: Operator) -> Kernels:
        """Elements that follow one another are far apart in what is read."""
        return copied_back(op.outputs[0], strided=_ACROSS)

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


class Permute(CopyingKind):
    """The dimensions in another order; the batch stays the first."""

    number = OpType.PERMUTE
    name = "Permute"
    label = "permute"

    def layer(self, x: Tensor, *, order: Sequence[int]) -> Layer:
        """Axis ``order[i]`` becomes axis i, the batch is 0; ``Permute_<order>``, whose digits are the attribute."""
        rank = len(x.dims)
        order = [whole_number("permute: an axis", axis, 0) for axis in order]
        if sorted(order) != list(range(rank)) or order[0] != 0:
            raise FlexNetError(f"permute: order is {order}; it must begin with 0 (the batch) and have 1 to {rank - 1}")
        output = Tensor(tuple(x.shape[axis] for axis in reversed(order)), x.dtype)
        digits = "".join(map(str, order))
        return Layer(f"Permute_{digits}", [output], attrs={"order": int(digits)})

    def kernels(self, op: Operator) -> Kernels:
        """As of Transpose, unless the innermost dimension stays."""
        stays = op.attrs["order"] % 10 == op.rank - 1
        return copied_back(op.outputs[0], strided=1.0 if stays else _ACROSS)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All."""
        return image_axes(op)

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """In the other order."""
        order = [int(digit) for digit in f"{op.attrs['order']:0{op.rank}d}"]
        places = {axis: op.rank - 1 - at for at, axis in enumerate(order)}
        return tuple(places[op.rank - 1 - j] for j in range(op.rank))


class Slice(CopyingKind):
    """Some elements along an axis, which is counted with the batch as 0."""

    number = OpType.SLICE
    name = "Slice"
    label = "slice"

    def layer(self, x: Tensor, *, axis: int, start: int, size: int) -> Layer:
        """``Slice_<axis>_<start>_<size>``."""
        axis = check_axis("slice: axis", axis, len(x.dims))
        start, size = whole_number("slice: start", start, 0), whole_number("slice: size", size)
        k = len(x.dims) - 1 - axis
        if start + size > x.dims[k]:
            raise FlexNetError(f"slice: {start} to {start + size} must lie within {x.dims[k]}, the size along {axis}")
        output = Tensor((*x.dims[:k], size, *x.dims[k + 1 :]), x.dtype)
        return Layer(f"Slice_{axis}_{start}_{size}", [output], attrs={"axis": axis, "start": start})

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward y read and written; back the same, and zeros for x."""
        y = op.outputs[0].n_byte
        return Passes(2 * y, 2 * y + op.inputs[0].tensor.n_byte)

    def kernels(self, op: Operator) -> Kernels:
        """A copy; back zeros, and one into them."""
        copy = copied(op.outputs[0], strided=1.0)
        return Kernels((copy,), (Kernel(op.inputs[0].tensor.n_byte), copy))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but that along which it takes some."""
        return {k: axis for k, axis in image_axes(op).items() if k != op.rank - 1 - op.attrs["axis"]}


def _long(sizes: Sequence[int]) -> list[int]:
    """Dimensions larger than 1, outermost first."""
    return [k for k in reversed(range(len(sizes))) if sizes[k] > 1]
