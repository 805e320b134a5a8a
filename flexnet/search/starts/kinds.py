"""Starts of a problem, laid out kind by kind."""

from dataclasses import dataclass

import numpy as np

from flexnet.interrupts import check
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts import STARTS

__all__ = ["StartKinds"]


@dataclass(frozen=True, slots=True)
class StartKinds:
    """Lays out starts; the parameters are those of `flexnet.search.starts.start.Start.points`.

    Parameters
    ----------
    space : MoveSpace
    family : TopologyFamily
    memory_limit : float or None
    """

    space: MoveSpace
    family: TopologyFamily
    memory_limit: float | None

    def strategies(self, name: str, rng: np.random.Generator) -> list[Strategy]:
        """All starts of a kind, by its name in `STARTS`.

        Raises
        ------
        GivenUp
            If nobody waits for them any more (`flexnet.interrupts`).
        """
        check()
        given = STARTS[name]().points(self.space, self.family, self.memory_limit, rng).strategies
        return [one if isinstance(one, Strategy) else make_strategy(self.space.problem, one) for one in given]
