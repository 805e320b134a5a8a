"""A strategy that takes a block of operators from another one."""

import numpy as np

from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.search.moves.blocks import Blocks, copy_of

__all__ = ["crossed"]


def crossed(rng: np.random.Generator, blocks: Blocks, strategy: Strategy, other: Strategy) -> Strategy | None:
    """The strategy with a block that is cut, placed and reduced as in the ``other``; None if that changes nothing.

    Parameters
    ----------
    rng : numpy.random.Generator
    blocks : Blocks
        Of the problem of both.
    strategy, other : Strategy
    """
    block = list(blocks.draw(rng, strategy))
    changed = copy_of(strategy)
    for mine, theirs in zip(changed, other, strict=True):
        mine[block] = theirs[block]
    return None if same_strategy(changed, strategy) else changed
