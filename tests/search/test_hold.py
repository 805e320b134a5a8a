"""Reductions that wait for other operators: what the move does, what it costs, and that it pays."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import own_keys, random_configs, random_problem, waiting

from flexnet.cost.configs import every_degrees
from flexnet.cost.estimate import complete_table
from flexnet.cost.roofline import roofline_table
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.operators import kind_of
from flexnet.network.network import connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, configs_of, make_strategy, same_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.search.candidates import Candidate
from flexnet.search.find import find_plan
from flexnet.search.moves.blocks import make_blocks
from flexnet.search.moves.hold import Hold, other_holds, with_cuts_held, with_regions_held
from flexnet.search.moves.mix import block_shares, make_mix
from flexnet.search.moves.space import make_space
from flexnet.search.outputs.strategy import StrategyText
from flexnet.search.plan import price
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.units import gbps_to_bytes_per_s

SEEDS = st.integers(0, 2**32 - 1)
N_SERVER = 4
WAYS = (with_regions_held, partial(with_regions_held, all_of_it=True), with_cuts_held)


def stages() -> tuple[Problem, list[Config]]:
    """A chain of six layers of 64 MB of weights each, the first three on servers 0 and 1, the others on 2 and 3."""
    b = GraphBuilder("stages", 4096)
    x = b.input(4096)
    for _ in range(6):
        x = b.dense(x, 4096, bias=False)
    graph = own_keys(b.build())
    entries = {
        op.key: tuple(Entry(degrees, 1e-4, 2e-4, 1000) for degrees in every_degrees(op, n_server=N_SERVER, big_gpu=0))
        for op in graph.operators
    }
    table = CostTable(graph.batch_size, N_SERVER, entries, False, "m.json", {})
    cluster = Cluster(N_SERVER, link_bandwidth=gbps_to_bytes_per_s(100))
    configs = [Config((1, 2), (0, 1))] * 3 + [Config((1, 2), (2, 3))] * 3
    return make_problem(graph, table, cluster, CORRECTED), configs


@pytest.mark.compiled  # of packets; shares of links tell less of it
def test_gradients_that_wait_let_those_through_that_others_wait_for(tmp_path):
    """The stages' all-reduces need 16 ms each; without order those of the first begin when the others have ended."""
    problem, configs = stages()
    topology = fat_tree(N_SERVER)
    routes = routes_for(topology, CORRECTED, np.random.default_rng(0))
    network = connect(topology, problem.cluster.link_bandwidth, 1e-6, routes)
    eager = price(problem, configs, network)
    ordered = price(problem, [*configs[:3], *(c._replace(after="Dense_102") for c in configs[3:])], network)
    assert ordered.seconds < 0.8 * eager.seconds
    assert price(problem, ordered.configs, network).seconds == ordered.seconds
    assert StrategyText().write(eager, tmp_path / "s.txt") == ()
    (remark,) = StrategyText().write(ordered, tmp_path / "s.txt")
    assert "cannot say that the gradients of 3 operators wait for others" in remark
    assert "Dense_105" in ordered.summary()
    assert ordered.summary().count("reduced after Dense_102") == 3
    assert [config.get("after") for config in ordered.to_dict()["configs"].values()] == [None] * 3 + ["Dense_102"] * 3


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_nothing_but_all_reduces_waits(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    configs = random_configs(rng, problem)
    eager = build(problem, make_strategy(problem, configs))
    ordered = build(problem, make_strategy(problem, waiting(rng, problem, configs)))
    assert np.array_equal(ordered.kind, eager.kind)
    for task in range(eager.n_task):
        before, now = eager.successors(task).tolist(), ordered.successors(task).tolist()
        assert [t for t in now if ordered.kind[t] != ALLREDUCE] == [t for t in before if eager.kind[t] != ALLREDUCE]
        assert set(before) <= set(now)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_hold_changes_what_reductions_wait_for_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    strategy = make_strategy(problem, waiting(rng, problem, random_configs(rng, problem)))
    changed = Hold(make_space(problem, strided=True)).propose(rng, strategy)
    if changed is None:
        return
    assert np.array_equal(changed.choice, strategy.choice)
    assert np.array_equal(changed.devices, strategy.devices)
    new = changed.after != strategy.after
    assert new.any()
    late = np.flatnonzero(new & (changed.after >= 0))
    assert all(problem.graph.operators[op].weights for op in late)
    assert (changed.after[new] < np.flatnonzero(new)).all()  # operators before theirs, whose backward pass comes later
    assert same_strategy(make_strategy(problem, configs_of(problem, changed)), changed)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_other_holds_are_none_and_those_of_regions_and_cuts(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    space = make_space(problem, strided=False)
    strategy = make_strategy(problem, waiting(rng, problem, random_configs(rng, problem)))
    none = strategy._replace(after=np.full_like(strategy.after, -1))
    ways = {one.after.tobytes(): one for one in (none, *(way(space.blocks, none) for way in WAYS))}
    ways.pop(strategy.after.tobytes(), None)
    found = other_holds(space, strategy)
    assert len(found) == len(ways)
    assert all(map(same_strategy, found, ways.values()))
    assert not other_holds(make_space(problem, strided=False, ordered=False), strategy)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_regions_wait_for_the_last_they_read_elsewhere(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    strategy = make_strategy(problem, random_configs(rng, problem))
    held = with_regions_held(make_blocks(problem), strategy)
    assert same_strategy(held._replace(after=strategy.after), strategy)
    at = [frozenset(row[row >= 0].tolist()) for row in strategy.devices]
    for op in np.flatnonzero(held.after >= 0):
        before = int(held.after[op])
        assert before < op
        assert at[before] != at[op]
        readers = [reader for reader in problem.graph.operators if any(s.op == before for s in reader.inputs)]
        assert any(at[reader.index] == at[op] for reader in readers)
        assert not kind_of(problem.graph.operators[before]).whole


def test_regions_wait_for_all_branches_that_cross_their_border() -> None:
    """What reads two layers of another stage waits for the later, or for both: the earlier, whose pass comes last."""
    b = GraphBuilder("branches", 64)
    x = b.dense(b.input(64), 64)
    y = b.dense(x, 64)
    b.dense(b.concat([x, y], axis=1), 64)
    graph = own_keys(b.build())
    table = complete_table(roofline_table(graph, "a100", n_server=N_SERVER), graph)
    problem = make_problem(graph, table, Cluster(N_SERVER), CORRECTED)
    space = make_space(problem, strided=False, ordered=True)
    strategy = make_strategy(problem, [Config((1, 2), (0, 1))] * 2 + [Config((1, 2), (2, 3))] * 2)
    assert with_regions_held(space.blocks, strategy).after.tolist() == [-1, -1, -1, 1]
    assert with_regions_held(space.blocks, strategy, all_of_it=True).after.tolist() == [-1, -1, -1, 0]
    assert {tuple(one.after.tolist()) for one in other_holds(space, strategy)} == {(-1, -1, -1, 1), (-1, -1, -1, 0)}


def test_what_is_behind_another_cut_waits_for_what_that_reads():
    """The third of five layers is cut along its inputs too: it and those before it do not wait, those behind it do."""
    problem, _ = stages()
    space = make_space(problem, strided=False)
    servers = (0, 1, 2, 3)
    configs = [Config((1, 4), servers)] * 2 + [Config((1, 2, 2), servers)] + [Config((1, 4), servers)] * 3
    plain = make_strategy(problem, [Config((1, 4), servers)] * 6)
    assert same_strategy(with_cuts_held(space.blocks, plain), plain)
    held = with_cuts_held(space.blocks, make_strategy(problem, configs))
    assert held.after.tolist() == [-1, -1, -1, 1, 1, 1]
    twice = make_strategy(problem, configs[:4] + configs[2:3] + configs[5:])
    assert with_cuts_held(space.blocks, twice).after.tolist() == [-1, -1, -1, 1, 2, 3]


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_what_waits_behind_another_cut_has_gradients_and_waits_for_an_operator_before_it(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    strategy = make_strategy(problem, random_configs(rng, problem))
    held = with_cuts_held(make_blocks(problem), strategy)
    assert same_strategy(held._replace(after=strategy.after), strategy)
    for op in np.flatnonzero(held.after >= 0):
        assert held.after[op] < op
        assert problem.graph.operators[op].weights
        assert not kind_of(problem.graph.operators[held.after[op]]).whole


def test_eager_reductions_never_begin_with_those_that_wait():
    problem, configs = stages()
    start = [*configs[:3], *(c._replace(after="Dense_102") for c in configs[3:])]
    assert find_plan(problem, Settings("fattree", 0, seed=0), start).start_name == "imported"
    for how in (Settings("fattree", 0, reductions="eager"), Settings("fattree", 0, method="mcmc")):
        with pytest.raises(FlexNetError, match=r"^gradients of operator Dense_103 wait in a starting strategy"):
            find_plan(problem, how, start)
    with pytest.raises(FlexNetError, match=r"^move hold lets reductions wait, which eager ones do not; leave out one"):
        Settings("fattree", 0, reductions="eager", moves={"hold": 1.0})
    with pytest.raises(FlexNetError, match=r"^unknown reductions 'late'; choose one of ordered, eager$"):
        Settings("fattree", 0, reductions="late")


def test_a_found_plan_keeps_the_waits_that_pay():
    """Layers of the second stage wait for the first and pay; what the first waits for has ended by then."""
    problem, configs = stages()
    ready = prepare(problem, Settings("fattree", 0, seed=0))
    strategy = make_strategy(problem, [*configs[:3], *(c._replace(after="Dense_102") for c in configs[3:])])
    idle = strategy._replace(after=np.array([-1, 0, 0, 2, 2, 2]))
    network = ready.state.network
    best = Candidate(idle, network, ready.search.pricer.rough(idle, network, None).seconds, None)
    settled, timeline = ready._settled(best, ready.timeline(best))
    assert settled.strategy.after.tolist() == [-1, -1, -1, 2, 2, 2]
    assert timeline.seconds <= ready.timeline(best).seconds


def test_eager_reductions_never_wait():
    problem, configs = stages()
    space = make_space(problem, strided=True, ordered=False)
    mix = make_mix(space, block_shares(space))
    assert "hold" in block_shares(make_space(problem, strided=True))
    assert "hold" not in block_shares(space)
    rng, strategy = np.random.default_rng(0), make_strategy(problem, configs)
    for _ in range(300):
        strategy = mix.propose(rng, strategy) or strategy
        assert (strategy.after == -1).all()
