"""Terms of measured operators, the bound and the frontier, on models with estimated times."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.cost.roofline import roofline_table
from flexnet.exact.frontier import frontier
from flexnet.exact.tables import CostTables, evaluate
from flexnet.exact.terms import measured_terms, place
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS
from flexnet.network.build import family_of
from flexnet.network.topologies.fattree import FatTree
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics
from flexnet.plan.strategy import Config, configs_of, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.search.starts.start import bound_of


def problem_of(graph: ModelGraph, n_server: int, semantics: Semantics = CORRECTED, gbps: float = 10.0) -> Problem:
    table = roofline_table(graph, "a100", n_server=n_server, big_gpu=0, parameter_parallel=True)
    cluster = Cluster(n_server, link_bandwidth=gbps * 1e9 / 8, degree=2)
    return make_problem(graph, table, cluster, semantics)


def small_graph(widths: list[int]) -> ModelGraph:
    b = GraphBuilder("net", 64)
    x = b.input(32)
    branches = [b.dense(x, width) for width in widths]
    b.dense(b.concat([*branches, b.embedding(b.input(1, dtype="int64"), 1000, 8)], axis=1), 16)
    return b.build()


def sent_past_server_0(problem: Problem, configs: list[Config]) -> int:
    tasks = build(problem, make_strategy(problem, configs))
    ends = np.divmod(tasks.place[tasks.kind == NOMINAL_COMM], problem.cluster.n_server)
    return int(np.count_nonzero(np.minimum(*ends)))


def bound_on(problem: Problem, topology: str) -> float:
    family = family_of(topology, degree=problem.cluster.degree, semantics=problem.semantics)
    return bound_of(problem, family).seconds


@given(st.lists(st.sampled_from([8, 64, 2048]), min_size=1, max_size=3), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_terms_are_what_the_task_graph_has(widths: list[int], seed: int, strided: bool) -> None:
    problem = problem_of(small_graph(widths), 4)
    terms = measured_terms(problem, strided=strided)
    rng = np.random.default_rng(seed)
    choices = [int(rng.integers(len(options))) for options in terms.degrees]
    configs = place(problem, terms, choices, strided=strided)
    tasks = build(problem, make_strategy(problem, configs))
    for op, (compute, choice) in enumerate(zip(terms.compute, choices, strict=True)):
        of_part = tasks.seconds[(tasks.kind <= BACKWARD) & (tasks.op == op)]
        assert of_part.sum() == pytest.approx(compute[choice] * len(of_part) / 2)
    sizes = np.diff(tasks.group_ptr)
    sent = 2 * (sizes - 1) / sizes * tasks.bytes[tasks.kind == ALLREDUCE]
    of_op = np.bincount(tasks.op[tasks.kind == ALLREDUCE], sent, len(choices))
    shards = np.array([config.degrees[0] for config in configs])  # of Linear operators, which alone have weights
    assert of_op / shards == pytest.approx([term[i] for term, i in zip(terms.reduced, choices, strict=True)])
    moved = tasks.bytes[tasks.kind == NOMINAL_COMM].sum()
    busiest = sum(table[choices[u], choices[v]] for (u, v), table in terms.moved.items())
    assert moved / 4 - 1e-6 <= busiest <= moved + 1e-6


@pytest.mark.parametrize(("share", "n_read"), [(True, 2), (False, 3)])
def test_keys_and_values_come_once(share: bool, n_read: int) -> None:
    """Queries count by themselves: their steps may be cut."""
    b = GraphBuilder("attention", 8)
    x = b.dense(b.input(2, 16), 16)
    b.attention(x, x, x, 16, 2)
    problem = problem_of(b.build(), 4, replace(CORRECTED, share_transfers=share))
    terms = measured_terms(problem, strided=True)
    producer, consumer = (terms.degrees[op].index(degrees) for op, degrees in enumerate([(1, 1, 1), (1, 1, 4)]))
    three_quarters = 3 / 4 * 8 * 2 * 16 * 4
    assert terms.moved[0, 1][producer, consumer] == 2 * n_read * three_quarters


@pytest.mark.parametrize("strided", [True, False])
def test_columns_and_then_rows_of_matrices_move_sums_alone(strided: bool) -> None:
    """Two matrices cut as in Megatron-LM, beside the batch: what the second reads lies where it is.

    What adds up its sums lies on server 0, so that nothing is sent but to and from there.
    """
    b = GraphBuilder("mlp", 64)
    b.softmax(b.dense(b.dense(b.input(32), 64), 32))
    graph = b.build()
    table = roofline_table(graph, "a100", n_server=8, big_gpu=0, every=True)
    problem = make_problem(graph, table, Cluster(8), CORRECTED)
    terms = measured_terms(problem, strided=strided)
    columns, rows = terms.degrees[0].index((4, 2)), terms.degrees[1].index((1, 2, 4))
    assert terms.moved[0, 1][columns, rows] == 0
    last = terms.degrees[2].index((1, 1))
    one, other, loss = place(problem, terms, [columns, rows, last], strided=strided)
    assert one.devices == tuple(range(8))
    assert other.devices == (0, 4, 1, 5, 2, 6, 3, 7)
    assert sent_past_server_0(problem, [one, other, loss]) == 0
    assert sent_past_server_0(problem, [one, Config((1, 2, 4), tuple(range(8))), loss]) > 0


@pytest.mark.compiled
@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL], ids=lambda s: s.name)
@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random", "fc"])
@given(widths=st.lists(st.sampled_from([8, 512, 4096]), min_size=1, max_size=3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12, deadline=None)
def test_no_strategy_beats_the_bound(topology: str, semantics: Semantics, widths: list[int], seed: int) -> None:
    problem = problem_of(small_graph(widths), 4, semantics, gbps=1.0)
    bound = bound_on(problem, topology)
    assert bound > 0
    rng = np.random.default_rng(seed)
    for _ in range(6):
        start = []
        for options in problem.candidates:
            degrees = options[int(rng.integers(len(options)))].degrees
            start.append(Config(degrees, tuple(rng.permutation(4)[: int(np.prod(degrees))].tolist())))
        ready = prepare(problem, Settings(topology, seed=1), start)
        assert bound <= ready.timeline(ready.state.best).seconds


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_frontier_is_that_of_all_selections(seed: int, n_vertex: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_vertex)
    pairs = [pair for pair in itertools.combinations(range(n_vertex), 2) if rng.random() < 0.6]
    tables = CostTables(
        tuple(rng.integers(0, 9, n).astype(float) for n in sizes),
        {(u, v): rng.integers(0, 9, (sizes[u], sizes[v])).astype(float) for u, v in pairs},
    )
    memory = [rng.integers(0, 9, n).astype(float) for n in sizes]
    every = set()
    for choices in itertools.product(*map(range, sizes)):
        every.add((sum(float(m[c]) for m, c in zip(memory, choices, strict=True)), evaluate(tables, choices)))
    wanted = sorted(a for a in every if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in every))
    points = frontier(tables, memory, most=10_000)
    assert [(p.memory, p.time) for p in points] == wanted
    for point in points:
        assert evaluate(tables, point.choices) == point.time
        assert sum(float(m[c]) for m, c in zip(memory, point.choices, strict=True)) == point.memory
    thin = frontier(tables, memory, most=2)
    assert all(evaluate(tables, point.choices) == point.time for point in thin)


@pytest.mark.parametrize("model", ["dlrm", "transformer", "vgg"])
def test_start_is_never_slower_than_data_parallelism(model: str) -> None:
    flags = {"--num-layers": "1"} if model == "transformer" else {}
    problem = problem_of(MODELS[model].build(flags, 64), 4)
    data = prepare(problem, Settings("fattree", method="mcmc", start="data"))
    dp = prepare(problem, Settings("fattree", method="mcmc", start="dp"))
    assert dp.start.seconds <= data.start.seconds * 1.01
    assert bound_on(problem, "fattree") <= dp.start.seconds
    again = prepare(problem, Settings("fattree", method="mcmc", start="dp"))
    assert configs_of(problem, again.state.best.strategy) == configs_of(problem, dp.state.best.strategy)


def test_slow_links_make_the_start_another_one() -> None:
    """Where links are slow, large layers on one server beat data parallelism."""
    problem = problem_of(MODELS["vgg"].build({}, 16), 4, gbps=0.01)
    data = prepare(problem, Settings("topoopt", method="mcmc", start="data"))
    dp = prepare(problem, Settings("topoopt", method="mcmc", start="dp"))
    assert dp.state.best.seconds < 0.8 * data.state.best.seconds


def test_memory_limit_picks_a_start_that_fits() -> None:
    """Cutting saves memory here, so whatever fits one server does so cut."""
    problem = problem_of(MODELS["vgg"].build({}, 64), 4)
    terms = measured_terms(problem, strided=False)
    least = min(point.memory for point in bound_of(problem, FatTree(), terms=terms).frontier())
    ready = prepare(problem, Settings("fattree", method="mcmc", start="dp", gpu_memory=1.01 * least))
    assert ready.search.pricer.memory_needed(ready.state.best.strategy) <= 1.01 * least
