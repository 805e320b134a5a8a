"""Blocks of operators, and the moves that change them together."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import cost_table, mlp, problem_of, random_configs, random_model, waiting

from flexnet.cost.configs import every_degrees
from flexnet.cost.shape_names import shape_name
from flexnet.model.builder import GraphBuilder
from flexnet.model.cutting import partial_sums
from flexnet.model.graph import ModelGraph, OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, Strategy, configs_of, make_strategy, same_strategy
from flexnet.search.moves import MOVES
from flexnet.search.moves.blocks import across, copy_of, home, make_blocks, spread
from flexnet.search.moves.chains import chains_of
from flexnet.search.moves.deal import deal_out
from flexnet.search.moves.space import make_space

SEEDS = st.integers(0, 2**32 - 1)


class Drawn:
    """A generator that answers with given numbers, first those below 1 and those that are whole as they are asked."""

    def __init__(self, reals: list[float], wholes: list[int]) -> None:
        self.reals, self.wholes = list(reals), list(wholes)

    def random(self) -> float:
        return self.reals.pop(0)

    def integers(self, low: int, high: int | None = None) -> int:
        drawn = self.wholes.pop(0)
        assert (0 if high is None else low) <= drawn < (low if high is None else high)
        return drawn


def keyed_by_shape(graph: ModelGraph) -> ModelGraph:
    """The same model, in which operators of equal shape share their measurement, as real ones do."""
    plain = [replace(op, key=op.key.partition("#")[0]) for op in graph.operators]
    return replace(graph, operators=tuple(replace(op, key=shape_name(op)) for op in plain))


def every_cut(graph: ModelGraph, n_server: int) -> Problem:
    """Operators may be cut in any way there is."""
    ways = [every_degrees(op, n_server=n_server, big_gpu=0) for op in graph.operators]
    return make_problem(graph, cost_table(graph, n_server, ways), Cluster(n_server), CORRECTED)


def random_case(seed: int) -> tuple[np.random.Generator, Problem, Strategy]:
    """A problem with operators alike and unlike, and a strategy for it."""
    rng = np.random.default_rng(seed)
    problem = every_cut(keyed_by_shape(random_model(rng)), int(rng.integers(1, 9)))
    return rng, problem, make_strategy(problem, waiting(rng, problem, random_configs(rng, problem)))


def assert_legal(problem: Problem, strategy: Strategy) -> None:
    assert same_strategy(make_strategy(problem, configs_of(problem, strategy)), strategy)


def edges(graph: ModelGraph) -> set[tuple[int, int]]:
    return {(s.op, op.index) for op in graph.operators for s in op.inputs if s.op is not None}


def towers() -> ModelGraph:
    """Two towers alike (0-1, 2-3) and a table (4), joined (5); two heads (7 and 8) that read a layer (6)."""
    b = GraphBuilder("towers", 8)
    joined = [b.dense(b.dense(b.input(16), 4), 4) for _ in range(2)]
    joined.append(b.embedding(b.input(1, dtype="int64"), 10, 4))
    x = b.dense(b.concat(joined, axis=1), 6)
    for _ in range(2):
        b.softmax(x)
    return b.build()


def test_something_is_sent_where_servers_or_cuts_differ():
    problem = every_cut(towers(), 4)
    blocks = make_blocks(problem)
    assert blocks.edges.tolist() == sorted(map(list, edges(problem.graph)))
    assert blocks.border((0, 1)).tolist() == [[1, 5]]
    assert blocks.border((5, 6)).tolist() == [[1, 5], [3, 5], [4, 5], [6, 7], [6, 8]]
    assert len(blocks.border(tuple(range(9)))) == 0
    configs = [Config((1, 2), (0, 1))] * 9
    configs[4] = Config((1, 1), (0,))  # a table is never cut
    sends = blocks.sends(make_strategy(problem, configs), blocks.edges)
    assert blocks.edges[sends].tolist() == [[4, 5]]
    configs[3] = Config((1, 2), (1, 0))
    configs[6] = Config((2, 1), (0, 1))
    sends = blocks.sends(make_strategy(problem, configs), blocks.edges)
    assert blocks.edges[sends].tolist() == [[2, 3], [3, 5], [4, 5], [5, 6], [6, 7], [6, 8]]


def test_blocks_of_towers():
    blocks = make_blocks(every_cut(towers(), 4))
    assert blocks.chains == ((0, 1), (2, 3), (4,), (5, 6), (7,), (8,))
    assert blocks.alike == ((0, 2), (1, 3), (7, 8))
    assert blocks.twins == (((0, 1), (2, 3)), ((7,), (8,)))
    assert blocks.branches == (((0, 1), (2, 3)), ((7,), (8,)), ((0, 1), (2, 3), (4,)))
    assert blocks.neighbours == ((1,), (0, 5), (3,), (2, 5), (5,), (1, 3, 4, 6), (5, 7, 8), (6,), (6,))
    assert blocks.whole == (*[False] * 4, blocks.whole[4], *[False] * 4)


def test_operators_with_many_weights_are_single_blocks_more_often():
    b = GraphBuilder("wide", 8)
    b.softmax(b.dense(b.dense(b.dense(b.input(4), 4), 400), 4))
    blocks = make_blocks(every_cut(b.build(), 4))
    rng = np.random.default_rng(0)
    drawn = Counter(blocks._single(rng) for _ in range(4000))
    few = drawn[0] / 4000, drawn[3] / 4000
    assert all(0.1 < share < 0.16 for share in few)  # an eighth: by chance alone
    assert all(0.3 < drawn[wide] / 4000 < 0.45 for wide in (1, 2))
    b = GraphBuilder("none", 8)
    b.softmax(b.softmax(b.input(4)))
    without = make_blocks(every_cut(b.build(), 4))
    assert {without._single(rng) for _ in range(50)} == {0, 1}


def test_other_degrees_are_not_those_of_the_batch():
    b = GraphBuilder("mlp", 64)
    b.softmax(b.dense(b.dense(b.input(32), 64), 32))
    problem = every_cut(b.build(), 8)
    blocks, rng = make_blocks(problem), np.random.default_rng(0)
    found = Counter(blocks.other_degrees(rng, 1, 8) for _ in range(2000))
    assert (1, 8) not in found
    one_axis = sum(n for degrees, n in found.items() if max(degrees) == 8)
    assert len(found) > 4
    assert 0.5 < one_axis / 2000 < 0.9
    assert blocks.other_degrees(rng, 1, 7) is None
    every = np.arange(8)
    strategy = make_strategy(problem, [Config((1, 8), tuple(range(8)))] * 3)
    assert blocks.lies_along_batch(strategy, (0, 1), every)
    assert not blocks.lies_along_batch(strategy, (0, 1), every[::-1])
    assert not blocks.lies_along_batch(strategy, (0, 1), every[:4])
    blocks.lay(strategy, 1, problem.choice_of(1, (1, 2, 4)), every)
    assert not blocks.lies_along_batch(strategy, (0, 1), every)
    assert strategy.devices[1].tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert blocks.servers_of(strategy, 1).tolist() == every.tolist()
    assert_legal(problem, strategy)


@given(SEEDS)
def test_chains_are_the_longest_runs_without_a_fork_or_a_join(seed):
    graph = random_model(np.random.default_rng(seed))
    chains = chains_of(graph)
    assert sorted(op for chain in chains for op in chain) == list(range(len(graph.operators)))
    read = edges(graph)
    after = {u: {b for a, b in read if a == u} for u in range(len(graph.operators))}
    before = {u: {a for a, b in read if b == u} for u in range(len(graph.operators))}
    linked = {pair for chain in chains for pair in pairwise(chain)}
    assert linked == {(a, b) for a, b in read if after[a] == {b} and before[b] == {a}}


@given(SEEDS)
def test_twins_are_alike_and_branches_twins_or_read_together(seed):
    _, problem, _ = random_case(seed)
    blocks, graph = make_blocks(problem), problem.graph
    read = edges(graph)
    names = [(shape_name(op), op.index in {a for a, _ in read}) for op in graph.operators]
    for ops in blocks.alike:
        assert len({names[op] for op in ops}) == 1 < len(ops)
        assert {len(problem.candidates[op]) for op in ops} == {len(problem.candidates[ops[0]])}
    assert sum(map(len, blocks.alike)) == sum(n for n in Counter(names).values() if n > 1)
    for twins in blocks.twins:
        assert len({tuple(names[op] for op in chain) for chain in twins}) == 1 < len(twins)
        assert set(twins) <= set(blocks.chains)
    assert set(blocks.twins) <= set(blocks.branches)
    for branches in set(blocks.branches) - set(blocks.twins):
        (readers,) = {frozenset(b for a, b in read if a == chain[-1]) for chain in branches}
        assert readers and len(branches) > 1
        assert set(branches) == {c for c in blocks.chains if {b for a, b in read if a == c[-1]} == readers}


def test_a_last_layer_is_not_alike_to_those_that_others_read():
    """It has fewer candidates, for it is not cut along its inputs; layers alike are copied to it as far as may be."""
    b = GraphBuilder("mlp", 64)
    x = b.dense(b.input(64), 64)
    for _ in range(4):
        x = b.dense(b.unary(OpType.RELU, x), 64)
    graph = keyed_by_shape(b.build())
    problem = every_cut(graph, 4)
    space = make_space(problem, strided=True)
    assert space.blocks.alike == ((0, 2, 4, 6), (1, 3, 5, 7))
    assert [len(problem.candidates[op]) for op in (2, 6)] == [len(problem.candidates[8]) + 4] * 2
    assert graph.blocks[-1].end == 9
    whole = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))] * 9)
    by_inputs = problem.choice_of(2, (1, 1, 4))
    for op in (2, 4, 6):
        space.blocks.lay(whole, op, by_inputs, np.arange(4))
    rng = np.random.default_rng(0)
    for _ in range(50):
        for move in ("repeat", "swap"):
            changed = MOVES[move](space).propose(rng, whole)
            if changed is not None:
                assert_legal(problem, changed)


@given(SEEDS)
def test_candidates_by_parts_are_all_there_is_with_the_batch_alone_first(seed):
    _, problem, _ = random_case(seed)
    for op, found in enumerate(make_blocks(problem).with_parts):
        entries = problem.candidates[op]
        degrees = [entries[choice].degrees for choices in found.values() for choice in choices]
        assert sorted(degrees) == sorted({entry.degrees for entry in entries})
        for parts, choices in found.items():
            assert {prod(entries[choice].degrees) for choice in choices} == {parts}
            batch = [entries[choice].degrees[problem.graph.operators[op].rank - 1] == parts for choice in choices]
            assert batch == sorted(batch, reverse=True)


@given(SEEDS)
def test_draws_are_operators_of_the_model_and_their_servers_different_ones(seed):
    rng, problem, strategy = random_case(seed)
    blocks = make_blocks(problem)
    for _ in range(40):
        block = blocks.draw(rng, strategy)
        assert block and list(block) == sorted(set(block))
        assert block[0] >= 0 and block[-1] < len(problem.graph.operators)
        servers = blocks.servers(rng, strategy, block).tolist()
        assert servers and len(set(servers)) == len(servers)
        assert set(servers) <= set(range(problem.cluster.n_server))
    assert_legal(problem, strategy)


@pytest.mark.parametrize(("which", "expected"), [(0.1, (1, 2, 3)), (0.6, (2, 3)), (0.9, (1, 2))])
def test_a_region_lies_on_the_same_servers_and_hangs_together(which, expected):
    """Operators 1 to 3, in whatever order their servers stand; 5 lies there too but behind another one."""
    problem = problem_of(mlp(6), Cluster(4))
    there, order, elsewhere = Config((1, 2), (0, 1)), Config((1, 2), (1, 0)), Config((1, 2), (2, 3))
    strategy = make_strategy(problem, [elsewhere, there, order, there, elsewhere, there])
    assert make_blocks(problem).draw(Drawn([0.4, which], [2]), strategy) == expected


def test_a_block_goes_where_a_neighbour_is():
    problem = problem_of(mlp(3), Cluster(4))
    strategy = make_strategy(problem, [Config((1, 2), (3, 1)), Config((1, 4), (0, 1, 2, 3)), Config((1, 1), (2,))])
    blocks = make_blocks(problem)
    assert blocks.servers(Drawn([0.2], [0]), strategy, (1,)).tolist() == [3, 1]
    assert blocks.servers(Drawn([0.2], [1]), strategy, (1,)).tolist() == [2]
    assert blocks.servers(Drawn([0.5], [0]), strategy, (1,)).tolist() == [0, 1, 2, 3]  # its own
    assert blocks.servers(Drawn([0.58], [0]), strategy, (0,)).tolist() == [0, 2]  # the others


@given(SEEDS)
def test_a_cut_is_legal_whatever_is_wanted(seed):
    """As many parts as there are servers if it can be, as wanted or along the batch; or as many as it can."""
    rng, problem, strategy = random_case(seed)
    blocks, n_server = make_blocks(problem), problem.cluster.n_server
    for _ in range(20):
        op = int(rng.integers(len(problem.graph.operators)))
        servers = rng.permutation(n_server)[: int(rng.integers(1, n_server + 1))]
        entries = problem.candidates[op]
        wanted = [None, (0,), *(entry.degrees for entry in entries)][int(rng.integers(len(entries) + 2))]
        before, given_servers = copy_of(strategy), servers.copy()
        blocks.assign(strategy, op, servers, wanted, rng)
        assert_legal(problem, strategy)
        assert (servers == given_servers).all()
        others = np.arange(len(problem.graph.operators)) != op
        assert (strategy.devices[others] == before.devices[others]).all()
        assert (strategy.choice[others] == before.choice[others]).all()
        found = configs_of(problem, strategy)[op]
        possible = {prod(entry.degrees) for entry in entries}
        if min(possible) > len(servers):
            assert len(found.devices) == min(possible)
            continue
        assert len(found.devices) == max(n for n in possible if n <= len(servers))
        assert set(found.devices) <= set(servers.tolist())
        if len(found.devices) == len(servers):
            sums = partial_sums(found.degrees, problem.graph.operators[op].rank)
            others = len(servers) // sums  # parts that hold partial sums of the same elements lie side by side
            for part in range(others):
                assert found.devices[part::others] == tuple(servers[part * sums : (part + 1) * sums].tolist())
        same = [entry.degrees for entry in entries if prod(entry.degrees) == len(found.devices)]
        rank = problem.graph.operators[op].rank
        if wanted in same:
            assert found.degrees == wanted
        elif any(degrees[rank - 1] == len(found.devices) for degrees in same):
            assert found.degrees[rank - 1] == len(found.devices)


def test_rows_of_a_cut_along_several_axes_become_columns():
    assert [servers.tolist() for servers in across(np.array([4, 5, 6, 7]), (2, 1, 2))] == [[4, 6, 5, 7]]
    assert [servers.tolist() for servers in across(np.arange(6), (3, 2))] == [[0, 2, 4, 1, 3, 5]]
    rows_of_two, rows_of_four = across(np.arange(8), (2, 2, 2))
    assert rows_of_two.tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert rows_of_four.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert across(np.arange(4), (4, 1)) == []


def test_layers_that_are_cut_anew_lie_along_each_other_and_across():
    problem = every_cut(mlp(2, 64), 4)
    start = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))] * 2)
    move, rng = MOVES["recut"](make_space(problem, strided=False)), np.random.default_rng(0)
    found = set()
    for _ in range(400):
        changed = move.propose(rng, start)
        if changed is not None:
            found |= {config.devices for config in configs_of(problem, changed) if config.degrees == (2, 1, 2)}
    assert {(0, 2, 1, 3), (0, 1, 2, 3)} <= found


@pytest.mark.parametrize("name", sorted(MOVES))
@given(seed=SEEDS, strided=st.booleans())
def test_every_move_makes_a_legal_strategy_of_its_own(name, seed, strided):
    rng, problem, strategy = random_case(seed)
    move = MOVES[name](make_space(problem, strided=strided))
    for _ in range(12):
        before = copy_of(strategy)
        changed = move.propose(rng, strategy)
        assert same_strategy(strategy, before)
        if changed is None:
            continue
        assert_legal(problem, changed)
        for ours, theirs in zip(changed, strategy, strict=True):
            assert ours.dtype == np.int64  # as kernels are compiled for
            assert not np.shares_memory(ours, theirs)
        strategy = changed


@given(SEEDS)
def test_a_shift_moves_all_of_a_block_as_far_and_leaves_its_cuts(seed):
    rng, problem, strategy = random_case(seed)
    n_server = problem.cluster.n_server
    changed = MOVES["shift"](make_space(problem, strided=False)).propose(rng, strategy)
    assert (changed is None) == (n_server == 1)
    if changed is None:
        return
    assert (changed.choice == strategy.choice).all()
    by = {tuple(((home(changed, op) - home(strategy, op)) % n_server).tolist()) for op in range(len(strategy.choice))}
    assert len({step for steps in by for step in steps} - {0}) == 1
    assert all(len(set(steps)) == 1 for steps in by)


@given(SEEDS)
def test_a_swap_exchanges_what_is_alike(seed):
    rng, problem, strategy = random_case(seed)
    space = make_space(problem, strided=False)
    changed = MOVES["swap"](space).propose(rng, strategy)
    if not space.blocks.alike:
        assert changed is None
    if changed is None:
        assert not space.blocks.alike or not space.blocks.twins
        return
    before, after = configs_of(problem, strategy), configs_of(problem, changed)
    for ops in space.blocks.alike:
        assert Counter(before[op][:2] for op in ops) == Counter(after[op][:2] for op in ops)
    single = set(range(len(before))) - {op for ops in space.blocks.alike for op in ops}
    assert all(before[op] == after[op] for op in single)


def test_nothing_is_proposed_where_nothing_can_be_done():
    rng = np.random.default_rng(0)
    unlike = problem_of(mlp(3), Cluster(4))  # every operator has a measurement of its own
    strategy = make_strategy(unlike, [Config((1, 4), (0, 1, 2, 3))] * 3)
    for name in ("swap", "deal"):
        move = MOVES[name](make_space(unlike, strided=False))
        assert all(move.propose(rng, strategy) is None for _ in range(50))
    alone = every_cut(keyed_by_shape(mlp(3)), 1)
    move = MOVES["shift"](make_space(alone, strided=False))
    assert move.propose(rng, make_strategy(alone, [Config((1, 1), (0,))] * 3)) is None


@pytest.mark.parametrize("strided", [False, True])
def test_branches_are_dealt_out_round_the_servers(strided):
    problem = every_cut(towers(), 4)
    blocks = make_blocks(problem)
    strategy = make_strategy(problem, [Config((1, 1), (0,))] * 5 + [Config((1, 1), (3,))] * 4)
    deal_out(blocks, strategy, ((2, 3), (0, 1)), 2, 1, strided=strided, rng=np.random.default_rng(0))
    configs = configs_of(problem, strategy)
    first, second = spread(4, 2, 1, strided=strided), spread(4, 2, 0, strided=strided)
    assert configs[2] == configs[3] == Config((1, 2), tuple(first.tolist()))
    assert configs[0] == configs[1] == Config((1, 2), tuple(second.tolist()))
    assert configs[4:] == [Config((1, 1), (0,))] + [Config((1, 1), (3,))] * 4
