"""The rounds of a portfolio: what enters, how long and how hot each of its slots is, and what goes on.

A round of elimination anneals from the best plan and three others of the pool, each for a while; the better two of the
four for twice as long, colder; and the best for twelve times as long, down to a temperature that is as good as
descent.  Then a round of fits: only networks change, and what reductions wait for.  How fast a start is before that
says little: the best strategy may look a third slower than others whose networks happen to suit them.  The first few
such rounds fit starts of all kinds, and every one recuts: the best plan with its heaviest operators, or those beside
them, cut in another way, or with other reductions that wait, on a network built for it.  On the best plan's network
such a cut may take twice as long, and neither it nor the network would be changed first.  Each such round ends with the
best plans of the pool, several times over, some from a temperature at which they lose the networks they have: of VGG on
16 servers a plan takes 137 ms on the best network that is built for it, one in five fits of 100 or 200 proposals comes
to 125 to 130, and most to nothing; one that is four times as long does no better than four.  From then on rounds take
turns.  What is ahead after a while is not always what ends up ahead, and what begins with the best plan stays near
it: so after eliminations come fits and dives by turns, dives each from a start and all the way down, which take nothing
from each other's plans.  What comes out joins the pool.

Slots are short at first and twice as long every time that rounds have taken their turns, of dives every second time,
five times at most: the best plan may descend from a start that comes late, or from one that takes longer, and a search
that ends soon is to have met the former.
"""

from dataclasses import replace

import numpy as np

from flexnet.search.candidates import Candidate, as_fast, as_many
from flexnet.search.state import Schedule

__all__ = [
    "GAIN",
    "LAST_FIT",
    "MOST_ROUNDS",
    "POOL",
    "after_slot",
    "akin",
    "fits",
    "is_dive",
    "is_fit",
    "pooled",
    "slot_length",
    "stages_of",
    "temperature",
    "with_entrants",
    "with_start",
]

TURN = 4  # rounds: elimination, fits, elimination, dives
FIT, DIVE = 1, 3  # which of these they are
LAST_FIT = FIT + 2 * TURN  # the last round that fits starts
STAGES = ((4, 1, 0.04, 0.01), (2, 2, 0.02, 0.003), (1, 12, 0.02, 0.0003))  # slots, length, temperature from, to
FITS = ((12, 2, 0.01, 0.0003),)  # the same, of rounds of fits; recuts and refits have slots beside these
REFITS = 3  # plans of the pool that are fitted once more, the best one twice
REFIT = (0.08, 0.03, 0.01)  # from each of these temperatures
DIVES = ((6, 6, 0.04, 0.0003),)  # the same, of a round of dives
RECUT = "heavy-recut"  # origin of starts that are the best plan with heavy operators cut in another way
POOL = 12
OF_A_KIND = 6  # starts
KINDS = 4  # of thousands of servers, for which there is room
WORTH_A_SLOT = 1.5  # a start may take so many times the fastest one
AKIN = 0.9  # of the operators
AS_GOOD = 0.02  # a time that differs by a smaller share is about the same
FAVOUR = 6.0  # a plan that takes 12 % longer is half as likely to enter a round of elimination
GAIN = 1e-3  # a round that makes the best plan faster by less has gained next to nothing
MOST_REHEATING = 2  # doublings
LONGER, LONGER_DIVES = 4, 8  # rounds after which slots are twice as long
MOST_LONGER = 5  # doublings
MOST_ROUNDS = 10**9  # no search comes to so many


def is_dive(round_: int) -> bool:
    """Whether a round is made of dives."""
    return round_ % TURN == DIVE


def is_fit(round_: int) -> bool:
    """Whether a round fits networks to starts."""
    return round_ % TURN == FIT


def stages_of(round_: int) -> tuple[tuple[int, int, float, float], ...]:
    """The stages of a round.

    Each has a number of slots, their length in first slots, and the temperatures they begin and end with.
    """
    return FITS if is_fit(round_) else DIVES if is_dive(round_) else STAGES


def slot_length(schedule: Schedule, first_slot: int) -> int:
    """Proposals of the slot, where the first one of all has ``first_slot``."""
    held = schedule.round - schedule.left_out
    doublings = held // (LONGER_DIVES if is_dive(schedule.round) else LONGER)
    return first_slot * stages_of(schedule.round)[schedule.stage][1] << min(doublings, MOST_LONGER)


def temperature(schedule: Schedule, first_slot: int) -> float:
    """Of the next proposal, as a share of the current time: falls geometrically over its slot.

    The more rounds have gained nothing, the hotter eliminations begin; the last slots of fits begin at `REFIT`.
    """
    _, _, hot, cold = stages_of(schedule.round)[schedule.stage]
    if is_fit(schedule.round):
        refits = len(_refits(schedule))
        at = schedule.slot - (len(schedule.entrants) - refits)
        hot = REFIT[len(REFIT) * at // refits] if at >= 0 else hot
    elif not is_dive(schedule.round):
        hot *= 2.0 ** min(schedule.stale // 2, MOST_REHEATING)
    return float(hot * (cold / hot) ** (schedule.at / slot_length(schedule, first_slot)))


def with_entrants(rng: np.random.Generator, schedule: Schedule) -> Schedule:
    """Begin a round: with the best and others of the pool, the faster the likelier; or with starts, or recuts."""
    n = stages_of(schedule.round)[0][0]
    if is_dive(schedule.round):
        return replace(schedule, entrants=_of_all_kinds(rng, schedule.starts, n, again=True))
    if is_fit(schedule.round):
        starts, recuts = fits(schedule)
        entrants = _of_all_kinds(rng, starts, n, again=False) if starts else ()
        return replace(schedule, entrants=entrants + recuts + _refits(schedule))
    pool = schedule.pool
    weights = np.array([(plan.seconds / pool[0].seconds) ** -FAVOUR for plan in pool])
    weights[0] = np.inf  # is there for sure
    order = np.argsort(rng.exponential(size=len(pool)) / weights)
    return replace(schedule, entrants=tuple(pool[i] for i in sorted(order[:n].tolist())))


def fits(schedule: Schedule) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """What a round of fits is about: the starts, if it is one of the first, and the fastest recuts."""
    starts = tuple(start for start in schedule.starts if schedule.round <= LAST_FIT and start.origin != RECUT)
    return starts, tuple(start for start in schedule.starts if start.origin == RECUT)


def _refits(schedule: Schedule) -> tuple[Candidate, ...]:
    """The best of the pool, which a round of fits ends with, from every temperature of `REFIT`.

    They are as many then, unless the pool had fewer and is told of more.
    """
    return (schedule.pool[:1] + schedule.pool[:REFITS]) * len(REFIT)


def after_slot(schedule: Schedule, best: Candidate) -> Schedule:
    """Go on to the next slot, stage or round."""
    assert schedule.slot_best is not None
    results = (*schedule.results, schedule.slot_best)
    schedule = replace(schedule, at=0, slot=schedule.slot + 1, results=results, slot_best=None)
    if schedule.slot < len(schedule.entrants):
        return schedule
    ranked = tuple(sorted(results, key=_seconds))
    pool, stages = schedule.pool, stages_of(schedule.round)
    starts = schedule.starts
    for plan in results:
        pool = pooled(pool, plan)
        starts = with_start(starts, plan) if is_fit(schedule.round) else starts
    schedule = replace(schedule, pool=pool, starts=starts, slot=0, results=(), stage=schedule.stage + 1)
    if schedule.stage < len(stages):
        return replace(schedule, entrants=ranked[: stages[schedule.stage][0]])
    gained = best.seconds < schedule.before * (1 - GAIN)
    return replace(
        schedule,
        stage=0,
        entrants=(),
        round=schedule.round + 1,
        before=best.seconds,
        stale=0 if gained else schedule.stale + (not is_fit(schedule.round)),
    )


def pooled(pool: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
    """The pool with another plan; of plans that take as long, to a millionth, or are akin, the fastest stays."""
    return _distinct(pool, plan)[: as_many(POOL, plan)]


def with_start(starts: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
    """Starts with another one, as `pooled`, but at most `OF_A_KIND` of every origin, and few large ones.

    The fastest starts may all be of one kind, and lead to the same place.  Recuts all differ little from one plan, and
    what matters is in what, so only those as fast as another are left out.
    """
    recuts = [one for one in starts if one.origin == RECUT]
    others = tuple(one for one in starts if one.origin != RECUT)
    if plan.origin != RECUT:
        others = _distinct(others, plan)
    elif np.isfinite(plan.seconds) and not any(as_fast(one, plan) for one in starts):
        recuts.append(plan)
    starts = tuple(sorted((*others, *recuts), key=_seconds))
    same = [one for one in starts if one.origin == plan.origin]
    most = as_many(KINDS * OF_A_KIND, plan, least=KINDS) // KINDS
    kept = tuple(one for one in starts if not any(one is other for other in same[most:]))
    return kept[: as_many(len(kept), plan, least=KINDS)]


def _of_all_kinds(
    rng: np.random.Generator, starts: tuple[Candidate, ...], n: int, *, again: bool
) -> tuple[Candidate, ...]:
    """Some starts, every origin in its turn; where there are fewer, some come again or not."""
    by_origin: dict[str, list[Candidate]] = {}
    for i in rng.permutation(len(starts)).tolist():
        if starts[i].seconds <= WORTH_A_SLOT * starts[0].seconds:
            by_origin.setdefault(starts[i].origin, []).append(starts[i])
    kinds = sorted(by_origin)
    kinds = [kinds[i] for i in rng.permutation(len(kinds)).tolist()]
    most = max(map(len, by_origin.values()))
    in_turn = [by_origin[kind][k] for k in range(most) for kind in kinds if k < len(by_origin[kind])]
    return tuple(in_turn[i % len(in_turn)] for i in range(n if again else min(n, len(in_turn))))


def _distinct(plans: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
    if not np.isfinite(plan.seconds) or any(as_fast(one, plan) for one in plans):
        return plans
    near = [one for one in plans if akin(one, plan)]
    if any(one.seconds <= plan.seconds for one in near):
        return plans
    kept = [one for one in plans if not any(one is other for other in near)]
    return tuple(sorted((*kept, plan), key=_seconds))


def akin(one: Candidate, other: Candidate) -> bool:
    """Whether two plans take about as long, and nearly all operators are cut and placed alike, whatever the networks.

    A pool of such is one plan many times over: nothing to cross it with, and all are off if its price is.
    """
    if abs(one.seconds - other.seconds) > AS_GOOD * min(one.seconds, other.seconds):
        return False
    a, b = one.strategy, other.strategy
    same = (a.choice == b.choice) & (a.devices == b.devices).all(axis=1)
    return bool(same.mean() > AKIN)


def _seconds(plan: Candidate) -> float:
    return plan.seconds
