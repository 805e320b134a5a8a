"""Operators that join tensors or take them apart, and compute nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_axis, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, copied
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, Passes, Window, elements, image_axes, tensor_bytes

__all__ = ["Concat", "Split", "Stack", "Unstack"]

MOST_JOINED = 2  # dimensions beside the batch of what may be cut along the axis it is joined along
_JOINED_AT_ONCE = 128  # tensors that one kernel of PyTorch joins


class Concat(CopyingKind):
    """Tensors joined along an axis, which is counted with the batch as 0.

    It may be cut along that axis too, but for the batch and channels of images: a part then reads nothing of inputs
    that lie in other parts, so what joins towers lies with them, and a matrix behind it that is cut along its inputs
    moves sums alone.
    """

    number = OpType.CONCAT
    name = "Concat"
    label = "concat"

    def layer(self, first: Tensor, *others: Tensor, axis: int) -> Layer:
        """Equal but for the size along ``axis``; ``Concat_<axis>``."""
        axis = check_axis("concat: axis", axis, len(first.dims))
        k = len(first.dims) - 1 - axis
        for x in others:
            if x.dims[:k] + x.dims[k + 1 :] != first.dims[:k] + first.dims[k + 1 :]:
                raise FlexNetError(
                    f"concat cannot join tensors of shapes {first.shape} and {x.shape} along axis {axis}; "
                    "all other sizes must agree"
                )
        dims = (*first.dims[:k], sum(x.dims[k] for x in (first, *others)), *first.dims[k + 1 :])
        return Layer(f"Concat_{axis}", [Tensor(dims, first.dtype)], attrs={"axis": axis})

    def launches(self, op: Operator) -> Passes:
        """One for each input."""
        return Passes(len(op.inputs), len(op.inputs))

    def kernels(self, op: Operator) -> Kernels:
        """One for many inputs; back a copy of each one's columns."""
        x, y, _ = tensor_bytes(op)
        n_kernel = ceil(len(op.inputs) / _JOINED_AT_ONCE)
        forward = [Kernel((x + y) / n_kernel)] * n_kernel
        return Kernels(forward, [copied(source.tensor, strided=1.35) for source in op.inputs])

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All, but of the batch or of images not the one along which tensors are joined."""
        joined = op.rank - 1 - op.attrs["axis"]
        return {k: axis for k, axis in image_axes(op).items() if k != joined or k < op.rank - 1 <= MOST_JOINED}

    def reach(self, op: Operator, i: int) -> tuple[Window, ...]:
        """Along the axis an input begins where those before it end."""
        joined = op.rank - 1 - op.attrs["axis"]
        if joined not in self.axes(op):
            return super().reach(op, i)
        before = sum(source.tensor.dims[joined] for source in op.inputs[:i])
        return tuple(Window(padding=before, joined=True) if k == joined else Window() for k in range(op.rank))

    def part(self, op: Operator, degrees: tuple[int, ...]) -> Operator:
        """As if it read an equal share of every input, of small ones maybe nothing: as much as the pieces it does read.

        >>> from flexnet.model.builder import GraphBuilder
        >>> b = GraphBuilder("m", batch_size=8)
        >>> y = b.concat([b.input(n) for n in (1, 5, 2)], axis=1)
        >>> part = Concat().part(b.build().operators[0], (2, 1))
        >>> [source.tensor.dims for source in part.inputs], part.outputs[0].dims
        ([(3, 8), (1, 8)], (4, 8))
        """
        part = super().part(op, degrees)
        joined = op.rank - 1 - op.attrs["axis"]
        inputs, before, n = [], 0, degrees[joined]
        for source, whole in zip(part.inputs, op.inputs, strict=True):
            sizes = list(source.tensor.dims)
            sizes[joined] = (before + whole.tensor.dims[joined]) // n - before // n
            before += whole.tensor.dims[joined]
            if sizes[joined]:
                inputs.append(replace(source, tensor=Tensor(tuple(sizes), source.tensor.dtype)))
        return replace(part, inputs=tuple(inputs))


class Split(CopyingKind):
    """A tensor taken apart along an axis, which is counted with the batch as 0."""

    number = OpType.SPLIT
    name = "Split"
    label = "split"

    def layer(self, x: Tensor, *, sizes: Sequence[int], axis: int) -> Layer:
        """Pieces of these sizes; ``Split_<axis>``, where the original counts the innermost axis as 0."""
        axis = check_axis("split: axis", axis, len(x.dims))
        k = len(x.dims) - 1 - axis
        sizes = [whole_number("split: a size", size) for size in sizes]
        if sum(sizes) != x.dims[k]:
            raise FlexNetError(f"split: sizes are {sizes}; they must add up to {x.dims[k]}, the size along axis {axis}")
        return Layer(f"Split_{k}", [Tensor((*x.dims[:k], size, *x.dims[k + 1 :]), x.dtype) for size in sizes])

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back the same."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, x + y)

    def kernels(self, op: Operator) -> Kernels:
        """A copy of each piece; back they are joined."""
        return Kernels([copied(y, strided=1.0) for y in op.outputs], [copied(op.inputs[0].tensor)])

    def memory_bytes(self, op: Operator) -> int:
        """4 (x + y): no gradients."""
        return 4 * sum(elements(op))


class Stack(CopyingKind):
    """Equal tensors put side by side along a new outermost dimension."""

    number = OpType.STACK
    name = "Stack"
    label = "stack"

    def layer(self, *inputs: Tensor) -> Layer:
        """Any one shape; ``Stack_<inputs>``."""
        if len({x.dims for x in inputs}) != 1:
            raise FlexNetError(f"stack needs equal shapes; got {', '.join(str(x.shape) for x in inputs)}")
        return Layer(f"Stack_{len(inputs)}", [Tensor((*inputs[0].dims, len(inputs)), inputs[0].dtype)])


class Unstack(CopyingKind):
    """A tensor taken apart along its outermost dimension."""

    number = OpType.UNSTACK
    name = "Unstack"
    label = "unstack"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``Unstack_<outputs>``."""
        *inner, count = x.dims
        return Layer(f"Unstack_{count}", [Tensor(tuple(inner), x.dtype)] * count)
