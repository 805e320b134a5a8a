"""Tensors seen through views: every dimension a product of pieces of the dimensions of what was computed.

A reshape, a permutation or an expansion computes nothing, so none becomes an operator: the value it gives remembers of
each of its dimensions which dimensions of the computed tensor it runs over, and how.  From that follows which cut of
the computed tensor a cut of the value is (`cuts_of`).  Sizes here are outermost first, as in PyTorch and ONNX.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import prod
from typing import NamedTuple

__all__ = [
    "Base",
    "Cut",
    "Factor",
    "Role",
    "Value",
    "batch_axis",
    "cuts_of",
    "expanded",
    "permuted",
    "reshaped",
    "split_factors",
]


class Role(Enum):
    """Where a tensor comes from."""

    DATA = auto()
    PARAMETER = auto()
    """Of parameters and constants alone, a parameter itself or what is computed of some."""
    CONSTANT = auto()
    COMPUTED = auto()


@dataclass(eq=False, slots=True)
class Base:
    """A tensor in memory, which values are views of.

    Parameters
    ----------
    sizes : tuple of int
        Outermost first.
    dtype : str
        A name in `flexnet.model.graph.ELEMENT_BYTES`.
    role : Role
    batched : bool
        Dimension 0 grows with the batch.
    needs_grad : bool
        A backward pass computes its gradient.
    parameters : tuple of str
        Names of the parameters it is, or is computed of.
    """

    sizes: tuple[int, ...]
    dtype: str
    role: Role
    batched: bool = False
    needs_grad: bool = False
    parameters: tuple[str, ...] = ()


class Factor(NamedTuple):
    """A piece of a dimension: ``(index // stride) % size`` of dimension ``dim``; None where elements are repeated."""

    dim: int | None
    size: int
    stride: int = 1


Factors = tuple[Factor, ...]


class Cut(NamedTuple):
    """Dimension ``dim`` of a value cuts a dimension of its base, into as many pieces as divide ``pieces``."""

    dim: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: a view of its base; ``dims`` outermost first, each the product of its factors, major first."""

    base: Base
    dims: tuple[Factors, ...] = field(default=())

    @classmethod
    def whole(cls, base: Base) -> "Value":
        """All of a base, as it is."""
        return cls(base, tuple((Factor(k, n),) if n > 1 else () for k, n in enumerate(base.sizes)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, outermost first."""
        return tuple(prod(factor.size for factor in factors) for factors in self.dims)

    @property
    def volume(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its base, in its order."""
        return self.dims == Value.whole(self.base).dims


def reshaped(value: Value, shape: Sequence[int]) -> Value | None:
    """The same elements in another shape; None if a dimension would be made of uneven pieces.

    >>> x = Value.whole(Base((8, 6), "float", Role.DATA))
    >>> reshaped(x, (2, 4, 3, 2)).dims[1:3]
    ((Factor(dim=0, size=4, stride=1),), (Factor(dim=1, size=3, stride=2),))
    >>> reshaped(x, (16, 3)) is None
    False
    >>> reshaped(x, (3, 16)) is None
    True
    """
    flat = [factor for factors in value.dims for factor in factors]
    dims = _grouped(flat, shape)
    return None if dims is None else replace(value, dims=dims)


def permuted(value: Value, order: Sequence[int]) -> Value:
    """Dimensions in another order."""
    return replace(value, dims=tuple(value.dims[k] for k in order))


def expanded(value: Value, shape: Sequence[int]) -> Value:
    """Repeated along dimensions of size 1, and along new ones in front."""
    missing = len(shape) - len(value.dims)
    dims = [()] * missing + list(value.dims)
    new = [
        (Factor(None, size),) if not factors and size > 1 else factors
        for factors, size in zip(dims, shape, strict=True)
    ]
    return replace(value, dims=tuple(new))


def split_factors(factors: Factors, sizes: Sequence[int]) -> tuple[Factors, ...] | None:
    """The factors of one dimension as those of several whose sizes multiply to it; None where they do not come out."""
    return _grouped(list(factors), sizes)


def cuts_of(value: Value) -> tuple[Cut | None, ...]:
    """For each dimension of the base the dimension of the value that cuts it; None where all of it is read.

    A piece of a dimension of the value is a piece of the base where the major factors agree.

    >>> x = Value.whole(Base((2, 3, 12), "float", Role.DATA))
    >>> heads = permuted(reshaped(x, (2, 3, 4, 3)), (0, 2, 1, 3))
    >>> cuts_of(heads)
    (Cut(dim=0, pieces=2), Cut(dim=2, pieces=3), Cut(dim=1, pieces=4))
    """
    cuts: list[Cut | None] = [None] * len(value.base.sizes)
    for i, factors in enumerate(value.dims):
        dim = factors[0].dim if factors else None
        if dim is not None and factors[0].size * factors[0].stride == value.base.sizes[dim]:
            cuts[dim] = Cut(i, factors[0].size)
    return tuple(cuts)


def batch_axis(value: Value) -> int | None:
    """The dimension of a value that begins with the samples of a batch; None if there is none."""
    if not value.base.batched:
        return None
    for axis, factors in enumerate(value.dims):
        if factors and factors[0].dim == 0 and factors[0].size * factors[0].stride == value.base.sizes[0]:
            return axis
    return None


def _grouped(flat: list[Factor], sizes: Iterable[int]) -> tuple[Factors, ...] | None:
    rest = flat[::-1]
    dims = []
    for size in sizes:
        taken: list[Factor] = []
        missing = size
        while missing > 1:
            if not rest:
                return None
            factor = rest.pop()
            if missing % factor.size == 0:
                taken.append(factor)
                missing //= factor.size
            elif factor.size % missing == 0:
                minor = factor.size // missing
                taken.append(Factor(factor.dim, missing, factor.stride * minor))
                rest.append(Factor(factor.dim, minor, factor.stride))
                missing = 1
            else:
                return None
        dims.append(_joined(taken))
    return tuple(dims) if not rest else None


def _joined(factors: list[Factor]) -> Factors:
    """Neighbours that lie side by side in one dimension as one factor."""
    joined: list[Factor] = []
    for factor in factors:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.dim == factor.dim
            and (factor.dim is None or last.stride == factor.size * factor.stride)
        ):
            joined[-1] = Factor(factor.dim, last.size * factor.size, factor.stride)
        else:
            joined.append(factor)
    return tuple(joined)
