"""Which plans are replayed in the end."""

import numpy as np
from random_models import problem_of, tower

from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate
from flexnet.search.driver import drive
from flexnet.search.finalists import NEARLY, finalists_of, likely_fastest
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.link_model import Timeline

NETWORK = prepare(problem_of(tower(), Cluster(4)), Settings("fattree", 0)).state.network


def cut(way: int, seconds: float) -> Candidate:
    """Twenty operators that are all cut in one way."""
    whole = np.full(20, way)
    return Candidate(Strategy(whole, np.zeros((20, 4), np.int64), whole * 0 - 1), NETWORK, seconds, None)


def test_the_fastest_first_and_beside_it_one_that_is_cut_in_another_way():
    a, also_a, b, c = cut(0, 1.0), cut(0, 1.01), cut(1, 1.05), cut(2, 1.2)
    waiting = [c, also_a, a, b]
    assert likely_fastest(waiting, [], 2) == [a, b]
    assert likely_fastest([also_a, a], [], 2) == [a, also_a]  # nothing else is left
    assert likely_fastest([a], [], 2) == [a]
    assert likely_fastest([], [(a, 1.0)], 2) == []


def test_what_is_cut_like_a_plan_that_was_too_slow_comes_last():
    a, also_a, b, also_b, c = cut(0, 1.0), cut(0, 1.01), cut(1, 1.05), cut(1, 1.06), cut(2, 1.2)
    replayed = [(a, 1.3), (b, 1.04)]
    assert likely_fastest([also_a, also_b, c], replayed, 1) == [also_b]
    assert likely_fastest([also_a, also_b, c], replayed, 3) == [also_b, c, also_a]
    assert likely_fastest([b, a], [(also_b, 0.5)], 1) == [a]  # what was faster than its price does not count


def searched():
    ready = prepare(
        problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2)), Settings("topoopt", 60, seed=5)
    )
    return ready, drive(ready.search, ready.rng, ready.state, 60).state


def test_the_best_one_others_of_the_pool_and_the_elite():
    _, state = searched()
    finalists = finalists_of(state)
    assert finalists[0] is state.best
    pool = [plan for plan in state.schedule.pool if plan.seconds <= NEARLY * state.best.seconds]
    for plan in (*pool, *state.elite):
        assert any(plan.strategy is one.strategy and plan.network is one.network for one in finalists)
    assert len(finalists) <= 1 + len(pool) + len(state.elite)


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
