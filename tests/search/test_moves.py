"""Moves over strategies, branch by branch (model.cc:589, 2121 and 2201)."""

from collections import Counter

import numpy as np
import pytest
from random_models import cost_table, mlp, own_keys, problem_of, random_configs, tower

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, Strategy, configs_of, make_strategy
from flexnet.search.moves.mix import PROPAGATING, RECONFIGURING, MoveMix, make_mix
from flexnet.search.moves.propagate import Propagate
from flexnet.search.moves.space import make_space
from flexnet.search.starts.data_parallel import data_parallel


class Script:
    """A generator that answers with given numbers, and refuses to be asked for more or fewer."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)


def make_moves(problem: Problem, *, strided: bool, propagation: bool, parameter_parallel: bool = False) -> MoveMix:
    space = make_space(problem, strided=strided, parameter_parallel=parameter_parallel)
    return make_mix(space, PROPAGATING if propagation else RECONFIGURING)


def rewritten(moves: MoveMix, strategy: Strategy, *numbers: float) -> Strategy | None:
    rng = Script(*numbers)
    changed = moves.propose(rng, strategy)
    assert rng.numbers == []
    return changed


def assert_frequencies(counts: Counter, expected: dict) -> None:
    """Counts lie within 4.5 standard deviations of their expectation, and nothing unexpected was counted."""
    n = sum(counts.values())
    assert set(counts) <= {outcome for outcome, p in expected.items() if p > 0}
    for outcome, p in expected.items():
        assert abs(counts[outcome] - n * p) <= 4.5 * np.sqrt(n * p * (1 - p)) + 1, (outcome, counts[outcome] / n, p)


def drawn(moves: MoveMix, op: int, n: int = 2000, seed: int = 0) -> Counter:
    """How often each (degrees, servers) comes for an operator."""
    rng = np.random.default_rng(seed)
    configs = (moves.space.random_config(rng, op) for _ in range(n))
    return Counter((moves.space.degrees[op][choice], tuple(devices)) for choice, devices in configs)


def single(ways: list[tuple[int, ...]], n_server: int) -> Problem:
    """One Linear operator that can be cut in these ways (and another, so that it is not the last)."""
    graph = mlp(2)
    return make_problem(graph, cost_table(graph, n_server, [ways] * 2), Cluster(n_server), CORRECTED)


@pytest.mark.parametrize(
    ("strided", "parts", "groups"),
    [
        (True, 4, [(0, 2, 4, 6), (1, 3, 5, 7)]),
        (True, 2, [(i, i + 4) for i in range(4)]),
        (True, 8, [tuple(range(8))]),
        (True, 1, [(i,) for i in range(8)]),
        (False, 4, [tuple(sorted((i + j) % 8 for j in range(4))) for i in range(8)]),
        (False, 8, [tuple(range(8))]),
        (False, 1, [(i,) for i in range(8)]),
    ],
)
def test_parts_are_spread_evenly_or_lie_side_by_side(strided, parts, groups):
    moves = make_moves(single([(1, parts)], 8), strided=strided, propagation=False)
    expected = {((1, parts), group): 1 / len(groups) for group in groups}
    assert_frequencies(drawn(moves, 0), expected)


def test_parts_that_do_not_divide_the_servers_still_get_one_each():
    for strided in (True, False):
        moves = make_moves(single([(1, 4)], 6), strided=strided, propagation=False)
        assert all(len(set(devices)) == 4 and set(devices) <= set(range(6)) for _, devices in drawn(moves, 0, 100))


def test_candidates_are_drawn_uniformly_and_those_measured_twice_twice_as_often():
    moves = make_moves(single([(1, 2), (1, 2), (1, 1), (1, 4)], 4), strided=True, propagation=False)
    counts = Counter()
    for (degrees, _), n in drawn(moves, 0).items():
        counts[degrees] += n
    assert_frequencies(counts, {(1, 2): 0.5, (1, 1): 0.25, (1, 4): 0.25})


def test_channel_parts_lie_side_by_side_from_a_multiple_of_the_channel_degree():
    """Section 3.4, 4: start = rand % (D - c b + 1), rounded down to a multiple of c."""
    moves = make_moves(single([(2, 2)], 8), strided=True, propagation=False, parameter_parallel=True)
    expected = {((2, 2), tuple(range(start, start + 4))): n / 5 for start, n in ((0, 2), (2, 2), (4, 1))}
    assert_frequencies(drawn(moves, 0), expected)
    # Without the flag a config is placed as any other; with it, one of another operator is.
    plain = make_moves(single([(2, 2)], 8), strided=True, propagation=False)
    assert {devices for _, devices in drawn(plain, 0, 50)} == {(0, 2, 4, 6), (1, 3, 5, 7)}
    softmax = GraphBuilder("softmax", 8)
    softmax.softmax(softmax.input(4))
    graph = own_keys(softmax.build())
    problem = make_problem(graph, cost_table(graph, 8, [[(1, 4)]]), Cluster(8), CORRECTED)
    other = make_moves(problem, strided=True, propagation=False, parameter_parallel=True)
    assert {devices for _, devices in drawn(other, 0, 50)} == {(0, 2, 4, 6), (1, 3, 5, 7)}


def test_any_operator_but_the_last_is_redrawn():
    problem = problem_of(mlp(4), Cluster(4))
    moves = make_moves(problem, strided=True, propagation=False)
    start = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))] * 4)
    for op in range(3):
        changed = rewritten(moves, start, (op + 0.5) / 4, 0.0, 0.5)
        assert changed is not None
        configs = configs_of(problem, changed)
        assert configs[op] == Config((1, 1), (2,))
        assert configs[:op] + configs[op + 1 :] == [Config((1, 4), (0, 1, 2, 3))] * 3
    assert rewritten(moves, start, 3.5 / 4) is None
    assert configs_of(problem, start) == [Config((1, 4), (0, 1, 2, 3))] * 4  # never written to


def test_the_only_operator_is_redrawn():
    problem = problem_of(mlp(1), Cluster(4))
    moves = make_moves(problem, strided=True, propagation=True)
    start = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))])
    changed = rewritten(moves, start, 0.25, 0.9, 0.0, 0.0)
    assert changed is not None
    assert configs_of(problem, changed) == [Config((1, 1), (0,))]
    assert rewritten(moves, start, 0.24) is None  # nothing to propagate along


def test_a_quarter_of_the_moves_propagates_if_asked():
    problem = problem_of(mlp(2), Cluster(2))
    start = make_strategy(problem, [Config((1, 2), (0, 1)), Config((1, 1), (1,))])
    both = make_moves(problem, strided=True, propagation=True)
    changed = rewritten(both, start, 0.2499, 0.0, 0.0, 0.75)
    assert changed is not None
    assert configs_of(problem, changed) == [Config((1, 2), (0, 1))] * 2
    changed = rewritten(both, start, 0.25, 0.0, 0.0, 0.0)
    assert changed is not None
    assert configs_of(problem, changed)[0] == Config((1, 1), (0,))
    never = make_moves(problem, strided=True, propagation=False)
    assert rewritten(never, start, 0.2499, 0.0, 0.0) is not None  # an operator's draw: no number for the kind of move


# Propagation


def outcomes(moves: MoveMix, configs: list[Config]) -> dict[tuple[Config, ...], float]:
    """Probability of every result of a propagation move, by following section 3.6 to the letter.

    Paths less likely than 1e-7 are left out: a refused config may be tried again and again.
    """
    graph, found = moves.space.problem.graph, Counter()
    candidates = [[entry.degrees for entry in entries] for entries in moves.space.problem.candidates]

    def spread(config: Config) -> bool:
        return set(config.degrees[:-1]) <= {1} and config.devices == tuple(range(len(config.devices)))

    def adoptable(config: Config, to: int) -> bool:
        channels = moves.space.parameter_parallel and graph.operators[to].kind == OpType.LINEAR
        whole = config.degrees[1:-1] if channels else config.degrees[:-1]
        return spread(config) or (len(config.degrees) == graph.operators[to].rank and set(whole) <= {1})

    def walk(op: int, seen: frozenset[int], now: tuple[Config, ...], p: float) -> None:
        if p < 1e-7:
            return
        seen |= {op}
        edges = [(s.op, s.tensor.volume) for s in graph.operators[op].inputs if s.op is not None]
        edges += [(o.index, s.tensor.volume) for o in graph.operators for s in o.inputs if s.op == op]
        edges = [(to, size) for to, size in edges if to not in seen and adoptable(now[op], to)]
        if not edges:
            found[now] += p
        for to, size in edges:
            share = p * size / sum(s for _, s in edges)
            then, at, marked = now, to, seen
            if spread(now[op]):
                degrees = (*[1] * (graph.operators[to].rank - 1), now[op].degrees[-1])
                if degrees in candidates[to]:
                    then = (*now[:to], Config(degrees, now[op].devices), *now[to + 1 :])
                else:
                    at = op  # "go to the loop test": the operator stays, the target is not marked
            found[then] += share * 0.25
            walk(at, marked, then, share * 0.75)

    n = len(graph.operators)
    for op in range(n - 1):
        walk(op, frozenset(), tuple(configs), 1 / (n - 1))
    return dict(found)


def branching() -> GraphBuilder:
    """Two convolutions, one of them flattened, joined with a Linear: ranks 4 and 2, edges of unequal size."""
    b = GraphBuilder("branching", 8)
    image = b.conv2d(b.input(1, 4, 4), 2, (3, 3))
    flat = b.flat(b.conv2d(image, 3, (1, 1)))
    b.dense(b.concat([flat, b.dense(b.flat(image), 4)], axis=1), 4)
    return b


SPREAD = Config((1, 2), (0, 1))
CASES = {
    "from servers 0 to p-1": [SPREAD, Config((1, 1), (1,)), Config((1, 1), (2,)), Config((1, 4), (3, 2, 1, 0))],
    "whole on server 0": [Config((1, 1), (0,)), Config((1, 2), (2, 3)), SPREAD, Config((1, 4), (0, 1, 2, 3))],
    "shifted": [Config((1, 2), (1, 2)), Config((1, 1), (1,)), Config((1, 1), (2,)), Config((1, 2), (1, 0))],
    "channels": [Config((2, 1), (0, 1)), SPREAD, Config((2, 2), (0, 1, 2, 3)), Config((1, 1), (3,))],
}


@pytest.mark.parametrize("parameter_parallel", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_walks_have_the_probabilities_of_the_reference(case, parameter_parallel):
    problem = problem_of(mlp(4), Cluster(4))
    moves = make_moves(problem, strided=True, propagation=True, parameter_parallel=parameter_parallel)
    assert_propagates(moves, CASES[case])


@pytest.mark.parametrize("seed", range(4))
def test_walks_over_branches_and_ranks(seed):
    """Random configs, many of them on servers 0 to p-1; some operators lack some degrees."""
    rng = np.random.default_rng(seed)
    graph = own_keys(branching().build())
    ways = [[(*[1] * (op.rank - 1), n) for n in (1, 2, 4) if n == 4 or rng.random() < 0.7] for op in graph.operators]
    problem = make_problem(graph, cost_table(graph, 4, ways), Cluster(4), CORRECTED)
    configs = [
        Config(config.degrees, tuple(range(len(config.devices)))) if rng.random() < 0.7 else config
        for config in random_configs(rng, problem)
    ]
    assert_propagates(make_moves(problem, strided=True, propagation=True), configs)


def assert_propagates(moves: MoveMix, configs: list[Config]) -> None:
    start = make_strategy(moves.space.problem, configs)
    rng = np.random.default_rng(5)
    counts = Counter()
    for _ in range(3000):
        changed = Propagate(moves.space).propose(rng, start)
        counts[tuple(configs if changed is None else configs_of(moves.space.problem, changed))] += 1
    assert configs_of(moves.space.problem, start) == configs
    assert_frequencies(counts, outcomes(moves, configs))


def test_only_configs_on_servers_0_to_p_1_propagate():
    problem = problem_of(mlp(4), Cluster(4))
    moves = make_moves(problem, strided=True, propagation=True)
    start = make_strategy(problem, CASES["shifted"])
    rng = np.random.default_rng(0)
    assert all(Propagate(moves.space).propose(rng, start) is None for _ in range(200))


# The start


def test_the_start_is_data_parallel_with_embeddings_round_the_servers():
    b = GraphBuilder("tables", 8)
    tables = [b.embedding(b.input(1, dtype="int64"), 10, 4) for _ in range(5)]
    b.dense(b.concat(tables, axis=1), 4)
    graph = own_keys(b.build())
    ways = [[(1, 1)]] * 5 + [[(1, 4)]] * 2
    problem = make_problem(graph, cost_table(graph, 4, ways), Cluster(4), CORRECTED)
    moves = make_moves(problem, strided=True, propagation=False)
    configs = data_parallel(np.random.default_rng(0), moves.space)
    assert configs[:5] == [Config((1, 1), (k % 4,)) for k in range(5)]
    assert configs[5:] == [Config((1, 4), (0, 1, 2, 3))] * 2


def test_an_embedding_cut_in_parts_starts_with_its_server_first_and_none_twice():
    problem = problem_of(tower(), Cluster(4))
    moves = make_moves(problem, strided=False, propagation=False)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(50):
        config = data_parallel(rng, moves.space)[0]
        assert config.devices[0] == 0
        assert len(set(config.devices)) == len(config.devices)
        seen.add(config.degrees)
    assert seen == {(1, 1), (1, 2), (1, 4)}
