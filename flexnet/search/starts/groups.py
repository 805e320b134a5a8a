"""Groups of operators on groups of servers.

Branches (towers that are joined, tables, heads) are dealt out over disjoint sets of servers, and all other operators
are cut over as many servers as may be, evenly spread: every combination of how many servers a branch has, whether they
lie side by side, and how many the rest has, as long as there are not too many.
"""

from typing import ClassVar

import numpy as np

from flexnet.model.cutting import divisors
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.search.moves.blocks import copy_of, spread
from flexnet.search.moves.deal import deal_out, heaviest_first
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.start import Start, StartPoints, at_most

__all__ = ["Groups"]

MOST = 120  # combinations; fewer kinds of branches are dealt out where there would be more


class Groups(Start):
    """Branches dealt out over sets of servers, the rest cut over all or fewer."""

    name: ClassVar[str] = "groups"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The combinations, those of the largest branches first, as many as there is room for."""
        blocks, n_server = space.blocks, space.problem.cluster.n_server
        parts = divisors(n_server, n_server)
        base = make_strategy(space.problem, data_parallel(rng, space))
        found: list[Strategy] = []
        for rest in parts:
            strategy = copy_of(base)
            for op, whole in enumerate(blocks.whole):
                if not whole:
                    blocks.assign(strategy, op, spread(n_server, rest, 0, strided=True), None, rng)
            found.append(strategy)
        ways = [(n, strided) for n in parts for strided in (False, True) if strided or 1 < n < n_server]
        most = at_most(space.problem, MOST)
        narrow = found[: -(-most // len(ways)) - 1]
        for branches in heaviest_first(blocks):
            if len(found) + len(ways) * len(narrow) > most:
                break
            for n, strided in ways:
                for strategy in narrow:
                    dealt = copy_of(strategy)
                    deal_out(blocks, dealt, branches, n, 0, strided=strided, rng=rng)
                    found.append(dealt)
        return StartPoints(tuple(found))
