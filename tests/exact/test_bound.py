"""The bound against every strategy there is, on models small enough to try them all."""

import itertools
from collections.abc import Iterator
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import own_keys, ways_to_cut

from flexnet.cost.table import CostTable, Entry
from flexnet.exact.bound import lower_bound
from flexnet.exact.game import play
from flexnet.exact.needs import least_needs
from flexnet.exact.windows import make_windows
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.network.build import family_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.search.networks import fixed_network, rebuilder
from flexnet.search.pricing import Pricer

pytestmark = pytest.mark.compiled  # whole searches: without JIT they take many minutes


def small_model(rng: np.random.Generator, n_op: int) -> ModelGraph:
    """A few operators over (features, batch): layers, sums, tables that cannot be cut, several branches."""
    b = GraphBuilder("small", 12)
    tensors = [b.embedding(b.input(3, dtype="int64"), 50, 4) if rng.random() < 0.3 else b.dense(b.input(8), 4)]
    while len(b.build().operators) < n_op:
        x, y = (tensors[max(int(rng.integers(-2, len(tensors))), 0)] for _ in range(2))
        kind = str(rng.choice(["dense", "dense", "add", "embedding", "concat", "softmax"]))
        if kind == "dense":
            tensors.append(b.dense(x, 4))
        elif kind == "add":
            tensors.append(b.binary(OpType.ADD, x, y))
        elif kind == "concat":
            tensors.append(b.dense(b.concat([x, y], axis=1), 4))
        elif kind == "embedding":
            tensors.append(b.embedding(b.input(2, dtype="int64"), 50, 4))
        else:
            tensors.append(b.softmax(x))
    return own_keys(b.build())


def small_problem(
    rng: np.random.Generator, n_server: int, n_op: int, most_choices: int, semantics: Semantics = CORRECTED
) -> Problem:
    """Times of parts that fall with their number, but not always in proportion; links neither slow nor fast."""
    graph = small_model(rng, n_op)
    entries = {}
    for op in graph.operators:
        ways = ways_to_cut(op, n_server, everywhere=False)
        ways = [ways[i] for i in sorted(rng.permutation(len(ways))[:most_choices])]
        whole, power = float(rng.choice([1e-4, 1e-3, 3e-3])), float(rng.choice([0.7, 1.0]))
        entries[op.key] = tuple(Entry(w, whole / prod(w) ** power, 2 * whole / prod(w) ** power, 8) for w in ways)
    table = CostTable(graph.batch_size, n_server, entries, False, "m.json", {})
    bytes_ = 4 * 12 * 4 * float(rng.choice([0.3, 1.0, 3.0]))  # of a tensor, in about the time of an operator
    cluster = Cluster(n_server, int(rng.choice([0, 4])), 10 * bytes_ / 1e-3, bytes_ / 1e-3, 0.0, 2)
    return make_problem(graph, table, cluster, semantics)


def every_strategy(problem: Problem) -> Iterator[tuple[tuple[int, ...], Strategy]]:
    """All choices on all servers; the first operator's parts stand in order, for servers are alike."""
    n_server = problem.cluster.n_server
    options = []
    for op, entries in enumerate(problem.candidates):
        options.append(
            [
                (choice, Config(entry.degrees, devices))
                for choice, entry in enumerate(entries)
                for devices in itertools.permutations(range(n_server), prod(entry.degrees))
                if op or devices == tuple(range(len(devices)))
            ]
        )
    for picked in itertools.product(*options):
        yield tuple(choice for choice, _ in picked), make_strategy(problem, [config for _, config in picked])


def optimum(problem: Problem, topology: str, rng: np.random.Generator) -> float:
    """The least time of all strategies, each on the network built for it."""
    family = family_of(topology, degree=problem.cluster.degree, semantics=problem.semantics)
    pricer = Pricer(problem, every_exact=True)
    rebuild = rebuilder(problem, family) if family.follows_demand else None
    network = fixed_network(problem, family, rng) if rebuild is None else None
    best = np.inf
    for _, strategy in every_strategy(problem):
        at = network if rebuild is None else rebuild(rng, pricer.demand(strategy))
        assert at is not None
        best = min(best, pricer.price(rng, strategy, at, best).seconds)
    return best


@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL], ids=lambda s: s.name)
@pytest.mark.parametrize(
    ("topology", "n_server", "n_op", "most_choices"),
    [
        ("fattree", 2, 5, 4),
        ("topoopt", 2, 4, 4),
        ("fattree", 3, 3, 3),
        ("topoopt", 3, 3, 3),
        ("fattree", 4, 3, 2),
        ("topoopt", 4, 2, 3),
        ("random", 4, 2, 3),
    ],
)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_no_strategy_at_all_beats_the_bound(
    topology: str, n_server: int, n_op: int, most_choices: int, semantics: Semantics, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, n_server, int(rng.integers(2, n_op + 1)), most_choices, semantics)
    family = family_of(topology, degree=2, semantics=semantics)
    bound = lower_bound(problem, family, rounds=30).seconds
    assert 0 < bound <= optimum(problem, topology, rng)


@given(seed=st.integers(0, 2**32 - 1), n_server=st.sampled_from([2, 3]))
@settings(max_examples=25, deadline=None)
def test_no_term_exceeds_any_strategy(seed: int, n_server: int) -> None:
    """Not only the mean of terms at the best strategy: each term at every one, whichever server is looked at."""
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, n_server, 3, 3)
    family = family_of("fattree", degree=2, semantics=CORRECTED)
    network = fixed_network(problem, family, rng)
    speed, of = family.server_bandwidth(problem.cluster), int(rng.integers(len(problem.candidates)))
    windows = make_windows(least_needs(problem), n_server, speed, speed, of)
    options = [[tuple(row) for row in option.tolist()] for option in windows.options]
    pricer = Pricer(problem, every_exact=True)
    longest: dict[tuple[int, ...], float] = {}
    for choices, strategy in every_strategy(problem):
        here = strategy.devices[of, int(rng.integers((strategy.devices[of] >= 0).sum()))]
        marked = (strategy.devices == here).any(axis=1).astype(int).tolist()
        at = tuple(option.index(pair) for option, pair in zip(options, zip(choices, marked, strict=True), strict=True))
        if at not in longest:
            needs = windows.needs(at)
            found = windows.worst(needs)
            for seconds, term in found:
                assert term.coefficients @ needs == pytest.approx(seconds)
            longest[at] = max(seconds for seconds, _ in found)
        assert longest[at] <= pricer.price(rng, strategy, network).seconds * (1 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_classes_of_choices_need_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, 4, 4, 8)
    family = family_of("fattree", degree=2, semantics=CORRECTED)
    speed = family.server_bandwidth(problem.cluster)
    fine, coarse = (make_windows(least_needs(problem, most_choices=most), 4, speed, speed) for most in (40, 1))
    parts = [[prod(entry.degrees) for entry in entries] for entries in problem.candidates]
    choices = [int(rng.integers(len(p))) for p in parts]
    classes = [sorted(set(p)).index(p[c]) for p, c in zip(parts, choices, strict=True)]
    assert (coarse.needs(classes) <= fine.needs(choices) + 1e-15).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_games_are_nearly_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoff = rng.uniform(0.5, 2.0, rng.integers(1, 9, 2))
    rows, columns = play(payoff)
    assert rows.sum() == pytest.approx(1.0) and columns.sum() == pytest.approx(1.0)
    low, high = (rows @ payoff).min(), (payoff @ columns).max()
    assert low <= high <= 1.005 * low
