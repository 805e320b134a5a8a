"""Additive models of some cuts of every operator."""

from math import prod

import numpy as np
import numpy.typing as npt

from flexnet.exact.tables import CostTables, Shared
from flexnet.exact.terms import Terms

__all__ = ["cuts_within", "tables_of"]

Ints = npt.NDArray[np.int64]


def cuts_within(terms: Terms, op: int, n: int) -> Ints:
    """Choices of an operator into as many parts as divide ``n``; those of fewest parts if there are none."""
    parts = np.array([prod(degrees) for degrees in terms.degrees[op]])
    fitting = np.flatnonzero(n % parts == 0)
    return fitting if len(fitting) else np.flatnonzero(parts == parts.min())


def tables_of(tables: CostTables, kept: list[Ints], hops: list[float]) -> CostTables:
    """The tables of the choices kept, where what is sent to an operator takes so many links."""
    one = Shared()
    vertices = tuple(one(costs[rows]) for costs, rows in zip(tables.vertices, kept, strict=True))
    edges = {(u, v): one(hops[v] * table[np.ix_(kept[u], kept[v])]) for (u, v), table in tables.edges.items()}
    return CostTables(vertices, edges)
