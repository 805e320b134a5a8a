"""Data parallelism with the heavy operators on some of the servers.

What few operators with most of a model's weights are cut into decides what everyone sends: over fewer servers each of
their parts reads more, but there are fewer transfers, which share links better.  All of them have to move at once, so
no change of one leads there.  AlexNet on 32 servers at 10 Gbps takes 26 ms with its matrices on eight of them and 28 to
31 on sixteen.
"""

from typing import ClassVar

import numpy as np

from flexnet.exact.solver import solve
from flexnet.exact.terms import place
from flexnet.model.cutting import divisors
from flexnet.network.family import TopologyFamily
from flexnet.network.nearness import least_hops
from flexnet.plan.strategy import Config
from flexnet.search.moves.heavy import heavy_operators
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.some_cuts import cuts_within, tables_of
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["HeavySets"]

SHARES = (1.0, 0.5)  # of all-reduces that compute does not hide
HOPS = 3  # links of a transfer in the models, from one to those between any two servers
MOST_SOLVED = 5_000  # operators in all models that are solved


class HeavySets(Start):
    """For every size of a set of servers, additive optima with the heavy operators on it and all others anywhere."""

    name: ClassVar[str] = "heavy-sets"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The optima, without repetition; none where they would take long."""
        problem = space.problem
        n, heavy, n_op = problem.cluster.n_server, heavy_operators(space), len(problem.graph.operators)
        far = float(least_hops(max(n - 1, 1), family.neighbours(n)).mean())
        models = [(size, far ** (i / (HOPS - 1))) for size in divisors(n, n)[1:-1] for i in range(HOPS)]
        if not heavy or len(models) * len(SHARES) * n_op > MOST_SOLVED:
            return StartPoints(())
        terms, found = space.terms(strided=False), dict[tuple[Config, ...], None]()
        within = {
            size: [cuts_within(terms, op, size if op in heavy else n) for op in range(n_op)]
            for size in dict.fromkeys(size for size, _ in models)
        }
        for reduce in SHARES:
            tables = terms.tables(1.0 / family.server_bandwidth(problem.cluster), reduce=reduce)
            for size, hops in models:
                rows = solve(tables_of(tables, within[size], [hops] * n_op)).choices
                chosen = [int(fitting[row]) for fitting, row in zip(within[size], rows, strict=True)]
                found[tuple(place(problem, terms, chosen, strided=False))] = None
        return StartPoints(tuple(found))
