"""What joins towers may be cut along the axis it joins them along; bounds hold for it, and lose little."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import own_keys, random_configs

from flexnet.cost.configs import every_degrees
from flexnet.cost.table import CostTable, Entry
from flexnet.exact.bound import lower_bound
from flexnet.exact.detours import Detour
from flexnet.exact.make_windows import make_windows
from flexnet.exact.needs import least_needs
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.network.build import family_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import fixed_network
from flexnet.simulate.protocol import FLUID

SIZES = [4096, 4096, 8192]
TENSOR_S = 1.0  # a link takes so long for the output of a small tower


def towers(n_tower: int, *, layers: int = 0) -> ModelGraph:
    """Towers of a matrix each, joined, so many activations, a matrix over what is joined, and one behind it."""
    b = GraphBuilder("towers", 8)
    x = b.concat([b.dense(b.input(4), size) for size in SIZES[:n_tower]], axis=1)
    for _ in range(layers):
        x = b.binary(OpType.ADD, x, b.unary(OpType.RELU, x))
    b.dense(b.dense(x, 4096), 64)
    return own_keys(b.build())


def problem_of(
    graph: ModelGraph, n_server: int, seconds: dict[int, float], only: dict[int, tuple[int, ...]] | None = None
) -> Problem:
    """All cuts or a single one of every operator, which takes so long if it is not cut (else next to nothing)."""
    entries = {}
    for op in graph.operators:
        ways = every_degrees(op, n_server=n_server, big_gpu=0) if only is None else [only[op.index]]
        alone = seconds.get(op.index, 1e-6)
        entries[op.key] = tuple(Entry(cut, alone / prod(cut), alone / prod(cut), 8) for cut in ways)
    table = CostTable(graph.batch_size, n_server, entries, False, "m.json", {})
    cluster = Cluster(n_server, 0, link_bandwidth=8 * SIZES[0] * 4 / TENSOR_S)
    return make_problem(graph, table, cluster, CORRECTED)


def test_what_waits_for_a_tower() -> None:
    plain = least_needs(problem_of(towers(2), 2, {})).detours
    assert plain == [Detour(tower, 4, (2, 3)) for tower in (0, 1)]
    residual = least_needs(problem_of(towers(2, layers=40), 2, {})).detours
    assert [detour[:2] for detour in residual] == [(tower, 84) for tower in (0, 1)]
    assert {len(detour.middle) for detour in residual} == {42}, (
        "past the join, 40 sums and the matrix, on the short way"
    )
    assert not least_needs(problem_of(towers(2), 1, {})).detours, "on one server nothing is cut"


def test_a_part_that_waits_for_a_tower_may_receive_nothing() -> None:
    """A slow tower on the server of what reads its slice: the other tower's slice came while it ran."""
    only = {0: (1, 1), 1: (1, 1), 2: (2, 1), 3: (1, 1), 4: (1, 1)}
    problem = problem_of(towers(2), 2, {0: 1.0}, only)
    family = family_of("fattree", degree=1, semantics=CORRECTED)
    network = fixed_network(problem, family, np.random.default_rng(0))
    homes = {0: (0,), 1: (1,), 2: (0, 1), 3: (0,), 4: (0,)}
    strategy = make_strategy(problem, [Config(only[op], homes[op]) for op in only])
    price = Pricer(problem, protocol=FLUID).price(np.random.default_rng(0), strategy, network).seconds
    assert 2.0 < lower_bound(problem, family).seconds <= price * (1 + 1e-9)
    assert price < 2.0 + 1.2 * TENSOR_S


@pytest.mark.compiled
@given(
    seed=st.integers(0, 2**32 - 1),
    n_server=st.sampled_from([2, 3, 4]),
    n_tower=st.sampled_from([2, 3]),
    layers=st.integers(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_no_term_exceeds_a_strategy(seed: int, n_server: int, n_tower: int, layers: int) -> None:
    """Of strategies at random, and of those with towers on the servers of their slice and readers on one of these."""
    rng = np.random.default_rng(seed)
    graph = towers(n_tower, layers=layers)
    slow = rng.choice(len(graph.operators), 2).tolist()
    problem = problem_of(graph, n_server, {op: float(rng.choice([0.3, 1.0, 3.0])) for op in slow})
    family = family_of("fattree", degree=1, semantics=CORRECTED)
    network, speed = fixed_network(problem, family, rng), family.server_bandwidth(problem.cluster)
    of = int(rng.integers(len(problem.candidates)))
    windows = make_windows(least_needs(problem, most_choices=1000), n_server, speed, speed, [of])
    options = [[tuple(row) for row in option.tolist()] for option in windows.options]
    pricer = Pricer(problem, every_exact=True, protocol=FLUID)
    for number in range(20):
        configs = random_configs(rng, problem)
        if number % 2:
            join = configs[n_tower]
            for op in range(len(configs)):
                if op != n_tower and rng.random() < 0.8:
                    devices = (int(rng.choice(join.devices)),)
                    configs[op] = Config((1,) * len(graph.operators[op].outputs[0].dims), devices)
        strategy = make_strategy(problem, configs)
        here = strategy.devices[of, 0]
        marked = (strategy.devices == here).any(axis=1).astype(int).tolist()
        pairs = zip(strategy.choice.tolist(), marked, strict=True)
        needs = windows.needs([option.index(pair) for option, pair in zip(options, pairs, strict=True)])
        found = windows.worst(needs)
        for seconds, term in found:
            assert term.coefficients @ needs == pytest.approx(seconds)
        assert max(seconds for seconds, _ in found) <= pricer.price(rng, strategy, network).seconds * (1 + 1e-9)
