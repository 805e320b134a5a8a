"""What joins towers may be cut along the axis it joins them along; bounds hold for it, and lose little."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cost_table, own_keys, random_configs

from flexnet.cost.configs import every_degrees
from flexnet.exact.detours import Detour
from flexnet.exact.needs import least_needs
from flexnet.exact.windows import make_windows
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.network.build import family_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import make_strategy
from flexnet.search.networks import fixed_network
from flexnet.search.pricing import Pricer


def towers(n_server: int, sizes: list[int], *, activated: bool) -> Problem:
    """Towers of a matrix each, joined, a matrix over what is joined, and one behind it."""
    b = GraphBuilder("towers", 12)
    x = b.concat([b.dense(b.input(4), size) for size in sizes], axis=1)
    x = b.unary(OpType.RELU, x) if activated else x
    b.dense(b.dense(x, 4), 6)
    graph = own_keys(b.build())
    ways = [every_degrees(op, n_server=n_server, big_gpu=0) for op in graph.operators]
    return make_problem(graph, cost_table(graph, n_server, ways), Cluster(n_server, 2, 25e9), CORRECTED)


def test_what_waits_for_a_tower() -> None:
    plain = least_needs(towers(2, [6, 6], activated=False)).detours
    assert plain == [Detour(tower, 4, (2, 3), ((2, 3), (3, 4))) for tower in (0, 1)]
    activated = least_needs(towers(2, [6, 6], activated=True)).detours
    assert activated == [Detour(tower, 5, (2, 3, 4), ((2, 3), (3, 4), (4, 5))) for tower in (0, 1)]
    assert not least_needs(towers(1, [6, 6], activated=False)).detours, "on one server nothing is cut"


@pytest.mark.compiled
@given(seed=st.integers(0, 2**32 - 1), n_server=st.sampled_from([2, 3, 4]), activated=st.booleans())
@settings(max_examples=30, deadline=None)
def test_no_term_exceeds_a_strategy(seed: int, n_server: int, activated: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([2, 4, 6, 12], int(rng.integers(2, 4))).tolist()
    problem = towers(n_server, sizes, activated=activated)
    family = family_of("fattree", degree=1, semantics=CORRECTED)
    network, speed = fixed_network(problem, family, rng), family.server_bandwidth(problem.cluster)
    of = int(rng.integers(len(problem.candidates)))
    windows = make_windows(least_needs(problem, most_choices=1000), n_server, speed, speed, of)
    options = [[tuple(row) for row in option.tolist()] for option in windows.options]
    pricer = Pricer(problem, every_exact=True)
    for _ in range(20):
        strategy = make_strategy(problem, random_configs(rng, problem))
        here = strategy.devices[of, 0]
        marked = (strategy.devices == here).any(axis=1).astype(int).tolist()
        pairs = zip(strategy.choice.tolist(), marked, strict=True)
        at = [option.index(pair) for option, pair in zip(options, pairs, strict=True)]
        needs = windows.needs(at)
        found = windows.worst(needs)
        for seconds, term in found:
            assert term.coefficients @ needs == pytest.approx(seconds)
        assert max(seconds for seconds, _ in found) <= pricer.price(rng, strategy, network).seconds * (1 + 1e-9)
