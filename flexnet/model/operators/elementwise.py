"""Operators that compute every element by itself."""

from collections.abc import Mapping, Sequence

from flexnet.errors import FlexNetError
from flexnet.model.graph import UNARY, Operator, OpType, Tensor
from flexnet.model.operators.checks import activation_of, check_op_type
from flexnet.model.operators.kernel import Kernel, Kernels, copied, fused
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, Window, elements, image_axes, tensor_bytes

__all__ = ["Binary", "Dropout", "Gated", "Unary"]

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

    def kept_elements(self, op: Operator) -> int:
        """In place nothing, else y."""
        return 0 if op.attrs.get("inplace", 0) else op.outputs[0].volume

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
        """Two of one shape, or of which one has sizes of 1 but in its batch; ``ElementBinary_<number>``."""
        pairs = list(zip(a.dims, b.dims, strict=False))
        if len(a.dims) != len(b.dims) or any(m != n and 1 not in (m, n) for m, n in pairs) or a.dims[-1] != b.dims[-1]:
            raise FlexNetError(f"{self.name.upper()} needs equal shapes; got {a.shape} and {b.shape}")
        fused = activation_of(self.label, activation)
        attrs = {"inplace": int(inplace)} | ({"activation": fused} if fused else {})
        output = Tensor(tuple(max(pair) for pair in pairs), a.dtype)
        return Layer(f"ElementBinary_{int(self.number)}", [output], attrs=attrs)

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

    def kernels(self, op: Operator) -> Kernels:
        """Back of a sum copies of a gradient, else products with the other input; of what stood for all its sum."""
        (x, y, _), made, sides = tensor_bytes(op), op.outputs[0].n_byte, [source.tensor.n_byte for source in op.inputs]
        factors = 2 if self.number in (OpType.ADD, OpType.SUB) else 3
        back = [Kernel(factors * side if side == made else made + side) for side in sides]
        activation = fused(op)
        return Kernels((Kernel(x + y), *activation.forward), (*activation.backward, *back))

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As the output, but for a size of 1 that stands for all."""
        read, written = op.inputs[i].tensor.dims, op.outputs[0].dims
        return tuple(k if m == n else -1 for k, (m, n) in enumerate(zip(read, written, strict=True)))

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """First input and output."""
        return _both(op)


class Gated(OperatorKind):
    """An activation of one tensor times another, as SwiGLU and GeGLU have it (arXiv:2002.05202)."""

    number = OpType.GATED
    name = "Gated"
    label = "gated"

    def layer(
        self, gate: Tensor, up: Tensor | None = None, *, activation: OpType = OpType.SILU, paired: bool = False
    ) -> Layer:
        """Two of any one shape, or one of which the innermost dimension has both in halves; ``Gated_<activation>``.

        With ``paired`` every element of the one tensor is numbered beside that which it gates, as a product may put
        them out in any order: so a part reads some of both.  In the memory of a part all of one still come first.
        """
        check_op_type("gated: activation", activation, UNARY)
        attrs = {"activation": int(activation)} | ({"paired": 1} if paired else {})
        if up is None:
            width, *rest = gate.dims
            if width % 2:
                raise FlexNetError(f"gated takes halves of the innermost dimension; got a tensor of {gate.shape}")
            return Layer(f"Gated_{int(activation)}", [Tensor((width // 2, *rest), gate.dtype)], attrs=attrs)
        if paired:
            raise FlexNetError("gated: two tensors cannot be paired; that is for one that has both")
        if gate.dims != up.dims:
            raise FlexNetError(f"gated needs equal shapes; got {gate.shape} and {up.shape}")
        return Layer(f"Gated_{int(activation)}", [gate], attrs=attrs)

    def details(self, op: Operator) -> Mapping[str, int]:
        """The activation: how elements are numbered changes nothing of the work."""
        return {"activation": op.attrs["activation"]}

    def flops(self, op: Operator) -> Passes:
        """Forward 5 y, back twice."""
        forward = 5 * op.outputs[0].volume
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back 2 x + y."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, 2 * x + y)

    def kernels(self, op: Operator) -> Kernels:
        """The activation, then the product; back the product's two gradients and the activation's.

        Halves of one tensor are strided, and their gradients are put side by side.
        """
        y, halved = op.outputs[0], len(op.inputs) == 1
        places = y.volume if halved else 0
        activation, product = Kernel(2 * y.n_byte, indexed=places), Kernel(3 * y.n_byte, indexed=places)
        joined = (copied(op.inputs[0].tensor),) if halved else ()
        return Kernels((activation, product), (product, Kernel(3 * y.n_byte), product, *joined))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All; of one tensor not the innermost dimension, of which a part would read two pieces, unless paired."""
        whole = len(op.inputs) == 1 and not op.attrs.get("paired", 0)
        return {k: axis for k, axis in image_axes(op).items() if k > 0 or not whole}

    def reach(self, op: Operator, i: int) -> tuple[Window, ...]:
        """Of one tensor two elements along the innermost dimension."""
        first = Window(stride=2, size=2) if op.attrs.get("paired", 0) else Window()
        return (first, *[Window()] * (op.rank - 1))


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
