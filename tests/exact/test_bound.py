"""The bound against every strategy there is, on models small enough to try them all."""

import itertools
from collections.abc import Iterator
from math import prod
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_models import in_micro_batches, in_random_groups, small_problem
from threadpoolctl import threadpool_info, threadpool_limits

from flexnet.exact import bound, windows
from flexnet.exact.bound import lower_bound
from flexnet.exact.game import play
from flexnet.exact.lookout import Lookout
from flexnet.exact.make_windows import make_windows
from flexnet.exact.needs import least_needs, n_classes
from flexnet.exact.solver import Solution, solve
from flexnet.exact.tables import CostTables, evaluate
from flexnet.exact.windows import HERE_OF_EDGE, HERE_OF_OP, HERE_REDUCED, Windows
from flexnet.network.build import family_of
from flexnet.plan.problem import Problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import fixed_network, rebuilder
from flexnet.simulate.protocol import FLUID

Floats = npt.NDArray[np.float64]

pytestmark = pytest.mark.compiled  # whole searches: without JIT they take many minutes


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
    pricer = Pricer(problem, every_exact=True, protocol=FLUID)
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
    assert 0 < lower_bound(problem, family, rounds=30).seconds <= optimum(problem, topology, rng)


@pytest.mark.parametrize(
    ("topology", "n_server", "n_op", "most_choices"), [("fattree", 2, 4, 4), ("topoopt", 3, 3, 3), ("fattree", 4, 3, 2)]
)
@given(seed=st.integers(0, 2**32 - 1), micro_batches=st.integers(2, 5))
@settings(max_examples=8, deadline=None)
def test_no_plan_of_micro_batches_beats_the_bound(
    topology: str, n_server: int, n_op: int, most_choices: int, seed: int, micro_batches: int
) -> None:
    rng = np.random.default_rng(seed)
    once = small_problem(rng, n_server, int(rng.integers(2, n_op + 1)), most_choices)
    problem = in_micro_batches(once, micro_batches)
    family = family_of(topology, degree=2, semantics=CORRECTED)
    bound_of_one, bound_of_all = (lower_bound(p, family, rounds=30).seconds for p in (once, problem))
    assert bound_of_one * (1 - 1e-6) < bound_of_all <= optimum(problem, topology, rng)


@pytest.mark.parametrize(("topology", "n_server", "n_op", "most_choices"), [("fattree", 2, 4, 4), ("topoopt", 3, 3, 3)])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_no_plan_of_groups_beats_the_bound(
    topology: str, n_server: int, n_op: int, most_choices: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = in_random_groups(rng, small_problem(rng, n_server, int(rng.integers(2, n_op + 1)), most_choices))
    family = family_of(topology, degree=2, semantics=CORRECTED)
    assert 0 < lower_bound(problem, family, rounds=30).seconds <= optimum(problem, topology, rng)


@pytest.mark.parametrize("most", [2, 5])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_choices_taken_together_bound_all_of_them(most: int, seed: int) -> None:
    """By their parts and what they cut, where these are few enough, or by their parts alone; looked at few passes."""
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, 4, 2, 6)
    family = family_of("fattree", degree=2, semantics=CORRECTED)
    with patch.multiple(bound, MORE_CHOICES=(most,), MOST_CHOICES=most), patch.object(windows, "MOST_PASSES", 2):
        assert max(n_classes(problem, most)) <= max(most, 4), "at most one for each number of parts"
        assert 0 < lower_bound(problem, family, rounds=30).seconds <= optimum(problem, "fattree", rng)


@given(seed=st.integers(0, 2**32 - 1), n_server=st.sampled_from([2, 3]), micro_batches=st.sampled_from([1, 1, 3]))
@settings(max_examples=25, deadline=None)
def test_no_term_exceeds_any_strategy(seed: int, n_server: int, micro_batches: int) -> None:
    """Not only the mean of terms at the best strategy: each term at every one, whichever servers are looked at."""
    rng = np.random.default_rng(seed)
    problem = in_micro_batches(small_problem(rng, n_server, 3, 3), micro_batches)
    family = family_of("fattree", degree=2, semantics=CORRECTED)
    network = fixed_network(problem, family, rng)
    speed, n_op = family.server_bandwidth(problem.cluster), len(problem.candidates)
    of = rng.choice(n_op, int(rng.integers(1, min(n_op, 3) + 1)), replace=False).tolist()
    laid_out = make_windows(least_needs(problem), n_server, speed, speed, of, micro_batches=micro_batches)
    options = [[tuple(row) for row in option.tolist()] for option in laid_out.options]
    pricer = Pricer(problem, every_exact=True, protocol=FLUID)
    longest: dict[tuple[int, ...], float] = {}
    for choices, strategy in every_strategy(problem):
        marks = []
        for op in of:
            here = strategy.devices[op, int(rng.integers((strategy.devices[op] >= 0).sum()))]
            marks.append((strategy.devices == here).any(axis=1).astype(int).tolist())
        rows = zip(choices, *marks, strict=True)
        at = tuple(option.index(row) for option, row in zip(options, rows, strict=True))
        if at not in longest:
            needs = laid_out.needs(at)
            weights = rng.random(len(needs))
            assert evaluate(laid_out.costs(weights), at) == pytest.approx(weights @ needs)
            found = laid_out.worst(needs)
            for seconds, term in found:
                assert term.coefficients @ needs == pytest.approx(seconds)
            longest[at] = max(seconds for seconds, _ in found)
        assert longest[at] <= pricer.price(rng, strategy, network).seconds * (1 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_server_more_to_look_at_takes_nothing_from_terms(seed: int) -> None:
    """Terms known say as much of selections that are told on one server more, whatever has a part there."""
    rng = np.random.default_rng(seed)
    problem = small_problem(rng, 4, 4, 4)
    speed = family_of("fattree", degree=2, semantics=CORRECTED).server_bandwidth(problem.cluster)
    needs = least_needs(problem)
    lookout = Lookout(needs, 4, speed)
    of = [lookout.first()]
    fewer = make_windows(needs, 4, speed, speed, of)
    selections = [tuple(int(rng.integers(len(options))) for options in fewer.options) for _ in range(3)]
    seen = lookout.next(fewer, [(0.5, selections[0]), (0.2, selections[1]), (0.3, selections[2])], of)
    assume(seen is not None)
    assert seen.op not in of
    more = make_windows(needs, 4, speed, speed, [*of, seen.op])
    for choices, marks in zip(selections, seen.beside, strict=True):
        wider = more.marked(choices, marks, fewer)
        told = more.needs(wider)
        for seconds, term in fewer.worst(fewer.needs(choices)):
            assert more.widened(term, fewer).coefficients @ told == pytest.approx(seconds)
        assert marks[seen.op] == 1
        configs = [options[choice][0] for options, choice in zip(fewer.options, choices, strict=True)]
        whole = [parts[config] == 4 for parts, config in zip(needs.parts, configs, strict=True)]
        for others in itertools.product((0, 1), repeat=len(marks)):
            if others[seen.op] and all(mark or not all_ for mark, all_ in zip(others, whole, strict=True)):
                other = more.needs(more.marked(choices, others, fewer))
                assert busy_on_last(more, other) >= busy_on_last(more, told) * (1 - 1e-9)


def busy_on_last(laid_out: Windows, needs: Floats) -> float:
    """Seconds that the server which is looked at last sends and receives."""
    of_op, of_edge = laid_out.split(needs)
    return float(of_op[:, HERE_REDUCED - HERE_OF_OP].sum() + of_edge[:, -HERE_OF_EDGE:].sum())


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


def test_products_run_on_one_thread_and_others_get_theirs_back() -> None:
    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    seen: list[list[int]] = []

    def watched(costs: CostTables) -> Solution:
        seen.append(threads())
        return solve(costs)

    problem = small_problem(np.random.default_rng(1), 2, 3, 3)
    with threadpool_limits(2, user_api="blas"), patch.object(bound, "solve", watched):
        before = threads()
        lower_bound(problem, family_of("fattree", degree=None, semantics=CORRECTED), rounds=3)
        assert threads() == before
    assert seen
    assert all(one == [1] * len(before) for one in seen)
