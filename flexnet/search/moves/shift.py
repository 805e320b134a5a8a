"""A block moved on to other servers, cut as it is."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of, home
from flexnet.search.moves.move import Move

__all__ = ["Shift"]


class Shift(Move):
    """All parts of a block go as many servers further on, around the ring of server ids."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with a block on other servers; None if there is but one server."""
        n_server = self.space.problem.cluster.n_server
        if n_server == 1:
            return None
        block = self.space.blocks.draw(rng, strategy)
        by = int(rng.integers(1, n_server))
        changed = copy_of(strategy)
        for op in block:
            servers = home(strategy, op)
            changed.devices[op, : len(servers)] = (servers + by) % n_server
        return changed
