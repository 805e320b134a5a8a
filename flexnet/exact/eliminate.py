"""One elimination: the least of a sum of tables over the choices of a vertex, for all choices of its neighbours.

The joint table is formed a block at a time, small enough to stay in the processor's cache; or not at all, where the
tables part into two sets that have no neighbour in common, as those of most operators of a model do
(`flexnet.exact.kernels.choices`).
"""

from collections.abc import Sequence
from itertools import chain
from math import prod

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels.choices import least_of_sums

__all__ = ["least"]

Floats = npt.NDArray[np.float64]

BLOCK_CELLS = 1 << 16  # 512 kB; 2^13 cells take twice as long on transformer at p = 64, 2^20 1.1 times


def least(tables: Sequence[tuple[tuple[int, ...], Floats]], sizes: tuple[int, ...]) -> Floats:
    """Minimum over dimension 0 of the sum of tables.

    Parameters
    ----------
    tables : sequence of (dims, table)
        ``dims`` are the joint dimensions that the table's own ones are, dimension 0 (the vertex) first if it has it.
    sizes : tuple of int
        Of the joint dimensions: the vertex, then its neighbours.

    Returns
    -------
    float64 (sizes[1:])

    Examples
    --------
    >>> a = np.array([[0.0, 5.0], [3.0, 1.0]])  # vertex x first neighbour
    >>> b = np.array([[1.0, 1.0, 9.0], [0.0, 2.0, 0.0]])  # vertex x second neighbour
    >>> least([((0, 1), a), ((0, 2), b)], (2, 2, 3)).tolist()
    [[1.0, 1.0, 3.0], [1.0, 3.0, 1.0]]
    """
    rank = len(sizes)
    terms = _merged([_spread(dims, table, rank) for dims, table in tables])
    if rank == 1 or len(terms) == 1:
        return np.asarray(_total(terms).min(axis=0)) if len(terms) == 1 else np.asarray(_total(terms).min())
    out = np.empty(sizes[1:])
    if int(np.prod(sizes)) <= BLOCK_CELLS:
        return np.minimum.reduce(_total(terms), axis=0, out=out)
    sets = _apart(terms)
    if sets is None or any(len(part) > 1 and _cells(part) > out.size for part in sets):
        _blocks(terms, sizes, out)
    else:
        _product(_total(sets[0]), _total(sets[1]), out)
    return out


def _spread(dims: tuple[int, ...], table: Floats, rank: int) -> Floats:
    """The table with its dimensions in joint order, of size 1 where it has none."""
    order = np.argsort(dims)
    shape = [1] * rank
    for position, dim in enumerate(dims):
        shape[dim] = table.shape[position]
    return table.transpose(order).reshape(shape)


def _merged(terms: list[Floats]) -> list[Floats]:
    """Add up terms until no sum of two is larger than the larger one (or as large, where one covers the other)."""
    terms = sorted(terms, key=lambda term: term.size)
    merged = True
    while merged and len(terms) > 1:
        merged = False
        for i, small in enumerate(terms[:-1]):
            for j in range(i + 1, len(terms)):
                if all(a == 1 or a == b for a, b in zip(small.shape, terms[j].shape, strict=True)):
                    terms[j] = small + terms[j]
                    del terms[i]
                    merged = True
                    break
            if merged:
                break
    return terms


def _apart(terms: list[Floats]) -> tuple[list[Floats], list[Floats]] | None:
    """Two sets of terms that have no neighbour in common, the second as large as can be; None if there are none."""
    parts: list[list[Floats]] = []
    for term in terms:
        joined, apart = [term], list[list[Floats]]()
        for part in parts:
            if any(_meet(term, other) for other in part):
                joined = [*part, *joined]
            else:
                apart.append(part)
        parts = [*apart, joined]
    if len(parts) < 2:
        return None
    *first, last = sorted(parts, key=_cells)
    return list(chain.from_iterable(first)), last


def _cells(terms: list[Floats]) -> int:
    """Of their sum."""
    return prod(np.broadcast_shapes(*(term.shape for term in terms)))


def _meet(one: Floats, other: Floats) -> bool:
    """Whether two terms have a neighbour in common."""
    return any(a > 1 and b > 1 for a, b in zip(one.shape[1:], other.shape[1:], strict=True))


def _product(one: Floats, other: Floats, out: Floats) -> None:
    """Fill ``out`` from two tables that have no neighbour in common."""
    a, b = (np.ascontiguousarray(table).reshape(len(table), -1) for table in (one, other))
    apart = np.empty((a.shape[1], b.shape[1]))
    least_of_sums(a, b, apart)
    own = [k for k in range(out.ndim) if one.shape[k + 1] > 1]
    others = [k for k in range(out.ndim) if k not in own]
    order = np.argsort([*own, *others])
    out[...] = apart.reshape([out.shape[k] for k in (*own, *others)]).transpose(order)


def _total(terms: Sequence[Floats]) -> Floats:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _blocks(terms: list[Floats], sizes: tuple[int, ...], out: Floats) -> None:
    """Fill ``out`` block by block: as many trailing dimensions as fit, cut along the one before them."""
    terms = [np.ascontiguousarray(term) for term in terms]
    axis = len(sizes) - 1  # cut along this joint dimension; those before it are enumerated
    row = sizes[0]
    while axis > 1 and row * sizes[axis] <= BLOCK_CELLS:
        row *= sizes[axis]
        axis -= 1
    step = max(BLOCK_CELLS // row, 1)
    buffer = np.empty(sizes[0] * min(step, sizes[axis]) * (row // sizes[0]))
    for lead in np.ndindex(*sizes[1:axis]):
        fixed = [_at(term, lead) for term in terms]
        target = out[lead]
        for begin in range(0, sizes[axis], step):
            end = min(begin + step, sizes[axis])
            pieces = [term if term.shape[1] == 1 else term[:, begin:end] for term in fixed]
            shape = (sizes[0], end - begin, *sizes[axis + 1 :])
            block = buffer[: int(np.prod(shape))].reshape(shape)
            np.add(pieces[0], pieces[1], out=block)
            for piece in pieces[2:]:
                np.add(block, piece, out=block)
            np.minimum.reduce(block, axis=0, out=target[begin:end])


def _at(term: Floats, lead: tuple[int, ...]) -> Floats:
    """The term at fixed choices of the first neighbours."""
    fixed: list[int | slice] = [i if n > 1 else 0 for i, n in zip(lead, term.shape[1:], strict=False)]
    return np.asarray(term[(slice(None), *fixed)])
