"""What was found for one layer, done with all."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of, home
from flexnet.search.moves.move import Move

__all__ = ["Repeat"]

ALL = 0.5  # of the proposals; the others change the layers behind the one that is copied


class Repeat(Move):
    """The repetitions of a block are cut as one of them is, each on its own servers where it has as many.

    Their gradients wait for what is to them what it is to that one: for an operator of its own layer, or of one before.
    """

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with layers alike; None if the model has no repeated blocks, or these are so already."""
        problem = self.space.problem
        if not problem.graph.blocks:
            return None
        layers = problem.graph.blocks[int(rng.integers(len(problem.graph.blocks)))].repetitions
        at = int(rng.integers(len(layers)))
        places = {op: (i, j) for i, layer in enumerate(layers) for j, op in enumerate(layer)}
        changed, differs = copy_of(strategy), False
        for i in range(len(layers)) if rng.random() < ALL else range(at + 1, len(layers)):
            for op, model in zip(layers[i], layers[at], strict=True):
                after = _waits_for(int(strategy.after[model]), i - at, layers, places)
                if after < op and after != strategy.after[op]:
                    changed.after[op], differs = after, True
                degrees = self.space.degrees[model][int(strategy.choice[model])]
                if self.space.degrees[op][int(strategy.choice[op])] == degrees:
                    continue
                differs = True
                servers = home(strategy, model)
                changed.choice[op] = self.space.degrees[op].index(degrees)
                if len(home(strategy, op)) != len(servers):
                    changed.devices[op] = strategy.devices[model]
        return changed if differs else None


def _waits_for(before: int, layers_on: int, layers: tuple[range, ...], places: dict[int, tuple[int, int]]) -> int:
    """What the reduction of a layer waits for whose model waits for ``before``, -1 for nothing."""
    if before not in places:
        return before
    layer, place = places[before]
    return layers[layer + layers_on][place] if 0 <= layer + layers_on < len(layers) else -1
