"""The contract of a move over strategies."""

from abc import ABC, abstractmethod

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.moves.space import MoveSpace

__all__ = ["Move"]


class Move(ABC):
    """One way to change a strategy.  A new one is a subclass in a file of its own and a line in `MOVES`.

    Parameters
    ----------
    space : MoveSpace
        The problem, laid out for moves.
    """

    def __init__(self, space: MoveSpace) -> None:
        self.space = space

    @property
    def name(self) -> str:
        """What it is called where a search tells how it went."""
        return type(self).__name__.lower()

    @abstractmethod
    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """Another strategy.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of chance.
        strategy : Strategy
            Must not be written to.

        Returns
        -------
        Strategy or None
            With arrays of its own: for every operator a candidate of the problem, as many different servers as that has
            parts, the rest of the row -1, and what its reductions wait for.  None if the move leaves the strategy as it
            is.
        """
