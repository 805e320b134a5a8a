"""Exact min-sum elimination: the selection with the least cost under any vertex and edge tables.

Vertices are removed one by one (variable elimination, as in PaSE's Theorem 1 and OptCNN's node elimination); what a
removed vertex leaves is a table over its neighbours.  Choices are traced back in reverse: given its neighbours'
choices, a vertex's best one is the least entry of one row of the tables it was removed with, so these tables are the
back-pointers.  Equal tables are one array, and an elimination of the same arrays is done once (InceptionV3 has 81
distinct operators of 219).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.exact.eliminate import BLOCK_CELLS, least
from flexnet.exact.order import Order, best_order
from flexnet.exact.prune import prune
from flexnet.exact.tables import CostTables, evaluate

__all__ = ["Solution", "solve", "too_dense"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


PRUNING_SHARE = 0.5  # of the work a vertex takes part in; all of it where memory is short

MOST_PRUNING = 1e9  # operations on one vertex, some 0.5 s


@dataclass(frozen=True, slots=True)
class Solution:
    """A selection of least cost.

    Parameters
    ----------
    cost : float
        Of the selection, evaluated on the tables.
    choices : tuple of int
        One for every vertex.
    order : Order
    bytes : int
        Memory of all tables, given and made.
    """

    cost: float
    choices: tuple[int, ...]
    order: Order
    bytes: int


@dataclass(frozen=True, slots=True)
class _Factor:
    scope: tuple[int, ...]
    table: Floats


def solve(tables: CostTables, *, memory: float = np.inf, order: Order | None = None) -> Solution:
    """Find a selection of least cost.

    Parameters
    ----------
    tables : CostTables
    memory : float
        Bytes that tables may take, the given ones included.
    order : Order, optional
        To eliminate in; the best of several rules if None.

    Raises
    ------
    FlexNetError
        If tables do not fit, with the size of the largest.

    Examples
    --------
    >>> t = CostTables((np.array([1.0, 2.0]), np.array([3.0, 0.0])), {(0, 1): np.array([[5.0, 9.0], [0.0, 4.0]])})
    >>> solve(t).choices, solve(t).cost
    ((1, 0), 5.0)
    """
    sizes = [len(costs) for costs in tables.vertices]
    left: Sequence[Ints] = [np.arange(n) for n in sizes]
    cut = tables
    if order is None:
        order = best_order(sizes, tables.edges.keys(), _room(tables, memory))
        tight = order.kept > _room(tables, memory)
        share = 1.0 if tight else PRUNING_SHARE
        cut, left = prune(tables, [min(share * work, MOST_PRUNING) for work in order.work_of])
        if any(len(kept) < n for kept, n in zip(left, sizes, strict=True)):
            sizes = [len(costs) for costs in cut.vertices]
            order = best_order(sizes, cut.edges.keys(), _room(cut, memory))
    needed = 8 * (order.kept + BLOCK_CELLS) + cut.bytes
    if order.kept > _room(cut, memory):
        raise too_dense(order, needed, memory)
    found = _trace(_eliminate(cut, sizes, order), len(sizes))
    choices = tuple(int(kept[choice]) for kept, choice in zip(left, found, strict=True))
    return Solution(evaluate(tables, choices), choices, order, needed)


def too_dense(order: Order, needed: float, memory: float) -> FlexNetError:
    """What to say where elimination needs more memory than there is, both in bytes."""
    return FlexNetError(
        f"the graph is too dense for {memory / 1e9:.4g} GB: elimination in {order.rule} order needs "
        f"{needed / 1e9:.4g} GB of tables, the largest of {order.largest_kept:,} cells "
        f"({8 * order.largest_kept / 1e9:.4g} GB)"
    )


def _room(tables: CostTables, memory: float) -> float:
    """Cells that elimination may keep."""
    return (memory - tables.bytes) / 8 - BLOCK_CELLS


def _eliminate(tables: CostTables, sizes: Sequence[int], order: Order) -> list[tuple[int, list[_Factor]]]:
    """Remove every vertex; returns each with the factors it was removed with."""
    factors: list[dict[int, _Factor]] = [{} for _ in sizes]
    for number, ((u, v), table) in enumerate(tables.edges.items()):
        factors[u][number] = factors[v][number] = _Factor((u, v), table)
    number = len(tables.edges)
    known: dict[tuple[object, ...], Floats] = {}
    removed = []
    for v in order.vertices:
        own = [_Factor((v,), tables.vertices[v]), *factors[v].values()]
        removed.append((v, own))
        ends = sorted({u for factor in own for u in factor.scope if u != v})
        if not ends:
            continue
        place = {v: 0, **{u: i + 1 for i, u in enumerate(ends)}}
        terms = [(tuple(place[u] for u in factor.scope), factor.table) for factor in own]
        key = tuple(sorted((dims, id(table)) for dims, table in terms))
        if key not in known:
            known[key] = least(terms, (sizes[v], *(sizes[u] for u in ends)))
        left = _Factor(tuple(ends), known[key])
        gone = list(factors[v])
        for u in ends:
            for old in gone:
                factors[u].pop(old, None)
            factors[u][number] = left
        number += 1
    return removed


def _trace(removed: list[tuple[int, list[_Factor]]], n_vertex: int) -> list[int]:
    choices = [-1] * n_vertex
    for v, factors in reversed(removed):
        row = sum(f.table[tuple(slice(None) if u == v else choices[u] for u in f.scope)] for f in factors)
        choices[v] = int(np.argmin(row))
    return choices
