"""Other cuts of the operators that hold most weights."""

from itertools import islice
from math import prod

import numpy as np
from random_models import problem_of, tower

from flexnet.model.builder import GraphBuilder
from flexnet.model.operators import kind_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import configs_of, make_strategy, same_strategy
from flexnet.search.moves.blocks import home
from flexnet.search.moves.heavy import heavy_operators, heavy_recuts, one_holds_most
from flexnet.search.moves.space import make_space
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings


def space_and_start(n_server=4):
    problem = problem_of(tower(), Cluster(n_server, link_bandwidth=2e6, latency=1e-6, degree=2))
    ready = prepare(problem, Settings("topoopt", 0, seed=5))
    return make_space(problem, strided=True), ready.state.current.strategy


def test_heavy_operators_hold_nearly_all_weights():
    space, _ = space_and_start()
    operators = space.problem.graph.operators
    weights = [0 if kind_of(op).whole else sum(weight.n_byte for weight in op.weights) for op in operators]
    heavy = heavy_operators(space)
    alike = [next((found for found in space.blocks.alike if op in found), (op,)) for op in heavy]
    held = [sum(weights[twin] for twin in twins) for twins in alike]
    assert 0.95 * sum(weights) <= sum(held)
    assert sum(held[:-1]) < 0.95 * sum(weights)
    assert [weights[op] for op in heavy] == sorted((weights[op] for op in heavy), reverse=True)
    assert len({twin for twins in alike for twin in twins}) == sum(map(len, alike))  # no shape twice


def changed_operators(one, other):
    return {
        op
        for op in range(len(one.choice))
        if one.choice[op] != other.choice[op] or (one.devices[op] != other.devices[op]).any()
    }


def test_heavy_operators_and_those_beside_them_are_cut_in_every_other_way():
    space, start = space_and_start()
    blocks, heavy = space.blocks, heavy_operators(space)
    beside = {op for h in heavy for op in blocks.neighbours[h] if not blocks.weighted[op]}
    recuts, seen = list(heavy_recuts(np.random.default_rng(0), space, start)), set()
    laid = set()
    for strategy in recuts:
        assert same_strategy(make_strategy(space.problem, configs_of(space.problem, strategy)), strategy)
        changed = changed_operators(strategy, start)
        assert changed
        together = [(op,) for op in (*heavy, *beside)] + [
            twins for twins in blocks.alike if {*heavy, *beside} & {*twins}
        ]
        together += [heavy] if len({space.degrees[op][strategy.choice[op]] for op in heavy}) == 1 else []
        assert any(changed <= set(block) for block in together)
        for op in changed & {*heavy, *beside}:
            choice = int(strategy.choice[op])
            servers = home(strategy, op)
            assert len(servers) == space.parts[op][choice] == prod(space.degrees[op][choice])
            seen.add((op, choice, tuple(sorted(servers.tolist()))))
            laid.add((op, choice, tuple(blocks.servers_of(strategy, op).tolist())))
    for op in (*heavy, *beside):
        assert blocks.servers_of(start, op).tolist() == [0, 1, 2, 3]
        for choice, n in enumerate(space.parts[op]):
            if 4 % n == 0 and choice != start.choice[op]:
                assert (op, choice, tuple(range(0, 4, 4 // n))) in seen  # spread
                assert (op, choice, tuple(range(n))) in seen  # side by side
            if n == 4 and max(space.degrees[op][choice]) < 4:  # along two axes: as they are, and across
                assert {(op, choice, (0, 1, 2, 3)), (op, choice, (0, 2, 1, 3))} <= laid
    cuts = {(n, degrees) for op in heavy for n, degrees in zip(space.parts[op], space.degrees[op], strict=True)}
    assert any(n == 4 and max(degrees) < 4 for n, degrees in cuts)
    keys = [tuple(array.tobytes() for array in strategy) for strategy in recuts]
    assert len(set(keys)) == len(keys)


def test_heavy_operators_are_cut_alike_all_together_first():
    space, start = space_and_start()
    heavy, found = heavy_operators(space), []
    for strategy in islice(heavy_recuts(np.random.default_rng(0), space, start), 6):
        (degrees,) = {space.degrees[op][strategy.choice[op]] for op in heavy}
        (servers,) = {tuple(home(strategy, op).tolist()) for op in heavy}
        found.append((degrees, servers))
    own = {(space.degrees[op][start.choice[op]], (0, 1, 2, 3)) for op in heavy}
    assert own == {((1, 4), (0, 1, 2, 3))}  # is no recut
    halves = [(0, 2), (0, 1)]
    by_one = [((1, 2), half) for half in halves] + [((2, 1), half) for half in halves]
    assert found == [*by_one, ((2, 2), (0, 1, 2, 3)), ((4, 1), (0, 1, 2, 3))]  # or along two dimensions


def test_one_operator_holds_most_weights_or_many_share_them():
    def space_of(*widths):
        b = GraphBuilder("mlp", batch_size=8)
        x = b.input(16)
        for width in widths:
            x = b.dense(x, width)
        return make_space(problem_of(b.build(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2)), strided=True)

    assert one_holds_most(space_of(64, 4))
    assert not one_holds_most(space_of(16, 16, 16))


def test_some_are_drawn_where_there_are_more():
    space, start = space_and_start()
    every = {
        strategy.choice.tobytes() + strategy.devices.tobytes()
        for strategy in heavy_recuts(np.random.default_rng(0), space, start)
    }
    drawn = [list(islice(heavy_recuts(np.random.default_rng(seed), space, start), 10))[5:] for seed in (0, 0, 1)]
    keys = [[s.choice.tobytes() + s.devices.tobytes() for s in one] for one in drawn]
    assert keys[0] == keys[1] != keys[2]
    assert all(len(one) == 5 and set(one) <= every for one in keys)
