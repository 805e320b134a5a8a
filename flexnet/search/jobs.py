"""Several chains of a portfolio in processes of their own, which tell each other of the best plan.

Every process makes a fixed number of proposals at a time, from a state and a generator that it is given and gives back,
so what comes out depends on the seed and the number of jobs alone.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.interrupts import GivenUp
from flexnet.plan.strategy import Strategy
from flexnet.processes import end_with_parent
from flexnet.search.candidates import Candidate, after_lead, with_candidate
from flexnet.search.driver import Outcome, Progress, drive
from flexnet.search.history import History
from flexnet.search.portfolio import Portfolio
from flexnet.search.prepared import Prepared
from flexnet.search.starts import STARTS
from flexnet.search.state import Info, State, Tally

__all__ = ["run", "turn_length"]

TURN_TASKS = 500_000  # that a process simulates before it reports: some 0.2 s
LONGEST_TURN = 500

_search: Portfolio | None = None  # of a worker process


def run(
    ready: Prepared,
    state: State,
    *,
    observe: Callable[[Progress, State, Info], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Search from ``state`` as the settings say, in one process or several.

    Raises
    ------
    FlexNetError
        If there are to be several, and the method is the original's or the system cannot fork.
    """
    settings = ready.settings
    if settings.jobs == 1:
        return drive(ready.search, ready.rng, state, settings.budget, seconds=settings.time, observe=observe, stop=stop)
    if not isinstance(ready.search, Portfolio):
        raise FlexNetError(f"method mcmc is one chain; it cannot be searched by {settings.jobs} jobs")
    if "fork" not in multiprocessing.get_all_start_methods():
        raise FlexNetError("several jobs need an operating system that can fork processes; use 1")
    return _side_by_side(ready, ready.search, state, observe, stop)


def turn_length(n_task: int) -> int:
    """Proposals a process makes at a time, for plans of so many tasks.

    >>> turn_length(1000), turn_length(25_000), turn_length(10**7)
    (500, 20, 1)
    """
    return min(max(TURN_TASKS // max(n_task, 1), 1), LONGEST_TURN)


def _side_by_side(
    ready: Prepared,
    search: Portfolio,
    state: State,
    observe: Callable[[Progress, State, Info], None] | None,
    stop: Callable[[], bool],
) -> Outcome:
    settings, n = ready.settings, ready.settings.jobs
    total = float("inf") if settings.budget is None else settings.budget + 1
    limit = float("inf") if settings.time is None else settings.time
    unlimited = settings.budget is None and settings.time is None
    began = time.perf_counter()
    first, improved_at, interrupted = state.iteration, None, False
    length = turn_length(len(search.pricer.tasks(ready.state.current.strategy).kind))  # the same when resumed
    with _workers(search, n) as pool:
        try:
            chains = state.chains or _begin(ready, state, n, pool)
        except GivenUp:
            return Outcome(state, time.perf_counter() - began, interrupted=True, improved_at=None)
        while state.iteration < total:
            if unlimited and all(search.over(chain) for chain, _ in chains):
                break
            elapsed = time.perf_counter() - began
            if elapsed >= limit:
                break
            if stop():
                interrupted = True
                break
            most = _most(chains, length, total)
            before = state
            sent = map(_with_few_starts, chains, most)
            turns = list(pool.map(partial(_turn, seconds=limit - elapsed), sent, most))
            if any(given_up for *_, given_up in turns):  # the turn is made again, but nothing it found is lost
                found = _merged(before, tuple(chain for chain, *_ in turns))
                improved_at = found.iteration if found.best.seconds < before.best.seconds else improved_at
                state = replace(before, best=found.best, elite=found.elite, led=found.led)
                interrupted = True
                break
            ended = (chain for chain, *_ in turns)
            chains = _exchanged(search, tuple(map(_with_other_starts, ended, chains, most)))
            state = _merged(before, chains)
            if state.best.seconds < before.best.seconds:
                improved_at = state.iteration
            if observe is not None:
                done, at = state.iteration - first, state.current.seconds
                elapsed = time.perf_counter() - began
                best = state.best.seconds
                observe(
                    Progress(done, total - first, at, at, True, best, elapsed, limit),
                    state,
                    _summed(
                        at, best < before.best.seconds, [history for _, history, _ in turns if history is not None]
                    ),
                )
    return Outcome(state, time.perf_counter() - began, interrupted=interrupted, improved_at=improved_at)


def _begin(
    ready: Prepared, state: State, n: int, pool: ProcessPoolExecutor
) -> tuple[tuple[State, np.random.Generator], ...]:
    """As many chains, which lay out the starts there are; these are dealt out among them, to be priced.

    Raises
    ------
    GivenUp
        If nobody waits for them any more.
    """
    schedule = state.schedule
    assert schedule is not None
    rngs = [ready.rng, *(np.random.default_rng([ready.settings.seed, i]) for i in range(1, n))]
    pending, origins, unlaid = list(schedule.pending), list(schedule.origins), schedule.unlaid
    if unlaid:
        laid = list(pool.map(_lay_out, [unlaid[i::n] for i in range(n)], rngs))
        rngs = [rng for _, rng in laid]
        for i, name in enumerate(unlaid):
            strategies = laid[i % n][0][i // n]
            pending += strategies
            origins += [STARTS[name].name] * len(strategies)
    chains = []
    for i, rng in enumerate(rngs):
        dealt = replace(schedule, pending=tuple(pending[i::n]), origins=tuple(origins[i::n]), unlaid=())
        own = replace(state, schedule=dealt)
        chains.append((own if i == 0 else replace(own, iteration=0), rng))
    return tuple(chains)


def _lay_out(names: Sequence[str], rng: np.random.Generator) -> tuple[list[list[Strategy]], np.random.Generator]:
    """Starts of some kinds, in a worker process."""
    assert _search is not None
    return [_search.kinds.by_promise(_search.kinds.strategies(name, rng)) for name in names], rng


def _most(chains: tuple[tuple[State, np.random.Generator], ...], length: int, total: float) -> list[int]:
    """How many proposals every chain makes next, all together no more than are left; before the first round starts."""
    left = total - sum(chain.iteration for chain, _ in chains)
    schedules = [chain.schedule for chain, _ in chains]
    pending = [len(schedule.pending) if schedule is not None and not schedule.round else 0 for schedule in schedules]
    most = []
    for i in range(len(chains)):
        share = -(-left // (len(chains) - i)) if left < float("inf") else float("inf")
        n = int(min(pending[i] if any(pending) else length, length, share))
        left -= n
        most.append(n)
    return most


def _with_few_starts(chain: tuple[State, np.random.Generator], most: int) -> tuple[State, np.random.Generator]:
    """A chain as it is sent to a process: with no more starts to be priced than tell whether there are others."""
    state, rng = chain
    schedule = state.schedule
    assert schedule is not None
    first = slice(most + 1)
    few = replace(schedule, pending=schedule.pending[first], origins=schedule.origins[first])
    return replace(state, schedule=few), rng


def _with_other_starts(
    chain: tuple[State, np.random.Generator], before: tuple[State, np.random.Generator], most: int
) -> tuple[State, np.random.Generator]:
    """A chain after a turn, with the starts that were not sent."""
    state, rng = chain
    schedule, whole = state.schedule, before[0].schedule
    assert schedule is not None and whole is not None
    others = slice(most + 1, None)
    pending, origins = schedule.pending + whole.pending[others], schedule.origins + whole.origins[others]
    return replace(state, schedule=replace(schedule, pending=pending, origins=origins)), rng


def _turn(
    chain: tuple[State, np.random.Generator], most: int, seconds: float
) -> tuple[tuple[State, np.random.Generator], History | None, bool]:
    """A turn of one chain, in a worker process, how it went, and whether it was given up."""
    state, rng = chain
    assert _search is not None
    if most < 1:
        return chain, None, False
    limit = None if seconds == float("inf") else seconds
    history = History.begin(state)
    ended = drive(_search, rng, state, state.iteration + most - 1, seconds=limit, observe=history.observe)
    return (ended.state, rng), history, ended.interrupted


def _summed(current: float, improved: bool, turns: list[History]) -> Info:
    """What turns side by side came to."""
    tallies: dict[str, Tally] = {}
    for history in turns:
        for name, tally in history.tallies.items():
            tallies[name] = tallies.get(name, Tally()).plus(tally)
    starts = tuple(start for history in turns for start in history.starts[1:])
    return Info(current, True, False, improved, False, starts=starts, tallies=tallies)


def _exchanged(
    search: Portfolio, chains: tuple[tuple[State, np.random.Generator], ...]
) -> tuple[tuple[State, np.random.Generator], ...]:
    """Every chain is told of the best plan; before the first round, of all starts."""
    found: list[Candidate] = [min((chain.best for chain, _ in chains), key=_seconds)]
    if all(_has_not_begun(chain) for chain, _ in chains):
        schedules = [chain.schedule for chain, _ in chains if chain.schedule is not None]
        found += [plan for schedule in schedules for plan in (*schedule.pool, *schedule.starts)]
    return tuple((search.told(chain, found), rng) for chain, rng in chains)


def _has_not_begun(state: State) -> bool:
    schedule = state.schedule
    return schedule is not None and not schedule.entrants and schedule.round == 0 and not schedule.pending


def _merged(before: State, chains: tuple[tuple[State, np.random.Generator], ...]) -> State:
    """What is shown and kept: the best plan of all chains, the elite, and what they called best before."""
    best = min((chain.best for chain, _ in chains), key=_seconds)
    elite = before.elite
    for chain, _ in chains:
        for plan in chain.elite:
            elite = with_candidate(elite, plan)
    led = after_lead((), *(plan for chain, _ in chains for plan in chain.led))
    ahead = min((chain for chain, _ in chains), key=lambda chain: chain.current.seconds)
    iteration = sum(chain.iteration for chain, _ in chains)
    return replace(ahead, iteration=iteration, best=best, elite=elite, led=led, chosen=before.chosen, chains=chains)


@contextmanager
def _workers(search: Portfolio, n: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("fork")  # the search is inherited as it is
    with ProcessPoolExecutor(n, mp_context=context, initializer=_start_worker, initargs=(search,)) as pool:
        yield pool


def _start_worker(search: Portfolio) -> None:
    global _search
    _search = search
    for number in (signal.SIGINT, signal.SIGTERM):  # the first process answers them, and ends the others
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)  # which is the first process's
    end_with_parent()


def _seconds(plan: Candidate) -> float:
    return plan.seconds
