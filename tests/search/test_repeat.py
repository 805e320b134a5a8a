"""The move that does with all layers what was done with one."""

import numpy as np

from flexnet.cost.estimate import complete_table
from flexnet.cost.roofline import roofline_table
from flexnet.model.builder import GraphBuilder
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, configs_of, make_strategy, set_config
from flexnet.search.moves.mix import BLOCKS, LAYERED, block_shares
from flexnet.search.moves.repeat import Repeat
from flexnet.search.moves.space import make_space


def layers(count: int) -> Problem:
    """Layers of two operators behind one that is none."""
    b = GraphBuilder("layers", 8)
    x = b.dense(b.input(32), 16)
    for _ in range(count):
        x = b.softmax(b.dense(x, 16))
    graph = b.build()
    return make_problem(graph, complete_table(roofline_table(graph, "a100", n_server=4), graph), Cluster(4), CORRECTED)


def test_layers_become_alike_on_their_own_servers() -> None:
    problem = layers(3)
    move = Repeat(make_space(problem, strided=False))
    strategy = make_strategy(problem, [Config((1, 2), (0, 1))] * 3 + [Config((1, 2), (2, 3))] * 4)
    assert all(move.propose(np.random.default_rng(seed), strategy) is None for seed in range(20))
    set_config(problem, strategy, 3, Config((2, 1), (3, 2)))  # the second layer's product is cut along its channels
    before = configs_of(problem, strategy)
    found = set()
    for seed in range(60):
        changed = move.propose(np.random.default_rng(seed), strategy)
        if changed is not None:
            found.add(tuple((config.degrees, config.devices) for config in configs_of(problem, changed)))
    assert configs_of(problem, strategy) == before
    first, others = ((1, 2), (0, 1)), ((1, 2), (2, 3))
    channels = (2, 1)
    assert found == {
        (first, (channels, (0, 1)), first, (channels, (3, 2)), others, (channels, (2, 3)), others),  # all as the second
        (first, first, first, (channels, (3, 2)), others, (channels, (2, 3)), others),  # those behind the second
        (first, first, first, ((1, 2), (3, 2)), others, others, others),  # all as another, or those behind the first
    }


def test_an_operator_cut_more_often_goes_where_its_model_is() -> None:
    problem = layers(2)
    move = Repeat(make_space(problem, strided=False))
    strategy = make_strategy(problem, [Config((1, 1), (0,))] * 4 + [Config((1, 4), (3, 2, 1, 0))])
    changed = [move.propose(np.random.default_rng(seed), strategy) for seed in range(40)]
    assert any(new is not None and configs_of(problem, new)[2] == Config((1, 4), (3, 2, 1, 0)) for new in changed)


def test_layers_wait_for_what_is_to_them_what_it_is_to_their_model() -> None:
    problem = layers(3)  # operator 0, then 1 and 2, 3 and 4, 5 and 6
    move = Repeat(make_space(problem, strided=False))

    def found(op: int, before: int) -> set[tuple[int, ...]]:
        strategy = make_strategy(problem, [Config((1, 2), (0, 1))] * 7)
        strategy.after[op] = before
        drawn = (move.propose(np.random.default_rng(seed), strategy) for seed in range(60))
        return {tuple(new.after[[1, 3, 5]].tolist()) for new in drawn if new is not None}

    at_once = (-1, -1, -1)  # as another layer's
    assert found(3, 1) == {(-1, 1, 3), at_once}  # there is none before the first layer
    assert found(3, 0) == {(0, 0, 0), (-1, 0, 0), at_once}
    assert found(5, 2) == {at_once}
    assert found(1, 0) == {(0, 0, 0), at_once}


def test_only_models_of_many_layers_have_it() -> None:
    for count, shares in ((99, BLOCKS), (100, LAYERED)):
        assert block_shares(make_space(layers(count), strided=False)) is shares
    assert abs(sum(LAYERED.values()) - 1) < 1e-12
    b = GraphBuilder("mlp", 8)
    b.dense(b.input(4), 4)
    problem = make_problem(b.build(), roofline_table(b.build(), "a100", n_server=2), Cluster(2), CORRECTED)
    strategy = make_strategy(problem, [Config((1, 2), (0, 1))])
    assert Repeat(make_space(problem, strided=False)).propose(np.random.default_rng(0), strategy) is None
