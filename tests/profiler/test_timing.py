import itertools

import pytest

from flexnet.profiler import timing
from flexnet.profiler.timing import measure


class Clock:
    """Time that passes only while a pass runs."""

    def __init__(self, monkeypatch, seconds):
        self.now = 0.0
        self.seconds = itertools.cycle(seconds)
        self.batches = []
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def sample(self, n):
        self.batches.append(n)
        found = [next(self.seconds) for _ in range(n)]
        self.now += sum(found)
        return found


def test_steady_times_need_five_repeats(monkeypatch):
    clock = Clock(monkeypatch, [1e-3])
    found = measure(clock.sample, 1.0)
    assert (found.repeats, found.spread) == (6, 0.0)
    assert found.seconds == pytest.approx(1e-3)


def test_noisy_times_are_repeated_until_their_median_is_known(monkeypatch):
    clock = Clock(monkeypatch, [1.0e-3, 1.1e-3, 0.9e-3])
    found = measure(clock.sample, 1.0)
    assert 30 < found.repeats < 400
    assert found.spread <= 0.02
    assert found.seconds == pytest.approx(1e-3, rel=0.05)


def test_the_cap_ends_it(monkeypatch):
    clock = Clock(monkeypatch, [1e-3, 3e-3])
    found = measure(clock.sample, 0.02)
    assert clock.now < 0.03
    assert found.spread > 0.02


def test_a_pass_longer_than_the_cap_runs_three_times(monkeypatch):
    assert measure(Clock(monkeypatch, [0.3]).sample, 0.2).repeats == 3


def test_a_very_long_pass_runs_once(monkeypatch):
    found = measure(Clock(monkeypatch, [5.0]).sample, 0.2)
    assert (found.repeats, found.spread, found.seconds) == (1, None, 5.0)


def test_repeats_have_a_limit(monkeypatch):
    clock = Clock(monkeypatch, [1e-6, 9e-6])
    assert measure(clock.sample, 10.0).repeats <= 600
