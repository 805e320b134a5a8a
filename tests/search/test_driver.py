"""The loop around the steps."""

from itertools import pairwise

import pytest
from random_models import problem_of, tower

from flexnet.plan.cluster import Cluster
from flexnet.search.driver import Progress, drive, reset_span
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings


def prepared(budget):
    return prepare(problem_of(tower(), Cluster(4)), Settings("fattree", budget))


@pytest.mark.parametrize("budget", [0, 1, 17])
def test_one_proposal_more_than_the_budget(budget):
    """Section 3.7: iterations 0 to budget, both included."""
    ready = prepared(budget)
    outcome = drive(ready.search, ready.rng, ready.state, budget)
    assert outcome.state.iteration == budget + 1
    assert not outcome.interrupted
    assert outcome.best is outcome.state.best
    assert outcome.elapsed >= 0
    assert drive(ready.search, ready.rng, outcome.state, budget).state is outcome.state


def test_a_stop_comes_between_two_proposals_and_loses_nothing():
    ready = prepared(30)
    seen = []
    outcome = drive(
        ready.search,
        ready.rng,
        ready.state,
        30,
        observe=lambda progress, state, info: seen.append(state),
        stop=lambda: len(seen) == 7,
    )
    assert outcome.interrupted
    assert outcome.state is seen[-1]
    assert outcome.state.iteration == 7
    finished = drive(ready.search, ready.rng, outcome.state, 30)
    straight = prepared(30)
    assert drive(straight.search, straight.rng, straight.state, 30).best.seconds == finished.best.seconds


def test_a_stop_before_the_first_proposal():
    ready = prepared(5)
    outcome = drive(ready.search, ready.rng, ready.state, 5, stop=lambda: True)
    assert outcome.interrupted
    assert outcome.state is ready.state


def test_progress_is_of_this_run_and_shows_the_times_before_the_step():
    ready = prepared(12)
    state = drive(ready.search, ready.rng, ready.state, 4).state
    shown = []
    current = [state.current.seconds]

    def observe(progress, state, info):
        shown.append(progress)
        assert progress.current == current[0]
        assert (progress.proposed, progress.exact) == (info.proposed, info.exact)
        assert progress.best == state.best.seconds
        current[0] = state.current.seconds

    drive(ready.search, ready.rng, state, 12, observe=observe)
    assert [(progress.iteration, progress.total) for progress in shown] == [(i, 8) for i in range(1, 9)]
    assert all(a.elapsed <= b.elapsed for a, b in pairwise(shown))


def test_speed_and_time_left():
    progress = Progress(30, 90, 1.0, 1.0, True, 1.0, 2.0)
    assert progress.proposals_per_s == 15.0
    assert progress.left_s == 4.0
    unknown = Progress(0, 90, 1.0, 1.0, True, 1.0, 0.0)
    assert (unknown.proposals_per_s, unknown.left_s) == (0.0, float("inf"))


def test_reset_span():
    assert [reset_span(budget) for budget in (0, 99, 100, 250, 10**5, 10**6)] == [1, 1, 1, 2, 1000, 1000]
