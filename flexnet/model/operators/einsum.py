"""Einstein summation of two tensors: its equation, as numpy writes it, and the sizes of its letters."""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import whole_number
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Einsum", "Equation", "letter_sizes", "parse_equation"]


class Einsum(OperatorKind):
    """Einstein summation of two tensors, or of a tensor and a weight, with fused element-wise operators."""

    number = OpType.EINSUM
    name = "Einsum"
    label = "einsum"
    arithmetic = Arithmetic.PRODUCT

    def layer(
        self,
        x: Tensor,
        other: Tensor | None = None,
        *,
        equation: str,
        weight: tuple[int, ...] | None = None,
        pointwise: int = 0,
    ) -> Layer:
        """``other``, or a weight of this shape (outermost first); ``Einsum_<equation>_<size>x<size>...``."""
        parsed = parse_equation(equation)
        if (other is None) == (weight is None):
            raise FlexNetError("einsum takes two tensors, or a tensor and the shape of a weight")
        weights = []
        if weight is not None:
            shape = tuple(whole_number("einsum: a size of the weight", size) for size in weight)
            weights = [Tensor(shape[::-1])]
        second = weights[0] if other is None else other
        sizes = letter_sizes(parsed, x.shape, second.shape)
        output = Tensor(tuple(sizes[letter] for letter in reversed(parsed.result)), x.dtype)
        key = f"Einsum_{equation}_" + "x".join(map(str, sizes.values()))
        return Layer(key, [output], weights, {"pointwise": pointwise}, equation)

    def flops(self, op: Operator) -> Passes:
        """Forward 2 y summed letters, back twice; fused operators are not counted."""
        equation = parse_equation(op.equation)
        factors = (*(source.tensor for source in op.inputs), *op.weights)
        terms = zip((equation.first, equation.second), factors, strict=True)
        sizes = {letter: size for term, factor in terms for letter, size in zip(term, factor.shape, strict=True)}
        forward = 2 * op.outputs[0].volume * prod(sizes[letter] for letter in equation.summed)
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y)."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Every letter of the result, and the first of those that are summed over."""
        equation = parse_equation(op.equation)
        found = {
            k: Axis.ATTRIBUTE if letter in equation.first else Axis.PARAMETER
            for k, letter in enumerate(reversed(equation.result))
        }
        found[op.rank - 1] = Axis.SAMPLE
        return {**found, op.rank: Axis.REDUCTION} if equation.summed else found

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """By letters."""
        equation = parse_equation(op.equation)
        return _split(equation, equation.second if i else equation.first)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """By letters."""
        equation = parse_equation(op.equation)
        return _split(equation, equation.second)


class Equation(NamedTuple):
    """Letters of the two factors and of the result, outermost dimension first."""

    first: str
    second: str
    result: str

    @property
    def summed(self) -> str:
        """Letters that the result does not have, in order of appearance."""
        return "".join(dict.fromkeys(letter for letter in self.first + self.second if letter not in self.result))


def parse_equation(equation: str) -> Equation:
    """Take an equation apart.

    >>> parse_equation("bsd,de->bse").summed
    'd'

    Raises
    ------
    FlexNetError
        If it does not have two factors, repeats a letter within a tensor, or the result has a letter of neither.
    """
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != 2 or not all(term.isalpha() for term in (*terms, result)):
        raise FlexNetError(f"einsum {equation!r} must join two tensors, as in 'bsd,de->bse'")
    if any(len(set(term)) < len(term) for term in (*terms, result)) or not set(result) <= set(left):
        raise FlexNetError(f"einsum {equation!r} repeats a letter within a tensor, or its result has one of neither")
    return Equation(terms[0], terms[1], result)


def _split(equation: Equation, term: str) -> tuple[int, ...]:
    """For each dimension of a factor the dimension of a config that cuts it, -1 for none."""
    letters = equation.result[::-1] + equation.summed[:1]
    return tuple(letters.find(letter) for letter in reversed(term))


def letter_sizes(equation: Equation, first: tuple[int, ...], second: tuple[int, ...]) -> dict[str, int]:
    """Size of every letter, given the shapes of the factors.

    >>> letter_sizes(parse_equation("bsd,de->bse"), (8, 4, 3), (3, 2))
    {'b': 8, 's': 4, 'd': 3, 'e': 2}

    Raises
    ------
    FlexNetError
        If a shape has another rank than its term, or a letter two sizes.
    """
    sizes: dict[str, int] = {}
    for term, shape in ((equation.first, first), (equation.second, second)):
        if len(term) != len(shape) or any(sizes.get(a, n) != n for a, n in zip(term, shape, strict=True)):
            raise FlexNetError(f"an einsum over {equation.first},{equation.second} cannot take {first} and {second}")
        sizes |= zip(term, shape, strict=True)
    return sizes
