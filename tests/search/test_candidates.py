import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import problem_of, tower

from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import Strategy
from flexnet.plan.task_graph_builder import Builder
from flexnet.search.candidates import ELITE, Candidate, choose, with_candidate, without_idle_waits
from flexnet.search.driver import drive
from flexnet.search.find import find_plan
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.link_model import Timeline


def plan(number: int, seconds: float) -> Candidate:
    return Candidate(Strategy(np.array([number]), np.array([[number]]), np.array([-1])), "network", seconds, None)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 20)), max_size=60))
def test_the_elite_is_the_best_of_every_strategy(prices):
    elite = ()
    for number, seconds in prices:
        elite = with_candidate(elite, plan(number, float(seconds)))
    best = {}
    for number, seconds in prices:
        best[number] = min(best.get(number, 99), seconds)
    assert [int(p.seconds) for p in elite] == sorted(best.values())[:ELITE]
    assert len({int(p.strategy.choice[0]) for p in elite}) == len(elite)
    assert all(best[int(p.strategy.choice[0])] == p.seconds for p in elite)


def test_few_networks_of_thousands_of_servers_are_kept():
    for n_server, most in ((1024, ELITE), (2048, ELITE), (4096, 2), (8192, 2)):
        elite = ()
        for number in range(20):
            devices = np.full((1, n_server), -1)
            strategy = Strategy(np.array([number]), devices, np.array([-1]))
            elite = with_candidate(elite, Candidate(strategy, "network", float(number), None))
        assert [int(plan.seconds) for plan in elite] == list(range(most))


def test_plans_that_differ_in_idle_waits_alone_are_one():
    """At equal prices, the one where fewer reductions wait stays; a wait that brings something is a plan of its own."""
    eager = plan(1, 2.0)
    idle = eager._replace(strategy=eager.strategy._replace(after=np.array([0])), seconds=2.0 + 1e-9)
    paying = idle._replace(seconds=1.5)
    assert with_candidate((eager,), idle) == (eager,)
    assert with_candidate((idle,), eager) == (eager,)
    assert with_candidate((eager,), paying) == (paying, eager)
    assert with_candidate((paying, eager), idle) == (paying, eager)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=6), st.sets(st.integers(0, 3)))
def test_waits_that_bring_nothing_are_left_out(after, paying):
    strategy = Strategy(np.zeros(len(after), np.int64), np.zeros((len(after), 1), np.int64), np.array(after))

    def price(one):
        return 10.0 - len(paying & set(one.after.tolist()))

    found = without_idle_waits(strategy, price(strategy), price)
    assert price(found) == price(strategy)
    assert found.after.tolist() == [before if before in paying else -1 for before in after]


def test_the_first_of_equally_fast_candidates_is_chosen():
    times = [Timeline(seconds, np.zeros(0), np.zeros(0)) for seconds in (2.0, 1.0, 1.0)]
    candidates = [(plan(i, 0.0), timeline) for i, timeline in enumerate(times)]
    assert choose(candidates) is candidates[1]


def problem(semantics=CORRECTED):
    return problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2), semantics)


def test_what_is_chosen_is_the_fastest_of_the_elite_at_full_resolution():
    ready = prepare(problem(), Settings("topoopt", 60, method="mcmc", seed=1))
    state = drive(ready.search, ready.rng, ready.state, 60).state
    assert 1 < len(state.elite) <= ELITE
    chosen, timeline = ready.choose(state)
    exact = [ready.search.pricer.exact(p.strategy, p.network, None).seconds for p in (state.best, *state.elite)]
    assert timeline.seconds == min(exact)
    assert any(chosen is p for p in (state.best, *state.elite))
    assert find_plan(problem(), Settings("topoopt", 60, method="mcmc", seed=1)).seconds == timeline.seconds


def test_with_fair_network_every_proposal_is_priced_at_full_resolution():
    ready = prepare(problem(), Settings("topoopt", 40, network="fair"))
    state = drive(ready.search, ready.rng, ready.state, 40).state
    fair, built = FairLinks(), Builder(ready.problem)
    for p in (state.current, state.best, *state.elite):
        assert fair.seconds(built.arrays(p.strategy), network_arrays(p.network)) == p.seconds


def test_finalists_end_with_the_packets_that_may_be_followed(monkeypatch):
    ready = prepare(problem(), Settings("topoopt", 60, method="mcmc", seed=1))
    state = drive(ready.search, ready.rng, ready.state, 60).state
    monkeypatch.setattr("flexnet.search.prepared.FINAL_HOPS", 0)
    chosen, timeline = ready.choose(state)
    assert chosen is state.best
    assert timeline.seconds == ready.timeline(state.best).seconds
    assert ready.glanced(state.best) == timeline.seconds
    monkeypatch.setattr("flexnet.search.prepared.GLANCED_HOPS", 0)
    assert ready.glanced(state.best) == state.best.seconds


def test_the_originals_links_are_priced_as_they_are():
    ready = prepare(problem(ORIGINAL), Settings("topoopt", 20))
    assert drive(ready.search, ready.rng, ready.state, 20).state.elite == ()
    with pytest.raises(FlexNetError, match="network model fair is not for original semantics"):
        prepare(problem(ORIGINAL), Settings("topoopt", 20, network="fair"))
    with pytest.raises(FlexNetError, match="unknown network model 'slow'; choose one of fast, fair"):
        Settings("topoopt", network="slow")
