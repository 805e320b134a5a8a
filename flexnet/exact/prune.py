"""Leaves out choices that another choice of the same vertex beats whatever the neighbours choose.

This is dead-end elimination (Goldstein, Biophysical Journal 66, 1994): choice a of vertex v goes if for some b
``cost(b) - cost(a) + sum over edges of max over x of (edge(b, x) - edge(a, x)) <= 0``.  Some optimum is always left:
replacing a by b in any selection does not cost more.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels.choices import mark_undominated
from flexnet.exact.tables import CostTables

__all__ = ["prune", "undominated"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def undominated(costs: Floats, edges: Sequence[Floats]) -> Ints:
    """Choices of a vertex that no other one dominates, ascending.

    Parameters
    ----------
    costs : float64 (n_choice,)
    edges : sequence of float64 (n_choice, n_choice of the neighbour)

    Examples
    --------
    >>> undominated(np.array([0.0, 3.0, 1.0]), [np.array([[0.0, 9.0], [0.0, 9.0], [0.0, 0.0]])]).tolist()
    [0, 2]
    """
    alive = np.empty(len(costs), np.bool_)
    ends = np.cumsum([0, *(edge.shape[1] for edge in edges)])
    rows = np.concatenate([np.zeros((len(costs), 0)), *edges], axis=1)
    most, least = (np.stack([f(edge, axis=1) for edge in edges], 1) if edges else rows for f in (np.max, np.min))
    mark_undominated(costs, rows, ends, most, least, alive)
    return np.flatnonzero(alive)


def prune(tables: CostTables, worth: Sequence[float]) -> tuple[CostTables, tuple[Ints, ...]]:
    """Prune the vertices where that takes less time than it may save.

    Parameters
    ----------
    tables : CostTables
    worth : sequence of float
        Operations that pruning a vertex may take.

    Returns
    -------
    tables : CostTables
        Of the choices left; equal tables are one array again.
    choices : tuple of int64 (n_left,)
        Of every vertex, those left.
    """
    near: list[list[tuple[int, bool, Floats]]] = [[] for _ in tables.vertices]
    for (u, v), table in tables.edges.items():
        near[u].append((id(table), False, table))
        near[v].append((id(table), True, table))
    whole = {n: np.arange(n) for n in {len(costs) for costs in tables.vertices}}
    known: dict[tuple[object, ...], Ints] = {}
    left = []
    for v, costs in enumerate(tables.vertices):
        choices = whole[len(costs)]
        key = (id(costs), *sorted((number, turned) for number, turned, _ in near[v]))
        edges = [table.T if turned else table for _, turned, table in near[v]]
        if key in known or len(costs) ** 2 * sum(edge.shape[1] for edge in edges) <= worth[v]:
            if key not in known:
                known[key] = undominated(costs, edges)
            choices = known[key]
        left.append(choices)
    cut: dict[tuple[int, ...], Floats] = {}

    def part(table: Floats, *ends: int) -> Floats:
        key = (id(table), *(id(left[v]) for v in ends))
        if key not in cut:
            kept = all(len(left[v]) == n for v, n in zip(ends, table.shape, strict=True))
            cut[key] = table if kept else table[np.ix_(*(left[v] for v in ends))]
        return cut[key]

    vertices = tuple(part(costs, v) for v, costs in enumerate(tables.vertices))
    return CostTables(vertices, {ends: part(table, *ends) for ends, table in tables.edges.items()}), tuple(left)
