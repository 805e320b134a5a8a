"""Cost tables of a graph of choices: what every choice costs, and every pair of choices of two neighbours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["CostTables", "Shared", "evaluate"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CostTables:
    """Vertices with choices, and edges between them; the cost of a selection is the sum of all its entries.

    Parameters
    ----------
    vertices : tuple of float64 (n_choice,)
        Cost of every choice of every vertex.
    edges : Mapping[tuple[int, int], float64 (n_choice of first, n_choice of second)]
        Cost of every pair of choices of two vertices, first one smaller.  Equal tables should be the same array:
        equal parts of a graph are then eliminated once.
    """

    vertices: tuple[Floats, ...]
    edges: Mapping[tuple[int, int], Floats]

    @property
    def bytes(self) -> int:
        """Memory of all distinct tables."""
        return sum(table.nbytes for table in {id(t): t for t in (*self.vertices, *self.edges.values())}.values())


class Shared:
    """Gives one array for all that are equal.

    >>> one = Shared()
    >>> one(np.zeros(3)) is one(np.zeros(3))
    True
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Floats] = {}

    def __call__(self, table: Floats) -> Floats:
        """The first array seen that is equal to ``table``, float64 of any shape."""
        return self._known.setdefault((table.shape, table.tobytes()), table)


def evaluate(tables: CostTables, choices: Sequence[int]) -> float:
    """Cost of a selection of one choice per vertex, summed vertices first, then edges.

    >>> tables = CostTables((np.array([1.0, 2.0]), np.array([3.0])), {(0, 1): np.array([[5.0], [0.0]])})
    >>> evaluate(tables, [1, 0])
    5.0
    """
    total = sum(float(table[choice]) for table, choice in zip(tables.vertices, choices, strict=True))
    return total + sum(float(table[choices[u], choices[v]]) for (u, v), table in tables.edges.items())
