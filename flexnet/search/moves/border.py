"""The border between two sets of servers moves by a few operators, and what waited at it waits at the new one.

A stage that is longer by one operator is often better, but not as long as its reductions wait for what now lies within
it.  DLRM on 16 servers of a fat-tree takes 42.0 ms in two stages, and 40.7 with the border one matrix earlier; where
places or waits alone change, all that lies between is slower.
"""

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of, home
from flexnet.search.moves.chains import Chain
from flexnet.search.moves.hold import read_last
from flexnet.search.moves.move import Move

__all__ = ["Border"]

SHORTER = 0.5  # a border moves by one operator and, on the mean, 1 / SHORTER - 1 more


class Border(Move):
    """Operators on one side of an edge that something is sent over go to the servers of the other side."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with another border; None if there is none."""
        blocks = self.space.blocks
        edges = [
            (u, v)
            for u, v in blocks.edges[blocks.sends(strategy, blocks.edges)].tolist()
            if not blocks.whole[u] and not blocks.whole[v] and set(home(strategy, u)) != set(home(strategy, v))
        ]
        if not edges:
            return None
        before, behind = edges[int(rng.integers(len(edges)))]
        n = int(rng.geometric(SHORTER))
        pulled = rng.random() < 0.5
        if pulled:
            moved = [op for op in blocks.together(strategy, before) if op <= before][-n:]
        else:
            moved = [op for op in blocks.together(strategy, behind) if op >= behind][:n]
        target = behind if pulled else before
        servers = blocks.servers_of(strategy, target)
        changed = copy_of(strategy)
        for op in moved:
            parts = (strategy.devices[op] >= 0).sum()
            if parts == len(servers):
                blocks.lay(changed, op, int(strategy.choice[op]), servers)
            else:
                blocks.assign(changed, op, servers, None, rng)
        self._let_wait(strategy, changed, blocks.together(changed, target), moved)
        other = before if pulled else behind
        left = blocks.together(strategy, other)
        rest = [op for op in left if op not in moved]
        if rest:
            self._let_wait(strategy, changed, blocks.together(changed, rest[0]), [])
        return changed

    def _let_wait(self, strategy: Strategy, changed: Strategy, region: Chain, moved: list[int]) -> None:
        """Let reductions of a region that waited, and those of what came to it, wait for what it now reads last."""
        blocks = self.space.blocks
        waited = [op for op in region if op not in moved and strategy.after[op] >= 0]
        changed.after[moved] = -1
        if not waited:
            return
        last = read_last(blocks, region)
        for op in (*waited, *moved):
            if blocks.weighted[op]:
                changed.after[op] = last if op > last else -1
