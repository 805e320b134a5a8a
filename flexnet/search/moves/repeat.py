"""What was found for one layer, done with all."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of, home
from flexnet.search.moves.move import Move

__all__ = ["Repeat"]

ALL = 0.5  # of the proposals; the others change the layers behind the one that is copied


class Repeat(Move):
    """The repetitions of a block are cut as one of them is, each on its own servers where it has as many."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with layers alike; None if the model has no repeated blocks, or these are so already."""
        problem = self.space.problem
        if not problem.graph.blocks:
            return None
        layers = problem.graph.blocks[int(rng.integers(len(problem.graph.blocks)))].repetitions
        at = int(rng.integers(len(layers)))
        changed, differs = copy_of(strategy), False
        for layer in layers if rng.random() < ALL else layers[at + 1 :]:
            for op, model in zip(layer, layers[at], strict=True):
                degrees = self.space.degrees[model][int(strategy.choice[model])]
                if self.space.degrees[op][int(strategy.choice[op])] == degrees:
                    continue
                differs = True
                servers = home(strategy, model)
                changed.choice[op] = self.space.degrees[op].index(degrees)
                if len(home(strategy, op)) != len(servers):
                    changed.devices[op] = strategy.devices[model]
        return changed if differs else None
