"""The end of a search against the clock: plans next to the best are priced as they will be replayed, packet by packet.

Proposals are priced by fair sharing, a hundred to a thousand times faster than packets can be followed.  Of plans that
take as long by that, packets take longer in some: of CANDLE Uno on 16 servers behind a switch, plans within 2 % of the
best take 256 to 309 ms.  Neighbours of a plan that is good by packets mostly are good too, so moves from the fastest
ones are tried, and those that fair sharing does not find much slower are followed.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from flexnet.search.candidates import Candidate
from flexnet.search.portfolio import Portfolio
from flexnet.simulate.link_model import Timeline

__all__ = ["SHARE", "polish"]

SHARE = 0.35
"""Of the time that a search has."""

AT_ONCE = 2  # plans that are followed side by side
PARENTS = 4  # fastest plans that others are made from, the faster the likelier
SLACK = 0.03  # a plan that takes so much longer than its parent by fair sharing is not followed
TRIES = 300  # moves for a plan to be followed

Priced = tuple[Candidate, Timeline]


def polish(
    search: Portfolio,
    rng: np.random.Generator,
    plans: list[Priced],
    credit: tuple[float, ...],
    follow: Callable[[list[Candidate]], Sequence[Timeline]],
    until: float,
) -> None:
    """Add plans next to the fastest of ``plans``, as long as there is time.

    Parameters
    ----------
    search : Portfolio
    rng : numpy.random.Generator
    plans : list of (Candidate, Timeline)
        Fastest first, and so it stays; what was found is there if this is given up (`flexnet.interrupts`).
    credit : tuple of float
        Of every move, what it has brought.
    follow : callable
        Times of plans packet by packet.
    until : float
        By `time.perf_counter`; none is begun that would take longer.
    """
    plans.sort(key=_seconds)
    taken = 0.0
    while time.perf_counter() + taken < until:
        began = time.perf_counter()
        near = [_near(search, rng, plans, credit) for _ in range(AT_ONCE)]
        found = [plan for plan in near if plan is not None]
        if not found:
            return
        known = {timeline.seconds for _, timeline in plans}
        plans += [one for one in zip(found, follow(found), strict=True) if one[1].seconds not in known]
        plans.sort(key=_seconds)
        del plans[PARENTS:]
        taken = time.perf_counter() - began


def _near(
    search: Portfolio, rng: np.random.Generator, plans: Sequence[Priced], credit: tuple[float, ...]
) -> Candidate | None:
    """A plan one move from one of the fastest; None if no move is worth it."""
    for _ in range(TRIES):
        parent, _ = plans[min(int(rng.exponential()), len(plans) - 1, PARENTS - 1)]
        limit = parent.seconds * (1 + SLACK)
        plan, _, _ = search.changed(rng, parent, credit, limit)
        if plan is not parent and plan.seconds <= limit:
            return plan
    return None


def _seconds(priced: Priced) -> float:
    return priced[1].seconds
