"""How large buckets of gradients are: chosen on the start and once more for the plan, or as somebody says."""

import numpy as np
import pytest
from random_models import mlp, problem_of, tower

from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.search.buckets import SIZES, set_best_buckets, with_best_buckets
from flexnet.search.candidates import Candidate
from flexnet.search.find import find_plan
from flexnet.search.plan import price
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.protocol import PROTOCOLS, ROCE

DATA = {"start": "data", "topology": "topoopt"}


def small_weights() -> Problem:
    """Weights of 16 kB over eight servers and slow links: a packet a round, of which an eighth is needed."""
    return problem_of(mlp(12, width=64), Cluster(8, link_bandwidth=5e6, degree=2), CORRECTED)


@pytest.mark.parametrize("protocol", ["dctcp", "roce"])
def test_small_gradients_go_together(protocol: str) -> None:
    problem = small_weights()
    chosen = find_plan(problem, Settings(**DATA, budget=20, protocol=protocol))
    alone = find_plan(problem, Settings(**DATA, budget=20, protocol=protocol, bucket_bytes=0))
    assert alone.plan.problem.bucket_bytes == 0
    assert chosen.start.problem.bucket_bytes in SIZES
    assert chosen.start_seconds < 0.7 * alone.start_seconds
    assert "gradients together in up to" in chosen.summary()
    assert "buckets" not in alone.summary()
    assert chosen.to_dict()["bucket_mb"] == chosen.plan.problem.bucket_bytes / 1e6
    again = price(chosen.plan.problem, chosen.plan.strategy, chosen.plan.network, protocol=PROTOCOLS[protocol])
    assert again.seconds == chosen.seconds


def test_no_other_size_would_do_better_for_the_start() -> None:
    problem = small_weights()
    ready = prepare(problem, Settings(**DATA, protocol="roce"))
    pricer, start = ready.search.pricer, ready.state.current
    best = set_best_buckets(pricer, start)
    for size in (0.0, *SIZES):
        assert price(problem.with_buckets(size), start.strategy, start.network, protocol=ROCE).seconds >= best * 0.99


def test_buckets_that_fit_the_plan_badly_are_changed_in_the_end() -> None:
    ready = prepare(small_weights(), Settings(**DATA, protocol="roce"))
    pricer, start = ready.search.pricer, ready.state.current
    pricer.set_buckets(0)
    problem, timeline = pricer.fastest(start.strategy, start.network, None)
    plan = Candidate(start.strategy, start.network, timeline.seconds, None)
    found, better, in_buckets = with_best_buckets(pricer, plan, timeline, problem)
    assert better.seconds < 0.7 * timeline.seconds
    assert found.seconds == pytest.approx(better.seconds, rel=0.05)
    assert in_buckets.bucket_bytes == pricer.problem.bucket_bytes > 0
    same = with_best_buckets(pricer, found, better, in_buckets)
    assert same[1].seconds == better.seconds
    assert pricer.problem.bucket_bytes == in_buckets.bucket_bytes


def test_a_size_that_was_asked_for_is_taken() -> None:
    problem = problem_of(tower(), Cluster(4, link_bandwidth=1.25e9, degree=3), CORRECTED)
    for method in ("portfolio", "mcmc"):
        asked = Settings("topoopt", 20, protocol="roce", method=method, bucket_bytes=2e6)
        found = find_plan(problem, asked)
        assert found.plan.problem.bucket_bytes == found.start.problem.bucket_bytes == 2_000_000
    assert find_plan(problem, Settings("topoopt", 5, protocol="roce", method="mcmc")).plan.problem.bucket_bytes == 0


def test_small_all_reduces_that_are_cut_short_stay_alone() -> None:
    assert find_plan(small_weights(), Settings("topoopt", 5)).plan.problem.bucket_bytes == 0
    with pytest.raises(FlexNetError, match=r"^buckets are for protocols that run all rounds of all-reduces; flexnetp"):
        Settings("topoopt", bucket_bytes=1e6)
    with pytest.raises(FlexNetError, match=r"^a bucket has -1 bytes"):
        Settings("topoopt", protocol="roce", bucket_bytes=-1)
    original = problem_of(mlp(2), Cluster(4), ORIGINAL)
    with pytest.raises(FlexNetError, match=r"^buckets are not for original semantics"):
        prepare(original, Settings("topoopt", 0, protocol="roce", bucket_bytes=1e6))


def test_the_same_plan_comes_again() -> None:
    one, other = (find_plan(small_weights(), Settings("topoopt", 40, seed=3, protocol="dctcp")) for _ in range(2))
    assert one.seconds == other.seconds
    assert np.array_equal(one.plan.strategy.choice, other.plan.strategy.choice)
