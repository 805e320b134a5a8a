"""What a step of a search needs of the past, and what it tells of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate

__all__ = ["Info", "Schedule", "State", "Tally"]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Where a portfolio search stands; see `flexnet.search.portfolio`.

    Parameters
    ----------
    pending : tuple of Strategy
        Starts that are still to be priced, or recuts, before a round of fits.
    origins : tuple of str
        What kind of start each of them is.
    unlaid : tuple of str
        Kinds of starts, by their names in `flexnet.search.starts.STARTS`, that are still to be laid out.
    held : int
        Whether the best starts have been given reductions that wait, 0 or 1.
    pool, starts : tuple of Candidate
        Plans that are annealed from, fastest first: all, and starts alone, as they were, as they were fitted, recuts.
    round, stage, slot, at : int
        Rounds that are over; stages of this one, slots of this stage, and proposals of this slot.
    entrants : tuple of Candidate
        What the slots of this stage begin with.
    results : tuple of Candidate
        What the slots of this stage that are over found.
    slot_best : Candidate or None
        The best of this slot.
    before : float
        Seconds of the best plan when this round began.
    stale : int
        Rounds in a row that gained next to nothing.
    recut_round : int
        The last round of fits that recuts were priced for.
    left_out : int
        Rounds that were left out, because there was nothing to fit.
    credit : tuple of float
        What every move has brought lately.
    gains : (float, float)
        Shares of the proposals that were faster lately: of those on a network of their own, and on the current one.
    """

    pending: tuple[Strategy, ...]
    pool: tuple[Candidate, ...] = ()
    starts: tuple[Candidate, ...] = ()
    round: int = 0
    stage: int = 0
    slot: int = 0
    at: int = 0
    entrants: tuple[Candidate, ...] = ()
    results: tuple[Candidate, ...] = ()
    slot_best: Candidate | None = None
    before: float = np.inf
    stale: int = 0
    held: int = 0
    recut_round: int = 0
    left_out: int = 0
    credit: tuple[float, ...] = ()
    gains: tuple[float, float] = (0.0, 0.0)
    origins: tuple[str, ...] = ()
    unlaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a step needs of the past.

    Parameters
    ----------
    iteration : int
        Proposals made so far.
    last_reset : int
        Iteration at which the current plan was last set back to the best.
    current, best : Candidate
    network : Network
        The network the next proposal is priced on (the current plan's, unless the original's rules let it drift).
    topology_current, topology_best : float
        Times of the topology's own Metropolis test, seconds.
    topology_unchanged : int
        Proposals since that test last said "change"; under the corrected rules, networks that were built in vain for a
        strategy that stayed as it was, since the best plan was found.
    elite : tuple of Candidate
        Best distinct plans so far (`flexnet.search.candidates`); none where prices need no second look.
    led : tuple of Candidate
        Plans that were the best before, fastest first (`flexnet.search.candidates.after_lead`); none without an elite.
    chosen : Candidate or None
        What this search came to by replays when it ended before, if it goes on since.
    schedule : Schedule or None
        Of a portfolio search.
    chains : tuple of (State, numpy.random.Generator)
        Of a search in several jobs, what every one stands at; the rest is then what they have found together.
    """

    iteration: int
    last_reset: int
    current: Candidate
    best: Candidate
    network: Network
    topology_current: float = np.inf
    topology_best: float = np.inf
    topology_unchanged: int = 0
    elite: tuple[Candidate, ...] = ()
    led: tuple[Candidate, ...] = ()
    chosen: Candidate | None = None
    schedule: Schedule | None = None
    chains: "tuple[tuple[State, np.random.Generator], ...]" = ()


class Tally(NamedTuple):
    """What proposals of a kind came to: how many were made, accepted, the best so far; seconds these gained."""

    proposals: int = 0
    accepted: int = 0
    improved: int = 0
    gained: float = 0.0

    def plus(self, other: "Tally") -> "Tally":
        """Of both together."""
        return Tally(
            self.proposals + other.proposals,
            self.accepted + other.accepted,
            self.improved + other.improved,
            self.gained + other.gained,
        )


class Info(NamedTuple):
    """What happened in a step, for diagnosis only.

    ``proposed`` is the time of the proposal in seconds, a value above the acceptance threshold if ``exact`` is False.
    ``tried`` is what was: a move by its name, ``start``, ``heavy-recut``, ``cross``, or ``rewire`` for the network
    alone.  ``starts`` are those that were priced, by their kind, with their seconds.  ``tallies``: of a step that sums
    up many, what each brought.
    """

    proposed: float
    exact: bool
    accepted: bool
    improved: bool
    rebuilt: bool
    tried: str = ""
    starts: tuple[tuple[str, float], ...] = ()
    tallies: Mapping[str, Tally] | None = None
