"""When proposals are accepted and networks built anew, under both rules."""

from dataclasses import replace

import numpy as np
import pytest
from random_models import problem_of, tower

from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL, PRESETS
from flexnet.search.alternate import PATIENCE, TOPOLOGY_PATIENCE, CoSearch
from flexnet.search.prepare import prepare
from flexnet.search.pricing import Price, Pricer
from flexnet.search.settings import Settings
from flexnet.search.state import State

MS = 1e-3


class Given:
    """Stands in for moves, prices and problem: strategies are numbers, whose times (ms) a test decides."""

    def __init__(self, semantics, proposals, seconds) -> None:
        self.semantics, self.problem = semantics, self
        self.proposals = iter(proposals)
        self.seconds = seconds
        self.built_for = []
        self.second_look = False

    name = "given"

    def pick(self, rng):
        return self

    def propose(self, rng, strategy):
        return next(self.proposals)

    def price(self, rng, strategy, network, limit=np.inf):
        return Price(self.seconds(strategy, network) * MS, True, None)

    def alike(self, strategy, other):
        return self.semantics is CORRECTED and strategy == other

    def demand(self, strategy):
        return strategy

    def rebuild(self, rng, demand):
        self.built_for.append(demand)
        return f"network {len(self.built_for)} for {demand}"


def given(semantics, proposals, seconds, *, alpha=1.0, span=10**9, topoopt=False) -> tuple[CoSearch, Given]:
    stub = Given(semantics, proposals, seconds)
    return CoSearch(stub, stub, stub.rebuild if topoopt else None, alpha, span), stub


def own_time(strategy, network):
    return strategy


@pytest.mark.parametrize("semantics", [ORIGINAL, CORRECTED], ids=lambda semantics: semantics.name)
@pytest.mark.parametrize(("slower_ms", "alpha"), [(0.0, 1.0), (0.5, 1.0), (0.5, 3.0), (2.0, 1.0), (1.0, 0.0)])
def test_slower_proposals_pass_with_the_metropolis_probability(semantics, slower_ms, alpha):
    """exp(-alpha * slower), slower in ms and not in shares of the time (section 3.7)."""
    n, rng = 4000, np.random.default_rng(1)
    search, _ = given(semantics, [7.0 + slower_ms] * n, own_time, alpha=alpha)
    state = search.init(rng, 7.0, "network")
    accepted = sum(search.step(rng, state)[1].accepted for _ in range(n))
    p = np.exp(-alpha * slower_ms)
    assert abs(accepted - n * p) <= 4.5 * np.sqrt(n * p * (1 - p))


def test_faster_proposals_always_pass_and_the_best_is_kept():
    rng = np.random.default_rng(0)
    search, _ = given(CORRECTED, [9.0, 8.0, 8.3, 50.0, 8.1], own_time, alpha=1.0)
    state = search.init(rng, 10.0, "network")
    for wanted in (9.0, 8.0):
        state, info = search.step(rng, state)
        assert (info.accepted, info.improved, state.current.strategy) == (True, True, wanted)
    times = []
    for _ in range(3):
        state, info = search.step(rng, state)
        assert not info.improved
        times.append(info.proposed)
        assert (state.current.strategy == info.proposed / MS) == info.accepted
    assert times == pytest.approx([8.3 * MS, 50 * MS, 8.1 * MS])
    assert (state.best.strategy, state.best.seconds) == (8.0, 8.0 * MS)
    assert state.iteration == 5


def test_no_price_no_acceptance():
    """A strategy that does not fit in memory costs infinity, and is refused at any temperature."""
    search, stub = given(CORRECTED, [5.0], own_time, alpha=0.0)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "network")
    stub.price = lambda *_: Price(np.inf, False, None)
    state, info = search.step(rng, state)
    assert (info.accepted, info.exact, state.current.strategy) == (False, False, 10.0)


def test_a_move_that_changes_nothing_costs_nothing():
    search, stub = given(CORRECTED, [None], own_time, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "network")
    stub.price = None
    after, info = search.step(rng, state)
    assert (info.proposed, info.accepted, info.rebuilt, stub.built_for) == (10.0 * MS, True, False, [])
    assert (after.current.seconds, after.current.network) == (10.0 * MS, "network")


@pytest.mark.parametrize("semantics", [ORIGINAL, CORRECTED], ids=lambda semantics: semantics.name)
def test_every_span_the_current_plan_is_the_best_again(semantics):
    """The reset comes before proposal number span, 2 span ... and takes the network of the best plan along."""
    search, _ = given(semantics, [4.0, *range(11, 100)], own_time, alpha=0.0, span=3, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    bases = []
    search.moves.propose = lambda rng, strategy: bases.append(strategy) or next(search.moves.proposals)
    resets = []
    for _ in range(8):
        state, _ = search.step(rng, state)
        resets.append(state.last_reset)
    assert bases == [10.0, 4.0, 11.0, 4.0, 13.0, 14.0, 4.0, 16.0]
    assert resets == [0, 0, 0, 3, 3, 3, 6, 6]
    assert state.best.strategy == 4.0


# The original's rules


def test_the_original_builds_for_the_first_strategy_and_after_every_accepted_proposal():
    search, stub = given(ORIGINAL, [9.0, 8.0, 8.0, 7.5], own_time, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    assert stub.built_for == [10.0]
    assert (state.current.network, state.network) == ("first", "network 1 for 10.0")
    for n, strategy in enumerate((9.0, 8.0, 8.0, 7.5), 2):
        priced_on = state.network
        state, info = search.step(rng, state)
        assert info.accepted
        assert info.rebuilt
        assert state.current == (
            strategy,
            priced_on,
            strategy * MS,
            None,
            "",
        )  # its time is not that of the new network
        assert state.best.network == priced_on or strategy == 8.0
        assert state.network == f"network {n} for {strategy}"


def test_the_originals_topology_has_a_metropolis_test_of_its_own():
    """Alpha 0.5 per ms against the time it last took, for proposals the strategy's test rejects (section 5.4)."""
    n, rng = 4000, np.random.default_rng(2)
    search, _ = given(ORIGINAL, [10.0 + 1.0] * n, own_time, alpha=1e9, topoopt=True)
    state = search.init(rng, 10.0, "first")
    drifted = 0
    for _ in range(n):
        after, info = search.step(rng, state)
        assert not info.accepted
        assert after.current is state.current
        assert (after.network != state.network) == info.rebuilt == (after.topology_current == 11.0 * MS)
        assert after.topology_unchanged == (0 if info.rebuilt else 1)
        drifted += info.rebuilt
    p = np.exp(-0.5)
    assert abs(drifted - n * p) <= 4.5 * np.sqrt(n * p * (1 - p))


def test_a_drifted_network_prices_the_next_proposal_though_the_current_time_stays():
    def slower_after_drift(strategy, network):
        return strategy + (100.0 if network.startswith("network 2") else 0.0)

    search, stub = given(ORIGINAL, [9.9, 9.8], slower_after_drift, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    state = replace(state, current=state.current._replace(seconds=1.0 * MS), best=state.best._replace(seconds=1.0 * MS))
    state, info = search.step(rng, state)
    assert (info.accepted, info.rebuilt, stub.built_for) == (False, True, [10.0, 9.9])
    assert (state.current.seconds, state.current.network) == (1.0 * MS, "first")
    state, info = search.step(rng, state)
    assert info.proposed == pytest.approx(109.8 * MS)


def test_the_originals_patience_is_fifty():
    search, stub = given(ORIGINAL, [1000.0] * 120, own_time, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    rebuilt = []
    for i in range(120):
        state, info = search.step(rng, state)
        if info.rebuilt:
            rebuilt.append(i + 1)
    assert TOPOLOGY_PATIENCE == 50
    assert rebuilt == [50, 100]
    assert stub.built_for == [10.0, 1000.0, 1000.0]  # for the traffic of what was simulated last
    assert state.topology_current == 10.0 * MS
    assert state.topology_unchanged == 20


def test_equal_times_are_no_change_for_the_originals_topology():
    search, _ = given(ORIGINAL, [10.0], own_time, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    state = replace(state, current=state.current._replace(seconds=0.0))  # so that the strategy's own test rejects it
    state, info = search.step(rng, state)
    assert (info.accepted, info.rebuilt, state.topology_unchanged) == (False, False, 1)


# The corrected rules


def test_corrected_keeps_the_better_of_two_networks():
    gain = {"network 1 for 9.0": 2.0, "network 2 for 8.0": -2.0, "network 3 for 7.5": 2.0}

    def seconds(strategy, network):
        return strategy - gain.get(network, 0.0)

    search, stub = given(CORRECTED, [9.0, 8.0, 7.5, 9.5], seconds, alpha=1e9, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    assert stub.built_for == []
    state, info = search.step(rng, state)
    assert (info.proposed, info.accepted, info.rebuilt) == (9.0 * MS, True, True)
    assert state.network == state.current.network == state.best.network == "network 1 for 9.0"
    assert state.current.seconds == state.best.seconds == 7.0 * MS
    state, info = search.step(rng, state)  # 6 ms on the network there is, 10 ms on one of its own
    assert (info.proposed, info.accepted, info.rebuilt) == (6.0 * MS, True, False)
    assert state.current[:4] == state.best[:4] == (8.0, "network 1 for 9.0", 6.0 * MS, None)
    state, info = search.step(rng, state)  # as fast on both: the one there is stays
    assert (info.accepted, info.rebuilt, stub.built_for) == (True, False, [9.0, 8.0, 7.5])
    assert state.current[:4] == (7.5, "network 1 for 9.0", 5.5 * MS, None)
    state, info = search.step(rng, state)
    assert (info.accepted, stub.built_for) == (False, [9.0, 8.0, 7.5])


def test_what_is_drawn_again_is_not_priced_again_and_gets_so_many_networks_in_vain():
    priced = []

    def seconds(strategy, network):
        priced.append((strategy, network))
        return strategy - (1.0 if network.startswith("network 3 ") else 0.0)

    search, stub = given(CORRECTED, [10.0] * 200, seconds, topoopt=True)
    rng = np.random.default_rng(0)
    state = search.init(rng, 10.0, "first")
    accepted, rebuilt = [], []
    for _ in range(100):
        state, info = search.step(rng, state)
        accepted.append(info.accepted)
        rebuilt.append(info.rebuilt)
    assert all(accepted)
    assert np.flatnonzero(rebuilt).tolist() == [2]
    assert stub.built_for == [10.0] * (3 + PATIENCE)
    assert len(priced) == 1 + 3 + PATIENCE  # the start, and every network that was built
    assert (state.best.seconds, state.topology_unchanged) == (9.0 * MS, PATIENCE)


def test_a_rejected_proposal_changes_nothing_when_corrected():
    search, stub = given(CORRECTED, [1000.0] * 60, own_time, topoopt=True)
    rng = np.random.default_rng(0)
    state = start = search.init(rng, 10.0, "first")
    for _ in range(60):
        state, info = search.step(rng, state)
        assert not info.accepted
    assert stub.built_for == []
    for name in State.__slots__:
        assert name == "iteration" or getattr(state, name) is getattr(start, name)


# With real prices


def real_problem(semantics):
    return problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2), semantics)


@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random"])
@pytest.mark.parametrize("semantics", PRESETS)
def test_giving_up_early_decides_as_full_prices_do(semantics, topology, monkeypatch):
    """Same seed, once with prices that stop at the limit and once with full ones: same chain."""
    settings = Settings(topology, 120, method="mcmc", alpha=1.0, seed=3, propagation=True)
    full_price = Pricer.price
    chains, inexact = [], []
    for limited in (True, False):
        if not limited:
            monkeypatch.setattr(Pricer, "price", lambda self, rng, s, n, limit=np.inf: full_price(self, rng, s, n))
        ready = prepare(real_problem(PRESETS[semantics]), settings)
        state, chain, given_up = ready.state, [], 0
        for _ in range(120):
            state, info = ready.search.step(ready.rng, state)
            plans = [
                (plan.strategy.devices.tobytes(), plan.seconds, plan.network.route.tobytes())
                for plan in (state.current, state.best)
            ]
            chain.append((info.accepted, info.improved, info.rebuilt, *plans, state.topology_current))
            given_up += not info.exact
        chains.append(chain)
        inexact.append(given_up)
    assert chains[0] == chains[1]
    assert inexact[0] > 10
    assert inexact[1] == 0
    assert 5 < sum(entry[0] for entry in chains[0]) < 115


def test_the_current_time_is_always_the_time_on_the_kept_network_when_corrected():
    ready = prepare(
        real_problem(CORRECTED), Settings("topoopt", 60, method="mcmc", alpha=0.01, seed=1, propagation=True)
    )
    state, pricer, networks = ready.state, ready.search.pricer, set()
    for _ in range(60):
        state, _ = ready.search.step(ready.rng, state)
        for plan in (state.current, state.best):
            assert pricer.price(ready.rng, plan.strategy, plan.network).seconds == plan.seconds
        assert state.network is state.current.network
        networks.add(state.network.topology.links.tobytes() + state.network.route.tobytes())
    assert len(networks) > 1


def test_best_plans_keep_their_price_in_the_original_too():
    """The network (and ring directions) a best time was found with are those that are kept."""
    for topology in ("topoopt", "random"):
        ready = prepare(real_problem(ORIGINAL), Settings(topology, 60, seed=1, propagation=True))
        state = ready.state
        for _ in range(60):
            state, _ = ready.search.step(ready.rng, state)
            best = state.best
            assert ready.search.pricer.exact(best.strategy, best.network, best.directions).seconds == best.seconds
