"""Which plans are replayed in the end: the fastest by the search's prices, as replays so far correct them.

Prices are coarser than replays, so what they call best may be slower than what they called best before.
"""

from collections.abc import Sequence

from flexnet.plan.strategy import same_strategy
from flexnet.search.candidates import Candidate
from flexnet.search.state import State

__all__ = ["finalists_of", "likely_fastest"]

NEARLY = 1.12  # times the best by the search's prices: proposals may be off by so much
ALIKE = 0.95  # of the operators
AS_OFTEN = 1.5  # the most that one of two plans may move more often: pipelines are of so many stages, once or in turn


def finalists_of(state: State) -> list[Candidate]:
    """The best one by the search's prices, the fastest of other slots, those next to it, those before it, and starts.

    One alone where prices need no second look.
    """
    found = [state.best]
    if not state.elite:
        return found
    schedule = state.schedule
    of_slots, starts = (schedule.pool, schedule.starts) if schedule is not None else ((), ())
    for plan in (*of_slots, *state.elite, *state.led, *starts):
        if not any(plan.network is one.network and same_strategy(plan.strategy, one.strategy) for one in found):
            found.append(plan)
    return found


def likely_fastest(
    waiting: Sequence[Candidate], replayed: Sequence[tuple[Candidate, float]], n: int
) -> list[Candidate]:
    """The ``n`` plans that are replayed next, fewer if there are no more that may be the fastest.

    That may be whose price is near the best one's, or less than any replay so far has come to.

    A search finds what its prices forgive, so the best ones may all be slower than they seem, for one reason.  Where
    a replay was longer than the price, plans cut alike are taken to be off by as much; and of those that are replayed
    side by side no two are cut alike, as far as there are others.

    Parameters
    ----------
    waiting : sequence of Candidate
        Those to choose from.
    replayed : sequence of (Candidate, float)
        Those that have been, with their seconds.
    n : int
    """
    least = min((plan.seconds for plan in (*waiting, *(plan for plan, _ in replayed))), default=0.0)
    most = max(NEARLY * least, min((seconds for _, seconds in replayed), default=0.0))
    worth = [i for i, plan in enumerate(waiting) if plan.seconds <= most]
    order = sorted(worth, key=lambda i: (_expected(waiting[i], replayed), i))
    taken: list[int] = []
    for others in (True, False):
        for i in order:
            alike = any(_cut_alike(waiting[i], waiting[k]) for k in taken)
            if len(taken) < n and i not in taken and not (others and alike):
                taken.append(i)
    return [waiting[i] for i in taken]


def _expected(plan: Candidate, replayed: Sequence[tuple[Candidate, float]]) -> float:
    """Seconds of a replay, judging by those of plans that are cut alike: by the one that was furthest off."""
    off = [seconds / one.seconds for one, seconds in replayed if _cut_alike(plan, one)]
    return plan.seconds * max([1.0, *off])


def _cut_alike(one: Candidate, other: Candidate) -> bool:
    """Whether nearly all operators of two plans are cut alike, on whatever servers, and come as often to others."""
    alike = (one.strategy.choice == other.strategy.choice).mean() > ALIKE
    fewer, more = sorted(map(_n_move, (one, other)))
    return bool(alike and more <= AS_OFTEN * fewer)


def _n_move(plan: Candidate) -> int:
    """How often an operator lies on other servers than the one before it, and once for the first."""
    devices = plan.strategy.devices
    return 1 + int((devices[1:] != devices[:-1]).any(axis=1).sum())
