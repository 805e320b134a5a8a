"""A portfolio of starts, annealed in rounds: `Portfolio.init` and `Portfolio.step`, both pure.

First starts are priced, each on networks built for it (only those that might win, by a bound), and the best of them
once more with reductions that wait for what is sent between groups of servers.  Then come rounds of annealing
(`flexnet.search.rounds`), and before some of them more starts: the best plan with heavy operators cut in another way
(`flexnet.search.moves.heavy`), or with reductions that no longer wait, or all do.  A proposal is a move, a change of
the network, or in eliminations a cross: a block that becomes as it is in another plan of the pool, by which what two
plans have each found for itself comes together.  Temperatures are shares of the current time, so they suit iterations
of a millisecond as of a minute.  Which plans are annealed again, and which moves are made, follows what they have
brought, by draws of the one generator: the chain of proposals does not depend on how long the search may take, so one
that goes on longer never finds a plan that is worse by the prices it searches with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexnet.network.network import Network
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.search.candidates import Candidate
from flexnet.search.crossing import crossed
from flexnet.search.moves.mix import MoveMix
from flexnet.search.newcomers import Newcomers
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import MANY_SERVERS
from flexnet.search.rounds import (
    after_slot,
    fits,
    is_dive,
    is_fit,
    pooled,
    slot_length,
    temperature,
    with_entrants,
    with_start,
)
from flexnet.search.starts.kinds import StartKinds
from flexnet.search.state import Info, Schedule, State
from flexnet.search.trials import Trials
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.priced_links import flow_hops

__all__ = ["Portfolio", "first_slot"]

RECUT_SLOTS = 2  # first slots: as many proposals are recuts before a round of fits, at most
FIRST_SLOT = 100  # proposals of the first slot of the first round, where plans are not so large that each takes long
SHORT_SLOT = 50  # the same, where plans are ever so large
MANY_HOPS = 60_000  # of all transfers of a plan: with more the first slot is shorter
REBUILT = 0.5  # of the proposals are priced on a network of their own too, at most
LEAST_REBUILT = 0.05  # at least
REBUILDING = 2.5  # times what a proposal takes on the network there is
REBUILDING_MANY = 5.0  # the same, of many servers: 15 times of 256, 5 of 1024 and 4 of 4096
UNTRIED = 0.1  # what a share of gains begins with, higher than any comes to be
REMEMBERED = 0.005  # by one proposal a share of gains changes so much towards what it brought
REWIRED = 0.25  # of the proposals change the network and not the strategy
FITTED = 0.6  # the same, while starts are fitted
REDRAWN = 0.15  # of these are built anew: a fit that begins with a network that does not suit gets stuck near it
CROSSED = 0.06  # of the proposals of strategies take a block from another plan of the pool
EXPLORE = 0.4  # of the proposals are drawn by the given shares, the others by what moves have brought
FADING = 0.998
REWIRE, CROSS = "rewire", "cross"  # what is tried beside moves
HOLD = "hold"  # the move that changes only what reductions wait for
GIVEN_UP = 5  # rounds in a row that gain next to nothing, where there is no other limit


@dataclass(frozen=True, slots=True)
class Portfolio:
    """A search over strategies and networks.

    Parameters
    ----------
    moves : MoveMix
    trials : Trials
    slot : int
        Proposals of the first slot of the first round (`first_slot`).
    kinds : StartKinds
        Lays out starts when their turn comes.
    """

    moves: MoveMix
    trials: Trials
    slot: int
    kinds: StartKinds

    @property
    def pricer(self) -> Pricer:
        """What proposals are priced by."""
        return self.trials.pricer

    @property
    def newcomers(self) -> Newcomers:
        """What prices starts and recuts."""
        return Newcomers(self.kinds, self.trials)

    def init(
        self,
        rng: np.random.Generator,
        strategy: Strategy,
        network: Network,
        others: tuple[Strategy, ...],
        origins: tuple[str, ...] = (),
        later: Sequence[str] = (),
    ) -> State:
        """Price the start that others are compared with; the ``others`` are priced by the first steps.

        ``origins`` says what kind of start all of them are, the first one's first; ``later`` are kinds of which the
        steps after these lay out and price starts.
        """
        name, *rest = origins or ("",) * (1 + len(others))
        first = self.trials.priced(rng, strategy, network, np.inf, name)
        elite = self.trials.with_elite((), first)
        credit = (1.0,) * len(self.moves.moves)
        gains = (UNTRIED, UNTRIED)
        origins, unlaid = tuple(rest), tuple(later)
        schedule = Schedule(others, (first,), (first,), credit=credit, gains=gains, origins=origins, unlaid=unlaid)
        return State(0, 0, first, first, network, elite=elite, schedule=schedule)

    def over(self, state: State) -> bool:
        """Whether some rounds in a row have gained next to nothing."""
        return state.schedule is not None and state.schedule.stale >= GIVEN_UP

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """One proposal: a start to be priced, or a change of the current plan."""
        schedule = state.schedule
        assert schedule is not None
        if schedule.unlaid and not schedule.pending:
            schedule = self.newcomers.with_more_starts(rng, schedule)
        if schedule.pending:
            return self.newcomers.price(rng, state, schedule)
        if not schedule.entrants:
            if is_fit(schedule.round):
                schedule = self._before_fits(rng, state, schedule)
            if schedule.pending:
                return self.newcomers.price(rng, state, schedule)
            schedule = with_entrants(rng, schedule)
        if schedule.at == 0:
            entrant = schedule.entrants[schedule.slot]
            schedule = replace(schedule, slot_best=entrant)
            state = replace(state, current=entrant, network=entrant.network)
        current = state.current
        limit = current.seconds * (1.0 - temperature(schedule, self.slot) * float(np.log(1.0 - rng.random())))
        which, plan, rebuilt, tried = -1, current, False, REWIRE
        accepted = improved = built = False
        if self.trials.can_rewire(current.network) and rng.random() < self._share_rewired(schedule):
            if is_fit(schedule.round) and rng.random() < REDRAWN:
                plan = self.trials.on_built(rng, current.strategy, limit, current.origin)
            else:
                plan, limit = self.trials.rewired(rng, current, limit)
            rebuilt = plan is not current
        else:
            if is_fit(schedule.round):
                which, tried = self._hold, HOLD
                strategy = self.moves.moves[which][0].propose(rng, current.strategy)
            elif not is_dive(schedule.round) and len(schedule.pool) > 1 and rng.random() < CROSSED:
                other = schedule.pool[int(rng.integers(len(schedule.pool)))]
                strategy, tried = crossed(rng, self.moves.space.blocks, current.strategy, other.strategy), CROSS
            else:
                which, strategy = self._propose(rng, current.strategy, schedule.credit)
                tried = self.moves.moves[which][0].name
            if strategy is not None:
                few = self.pricer.problem.cluster.n_server <= MANY_SERVERS
                share = _share_rebuilt(*schedule.gains, REBUILDING if few else REBUILDING_MANY)
                plan, rebuilt, built = self._price(rng, strategy, current, limit, share)
        if plan is not current:
            accepted = plan.seconds <= limit
        if accepted:
            state, improved = self._take(state, plan)
            assert schedule.slot_best is not None
            if plan.seconds < schedule.slot_best.seconds:
                schedule = replace(schedule, slot_best=plan)
        worth = 1.0 if plan.seconds < current.seconds * (1 - 1e-6) else 0.0
        credit, gains = schedule.credit, schedule.gains
        if not is_fit(schedule.round):  # where there is one move
            credit = tuple(c * FADING + worth * (k == which) for k, c in enumerate(credit))
            gains = _after_gain(gains, worth, rebuilt=rebuilt, built=built) if which >= 0 else gains
        schedule = replace(schedule, at=schedule.at + 1, credit=credit, gains=gains)
        if schedule.at >= slot_length(schedule, self.slot):
            schedule = after_slot(schedule, state.best)
        state = replace(state, iteration=state.iteration + 1, schedule=schedule)
        return state, Info(plan.seconds, accepted or plan is current, accepted, improved, rebuilt, tried)

    def told(self, state: State, plans: list[Candidate]) -> State:
        """The state of a search that has been told of plans which others found; they join its pool."""
        schedule = state.schedule
        assert schedule is not None
        pool, best, elite = tuple[Candidate, ...](), state.best, state.elite
        for plan in sorted((*schedule.pool, *plans), key=_by_time):
            pool = pooled(pool, plan)
        for plan in plans:
            best = plan if plan.seconds < best.seconds else best
            elite = self.trials.with_elite(elite, plan)
        schedule = replace(schedule, pool=pool)
        if not schedule.entrants and not schedule.round:  # they are starts
            starts = tuple[Candidate, ...]()
            for plan in sorted((*schedule.starts, *plans), key=_by_time):
                starts = with_start(starts, plan)
            schedule = replace(schedule, starts=starts, before=pool[0].seconds)
        return replace(state, best=best, elite=elite, schedule=schedule)

    def _before_fits(self, rng: np.random.Generator, state: State, schedule: Schedule) -> Schedule:
        """Other cuts of the best plan's heavy operators join the starts that are fitted; on to dives if there are none.

        Such cuts need other networks, and so do reductions that wait or no longer do; where these stay, the first
        rounds of fits are about what reductions wait for.
        """
        if schedule.recut_round < schedule.round and self.trials.can_rewire(state.network):
            schedule = self.newcomers.with_recuts(rng, state.best.strategy, schedule, RECUT_SLOTS * self.slot)
        can_fit = self._hold >= 0 or self.trials.can_rewire(state.network)
        if schedule.pending or (can_fit and any(fits(schedule))):
            return schedule
        return replace(schedule, round=schedule.round + 2, left_out=schedule.left_out + 2)

    def _propose(
        self, rng: np.random.Generator, strategy: Strategy, credit: tuple[float, ...]
    ) -> tuple[int, Strategy | None]:
        """A move by its share, or by what it has brought; and which it was."""
        shares = np.array([share for _, share in self.moves.moves])
        if rng.random() >= EXPLORE:
            shares = shares * (np.array(credit) + 1.0)
        ends = np.cumsum(shares)
        which = min(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")), len(ends) - 1)
        return which, self.moves.moves[which][0].propose(rng, strategy)

    def _price(
        self, rng: np.random.Generator, strategy: Strategy, current: Candidate, limit: float, share_rebuilt: float
    ) -> tuple[Candidate, bool, bool]:
        """The faster of the strategy on the network there is and, at times, on one built for it; which, if there was.

        Returns
        -------
        tuple of Candidate, bool, bool
            The plan, whether it is on a network built for it, and whether one was built.  Of micro-batches a plan that
            no network could bring within the limit is not priced, and its seconds are infinite.
        """
        same = same_strategy(strategy, current.strategy)
        asked = self.pricer.problem.micro_batches > 1 and not same
        if asked and not self.trials.can_win(strategy, limit):
            # told by one micro-batch; all of some would be a hundred million tasks
            return Candidate(strategy, current.network, np.inf, None, current.origin), False, False
        plan = current if same else self.trials.here(rng, strategy, current.network, limit, current.origin)
        if self.trials.networks is None or rng.random() >= share_rebuilt:
            return plan, False, False
        if plan.seconds > limit and not asked and not self.trials.can_win(strategy, limit):
            return plan, False, False
        own = self.trials.on_built(rng, strategy, min(limit, plan.seconds), current.origin)
        return (own, True, True) if own.seconds < plan.seconds else (plan, False, True)

    @property
    def _hold(self) -> int:
        """Which move changes what reductions wait for; -1 if there is none."""
        return next((k for k, (move, _) in enumerate(self.moves.moves) if move.name == HOLD), -1)

    def _share_rewired(self, schedule: Schedule) -> float:
        """Of the proposals change the network alone."""
        if not is_fit(schedule.round):
            return REWIRED
        return FITTED if self._hold >= 0 else 1.0

    def _take(self, state: State, plan: Candidate) -> tuple[State, bool]:
        """Go on from a plan; whether it is the best so far."""
        improved = plan.seconds < state.best.seconds
        best, elite = plan if improved else state.best, self.trials.with_elite(state.elite, plan)
        return replace(state, current=plan, network=plan.network, best=best, elite=elite), improved


def _by_time(plan: Candidate) -> tuple[float, bytes, bytes, str]:
    """An order that does not depend on whose plan it is."""
    return plan.seconds, plan.strategy.choice.tobytes(), plan.strategy.devices.tobytes(), plan.origin


def first_slot(tasks: TaskArrays, network: Network) -> int:
    """Proposals of the first slot: fewer where a plan is large, for a round is to end in the time that people have.

    Parameters
    ----------
    tasks : TaskArrays
        Of a plan as those that are searched.
    network : Network
        What it is priced on.
    """
    hops = int(flow_hops(tasks, network_arrays(network)))
    return min(FIRST_SLOT, max(FIRST_SLOT * MANY_HOPS // max(hops, 1), SHORT_SLOT))


def _share_rebuilt(own: float, kept: float, times: float) -> float:
    """Of proposals are priced on networks of their own too, which takes so many times as long: more where that pays."""
    return min(max(REBUILT * own / (kept * times), LEAST_REBUILT), REBUILT)


def _after_gain(gains: tuple[float, float], worth: float, *, rebuilt: bool, built: bool) -> tuple[float, float]:
    """The shares of gains on networks of their own and on the current ones, after a proposal."""
    own, kept = gains
    own += REMEMBERED * (worth * rebuilt - own) * built
    return own, kept + REMEMBERED * (worth * (not rebuilt) - kept)
