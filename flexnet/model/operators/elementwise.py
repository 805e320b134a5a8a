"""Operators that compute every element by itself."""

from collections.abc import Mapping, Sequence

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import activation_of
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, elements, image_axes, tensor_bytes

__all__ = ["Binary", "Dropout", "Unary"]

_LARGEST = 2**30  # bytes; 2^31-1 was meant, and operator precedence made this of it
_LIMITED = (OpType.RELU, OpType.SIGMOID, OpType.TANH, OpType.ELU)  # those that cuDNN computes


class _ElementWise(OperatorKind):
    def flops(self, op: Operator) -> Passes:
        """Forward x, back the same."""
        return Passes(op.inputs[0].tensor.volume, op.inputs[0].tensor.volume)

    def memory_bytes(self, op: Operator) -> int:
        """In place 8 x, else 8 (x + y)."""
        x, y, _ = elements(op)
        return 8 * x if op.attrs.get("inplace", 0) else 8 * (x + y)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All."""
        return image_axes(op)


class Unary(_ElementWise):
    """An element-wise function of one tensor, such as ReLU, maybe in place."""

    label = "unary"

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def layer(self, x: Tensor, *, inplace: bool = True) -> Layer:
        """Any shape; ``ElementUnary_<number>``."""
        return Layer(f"ElementUnary_{int(self.number)}", [x], attrs={"inplace": int(inplace)})

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """Input and output of what cuDNN computes."""
        return _both(op) if self.number in _LIMITED else []


class Binary(_ElementWise):
    """An element-wise function of two tensors, such as a sum, maybe in place and with a fused activation."""

    label = "binary"

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def layer(self, a: Tensor, b: Tensor, *, inplace: bool = True, activation: OpType | None = None) -> Layer:
        """Two of any one shape; ``ElementBinary_<number>``."""
        if a.dims != b.dims:
            raise FlexNetError(f"{self.name.upper()} needs equal shapes; got {a.shape} and {b.shape}")
        fused = activation_of(self.label, activation)
        attrs = {"inplace": int(inplace)} | ({"activation": fused} if fused else {})
        return Layer(f"ElementBinary_{int(self.number)}", [a], attrs=attrs)

    def flops(self, op: Operator) -> Passes:
        """Forward y, back twice."""
        forward = op.outputs[0].volume
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back 3 x: for each input read two, write one."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, 3 * x)

    def launches(self, op: Operator) -> Passes:
        """Back one for each input."""
        return Passes(1, 2)

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """First input and output."""
        return _both(op)


class Dropout(_ElementWise):
    """Elements set to zero at random."""

    number = OpType.DROPOUT
    name = "Dropout"
    label = "dropout"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``Dropout``."""
        return Layer("Dropout", [x])


def _both(op: Operator) -> Sequence[tuple[Tensor, int]]:
    return [(op.inputs[0].tensor, _LARGEST), (op.outputs[0], _LARGEST)]
