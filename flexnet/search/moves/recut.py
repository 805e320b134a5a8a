"""A block cut anew, on servers of its own choice."""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import across, copy_of
from flexnet.search.moves.hold import hold_back
from flexnet.search.moves.move import Move

__all__ = ["Recut"]

ALONG_THE_BATCH = 0.6  # of the proposals, if not so already; the others cut all as one of them can be
HOLDING = 0.15  # of the proposals let reductions wait for what crosses the border of the block
ACROSS = 0.2  # of the cuts along several axes lie across what is cut so on the same servers in their order
MOVE_TABLES = 0.2  # of the proposals move operators that cannot be cut along with their block


class Recut(Move):
    """All operators of a block are cut into as many parts, on the same servers; at times reductions then wait."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with a block that is cut anew, and perhaps reductions that let through what crosses its border."""
        blocks = self.space.blocks
        block = blocks.draw(rng, strategy)
        servers = blocks.servers(rng, strategy, block)
        degrees = None
        if rng.random() >= ALONG_THE_BATCH or blocks.lies_along_batch(strategy, block, servers):
            degrees = blocks.other_degrees(rng, block[int(rng.integers(len(block)))], len(servers))
        if degrees is not None and rng.random() < ACROSS and (transposed := across(servers, degrees)):
            servers = transposed[int(rng.integers(len(transposed)))]
        stay = len(block) > 1 and rng.random() >= MOVE_TABLES
        changed = copy_of(strategy)
        for op in block:
            if not (stay and blocks.whole[op]):
                blocks.assign(changed, op, servers, degrees, rng)
        if self.space.ordered and rng.random() < HOLDING:
            hold_back(blocks, rng, changed, blocks.border(block))
        return changed
