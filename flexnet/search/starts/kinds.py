"""Starts of a problem, laid out kind by kind."""

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from flexnet.interrupts import check
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.plan.task_graph_builder import Builder, count_tasks
from flexnet.search.floor import floor_seconds
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts import STARTS

__all__ = ["MOST_PRICED", "StartKinds"]

MOST_PRICED = 4_000_000  # tasks of a start: gigabytes, and a minute to price


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

    def strategies(self, name: str, rng: np.random.Generator, *, any_size: bool = False) -> list[Strategy]:
        """All starts of a kind, by its name in `STARTS`.

        Unless they may be of ``any_size``, those are left out that have so many tasks that pricing them takes minutes
        and gigabytes.

        Raises
        ------
        GivenUp
            If nobody waits for them any more (`flexnet.interrupts`).
        """
        check()
        given = STARTS[name]().points(self.space, self.family, self.memory_limit, rng).strategies
        problem = self.space.problem
        found = [one if isinstance(one, Strategy) else make_strategy(problem, one) for one in given]
        if any_size:
            return found
        n_task = count_tasks(problem, found)
        return [strategy for strategy, n in zip(found, n_task, strict=True) if n <= MOST_PRICED]

    def by_promise(self, strategies: list[Strategy]) -> list[Strategy]:
        """Of micro-batches, plans of which take long to price, the most promising first; others in their order.

        That is by what they take at least on any network of the family, first one of each that take the same: those on
        other servers, or with reductions that wait, are the same by that, and nearly by their prices.
        """
        if self.space.problem.micro_batches == 1:
            return strategies
        once = Builder(self.space.problem.of_one_micro_batch())
        interfaces = self.family.interfaces(self.space.problem.cluster.n_server)
        alike: dict[float, list[Strategy]] = {}
        for strategy in strategies:
            least = floor_seconds(self.space.problem, strategy, once.arrays(strategy), interfaces, 0.0)
            alike.setdefault(float(f"{least:.6g}"), []).append(strategy)
        rows = zip_longest(*(alike[least] for least in sorted(alike)))
        return [strategy for row in rows for strategy in row if strategy is not None]
