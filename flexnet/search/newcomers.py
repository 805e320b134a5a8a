"""What enters a portfolio: starts of all kinds, the best of them with reductions that wait, and recuts.

Each is priced on networks built for it, if a bound says that it might win.
"""

from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate
from flexnet.search.moves.heavy import heavy_recuts
from flexnet.search.moves.hold import all_held, other_holds
from flexnet.search.rebuild import MANY_SERVERS
from flexnet.search.rounds import RECUT, pooled, with_start
from flexnet.search.starts import STARTS
from flexnet.search.starts.kinds import StartKinds
from flexnet.search.state import Info, Schedule, State
from flexnet.search.trials import Trials

__all__ = ["Newcomers"]

MOST_HELD = 12  # starts that are priced with reductions that wait, too
WORTH_A_FIT = 1.5  # a recut may take so many times the best plan, on networks built for it
WALL = 1.05  # a recut that takes so many times as long on the best plan's network needs another one
HOPELESS = 2.0  # a start that takes so many times the best is not annealed from; of many servers `WORTH_A_FIT` times
START = "start"  # what is tried


@dataclass(frozen=True, slots=True)
class Newcomers:
    """Lays out and prices what enters.

    Parameters
    ----------
    kinds : StartKinds
    trials : Trials
    """

    kinds: StartKinds
    trials: Trials

    def with_more_starts(self, rng: np.random.Generator, schedule: Schedule) -> Schedule:
        """With those of the next kind that has some to be priced; after all, the best with reductions that wait."""
        while schedule.unlaid:
            name, *unlaid = schedule.unlaid
            strategies = tuple(self.kinds.by_promise(self.kinds.strategies(name, rng)))
            schedule = replace(schedule, unlaid=tuple(unlaid))
            if strategies:
                return replace(schedule, pending=strategies, origins=(STARTS[name].name,) * len(strategies))
        if schedule.held:
            return schedule
        pending, origins = list[Strategy](), list[str]()
        for start in schedule.starts[:MOST_HELD]:
            held = all_held(self.kinds.space, [start.strategy])
            pending += held
            origins += [start.origin] * len(held)
        return replace(schedule, held=1, pending=tuple(pending), origins=tuple(origins))

    def with_recuts(self, rng: np.random.Generator, best: Strategy, schedule: Schedule, most: int) -> Schedule:
        """With so many recuts of the best strategy to be priced: with other waits, or heavy operators cut otherwise."""
        space = self.kinds.space
        cuts = ((cut, *other_holds(space, cut)[-1:]) for cut in heavy_recuts(rng, space, best))
        recuts = tuple(islice(chain(other_holds(space, best), chain.from_iterable(cuts)), most))
        starts = tuple(start for start in schedule.starts if start.origin != RECUT)
        origins = (RECUT,) * len(recuts)
        return replace(schedule, starts=starts, pending=recuts, origins=origins, recut_round=schedule.round)

    def price(self, rng: np.random.Generator, state: State, schedule: Schedule) -> tuple[State, Info]:
        """Price the next of those that are to be priced, if it might win.

        What is a little slower might still be annealed to win.  Not so of recuts, nor of micro-batches, which take long
        to price, and whose bound, with what fills and empties a pipeline, is near.
        """
        strategy, *pending = schedule.pending
        origin, *origins = schedule.origins or ("",)
        recut = origin == RECUT
        problem = self.trials.pricer.problem
        best, few = state.best, problem.cluster.n_server <= MANY_SERVERS
        limit = (HOPELESS if few and not recut else WORTH_A_FIT) * state.best.seconds
        tried, plan = self.trials.can_win(strategy, best.seconds if recut or problem.micro_batches > 1 else limit), best
        if tried:
            plan = self.trials.on_all_kinds(rng, strategy, state.network, limit, origin)
        exact, improved = tried and plan.seconds <= limit, plan.seconds < best.seconds
        if exact:
            state = replace(state, elite=self.trials.with_elite(state.elite, plan))
            if not recut or self._is_walled(rng, plan, best):
                schedule = replace(schedule, starts=with_start(schedule.starts, plan))
            if not recut or improved:
                schedule = replace(schedule, pool=pooled(schedule.pool, plan))
        schedule = replace(schedule, pending=tuple(pending), origins=tuple(origins))
        if not (pending or recut):
            schedule = self.with_more_starts(rng, schedule)
        if not recut:
            schedule = replace(schedule, before=schedule.pool[0].seconds)
        state = replace(state, iteration=state.iteration + 1, best=plan if improved else best, schedule=schedule)
        rebuilt = tried and self.trials.networks is not None
        starts = ((origin, plan.seconds),) if tried and not recut else ()
        seconds = plan.seconds if tried else np.inf
        return state, Info(seconds, exact, False, improved, rebuilt, RECUT if recut else START, starts)

    def _is_walled(self, rng: np.random.Generator, plan: Candidate, best: Candidate) -> bool:
        """Whether the network of the best plan does not suit a plan, so that small changes do not lead there.

        With other reductions that wait none does.
        """
        if np.array_equal(plan.strategy.choice, best.strategy.choice):
            return True
        limit = WALL * plan.seconds
        return self.trials.here(rng, plan.strategy, best.network, limit, plan.origin).seconds > limit
