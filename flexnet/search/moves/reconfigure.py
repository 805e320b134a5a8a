"""A new config for one operator."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of
from flexnet.search.moves.move import Move

__all__ = ["Reconfigure"]


class Reconfigure(Move):
    """A random candidate and random servers for a random operator (model.cc:2201).

    A draw of the last operator does nothing, as in the original.
    """

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with another config of one operator."""
        n_op = len(self.space.degrees)
        op = int(rng.random() * n_op)
        if op == n_op - 1 and n_op > 1:
            return None
        choice, devices = self.space.random_config(rng, op)
        changed = copy_of(strategy)
        changed.choice[op] = choice
        changed.devices[op] = -1
        changed.devices[op, : len(devices)] = devices
        return changed
