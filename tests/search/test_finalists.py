"""Which plans are replayed in the end."""

from dataclasses import replace
from functools import partial

import numpy as np
from random_models import problem_of, tower

from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.search.candidates import LED, Candidate, after_lead
from flexnet.search.driver import Outcome, drive
from flexnet.search.finalists import NEARLY, finalists_of, likely_fastest
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.link_model import Timeline

CLUSTER = Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2)
NETWORK = prepare(problem_of(tower(), Cluster(4)), Settings("fattree", 0)).state.network


def cut(way: int, seconds: float, n_stage: int = 1) -> Candidate:
    """Twenty operators that are all cut in one way, on two servers by turns if in several stages."""
    whole, devices = np.full(20, way), np.zeros((20, 4), np.int64)
    devices[:] = (np.arange(20) * n_stage // 20 % 2)[:, None]
    return Candidate(Strategy(whole, devices, whole * 0 - 1), NETWORK, seconds, None)


def test_the_fastest_first_and_beside_it_one_that_is_cut_in_another_way():
    a, also_a, b, c = cut(0, 1.0), cut(0, 1.01), cut(1, 1.05), cut(2, 1.2)
    waiting = [c, also_a, a, b]
    assert likely_fastest(waiting, [], 2) == [a, b]
    assert likely_fastest([also_a, a], [], 2) == [a, also_a]  # nothing else is left
    assert likely_fastest([a], [], 2) == [a]
    assert likely_fastest([], [(a, 1.0)], 2) == []


def test_pipelines_of_more_stages_are_others_though_they_are_cut_alike():
    ten, nine, two = cut(0, 1.0, 10), cut(0, 1.01, 9), cut(0, 1.05, 2)
    assert likely_fastest([ten, nine, two], [], 2) == [ten, two]
    assert likely_fastest([nine, two], [(ten, 1.1)], 1) == [two]


def test_what_is_cut_like_a_plan_that_was_too_slow_comes_last():
    a, also_a, b, also_b, c = cut(0, 1.0), cut(0, 1.01), cut(1, 1.05), cut(1, 1.06), cut(2, 1.1)
    replayed = [(a, 1.3), (b, 1.04)]
    assert likely_fastest([also_a, also_b, c], replayed, 1) == [also_b]
    assert likely_fastest([also_a, also_b, c], replayed, 3) == [also_b, c, also_a]
    assert likely_fastest([b, a], [(also_b, 0.5)], 1) == [a]  # what was faster than its price does not count


def test_only_what_may_be_the_fastest_is_replayed():
    a, near, far = cut(0, 1.0), cut(1, NEARLY), cut(2, 1.5)
    assert likely_fastest([far, near, a], [], 3) == [a, near]
    assert likely_fastest([far, near], [(a, 1.4)], 3) == [near]
    assert likely_fastest([far, near], [(a, 1.5)], 3) == [near, far]  # for prices are as far off as that


def searched():
    ready = prepare(problem_of(tower(), CLUSTER), Settings("topoopt", 60, seed=5))
    return ready, drive(ready.search, ready.rng, ready.state, 60).state


def test_the_best_one_others_of_the_pool_the_elite_those_that_led_and_starts():
    _, state = searched()
    finalists = finalists_of(state)
    assert finalists[0] is state.best
    others = (*state.schedule.pool, *state.elite, *state.led, *state.schedule.starts)
    assert state.led
    for plan in others:
        assert any(same_strategy(plan.strategy, one.strategy) and plan.network is one.network for one in finalists)
    assert len(finalists) <= 1 + len(others)


def test_what_led_before_is_kept():
    ready = prepare(problem_of(tower(), CLUSTER), Settings("topoopt", 60, seed=5))
    bests = [ready.state.best]

    def observe(progress, state, info):
        if state.best is not bests[-1]:
            bests.append(state.best)

    state = drive(ready.search, ready.rng, ready.state, 60, observe=observe).state
    assert len(bests) > 2
    assert [id(plan) for plan in state.led] == [id(plan) for plan in bests[-2::-1]]
    assert [plan.seconds for plan in after_lead((), *map(partial(cut, 0), range(50)))] == list(range(LED))


def test_of_large_networks_fewer_are_kept(monkeypatch):
    monkeypatch.setattr("flexnet.search.candidates.LED_PAIRS", 5 * 4**2)
    plans = [cut(0, seconds) for seconds in range(9)]
    assert after_lead((), *plans) == tuple(plans[:5])
    monkeypatch.setattr("flexnet.search.candidates.LED_PAIRS", 1)
    assert after_lead((plans[2],), *plans[1:]) == (plans[1],)
    assert after_lead(()) == ()


def test_what_was_chosen_before_is_not_lost():
    """A search that goes on may come to like other plans better, by prices, which take longer."""
    ready, state = searched()
    kept = min([state.best, *state.elite], key=lambda plan: ready.timeline(plan).seconds)
    worse = state.best._replace(seconds=0.5 * state.best.seconds, strategy=ready.state.current.strategy)
    later = replace(state, best=worse, elite=(worse,), led=(), chosen=kept, schedule=replace(state.schedule, pool=()))
    for interrupted in (False, True):
        found = ready.found(Outcome(later, 1.0, interrupted=interrupted, improved_at=None))
        assert found.seconds <= ready.timeline(kept).seconds < ready.timeline(worse).seconds


def test_a_plan_cut_otherwise_is_replayed_where_the_best_by_price_is_far_off(monkeypatch):
    """Packets of two plans may be followed; those cut like the best one take half as long again as they seem."""
    ready, _ = searched()
    known, most = cut(2, 2.0), [20.0]
    best, other = cut(0, 1.0), cut(1, 1.1)
    waiting = [best, cut(0, 1.001), cut(0, 1.002), other]
    asked = []

    def replayed(plan):
        asked.append(plan)
        return Timeline(plan.seconds * (1.5 if plan.strategy.choice[0] == 0 else 1.0), np.zeros(0), np.zeros(0))

    monkeypatch.setattr(type(ready), "timeline", lambda self, plan: replayed(plan))
    monkeypatch.setattr(type(ready.search.pricer), "exact_work", lambda *_: 10.0)
    monkeypatch.setattr(type(ready), "_final_hops", lambda *_: most[0])
    times = ready._replayed(waiting, [(known, replayed(known))])
    assert [plan for plan, _ in times] == [known, best, other]
    assert sorted(map(id, asked)) == sorted(map(id, (known, best, other)))
    for most[0], n in ((0.0, 1), (10.0, 1), (15.0, 2), (30.0, 3), (1e9, 4)):
        assert len(ready._replayed(waiting)) == n
    for glanced, n in ((0.0, 1), (10.0, 1), (15.0, 1), (20.0, 2)):  # strictly: none ends late
        monkeypatch.setattr("flexnet.search.prepared.GLANCED_HOPS", glanced)
        assert len(ready._replayed(waiting, strict=True)) == n
