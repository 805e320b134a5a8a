"""Einstein summation of two tensors: its equation, as numpy writes it, and the sizes of its letters."""

from typing import NamedTuple

from flexnet.errors import FlexNetError

__all__ = ["Equation", "letter_sizes", "parse_equation"]


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
