"""Runs a search: the loop, written once around the pure steps."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexnet.interrupts import GivenUp, check
from flexnet.search.alternate import CoSearch
from flexnet.search.candidates import Candidate, after_lead
from flexnet.search.portfolio import Portfolio
from flexnet.search.state import Info, State

__all__ = ["Outcome", "Progress", "drive", "reset_span"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display may show; times in seconds.

    ``total`` proposals and ``limit`` seconds are the most there may be, infinite where there is no such limit.
    """

    iteration: int
    total: float
    current: float
    proposed: float
    exact: bool
    best: float
    elapsed: float
    limit: float = float("inf")

    @property
    def proposals_per_s(self) -> float:
        """Mean speed so far."""
        return self.iteration / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def left_s(self) -> float:
        """Expected time left, infinite if nothing but a lack of gain ends the search."""
        speed = self.proposals_per_s
        by_proposals = (self.total - self.iteration) / speed if speed > 0 else float("inf")
        return min(by_proposals, max(self.limit - self.elapsed, 0.0))

    @property
    def share(self) -> float:
        """How much of the search is over at least, 0 to 1."""
        return min(max(self.iteration / self.total, self.elapsed / self.limit), 1.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended.

    Parameters
    ----------
    state : State
    elapsed : float
        Seconds.
    interrupted : bool
    improved_at : int or None
        Proposals made when the best plan was found; None if none was better than what the search came with.
    """

    state: State
    elapsed: float
    interrupted: bool
    improved_at: int | None

    @property
    def best(self) -> Candidate:
        """The best plan found."""
        return self.state.best


def reset_span(budget: int | None) -> int:
    """Proposals between two resets to the best plan: a hundredth of the budget, 1 to 1000 (model.cc:2413).

    >>> reset_span(5000), reset_span(0), reset_span(10**9), reset_span(None)
    (50, 1, 1000, 1000)
    """
    return 1000 if budget is None else min(max(budget // 100, 1), 1000)


def drive(
    search: CoSearch | Portfolio,
    rng: np.random.Generator,
    state: State,
    budget: int | None,
    *,
    seconds: float | None = None,
    observe: Callable[[Progress, State, Info], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Make ``budget + 1`` proposals (as the original does), or fewer if something ends the search before.

    Parameters
    ----------
    budget : int or None
        None for no limit.
    seconds : float, optional
        No proposal is begun after so many.
    observe : callable, optional
        Called after every proposal.
    stop : callable
        Says between two proposals whether to stop; the search then counts as interrupted, as it does when a proposal
        is given up (`flexnet.interrupts`).
    """
    total = float("inf") if budget is None else budget + 1
    limit = float("inf") if seconds is None else seconds
    began = time.perf_counter()
    first = state.iteration
    improved_at = None
    elapsed = 0.0
    unlimited = budget is None and seconds is None
    while state.iteration < total and elapsed < limit and not (unlimited and search.over(state)):
        if stop():
            return Outcome(state, time.perf_counter() - began, interrupted=True, improved_at=improved_at)
        before, best = state.current.seconds, state.best
        drawn = rng.bit_generator.state
        try:
            check()  # of a proposal that nothing is simulated for nobody else asks
            state, info = search.step(rng, state)
        except GivenUp:
            rng.bit_generator.state = drawn  # as if the proposal had not begun
            return Outcome(state, time.perf_counter() - began, interrupted=True, improved_at=improved_at)
        if state.best.seconds < best.seconds:
            improved_at = state.iteration
            if state.elite:  # prices get a second look
                state = replace(state, led=after_lead(state.led, best))
        elapsed = time.perf_counter() - began
        if observe is not None:
            done = state.iteration - first
            now = state.best.seconds
            observe(Progress(done, total - first, before, info.proposed, info.exact, now, elapsed, limit), state, info)
    return Outcome(state, time.perf_counter() - began, interrupted=False, improved_at=improved_at)
