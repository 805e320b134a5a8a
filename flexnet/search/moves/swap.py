"""Two branches, or two operators of equal shape, change places."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of
from flexnet.search.moves.chains import Chain
from flexnet.search.moves.move import Move

__all__ = ["Swap"]


class Swap(Move):
    """Two chains alike, or two operators of equal shape, take each other's cuts and servers."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy in which two blocks have changed places; None if no two are alike."""
        blocks = self.space.blocks
        among: tuple[Chain, ...] = ()
        if blocks.twins and rng.random() < 0.5:
            among = blocks.twins[int(rng.integers(len(blocks.twins)))]
        elif blocks.alike:
            among = tuple((op,) for op in blocks.alike[int(rng.integers(len(blocks.alike)))])
        if not among:
            return None
        one, other = rng.choice(len(among), 2, replace=False)
        changed = copy_of(strategy)
        for a, b in zip(among[one], among[other], strict=True):
            for mine, theirs in ((a, b), (b, a)):
                changed.choice[mine] = strategy.choice[theirs]
                changed.devices[mine] = strategy.devices[theirs]
        return changed
