"""Weights that meet a tensor element by element, or stand beside it: learned positions, scales, class tokens."""

from collections.abc import Mapping, Sequence

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, copied
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, OperatorKind, Passes, image_axes, tensor_bytes

__all__ = ["Prepend", "WeightedBinary"]


class WeightedBinary(OperatorKind):
    """A tensor plus a weight, or times one, that is the same for all samples."""

    label = "weighted"

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def layer(self, x: Tensor, *, shape: Sequence[int]) -> Layer:
        """Any shape; ``shape`` is the weight's, of the innermost dimensions or 1: (F), (S, F), (C, 1, 1).

        ``<name>_<size>x<size>...``.
        """
        sizes = [whole_number(f"{self.name}: a size", size) for size in shape]
        weight = Tensor(tuple(reversed(sizes)))
        fits = all(n in (1, size) for n, size in zip(weight.dims, x.dims, strict=False))
        if not fits or not 0 < len(sizes) < len(x.dims):
            raise FlexNetError(
                f"{self.name}: the weight has shape {tuple(sizes)}; each size must be 1 or that of {x.shape[1:]}, from "
                "the last on"
            )
        return Layer(f"{self.name}_{'x'.join(map(str, sizes))}", [x], [weight])

    def flops(self, op: Operator) -> Passes:
        """Forward y, back twice."""
        forward = op.outputs[0].volume
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 x + y + 2 w: both gradients."""
        x, y, w = tensor_bytes(op)
        return Passes(x + w + y, 2 * x + y + 2 * w)

    def launches(self, op: Operator) -> Passes:
        """Back one for each gradient."""
        return Passes(1, 2)

    def kernels(self, op: Operator) -> Kernels:
        """The weight stands for all samples; back its gradient is summed over them."""
        x, product = op.inputs[0].tensor, self.number == OpType.MUL_WEIGHT
        forward, summed = copied(x, strided=1.0), Kernel(x.n_byte)
        back = (forward, Kernel(3 * x.n_byte), summed) if product else (copied(x), summed)
        return Kernels((forward,), back)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All."""
        return image_axes(op)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As the output, but for sizes of 1."""
        return tuple(k if n > 1 else -1 for k, n in enumerate(op.weights[i].dims))


class Prepend(CopyingKind):
    """Learned tokens before those of a sequence."""

    number = OpType.PREPEND
    name = "Prepend"
    label = "prepend"

    def layer(self, x: Tensor, *, tokens: int = 1) -> Layer:
        """(N, S, F) to (N, tokens + S, F); ``Prepend_<tokens>``."""
        check_shape(self.label, x, "(N, S, F)")
        features, steps, batch = x.dims
        tokens = whole_number("prepend: tokens", tokens)
        output = Tensor((features, tokens + steps, batch), x.dtype)
        return Layer(f"Prepend_{tokens}", [output], [Tensor((features, tokens))])

    def kernels(self, op: Operator) -> Kernels:
        """Joined with tokens that stand for all samples; back a copy of the others, and the sum of these."""
        return Kernels((copied(op.outputs[0], strided=2.0),), (copied(op.inputs[0].tensor, strided=1.0), Kernel()))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Features and samples."""
        return {0: Axis.PARAMETER, 2: Axis.SAMPLE}

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As the features."""
        return (0, -1)
