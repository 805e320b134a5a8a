"""Several chains side by side: what comes out depends on the seed and their number alone."""

import numpy as np
import pytest
from random_models import mlp, problem_of, tower

from flexnet import interrupts
from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.search import jobs, portfolio
from flexnet.search.checkpoint import checkpoint_json, restore
from flexnet.search.find import find_plan
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.prepared import Prepared
from flexnet.search.settings import Settings
from flexnet.search.state import State

pytestmark = pytest.mark.compiled  # whole searches: without JIT they take many minutes

TOPOLOGIES = ("topoopt", "fattree", "random")


def ran(ready: Prepared, state: State) -> tuple[State, list[State]]:
    """Where a search ended, and after every turn."""
    turns: list[State] = []
    return run(ready, state, observe=lambda progress, state, info: turns.append(state)).state, turns


@pytest.fixture
def laid_out_later(monkeypatch):
    """Starts are laid out when their turn comes, as on many servers."""
    monkeypatch.setattr("flexnet.search.prepare.LATER_TASKS", 0)


def prepared(
    topology: str = "topoopt", budget: int | None = 300, n: int = 2, seed: int = 5, **more: object
) -> Prepared:
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2))
    return prepare(problem, Settings(topology, budget, seed=seed, jobs=n, **more))


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    """Turns and rounds of so few proposals that a search has many; workers inherit it."""
    monkeypatch.setattr(jobs, "LONGEST_TURN", 20)
    monkeypatch.setattr(portfolio, "FIRST_SLOT", 4)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_same_seed_same_plan(topology):
    documents = []
    for _ in range(2):
        ready = prepared(topology)
        documents.append(checkpoint_json(run(ready, ready.state).state, ready.rng))
    assert documents[0] == documents[1]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("budget", [0, 1, 2, 7, 100, 301])
def test_one_proposal_more_than_the_budget_by_all_together(budget, n):
    ready = prepared("fattree", budget, n)
    outcome = run(ready, ready.state)
    assert not outcome.interrupted
    assert outcome.state.iteration == budget + 1
    made = [chain.iteration for chain, _ in outcome.state.chains]
    assert len(made) == n and sum(made) == budget + 1
    assert max(made) - min(made) <= len(ready.state.schedule.pending) + jobs.LONGEST_TURN


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_processes_lay_out_starts_too(topology, laid_out_later, tmp_path, monkeypatch):
    dealt, begin, documents = [], jobs._begin, []
    monkeypatch.setattr(jobs, "_begin", lambda *args: dealt.append(begin(*args)) or dealt[-1])
    for i in range(2):
        ready = prepared(topology, 400)
        assert not ready.state.schedule.pending and len(ready.state.schedule.unlaid) > 2
        path = tmp_path / "checkpoint.json"
        path.write_bytes(checkpoint_json(ready.state, ready.rng))
        state = restore(path, ready.rng) if i else ready.state
        ended, turns = ran(ready, state)
        documents.append(ended)
        starts = [one for chain, _ in dealt[-1] for one in chain.schedule.pending]
        assert len({chain.schedule.origins[0] for chain, _ in dealt[-1]}) == 1  # some of every kind for both
        assert not any(chain.schedule.unlaid for chain, _ in dealt[-1])
        priced = next(state for state in turns if all(chain.schedule.held for chain, _ in state.chains))
        assert sum(chain.iteration for chain, _ in priced.chains) == len(starts)
    one, again = (checkpoint_json(state, ready.rng) for state in documents)
    assert one == again


def test_starts_that_nobody_waits_for_are_given_up(laid_out_later):
    ready = prepared("fattree", 400)
    interrupts.give_up()
    try:
        outcome = run(ready, ready.state)
    finally:
        with interrupts.undisturbed():
            pass
    assert outcome.interrupted
    assert outcome.state is ready.state


def test_every_start_is_priced_once_and_known_to_all_chains():
    ready = prepared("fattree", 400)
    starts = ready.state.schedule.pending
    _, turns = ran(ready, ready.state)
    (one, _), (other, _) = turns[0].chains
    assert one.iteration == other.iteration == jobs.LONGEST_TURN < len(starts) / 2  # told of each other's meanwhile
    priced = next(state for state in turns if all(chain.schedule.held for chain, _ in state.chains))
    assert sum(chain.iteration for chain, _ in priced.chains) == len(starts)
    begun = next(state for state in turns if not any(chain.schedule.pending for chain, _ in state.chains))
    (one, _), (other, _) = begun.chains  # the best have been priced with reductions that wait as well
    assert one.schedule.held and other.schedule.held
    pools = [[plan.seconds for plan in chain.schedule.pool] for chain in (one, other)]
    assert pools[0] == pools[1]
    kinds = [[(plan.origin, plan.seconds) for plan in chain.schedule.starts] for chain in (one, other)]
    assert kinds[0] == kinds[1]
    rng, network = np.random.default_rng(0), ready.state.network
    times = {ready.search.pricer.price(rng, s, network).seconds for s in starts}
    assert pools[0][0] <= min(ready.state.current.seconds, *times)
    for state in turns:
        assert state.best.seconds == min(chain.best.seconds for chain, _ in state.chains)
        assert {chain.best.seconds for chain, _ in state.chains} == {state.best.seconds}  # told after every turn
    best = [state.best.seconds for state in turns]
    assert best == sorted(best, reverse=True)


def test_chains_are_different_ones():
    large = problem_of(mlp(24, 64, 64), Cluster(8, link_bandwidth=2e6, latency=1e-6, degree=2))  # has many good plans
    ready, differ = prepare(large, Settings("fattree", 1600, seed=2, jobs=2)), []

    def watch(progress, state, info):
        one, other = (chain.current.strategy.devices.tolist() for chain, _ in state.chains)
        differ.append(one != other)

    (_, first), (_, second) = run(ready, ready.state, observe=watch).state.chains
    assert first.bit_generator.state != second.bit_generator.state
    assert sum(differ) > len(differ) / 2  # at times both are at the same good plan


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_stopped_between_turns_and_resumed_is_uninterrupted(topology, tmp_path):
    whole = prepared(topology)
    at_once = run(whole, whole.state).state
    first = prepared(topology)
    seen: list[State] = []
    outcome = run(first, first.state, observe=lambda p, state, info: seen.append(state), stop=lambda: len(seen) == 3)
    assert outcome.interrupted
    assert outcome.state is seen[-1]
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(outcome.state, first.rng))
    again = prepared(topology)
    resumed = run(again, restore(path, again.rng)).state
    assert checkpoint_json(resumed, again.rng) == checkpoint_json(at_once, whole.rng)
    assert again.found(run(again, resumed)).seconds == whole.found(run(whole, at_once)).seconds


def test_more_proposals_go_on_from_where_it_stands():
    ready = prepared("fattree", 200)
    state = run(ready, ready.state).state
    more = prepared("fattree", 350)
    outcome = run(more, state)
    assert outcome.state.iteration == 351
    assert outcome.best.seconds <= state.best.seconds
    assert run(more, outcome.state).state is outcome.state


def test_without_a_limit_it_ends_when_no_chain_gains():
    ready = prepared("fattree", None)
    outcome = run(ready, ready.state)
    assert not outcome.interrupted
    assert all(ready.search.over(chain) for chain, _ in outcome.state.chains)


def test_a_time_ends_it():
    ready = prepared("fattree", None, time=0.3)
    outcome = run(ready, ready.state)
    assert not outcome.interrupted
    assert outcome.elapsed >= 0.3
    assert outcome.state.iteration > 0


def test_what_is_found_is_no_slower_than_data_parallelism():
    found = find_plan(prepared().problem, Settings("topoopt", 100, jobs=2))
    assert found.seconds < found.start_seconds
    assert found.iterations == 101
    assert found.bound.seconds <= found.seconds


def test_the_originals_chain_is_one():
    ready = prepared(method="mcmc")
    with pytest.raises(FlexNetError, match=r"^method mcmc is one chain; it cannot be searched by 2 jobs$"):
        run(ready, ready.state)
    with pytest.raises(FlexNetError, match=r"^the search has 0 jobs; it needs at least 1$"):
        Settings("fattree", jobs=0)


def test_systems_that_cannot_fork_have_one_job(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    ready = prepared()
    with pytest.raises(FlexNetError, match="several jobs need an operating system that can fork processes; use 1"):
        run(ready, ready.state)
