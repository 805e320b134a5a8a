"""How operators read and put out what steps do: shapes innermost first, and views of what others put out."""

from collections.abc import Mapping, Sequence
from math import gcd, prod

from flexnet.importing.values import Base, Cut, Value, cuts_of
from flexnet.model.graph import Source, Tensor

__all__ = ["Placed", "source_of_cuts", "source_of_value", "tensor_of"]


class Placed:
    """Where a tensor is put out: by which operator, and which of its dimensions are one dimension there.

    Parameters
    ----------
    op, output : int
    groups : sequence of sequences of int
        For each dimension of the operator's output, outermost first, the dimensions of the tensor, major first.
    """

    def __init__(self, op: int, output: int, base: Base, groups: Sequence[Sequence[int]] | None = None) -> None:
        self.op = op
        self.output = output
        self.base = base
        self.groups = [[k] for k in range(len(base.sizes))] if groups is None else [list(group) for group in groups]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the output, outermost first."""
        return tuple(prod(self.base.sizes[k] for k in group) for group in self.groups)

    @property
    def is_plain(self) -> bool:
        """Whether its dimensions are those of the tensor."""
        return all(group == [k] for k, group in enumerate(self.groups))


def tensor_of(shape: Sequence[int], dtype: str) -> Tensor:
    """A tensor, of sizes outermost first."""
    return Tensor(tuple(reversed(shape)), dtype)


def source_of_value(value: Value, places: Mapping[Base, Placed], tensor: Tensor | None = None) -> Source:
    """A value as an input: a view of what an operator put out, or data."""
    tensor = tensor or tensor_of(value.shape, value.base.dtype)
    placed = places.get(value.base)
    if placed is None:
        return Source(None, 0, tensor)
    if value.is_whole and placed.is_plain:
        return Source(placed.op, placed.output, tensor)
    return _viewed(placed, cuts_of(value), tensor)


def source_of_cuts(base: Base, cuts: Sequence[Cut | None], places: Mapping[Base, Placed], tensor: Tensor) -> Source:
    """An input of which other dimensions are cut with those of ``tensor``, the dimensions of ``cuts``."""
    placed = places.get(base)
    if placed is None:
        return Source(None, 0, tensor)
    return _viewed(placed, cuts, tensor)


def _viewed(placed: Placed, cuts: Sequence[Cut | None], tensor: Tensor) -> Source:
    rank = len(tensor.dims)
    view = []
    for group in reversed(placed.groups):
        cut = cuts[group[0]] if group else None
        if cut is None:
            view.append((-1, 1))
        else:
            size = placed.base.sizes[group[0]]
            view.append((rank - 1 - cut.dim, gcd(cut.pieces, size) if len(group) > 1 else cut.pieces))
    return Source(placed.op, placed.output, tensor, tuple(view))
