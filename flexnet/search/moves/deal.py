"""Branches, dealt out over the servers."""

import numpy as np

from flexnet.model.cutting import divisors
from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import Blocks, copy_of, spread
from flexnet.search.moves.chains import Chain
from flexnet.search.moves.move import Move

__all__ = ["Deal", "deal_out", "heaviest_first"]

SHUFFLED = 0.3  # of the proposals


class Deal(Move):
    """Every one of several branches is cut over as many servers, the next one over the next servers."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """A strategy with branches dealt out; None if there are no branches."""
        blocks = self.space.blocks
        if not blocks.branches:
            return None
        branches = blocks.branches[int(rng.integers(len(blocks.branches)))]
        n_server = self.space.problem.cluster.n_server
        parts = divisors(n_server, n_server)
        n = parts[int(rng.integers(len(parts)))]
        first, strided = int(rng.integers(n_server // n)), rng.random() < 0.5
        order = rng.permutation(len(branches)) if rng.random() < SHUFFLED else np.arange(len(branches))
        changed = copy_of(strategy)
        deal_out(blocks, changed, tuple(branches[i] for i in order), n, first, strided=strided, rng=rng)
        return changed


def deal_out(
    blocks: Blocks,
    strategy: Strategy,
    branches: tuple[Chain, ...],
    n: int,
    first: int,
    *,
    strided: bool,
    rng: np.random.Generator,
) -> None:
    """Cut every branch over ``n`` servers, the first over the ``first`` set of servers, the next over the next.

    Parameters
    ----------
    strategy : Strategy
        Is written to.
    """
    n_server = blocks.problem.cluster.n_server
    for i, chain in enumerate(branches):
        servers = spread(n_server, n, (first + i) % (n_server // n), strided=strided)
        for op in chain:
            blocks.assign(strategy, op, servers, None, rng)


def heaviest_first(blocks: Blocks) -> list[tuple[Chain, ...]]:
    """All kinds of branches, those of most operators first."""
    return sorted(blocks.branches, key=lambda same: -sum(map(len, same)))
