"""Which servers a bound should look at: those of operators that cannot lie apart from all others for little."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.exact.needs import Needs
from flexnet.exact.solver import Solution, solve
from flexnet.exact.tables import CostTables
from flexnet.exact.windows import Windows

__all__ = ["Lookout", "Seen"]

Floats = npt.NDArray[np.float64]

CANDIDATES = 24  # operators, with as many bytes to reduce between each and the next
STRATEGIES = 4  # of a mixture, the heaviest
NEVER = 1e9  # seconds


class Seen(NamedTuple):
    """An operator, a server of which is looked at, and which operators have a part there in each of some selections."""

    op: int
    beside: list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Lookout:
    """Chooses operators, a server of which is looked at.

    Parameters
    ----------
    needs : Needs
    n_server : int
    widest : float
        Bytes/s of all interfaces of a server together.
    """

    needs: Needs
    n_server: int
    widest: float

    def first(self) -> int:
        """The operator whose weights are most bytes to reduce, of several the middle one.

        On transformer16 at 25 Gbps the middle layer gives 110 ms, the first 86, the last 85.
        """
        most = self._most_reduced()
        alike = np.flatnonzero(most >= 0.999 * most.max())
        return int(alike[len(alike) // 2])

    def next(
        self, windows: Windows, mixture: Sequence[tuple[float, Sequence[int]]], known: Sequence[int]
    ) -> Seen | None:
        """The operator a server of which has most to send and receive in a mixture of selections.

        Of other operators, cut as in a selection, those lie with it that leave it least: a cut of the model around the
        operator, where all on its side reduce there and tensors between the sides are sent.

        Parameters
        ----------
        windows : Windows
        mixture : sequence of (float, selection)
            Shares, and choices of ``windows``.
        known : sequence of int
            Operators of servers that are looked at already.

        Returns
        -------
        Seen or None
            None if there is no other.
        """
        cumulative = np.cumsum(self._most_reduced())
        middles = (np.arange(CANDIDATES) + 0.5) / CANDIDATES * cumulative[-1]
        candidates = sorted(set(np.searchsorted(cumulative, middles).tolist()) - set(known))
        if not cumulative[-1] > 0 or not candidates:
            return None
        tables = [(share, self._of_one_server(windows, choices)) for share, choices in mixture]
        heavy = sorted(tables, key=lambda item: -item[0])[:STRATEGIES]
        op = max(candidates, key=lambda op: sum(share * _around(op, table).cost for share, table in heavy))
        return Seen(op, [_around(op, table).choices for _, table in tables])

    def _most_reduced(self) -> Floats:
        """Bytes of every operator's weights that a server reduces at most, float64 (n_op,)."""
        return np.array([table.sum(axis=0).max(initial=0.0) for table in self.needs.reduced])

    def _of_one_server(self, windows: Windows, choices: Sequence[int]) -> CostTables:
        """Seconds it sends and receives, where operators cut as in a selection have no part on it (0), or one (1)."""
        at = [int(options[choice][0]) for options, choice in zip(windows.options, choices, strict=True)]
        vertices = []
        for config, parts, reduced in zip(at, self.needs.parts, self.needs.reduced, strict=True):
            apart = NEVER if parts[config] == self.n_server else 0.0
            vertices.append(np.array([apart, reduced[:, config].sum() / self.widest]))
        edges = {}
        for (u, v), edge in zip(windows.ends, windows.edges, strict=True):
            pair = at[u], at[v]
            alone, both = (edge.receive_all[pair], edge.send_all[pair]), edge.receive_here[pair] + edge.send_here[pair]
            edges[u, v] = np.array([[0.0, alone[0]], [alone[1], both]])
        return CostTables(tuple(vertices), edges)


def _around(op: int, tables: CostTables) -> Solution:
    """What a server that has a part of an operator does least with."""
    there = [np.array([NEVER, costs[1]]) if v == op else costs for v, costs in enumerate(tables.vertices)]
    return solve(CostTables(tuple(there), tables.edges))
