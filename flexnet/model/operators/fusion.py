"""Element-wise operations, reductions and moves of data that run as one kernel, whatever they are."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import whole_number
from flexnet.model.operators.kernel import Kernel, Kernels
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Fusion", "parse_terms"]

WHOLE = "."
"""In an equation, a dimension of an input of which every part reads all."""

UNCUT = "*"
"""In an equation, a dimension of an output that is not cut."""


class Fusion(OperatorKind):
    """Any number of operations without products, fused; its equation says what is cut together.

    ``"ab.,.->ab*"`` reads a tensor of three dimensions and a weight of one, and writes a tensor of three: a part of
    dimension a or b of the result reads this part of the tensor, all of its last dimension, and all of the weight.
    """

    number = OpType.FUSION
    name = "Fusion"
    label = "fusion"

    def layer(
        self,
        *inputs: Tensor,
        equation: str,
        outputs: Sequence[tuple[int, ...]],
        dtypes: Sequence[str] = ("float",),
        weights: Sequence[tuple[int, ...]] = (),
        operations: int = 1,
    ) -> Layer:
        """Shapes of outputs and weights are outermost first; ``Fusion_<equation>_<operations>``.

        ``operations`` is how many there are for each element of its largest tensor.
        """
        terms = parse_terms(equation)
        made = [
            Tensor(tuple(whole_number("fusion: a size", n) for n in reversed(shape)), dtype)
            for shape, dtype in zip(outputs, dtypes, strict=True)
        ]
        held = [Tensor(tuple(whole_number("fusion: a size", n) for n in reversed(shape))) for shape in weights]
        ranks = [len(tensor.dims) for tensor in (*inputs, *held)]
        if [len(term) for term in terms.read] != ranks or len(terms.written) != len(made[0].dims):
            raise FlexNetError(
                f"fusion: equation {equation!r} must have a term for each of {len(inputs)} inputs and {len(held)} "
                "weights, and one for the first output, with a letter for each dimension"
            )
        key = f"Fusion_{equation}_{whole_number('fusion: operations', operations, 0)}"
        return Layer(key, made, held, {"operations": operations}, equation)

    def details(self, op: Operator) -> Mapping[str, int]:
        """Attributes, and the elements of its weights."""
        return {**op.attrs, "weights": sum(weight.volume for weight in op.weights)}

    def flops(self, op: Operator) -> Passes:
        """Forward its operations for each element of its largest tensor, back the same."""
        tensors = (*op.outputs, *(source.tensor for source in op.inputs))
        forward = op.attrs["operations"] * max(tensor.volume for tensor in tensors)
        return Passes(forward, forward)

    def kernels(self, op: Operator) -> Kernels | None:
        """Of moves alone one that works out where each element lies; back one that puts them together again."""
        if op.attrs["operations"]:
            return None
        x, y, w = tensor_bytes(op)
        pieces = Kernel(x + w + y, indexed=sum(tensor.volume for tensor in op.outputs))
        return Kernels((pieces,), (Kernel(x + w + y),))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Dimensions with a letter; of parameters where a weight has it."""
        terms = parse_terms(op.equation)
        held = "".join(terms.read[len(op.inputs) :])
        found = {
            k: Axis.PARAMETER if letter in held else Axis.ATTRIBUTE
            for k, letter in enumerate(reversed(terms.written))
            if letter != UNCUT
        }
        return {**found, op.rank - 1: Axis.SAMPLE} if terms.written[0] != UNCUT else found

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """By letters."""
        terms = parse_terms(op.equation)
        return _split(terms.read[i], terms.written)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """By letters."""
        terms = parse_terms(op.equation)
        return _split(terms.read[len(op.inputs) + i], terms.written)


class Terms(NamedTuple):
    """Letters of what is read, inputs before weights, and of the first output; outermost dimension first."""

    read: tuple[str, ...]
    written: str


def parse_terms(equation: str) -> Terms:
    """Take the equation of a fusion apart.

    >>> parse_terms("ab.,.->ab*")
    Terms(read=('ab.', '.'), written='ab*')

    Raises
    ------
    FlexNetError
        If it has no arrow, a letter twice within a tensor, or one that is not written.
    """
    left, arrow, written = equation.partition("->")
    read = tuple(left.split(","))
    letters = [[one for one in term if one not in (WHOLE, UNCUT)] for term in (*read, written)]
    if not arrow or not written or any(len(set(one)) < len(one) or not set(one) <= set(written) for one in letters):
        raise FlexNetError(f"fusion: equation {equation!r} must say what is read and written, as in 'ab.,.->ab*'")
    return Terms(read, written)


def _split(term: str, written: str) -> tuple[int, ...]:
    places = {letter: k for k, letter in enumerate(reversed(written)) if letter != UNCUT}
    return tuple(places.get(letter, -1) for letter in reversed(term))
