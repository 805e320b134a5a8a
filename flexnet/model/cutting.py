"""Cutting: how a size, a batch or a set of servers falls into equal parts, and a tensor with it."""

from collections.abc import Sequence
from typing import TypeVar

from flexnet.model.graph import Operator, Tensor

__all__ = ["aligned_split", "batch_degrees", "cut_tensor", "divisors", "partial_sums", "side_by_side"]


T = TypeVar("T")


def divisors(number: int, limit: int) -> list[int]:
    """Divisors of ``number`` up to ``limit``, ascending.

    >>> divisors(12, 6)
    [1, 2, 3, 4, 6]
    """
    return [i for i in range(1, min(number, limit) + 1) if number % i == 0]


def batch_degrees(rank: int, parts: int) -> tuple[int, ...]:
    """The config of an output of this rank that cuts the batch alone.

    >>> batch_degrees(3, 8)
    (1, 1, 8)
    """
    return (*[1] * (rank - 1), parts)


def partial_sums(degrees: Sequence[int], rank: int) -> int:
    """Into how many parts a reduction is cut by a config of an output of this rank.

    >>> partial_sums((1, 4, 2), 2), partial_sums((1, 4), 2)
    (2, 1)
    """
    return degrees[rank] if len(degrees) > rank else 1


def side_by_side(servers: Sequence[T], sums: int) -> list[T]:
    """Servers of parts so that those which hold ``sums`` partial sums of the same elements are neighbours.

    Of parts the reduction comes last.  Laid out so, part and server go together as for one that cuts channels into as
    many parts, which come first: a matrix cut along its columns and the next one along its rows move nothing but sums
    (Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3).

    >>> side_by_side([10, 11, 12, 13, 14, 15], 2)
    [10, 12, 14, 11, 13, 15]
    """
    return [server for first in range(sums) for server in servers[first::sums]]


def cut_tensor(tensor: Tensor, degrees: tuple[int, ...], split: tuple[int, ...]) -> Tensor:
    """One part of a tensor; sizes that do not come out even are rounded down.

    Parameters
    ----------
    tensor : Tensor
    degrees : tuple of int
        A config of an operator: pieces per dimension of its output 0, innermost first, the batch last.
    split : tuple of int
        For each dimension of the tensor the dimension of the config that cuts it, -1 for none.

    Examples
    --------
    >>> cut_tensor(Tensor((6, 5, 8)), (3, 1, 4), (-1, 1, 2)).dims
    (6, 5, 2)
    """
    sizes = zip(tensor.dims, split, strict=True)
    return Tensor(tuple(size if k < 0 else size // degrees[k] for size, k in sizes), tensor.dtype)


def aligned_split(op: Operator, tensor: Tensor) -> tuple[int, ...]:
    """The split of a tensor of ``op`` that is cut as output 0 is if it has its rank, else along the batch alone."""
    rank = len(tensor.dims)
    return tuple(range(rank)) if rank == op.rank else (*[-1] * (rank - 1), op.rank - 1)
