"""Candidates of a search; the best distinct ones, the elite, are priced once more before one is chosen."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.simulate.link_model import Timeline

__all__ = [
    "ELITE",
    "LED",
    "Candidate",
    "Directions",
    "after_lead",
    "as_fast",
    "as_many",
    "choose",
    "with_candidate",
    "without_idle_waits",
]

ELITE = 8
"""Candidates that are kept; prices while searching are off by less than what separates this many."""

KEPT_PAIRS = 2**25  # of servers, of all networks of an elite together: of thousands of servers each takes half a GB

LED = 32  # plans that were the best before are kept, fewer where networks are so large
LED_PAIRS = 2**19  # of servers, of all these networks together

AS_FAST = 1e-6  # a price that differs by a smaller share is the same

Directions = npt.NDArray[np.int8]


class Candidate(NamedTuple):
    """A strategy on a network, its iteration time in seconds, and the ring directions it was priced with.

    ``origin`` is the start it descends from.
    """

    strategy: Strategy
    network: Network
    seconds: float
    directions: Directions | None
    origin: str = ""


def with_candidate(elite: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
    """The elite after ``plan`` was priced: up to `ELITE` plans of different strategies, few large ones, fastest first.

    Parameters
    ----------
    elite : tuple of Candidate
    plan : Candidate
        Of plans with the same strategy the faster one stays; of those that differ only in reductions that wait, at no
        gain, the one where fewer do.
    """
    most = as_many(ELITE, plan)
    if (len(elite) >= most and plan.seconds >= elite[-1].seconds) or any(other is plan for other in elite):
        return elite
    same = [other for other in elite if _alike(other, plan)]
    if any(_is_better(other, plan) for other in same):
        return elite
    kept = [other for other in elite if not any(other is one for one in same)]
    at = sum(other.seconds <= plan.seconds for other in kept)
    return (*kept[:at], plan, *kept[at:])[:most]


def as_many(most: int, plan: Candidate, *, least: int = 2, pairs: int = KEPT_PAIRS) -> int:
    """How many plans with networks as large as this one's are kept, where of small ones it would be ``most``.

    As many as have so many ``pairs`` of servers together, but ``least``.
    """
    n_server = int(plan.strategy.devices.shape[1])
    return max(min(most, pairs // n_server**2), least)


def after_lead(led: tuple[Candidate, ...], *plans: Candidate) -> tuple[Candidate, ...]:
    """Plans that were the best before, with more of them: at most `LED`, fastest first."""
    others = [plan for plan in plans if not any(plan is one for one in led)]
    known = sorted((*led, *others), key=lambda plan: plan.seconds)
    return tuple(known[: as_many(LED, known[0], least=1, pairs=LED_PAIRS)]) if known else ()


def without_idle_waits(strategy: Strategy, seconds: float, price: Callable[[Strategy], float]) -> Strategy:
    """The strategy without the waits that bring nothing: reductions that wait for one operator go at once if they can.

    Parameters
    ----------
    strategy : Strategy
    seconds : float
        What it takes.
    price : callable
        Seconds of a strategy.
    """
    for before in np.unique(strategy.after[strategy.after >= 0]):
        eager = strategy._replace(after=np.where(strategy.after == before, -1, strategy.after))
        now = price(eager)
        if now <= seconds * (1 + AS_FAST):
            strategy, seconds = eager, min(now, seconds)
    return strategy


def as_fast(a: Candidate, b: Candidate) -> bool:
    """Whether two plans take as long, to a millionth."""
    return abs(a.seconds - b.seconds) <= AS_FAST * b.seconds


def _alike(a: Candidate, b: Candidate) -> bool:
    """Whether two plans have one strategy, or none that differs in more than reductions that wait at no gain."""
    mine, theirs = a.strategy, b.strategy
    if as_fast(a, b):
        mine = mine._replace(after=theirs.after)
    return same_strategy(mine, theirs)


def _is_better(a: Candidate, b: Candidate) -> bool:
    """Whether the first of two plans that are alike is to stay: it is faster, or no slower and no more of it waits."""
    if not as_fast(a, b):
        return a.seconds < b.seconds
    return int(np.sum(a.strategy.after >= 0)) <= int(np.sum(b.strategy.after >= 0))


def choose(candidates: list[tuple[Candidate, Timeline]]) -> tuple[Candidate, Timeline]:
    """The candidate with the shortest timeline, the first of equals."""
    return min(candidates, key=lambda candidate: candidate[1].seconds)
