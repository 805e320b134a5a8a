"""What was found for one layer, done with all."""

import numpy as np

from flexnet.model.graph import RepeatedBlock
from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of
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
        repeated = problem.graph.blocks[int(rng.integers(len(problem.graph.blocks)))]
        layers = repeated.repetitions
        at = int(rng.integers(len(layers)))
        changed, differs = copy_of(strategy), False
        for i in range(len(layers)) if rng.random() < ALL else range(at + 1, len(layers)):
            for op, model in zip(layers[i], layers[at], strict=True):
                after = _waits_for(repeated, int(strategy.after[model]), op - model)
                if after < op and after != strategy.after[op]:
                    changed.after[op], differs = after, True
                degrees = self.space.degrees[model][int(strategy.choice[model])]
                if degrees == self.space.degrees[op][int(strategy.choice[op])] or degrees not in self.space.degrees[op]:
                    continue
                differs = True
                like, own = self.space.blocks.servers_of(strategy, model), self.space.blocks.servers_of(strategy, op)
                choice = self.space.degrees[op].index(degrees)
                self.space.blocks.lay(changed, op, choice, own if len(own) == len(like) else like)
        return changed if differs else None


def _waits_for(repeated: RepeatedBlock, before: int, further: int) -> int:
    """What a reduction waits for so many operators behind one that waits for ``before``; -1 for nothing."""
    if not repeated.first <= before < repeated.end:
        return before
    return before + further if repeated.first <= before + further < repeated.end else -1
