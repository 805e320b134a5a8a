"""Runs a search: the loop, written once around the pure steps."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexnet.search.alternate import CoSearch, Info, State
from flexnet.search.candidates import Candidate

__all__ = ["Outcome", "Progress", "drive", "reset_span"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display may show; times in seconds."""

    iteration: int
    total: int
    current: float
    proposed: float
    exact: bool
    best: float
    elapsed: float

    @property
    def proposals_per_s(self) -> float:
        """Mean speed so far."""
        return self.iteration / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def left_s(self) -> float:
        """Expected time left."""
        speed = self.proposals_per_s
        return (self.total - self.iteration) / speed if speed > 0 else float("inf")


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


def reset_span(budget: int) -> int:
    """Proposals between two resets to the best plan: a hundredth of the budget, 1 to 1000 (model.cc:2413).

    >>> reset_span(5000), reset_span(0), reset_span(10**9)
    (50, 1, 1000)
    """
    return min(max(budget // 100, 1), 1000)


def drive(
    search: CoSearch,
    rng: np.random.Generator,
    state: State,
    budget: int,
    *,
    observe: Callable[[Progress, State, Info], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Make ``budget + 1`` proposals (as the original does), or fewer if ``stop()`` says so between two of them.

    ``observe`` is called after every proposal.
    """
    total = budget + 1
    began = time.perf_counter()
    first = state.iteration
    improved_at = None
    while state.iteration < total:
        if stop():
            return Outcome(state, time.perf_counter() - began, interrupted=True, improved_at=improved_at)
        before, best = state.current.seconds, state.best.seconds
        state, info = search.step(rng, state)
        if state.best.seconds < best:
            improved_at = state.iteration
        if observe is not None:
            elapsed = time.perf_counter() - began
            done = state.iteration - first
            progress = Progress(done, total - first, before, info.proposed, info.exact, state.best.seconds, elapsed)
            observe(progress, state, info)
    return Outcome(state, time.perf_counter() - began, interrupted=False, improved_at=improved_at)
