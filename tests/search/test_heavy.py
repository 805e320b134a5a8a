"""Other cuts of the operators that hold most weights."""

from math import prod

import numpy as np
from random_models import problem_of, tower

from flexnet.model.operators import kind_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import configs_of, make_strategy, same_strategy
from flexnet.search.moves.blocks import home
from flexnet.search.moves.heavy import heavy_operators, heavy_recuts
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
    held = [weights[op] for op in heavy]
    assert held == sorted(held, reverse=True)
    assert 0.95 * sum(weights) <= sum(held)
    assert sum(held[:-1]) < 0.95 * sum(weights)
    assert not any(kind_of(operators[op]).whole for op in heavy)


def test_one_heavy_operator_or_all_alike_are_cut_in_every_other_way():
    space, start = space_and_start()
    recuts, seen = heavy_recuts(space, start), set()
    for strategy in recuts:
        assert same_strategy(make_strategy(space.problem, configs_of(space.problem, strategy)), strategy)
        changed = [
            op
            for op in range(len(start.choice))
            if strategy.choice[op] != start.choice[op] or (strategy.devices[op] != start.devices[op]).any()
        ]
        heavy = heavy_operators(space)
        for op in set(changed) - set(heavy):
            alike = next((alike for alike in space.blocks.alike if op in alike), ())
            beside = not space.blocks.weighted[op] and set(space.blocks.neighbours[op]) & set(heavy)
            assert beside or set(alike) & set(heavy)
        heavy = [op for op in changed if op in heavy]
        assert len(changed) == 1 or any(set(changed) <= set(alike) for alike in space.blocks.alike)
        for op in heavy:
            seen.add((op, int(strategy.choice[op])))
            assert (
                len(home(strategy, op))
                == space.parts[op][strategy.choice[op]]
                == prod(space.degrees[op][strategy.choice[op]])
            )
    for op in heavy_operators(space):
        possible = {(op, choice) for choice, n in enumerate(space.parts[op]) if 4 % n == 0}
        assert possible - {(op, int(start.choice[op]))} <= seen
    assert not any(same_strategy(strategy, start) for strategy in recuts)


def test_the_same_cuts_every_time():
    space, start = space_and_start()
    for one, other in zip(heavy_recuts(space, start), heavy_recuts(space, start), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
