"""Data parallelism with a heavy operator cut in another way.

What one operator with most of a model's weights does may decide all: of VGG on 128 servers at 25 Gbps, data parallelism
takes 238 ms and with the first matrix cut along its inputs too 79 ms, by prices.  A search finds that in its first
round of fits (`flexnet.search.moves.heavy`), but where proposals take long it may not come to one, and short searches
end before: of 3,000 proposals on 16 servers, six seeds, at 188 to 201 ms with this start, 191 to 204 without.
"""

from typing import ClassVar

import numpy as np

from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import make_strategy
from flexnet.search.moves.heavy import heavy_recuts
from flexnet.search.moves.hold import all_held
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.ranked import most_promising
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["Heavy"]

MOST = 32  # strategies
HELD = 8  # of them that come with reductions that wait, too


class Heavy(Start):
    """Those cuts of heavy operators, and of what lies beside them, that might be fastest on a network of their own."""

    name: ClassVar[str] = "heavy-recuts"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The first by what they take at least on any network of the family, and some with reductions that wait."""
        base = make_strategy(space.problem, data_parallel(rng, space))
        recuts = most_promising(space.problem, family, heavy_recuts(rng, space, base), MOST)
        return StartPoints((*recuts, *all_held(space, recuts[:HELD])))
