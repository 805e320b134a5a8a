"""A portfolio of starts, annealed in rounds: what it promises whatever it is drawn."""

import itertools
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, own_keys, problem_of, random_configs, random_problem, tower

from flexnet.cost.roofline import roofline_table
from flexnet.errors import FlexNetError
from flexnet.exact.bound import lower_bound
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph
from flexnet.network.build import family_of
from flexnet.network.wiring.balance import crowding
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import Config, configs_of, make_strategy, same_strategy
from flexnet.search import portfolio
from flexnet.search.candidates import as_fast
from flexnet.search.checkpoint import checkpoint_json
from flexnet.search.crossing import crossed
from flexnet.search.driver import drive
from flexnet.search.finalists import finalists_of
from flexnet.search.find import find_plan
from flexnet.search.moves.blocks import copy_of
from flexnet.search.networks import Networks
from flexnet.search.portfolio import GIVEN_UP, Portfolio
from flexnet.search.prepare import prepare
from flexnet.search.prepared import Prepared
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import rebuilder
from flexnet.search.rounds import (
    GAIN,
    LAST_FIT,
    OF_A_KIND,
    POOL,
    RECUT,
    WORTH_A_SLOT,
    after_slot,
    akin,
    is_dive,
    is_fit,
    slot_length,
    stages_of,
    temperature,
    with_start,
)
from flexnet.search.settings import Settings
from flexnet.search.starts import STARTS
from flexnet.search.starts.kinds import StartKinds
from flexnet.search.trials import CROWDED
from flexnet.simulate.protocol import PROTOCOLS

pytestmark = pytest.mark.compiled  # whole searches: without JIT they take many minutes

TOPOLOGIES = ("topoopt", "fattree", "random", "fc")


def slow_problem() -> Problem:
    return problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2))


def prepared(topology: str = "topoopt", budget: int | None = 0, seed: int = 5, **more: object) -> Prepared:
    return prepare(slow_problem(), Settings(topology, budget, seed=seed, **more))


def annealed(ready: Prepared, n: int) -> list[tuple[object, ...]]:
    """What happened in each of some proposals, and the best times after them."""
    told: list[tuple[object, ...]] = []
    drive(ready.search, ready.rng, ready.state, n - 1, observe=lambda p, state, info: told.append((*info, p.best)))
    return told


def wired(seed: int = 5) -> Prepared:
    """A search on so many servers and links that networks matter."""
    problem = problem_of(tower(), Cluster(8, link_bandwidth=2e6, latency=1e-6, degree=4))
    return prepare(problem, Settings("topoopt", seed=seed))


@pytest.fixture
def short_rounds(monkeypatch):
    """Rounds of so few proposals that a search has many."""
    monkeypatch.setattr(portfolio, "FIRST_SLOT", 4)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_same_seed_same_bits_and_other_seeds_others(topology, short_rounds):
    documents = []
    for seed in (5, 5, 6):
        ready = prepared(topology, 400, seed)
        assert isinstance(ready.search, Portfolio)
        state = drive(ready.search, ready.rng, ready.state, 400).state
        assert state.schedule.round > 0
        documents.append(checkpoint_json(state, ready.rng))
    assert documents[0] == documents[1] != documents[2]
    assert annealed(prepared(topology, 400), 200) != annealed(prepared(topology, 400, 6), 200)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_longer_search_begins_as_a_shorter_one(topology, short_rounds):
    """So it never finds a worse plan, whatever the budget was said to be."""
    short = annealed(prepared(topology, 250), 250)
    long = annealed(prepared(topology, 500, time=1e6), 500)
    assert (len(short), len(long)) == (250, 500)
    assert long[:250] == short
    best = [entry[-1] for entry in long]
    assert best == sorted(best, reverse=True)
    found = [find_plan(slow_problem(), Settings(topology, budget, seed=5)).seconds for budget in (0, 30, 100, 400)]
    assert found == sorted(found, reverse=True)


def test_packets_of_every_finalist_arrive():
    """On links this slow timers go off just as connections end, which once left two with one connection, and no end."""
    ready = prepare(slow_problem(), Settings("topoopt", 30, seed=5))
    state = drive(ready.search, ready.rng, ready.state, 30).state
    finalists = finalists_of(state)
    assert len(finalists) > 4
    assert all(ready.timeline(plan).seconds < 2 * plan.seconds for plan in finalists)


def test_no_start_is_faster_than_what_is_found():
    """Priced alone, on the network there is: those of every kind, and data parallelism."""
    for start in ("all", *STARTS):
        ready = prepared("fattree", start=start)
        starts = [ready.state.current.strategy, *ready.state.schedule.pending]
        rng, network = np.random.default_rng(0), ready.state.network
        times = [ready.search.pricer.price(rng, s, network).seconds for s in starts]
        assert times[0] == ready.state.current.seconds
        outcome = drive(ready.search, ready.rng, ready.state, len(starts) - 2)
        assert outcome.state.schedule.held == (len(starts) > 1)
        assert all((s.after >= 0).any() for s in outcome.state.schedule.pending)
        assert outcome.best.seconds == min(times)
        assert ready.found(outcome).seconds <= ready.start.seconds
        found = find_plan(ready.problem, Settings("fattree", 300, seed=5, start=start))
        assert found.seconds <= found.start_seconds == ready.start.seconds


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_starts_may_be_laid_out_when_their_turn_comes(topology, monkeypatch):
    """All of them come, kind by kind, and then the best with reductions that wait; nothing is annealed before."""
    origins = set(prepared(topology).state.schedule.origins)
    monkeypatch.setattr("flexnet.search.prepare.LATER_TASKS", 0)
    laid, strategies = list[tuple[str, int]](), StartKinds.strategies

    def noted(kinds, name, rng):
        found = strategies(kinds, name, rng)
        laid.append((name, len(found)))
        return found

    monkeypatch.setattr(StartKinds, "strategies", noted)
    ready = prepared(topology)
    state, unlaid = ready.state, ready.state.schedule.unlaid
    assert not laid and not state.schedule.pending
    while not state.schedule.held:
        state, info = ready.search.step(ready.rng, state)
        assert (info.tried, state.schedule.round, state.schedule.entrants) == ("start", 0, ())
        assert state.iteration + len(state.schedule.pending) == sum(n for _, n in laid) or state.schedule.held
        assert len(set(state.schedule.origins)) <= 1 or state.schedule.held
    assert tuple(name for name, _ in laid) == unlaid and not state.schedule.unlaid
    assert state.iteration == sum(n for _, n in laid)
    assert {STARTS[name].name for name, n in laid if n} == origins
    assert state.schedule.pending and all((one.after >= 0).any() for one in state.schedule.pending)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_data_parallelism_is_never_faster(topology):
    for seed in range(3):
        found = find_plan(slow_problem(), Settings(topology, 0, seed=seed))
        assert found.seconds <= found.start_seconds
        ready = prepare(slow_problem(), Settings(topology, seed=seed))
        assert found.start_seconds == ready.start.seconds
        assert found.start_searched_seconds == ready.state.current.seconds
    assert found.start_name == "data-parallel"


def test_an_imported_start_is_the_only_one():
    start = [Config((1, 1), (3,))] * 5
    ready = prepare(slow_problem(), Settings("fattree", 0), start)
    assert ready.state.schedule.pending == ()
    assert configs_of(ready.problem, ready.state.current.strategy) == start
    assert ready.start_name == "imported"


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_plans_take_what_they_are_said_to_take(topology, short_rounds):
    """Of what is kept: current and best plan, pool, entrants and results; fastest first, no two as fast or akin."""
    ready = prepared(topology)
    state, slots = ready.state, set()
    for _ in range(400):
        state, _ = ready.search.step(ready.rng, state)
        schedule = state.schedule
        assert state.network is state.current.network
        assert 1 <= len(schedule.pool) <= POOL
        times = [plan.seconds for plan in schedule.pool]
        assert times == sorted(times)
        assert all(b - a > 1e-6 * a for a, b in itertools.pairwise(times))
        assert not any(akin(a, b) for a, b in itertools.combinations(schedule.pool, 2))
        assert state.best.seconds <= min(times[0], state.current.seconds)
        slots.add((schedule.round, schedule.stage, schedule.slot))
    for plan in (state.current, state.best, *schedule.pool, *schedule.entrants, *schedule.results):
        price = ready.search.pricer.price(np.random.default_rng(0), plan.strategy, plan.network)
        assert price.seconds == plan.seconds
        plan.network.topology.check(2 if topology in ("topoopt", "random") else None)
    assert {(0, 0, 0), (0, 0, 3), (0, 1, 0), (0, 1, 1), (0, 2, 0), (1, 0, 0)} <= slots


def test_of_every_slot_the_best_goes_on(short_rounds):
    """To the next stage the faster ones, and to the pool all but those that are akin to a faster one."""
    ready = prepared("fattree")
    state, of_slot, of_stage, stages = ready.state, [], [], 0
    for _ in range(1500):
        before = state.schedule
        state, _ = ready.search.step(ready.rng, state)
        schedule = state.schedule
        if before.pending:
            continue
        if before.at == 0:
            of_slot = [before.entrants[before.slot] if before.entrants else schedule.slot_best]
        of_slot.append(state.current)
        if schedule.at > 0:
            assert schedule.slot_best.seconds == min(plan.seconds for plan in of_slot)
            continue
        of_stage.append(min(of_slot, key=lambda plan: plan.seconds))
        times = [plan.seconds for plan in of_stage]
        if schedule.results:
            assert [plan.seconds for plan in schedule.results] == times
            continue
        full, last = len(schedule.pool) == POOL, schedule.pool[-1].seconds
        for plan in of_stage:
            near = [one for one in (*before.pool, *of_stage) if one.seconds <= plan.seconds and one is not plan]
            assert (
                any(as_fast(plan, one) for one in schedule.pool)
                or (full and plan.seconds >= last)
                or any(akin(plan, one) for one in near)
            )
        if schedule.entrants:
            assert [plan.seconds for plan in schedule.entrants] == sorted(times)[: len(schedule.entrants)]
        stages += 1
        of_stage = []
    assert stages > 6


def test_rounds_begin_with_the_best_and_with_starts_of_all_kinds(short_rounds):
    ready = prepared("fattree")
    state, seen = ready.state, set()
    for _ in range(3000):
        before = state.schedule
        state, _ = ready.search.step(ready.rng, state)
        entrants = state.schedule.entrants
        if before.pending or before.entrants:
            continue
        fit, dive = is_fit(before.round), is_dive(before.round)
        worth = [one for one in before.starts if one.seconds <= WORTH_A_SLOT * before.starts[0].seconds]
        pool = worth if fit or dive else before.pool
        n_slot = min(12, len(pool)) if fit else 6 if dive else min(4, len(pool))
        if fit:  # the best of the pool are fitted once more, the first one twice as often
            refits = entrants[n_slot:]
            assert len(refits) == 3 * (1 + min(3, len(before.pool)))
            again = 3 * [before.pool[0], *before.pool[:3]]
            assert all(one is plan for one, plan in zip(refits, again, strict=True))
            entrants = entrants[:n_slot]
        assert len(entrants) == n_slot
        assert all(any(one is plan for plan in pool) for one in entrants)
        assert len({id(one) for one in entrants}) == min(n_slot, len(pool))
        if fit or dive:
            first = entrants[: len({plan.origin for plan in pool})]
            assert len({plan.origin for plan in first}) == min(len(first), n_slot)
        else:
            assert entrants[0] is pool[0]
        seen.add((fit, dive))
    assert seen == {(True, False), (False, True), (False, False)}


def test_the_best_are_fitted_from_temperatures_at_which_they_lose_their_networks_and_do_not(short_rounds):
    ready = wired(3)
    state = ready.state
    while state.schedule.round < 1 or not state.schedule.entrants:
        state, _ = ready.search.step(ready.rng, state)
    schedule = state.schedule
    n_refit = 1 + min(3, len(schedule.pool))
    begins = [temperature(replace(schedule, slot=slot, at=0), 10) for slot in range(len(schedule.entrants))]
    assert begins[-3 * n_refit :] == [0.08] * n_refit + [0.03] * n_refit + [0.01] * n_refit
    assert set(begins[: -3 * n_refit]) == {0.01}


def test_fits_change_networks_and_what_reductions_wait_for_alone(short_rounds):
    """What they found are starts to dive from, and plans of the pool."""
    ready = wired(3)
    state = ready.state
    while state.schedule.round < 1 or not state.schedule.entrants:
        state, _ = ready.search.step(ready.rng, state)
    rewired, tried, faster, found, before = 0, set(), 0, [], state.schedule
    while state.schedule.round == 1:
        slot, (state, info) = state.schedule.slot, ready.search.step(ready.rng, state)
        tried.add(info.tried)
        if state.schedule.at == 0:
            continue
        entrant, now = state.schedule.entrants[slot], state.current
        found.append(state.schedule.slot_best)
        assert np.array_equal(now.strategy.choice, entrant.strategy.choice)
        assert np.array_equal(now.strategy.devices, entrant.strategy.devices)
        rewired += now.network is not entrant.network
        faster += found[-1].seconds < entrant.seconds
    assert rewired
    assert tried == {"rewire", "hold"}
    assert faster
    new = [one for one in found if not any(one is plan for plan in (*before.starts, *before.pool))]
    assert any(plan is one for plan in state.schedule.starts for one in new)
    assert any(plan is one for plan in state.schedule.pool for one in new)
    assert state.schedule.credit == before.credit  # they say nothing of other moves
    assert state.schedule.gains == before.gains


def test_heavy_operators_are_cut_anew_before_fits(short_rounds):
    """Of the best plan's, on networks built for them; those that its network does not suit are fitted.

    So are plans that differ from it in what reductions wait for.
    """
    ready = wired(4)
    state, fitted, only_held, rounds = ready.state, 0, 0, set()
    for _ in range(2500):
        before = state
        state, info = ready.search.step(ready.rng, state)
        schedule = state.schedule
        if info.tried != RECUT:
            if schedule.at == 1 and schedule.slot == 0 and is_fit(schedule.round):
                fits = schedule.entrants[: -3 * (1 + min(3, len(schedule.pool)))]
                recuts = [plan for plan in fits if plan.origin == RECUT]
                assert schedule.round <= LAST_FIT or len(recuts) == len(fits)
                fitted += len(recuts)
            continue
        assert is_fit(schedule.round)
        rounds.add(schedule.round)
        assert sum(plan.origin == RECUT for plan in schedule.starts) <= OF_A_KIND
        for plan in schedule.starts:
            if plan.origin == RECUT and not any(plan is one for one in before.schedule.starts):
                here = ready.search.trials.here(
                    np.random.default_rng(0), plan.strategy, before.best.network, np.inf, ""
                )
                other_cuts = not np.array_equal(plan.strategy.choice, before.best.strategy.choice)
                assert here.seconds > plan.seconds or not other_cuts
                only_held += not other_cuts
    assert rounds >= {1, 5}
    assert fitted
    assert only_held


def test_where_nothing_can_be_fitted_dives_come_next(short_rounds):
    ready = prepared("fattree", moves={"recut": 1.0})
    state, rounds = ready.state, set()
    for _ in range(300):
        state, _ = ready.search.step(ready.rng, state)
        rounds.add((state.schedule.round, bool(state.schedule.entrants)))
    assert not {(1, True), (2, True), (5, True)} & rounds
    assert (3, True) in rounds
    assert state.schedule.left_out >= 2
    lengths = [slot_length(replace(state.schedule, round=4, stage=0, left_out=left_out), 4) for left_out in (0, 2)]
    assert lengths == [8, 4]  # rounds that are left out do not make others longer


def test_of_every_origin_as_many_starts_are_kept():
    ready = prepared("fattree")
    first = ready.state.best
    starts = ()
    for k in range(20):
        plan = first._replace(seconds=1.0 + 0.1 * k, origin="groups" if k < 15 else "stages")
        starts = with_start(starts, plan)
    assert [plan.origin for plan in starts] == ["groups"] * OF_A_KIND + ["stages"] * 5


def test_networks_on_which_transfers_crowd_less_may_take_longer():
    ready = wired()
    trials, current, limits = ready.search.trials, ready.state.current, set()
    apart = current.strategy.devices.copy()  # every second operator lies on the servers in another order
    apart[1::2] = np.where(apart[1::2] >= 0, (apart[1::2] + 3) % 8, -1)
    current = trials.priced(
        np.random.default_rng(0), current.strategy._replace(devices=apart), current.network, np.inf, ""
    )
    demand = trials.pricer.demand(current.strategy)
    for seed in range(40):
        plan, limit = trials.rewired(np.random.default_rng(seed), current, 1.0)
        before, after = crowding(current.network, demand), crowding(plan.network, demand)
        assert limit == pytest.approx((before / after) ** CROWDED if before > 0 else 1.0)
        limits.add(round(limit, 9))
    assert min(limits) < 1.0 < max(limits)


def test_rounds_that_gain_nothing_are_counted_but_for_fits(short_rounds):
    """Also where there is always something to fit, so that a search without a limit ends."""
    ready = wired()
    state = ready.state
    while state.schedule.round < 1:
        state, _ = ready.search.step(ready.rng, state)
    schedule, best = state.schedule, state.best
    counted = []
    for round_ in range(1, 10):
        last = len(stages_of(round_)) - 1
        schedule = replace(schedule, round=round_, stage=last, slot=0, entrants=(best,), slot_best=best, results=())
        schedule = after_slot(replace(schedule, before=best.seconds), best)
        assert schedule.round == round_ + 1
        counted.append(schedule.stale - state.schedule.stale)
    assert counted == [0, 1, 2, 3, 3, 4, 5, 6, 6]


def test_recuts_stay_however_alike_they_are():
    """They differ in one operator, and by that in the networks they need; starts of other kinds are one if so alike."""
    first = prepared("fattree").state.best
    for origin, n in ((RECUT, 3), ("stages", 1)):
        starts = ()
        for seconds in (1.001, 1.0, 1.002, 1.0):
            starts = with_start(starts, first._replace(seconds=seconds, origin=origin))
        assert [plan.seconds for plan in starts] == [1.0, 1.001, 1.002][:n]
        for akin_one in ("groups", RECUT):  # neither kind keeps the other out
            others = with_start(starts, first._replace(seconds=1.0005, origin=akin_one))
            assert any(plan.seconds == 1.0005 for plan in others) == (RECUT in (origin, akin_one))


def test_a_block_is_crossed_as_it_is_in_the_other_plan():
    problem = problem_of(tower(), Cluster(4, link_bandwidth=1e9, degree=2))
    ready = prepare(problem, Settings("fattree", None))
    blocks, rng = ready.search.moves.space.blocks, np.random.default_rng(0)
    one = ready.state.current.strategy
    others = [
        plan
        for plan in (ready.search._propose(rng, one, (1.0,) * len(ready.search.moves.moves))[1] for _ in range(50))
        if plan is not None
    ]
    changed = 0
    for other in others:
        new = crossed(rng, blocks, one, other)
        if new is None:
            continue
        changed += 1
        for op in range(len(one.choice)):
            rows = [(s.choice[op], s.devices[op].tolist(), s.after[op]) for s in (new, one, other)]
            assert rows[0] in rows[1:]
        assert same_strategy(make_strategy(problem, configs_of(problem, new)), new)
    assert changed


@pytest.mark.parametrize(("topology", "n_server"), [("topoopt", 4), ("fattree", 2), ("fc", 1)])
def test_without_a_limit_it_ends_when_some_rounds_gain_nothing(topology, n_server, short_rounds):
    problem = problem_of(mlp(2), Cluster(n_server, link_bandwidth=2e6, degree=2))
    ready = prepare(problem, Settings(topology, None))
    befores: dict[int, float] = {}

    def watch(progress, state, info):
        if not state.schedule.pending:  # the first round begins when all starts are priced
            befores.setdefault(state.schedule.round, state.best.seconds)

    outcome = drive(ready.search, ready.rng, ready.state, None, observe=watch)
    schedule = outcome.state.schedule
    assert not outcome.interrupted
    assert ready.search.over(outcome.state) and schedule.stale == GIVEN_UP
    assert (schedule.stage, schedule.slot, schedule.at) == (0, 0, 0)  # at the end of a round
    assert outcome.best.seconds >= befores[schedule.round - GIVEN_UP] * (1 - GAIN) ** GIVEN_UP
    # A number of proposals is a limit, and so is a time: it goes on until then.
    budget = outcome.state.iteration + 10
    assert drive(ready.search, ready.rng, outcome.state, budget).state.iteration == budget + 1


def test_a_time_ends_a_search():
    found = find_plan(slow_problem(), Settings("fattree", None, time=0.2))
    assert found.search_s >= 0.2
    assert not found.interrupted
    assert find_plan(slow_problem(), Settings("fattree", 20, time=1e6)).iterations == 21


def test_memory_limits_every_plan(short_rounds):
    ready = prepare(slow_problem(), Settings("topoopt", gpu_memory=14_000.0))
    state = ready.state
    for _ in range(300):
        state, _ = ready.search.step(ready.rng, state)
        for plan in (state.current, state.best, *state.schedule.pool):
            assert ready.search.pricer.memory_needed(plan.strategy) <= 14_000


def test_a_portfolio_is_not_for_the_originals_semantics():
    problem = problem_of(tower(), Cluster(4), ORIGINAL)
    with pytest.raises(FlexNetError, match="method portfolio is not for original semantics"):
        prepare(problem, Settings("fattree", method="portfolio"))


# Against every strategy there is


def joined() -> ModelGraph:
    b = GraphBuilder("joined", 12)
    b.concat([b.dense(b.input(8), 4), b.embedding(b.input(2, dtype="int64"), 50, 4)], axis=1)
    return own_keys(b.build())


TINY = {
    "two layers on four servers": (lambda: mlp(2), 4),
    "two layers on three servers": (lambda: mlp(2, batch=12), 3),
    "three layers on two servers": (lambda: mlp(3), 2),
    "a table and a layer on three servers": (joined, 3),
}


def optimum(problem: Problem, pricer: Pricer, network: object) -> float:
    """The least time of all strategies, on one network."""
    options = [
        [
            Config(entry.degrees, devices)
            for entry in entries
            for devices in itertools.permutations(range(problem.cluster.n_server), prod(entry.degrees))
        ]
        for entries in problem.candidates
    ]
    rng, best = np.random.default_rng(0), np.inf
    for configs in itertools.product(*options):
        best = min(best, pricer.price(rng, make_strategy(problem, configs), network, best).seconds)
    return best


@pytest.mark.compiled
@pytest.mark.parametrize("speed", [3e5, 2e6, 1e8])
@pytest.mark.parametrize("case", TINY)
def test_the_optimum_of_all_strategies_is_found(case, speed):
    graph, n_server = TINY[case]
    problem = problem_of(graph(), Cluster(n_server, link_bandwidth=speed, degree=2))
    ready = prepare(problem, Settings("fattree", 3000))
    best = optimum(problem, ready.search.pricer, ready.state.network)
    outcome = drive(ready.search, ready.rng, ready.state, 3000)
    assert outcome.best.seconds == pytest.approx(best, rel=1e-9)
    found = ready.found(outcome)
    assert found.seconds <= ready.timeline(outcome.best).seconds
    assert found.bound is not None
    assert 0 < found.bound.seconds <= best


# What needs no simulation


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_no_network_is_faster_than_the_floor(seed):
    """Of a strategy, on networks of the family and on those that are wired for just its traffic."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    degree = int(rng.integers(2, 5))
    cluster = Cluster(
        problem.cluster.n_server,
        problem.cluster.big_gpu,
        link_bandwidth=float(rng.choice([1e3, 1e5, 1e7])),
        inter_gpu_bandwidth=25e9,
        latency=float(rng.choice([0.0, 1e-6])),
        degree=min(degree, max(problem.cluster.n_server, 1)),
    )
    problem = make_problem(problem.graph, problem.table, cluster, problem.semantics)
    family = family_of("topoopt", degree=cluster.degree, semantics=problem.semantics)
    networks = Networks(problem, rebuilder(problem, family), cluster.degree)
    pricer = Pricer(problem, every_exact=True)
    for _ in range(4):
        strategy = make_strategy(problem, random_configs(rng, problem))
        floor = pricer.floor(strategy, cluster.degree)
        demand = pricer.demand(strategy)
        network = networks.rebuild(rng, demand)
        for _ in range(3):
            assert floor <= pricer.price(rng, strategy, network).seconds * (1 + 1e-9)
            network = networks.built(rng, demand)[0]
        exact = pricer.exact(strategy, networks.changed(rng, network, demand), None).seconds
        assert floor <= exact * (1 + 1e-7)  # files have times in float32


def test_the_floor_allows_for_all_reduces_that_are_cut_short():
    """102 kB over eight servers go round once in place of 14 times, unless the protocol is another one."""
    b = GraphBuilder("small", 64)
    x = b.input(160)
    for _ in range(3):
        x = b.dense(x, 160, bias=False)
    graph = b.build()
    table = roofline_table(graph, "a100", n_server=8)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=1e8, degree=2), CORRECTED)
    ready = prepare(problem, Settings("fattree", 1, start="data"))
    strategy, network = ready.state.current.strategy, ready.state.network
    floors = []
    for protocol in (PROTOCOLS["flexnetpacket"], PROTOCOLS["dctcp"]):
        pricer = Pricer(problem, every_exact=True, protocol=protocol)
        floors.append(pricer.floor(strategy, 1))
        assert floors[-1] <= pricer.price(ready.rng, strategy, network).seconds
    assert floors[1] > 10 * floors[0]


def test_what_changes_nothing_is_not_priced(monkeypatch):
    ready = prepared("fattree")
    state = ready.state
    while state.schedule.pending:
        state, _ = ready.search.step(ready.rng, state)
    priced, price = [], Pricer.price
    monkeypatch.setattr(Pricer, "price", lambda self, *args: priced.append(args) or price(self, *args))
    while not priced:
        state, _ = ready.search.step(ready.rng, state)
    monkeypatch.setattr(portfolio, "CROSSED", 0.0)
    monkeypatch.setattr(Portfolio, "_propose", lambda self, rng, strategy, credit: (0, copy_of(strategy)))
    for _ in range(20):
        state, info = ready.search.step(ready.rng, state)
        assert info.proposed == state.current.seconds
    assert len(priced) == 1


def test_the_floor_is_reached_where_servers_only_compute():
    problem = problem_of(mlp(2), Cluster(4, link_bandwidth=1e3))
    pricer = Pricer(problem, every_exact=True)
    alone = make_strategy(problem, [Config((1, 1), (2,))] * 2)
    start = prepare(problem, Settings("fattree"), configs_of(problem, alone)).start
    assert pricer.floor(alone, 4) == pytest.approx(start.seconds)
    assert lower_bound(problem, family_of("topoopt", degree=4, semantics=CORRECTED)).seconds <= pricer.floor(alone, 4)


def test_networks_are_built_as_often_as_they_pay() -> None:
    """At most for half the proposals; where current networks bring all the gains, seldom, but never not at all."""
    own_pays = current_pays = (portfolio.UNTRIED, portfolio.UNTRIED)
    for step in range(4000):
        worth = float(step % 20 == 0)
        own_pays = portfolio._after_gain(own_pays, worth, rebuilt=True, built=True)
        current_pays = portfolio._after_gain(current_pays, worth, rebuilt=False, built=step % 4 == 0)
    for times in (portfolio.REBUILDING, portfolio.REBUILDING_MANY):
        assert portfolio._share_rebuilt(*own_pays, times) == portfolio.REBUILT
        assert portfolio._share_rebuilt(*current_pays, times) == portfolio.LEAST_REBUILT
    assert current_pays[1] == pytest.approx(0.05, rel=0.2)
    before = (0.1, 0.2)
    own, current = portfolio._after_gain(before, 0.0, rebuilt=False, built=False)
    assert own == before[0] and 0 < current < before[1]
