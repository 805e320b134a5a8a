"""Which move is made."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves import MOVES
from flexnet.search.moves.move import Move
from flexnet.search.moves.space import MoveSpace

__all__ = ["BLOCKS", "LAYERED", "PROPAGATING", "RECONFIGURING", "MoveMix", "block_shares", "make_mix"]

RECONFIGURING: Mapping[str, float] = {"reconfigure": 1.0}
PROPAGATING: Mapping[str, float] = {"propagate": 0.25, "reconfigure": 0.75}  # model.h:315
"""Shares of the original's moves, without ``--enable-propagation`` and with it."""

BLOCKS: Mapping[str, float] = {
    "recut": 0.52,
    "shift": 0.1,
    "swap": 0.1,
    "deal": 0.08,
    "propagate": 0.05,
    "reconfigure": 0.05,
    "hold": 0.05,
    "border": 0.05,
}
"""Shares of moves in a portfolio; what is left out here can be asked for by `Settings.moves`."""

LAYERED: Mapping[str, float] = {**BLOCKS, "recut": 0.42, "repeat": 0.1}
"""The same for a model of many layers."""

MANY = 200
"""Operators of repeated blocks; where there are fewer, other moves reach every layer soon enough."""


@dataclass(frozen=True, slots=True)
class MoveMix:
    """Several moves, one of which is drawn for every proposal.

    Parameters
    ----------
    space : MoveSpace
    moves : tuple of (Move, float)
        Each with its share of the proposals; shares sum to 1.
    """

    space: MoveSpace
    moves: tuple[tuple[Move, float], ...]

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """One proposal; None if the move leaves the strategy as it is."""
        return self.pick(rng).propose(rng, strategy)

    def pick(self, rng: np.random.Generator) -> Move:
        """A move by its share; of a single one nothing is drawn."""
        draw = rng.random() if len(self.moves) > 1 else 0.0
        for move, share in self.moves[:-1]:
            if draw < share:
                return move
            draw -= share
        return self.moves[-1][0]


def block_shares(space: MoveSpace) -> Mapping[str, float]:
    """Shares of moves in a portfolio of a problem."""
    repeated = sum(block.length * block.count for block in space.problem.graph.blocks)
    shares = LAYERED if repeated >= MANY else BLOCKS
    return shares if space.ordered else {name: share for name, share in shares.items() if name != "hold"}


def make_mix(space: MoveSpace, shares: Mapping[str, float]) -> MoveMix:
    """The moves called so, in this order.

    Raises
    ------
    FlexNetError
        If there is no move of some name.
    """
    total = sum(shares.values())
    return MoveMix(space, tuple((MOVES[name](space), share / total) for name, share in shares.items()))
