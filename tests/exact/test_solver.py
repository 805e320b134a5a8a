import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pase_cases import choices_of, diamond, problem_of, recorded

import flexnet.exact.solver as solver_module
from flexnet.errors import FlexNetError
from flexnet.exact.order import RULES, breadth_first_order, make_order
from flexnet.exact.pase import pase_problem
from flexnet.exact.prune import prune
from flexnet.exact.solver import solve
from flexnet.exact.tables import CostTables, evaluate
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType


@st.composite
def random_tables(draw: st.DrawFn, most: int = 6) -> CostTables:
    """Up to six vertices with up to four choices, any edges, some of them parts of ties."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most))
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = draw(st.booleans())

    def table(*shape: int) -> np.ndarray:
        return rng.integers(0, 4, shape).astype(float) if whole else rng.uniform(-1.0, 10.0, shape)

    return CostTables(tuple(table(n) for n in sizes), {(u, v): table(sizes[u], sizes[v]) for u, v in chosen})


def brute_force(tables: CostTables) -> float:
    return min(evaluate(tables, choices) for choices in itertools.product(*(range(len(t)) for t in tables.vertices)))


@given(random_tables())
@settings(max_examples=200, deadline=None)
def test_brute_force_agrees(tables: CostTables) -> None:
    solution = solve(tables)
    assert solution.cost == pytest.approx(brute_force(tables), rel=1e-12, abs=1e-12)
    assert evaluate(tables, solution.choices) == solution.cost


@given(random_tables(), st.sampled_from([*RULES, "breadth first"]))
@settings(max_examples=100, deadline=None)
def test_every_order_finds_the_optimum(tables: CostTables, rule: str) -> None:
    sizes = [len(costs) for costs in tables.vertices]
    edges = tables.edges.keys()
    order = breadth_first_order(sizes, edges) if rule == "breadth first" else make_order(rule, sizes, edges)
    assert sorted(order.vertices) == list(range(len(sizes)))
    assert solve(tables, order=order).cost == pytest.approx(brute_force(tables), rel=1e-12, abs=1e-12)


@given(random_tables())
@settings(max_examples=200, deadline=None)
def test_pruning_keeps_an_optimum(tables: CostTables) -> None:
    left, choices = prune(tables, [np.inf] * len(tables.vertices))
    assert brute_force(left) == pytest.approx(brute_force(tables), rel=1e-12, abs=1e-12)
    for costs, kept, fewer in zip(tables.vertices, choices, left.vertices, strict=True):
        assert np.array_equal(costs[kept], fewer)


@given(random_tables(most=5))
@settings(max_examples=50, deadline=None)
def test_small_blocks_change_nothing(tables: CostTables) -> None:
    import flexnet.exact.eliminate as eliminate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eliminate, "BLOCK_CELLS", 5)
        assert solve(tables).cost == pytest.approx(brute_force(tables), rel=1e-12, abs=1e-12)


@st.composite
def small_model(draw: st.DrawFn) -> ModelGraph:
    """Up to six operators over (batch, features), with branches that join again."""
    b = GraphBuilder("small", draw(st.sampled_from([2, 6])))
    tensors = [b.dense(b.input(4), 4)]
    for _ in range(draw(st.integers(0, 4))):
        x, y = draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors))
        kind = draw(st.sampled_from(["dense", "add", "norm", "softmax", "einsum", "reshape"]))
        if kind == "add":
            tensors.append(b.binary(OpType.ADD, x, y))
        elif kind == "einsum":
            tensors.append(b.einsum("bk,kn->bn", x, (4, 4)))
        elif kind == "reshape":
            tensors.append(b.reshape(b.reshape(x, x.tensor.volume), b.batch_size, 4))
        else:
            make = {"dense": lambda t: b.dense(t, 4), "norm": b.layer_norm, "softmax": b.softmax}[kind]
            tensors.append(make(x))
    if len(b.build().operators) < 6:
        b.cross_entropy(tensors[-1])
    return b.build()


@given(small_model(), st.sampled_from([2, 3]), st.sampled_from([0.5, 5000.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_brute_force_agrees_on_models(graph: ModelGraph, p: int, ratio: float, overwrite: bool) -> None:
    if len(graph.operators) > 6:
        return
    tables = pase_problem(graph, p, ratio, 1, overwrite=overwrite).tables
    assert solve(tables).cost == pytest.approx(brute_force(tables), rel=1e-12)


@pytest.mark.parametrize("number", [0, *(pytest.param(i, marks=pytest.mark.compiled) for i in range(1, 8))])
@pytest.mark.parametrize(
    "large",
    [pytest.param(False, id=""), pytest.param(True, id="large transformer", marks=pytest.mark.compiled)],
)
def test_recorded_optima(shared_data: Path, large: bool, number: int) -> None:
    """All recorded optima, each with the recorded configuration evaluated too, in eight parts."""
    cases = recorded(shared_data, "golden")["exact"]
    chosen = [case for case in cases if (case["inputs"]["graph"] == "transformer" and case["inputs"]["p"] > 8) is large]
    assert len(chosen) >= 8
    for case in chosen[number::8]:
        check(case["inputs"], case["outputs"])


def test_runs_of_pase(shared_data: Path) -> None:
    for run in recorded(shared_data, "golden")["pase_runs"]:
        if run["status"] == "ok" and not (run["inputs"]["graph"] == "transformer" and run["inputs"]["p"] > 16):
            check(run["inputs"], run["outputs"])


def check(inputs: dict[str, object], outputs: dict[str, object]) -> None:
    problem = problem_of(inputs)
    solution = solve(problem.tables)
    assert solution.cost == pytest.approx(outputs["cost"], rel=1e-9), inputs
    assert evaluate(problem.tables, solution.choices) == solution.cost
    theirs = choices_of(problem, outputs["config"])
    assert evaluate(problem.tables, theirs) == pytest.approx(outputs["cost"], rel=1e-9), inputs


@pytest.mark.parametrize("p", [2, 4])
def test_diamond(p: int) -> None:
    """PaSE's second algorithm reports 33312 here; both orders find the optimum."""
    tables = pase_problem(diamond(), p, 5000.0, 1).tables
    sizes = [len(costs) for costs in tables.vertices]
    assert solve(tables).cost == 32016.0
    assert solve(tables, order=breadth_first_order(sizes, tables.edges.keys())).cost == 32016.0


def complete(n_vertex: int, n_choice: int) -> CostTables:
    rng = np.random.default_rng(1)
    pairs = itertools.combinations(range(n_vertex), 2)
    return CostTables(
        tuple(rng.uniform(size=n_choice) for _ in range(n_vertex)),
        {pair: rng.uniform(size=(n_choice, n_choice)) for pair in pairs},
    )


def test_a_dense_graph_is_refused_with_the_table_it_needs() -> None:
    with pytest.raises(FlexNetError, match=r"too dense for 0\.01 GB: .* the largest of [\d,]+ cells \(.* GB\)"):
        solve(complete(9, 16), memory=1e7)


def test_equal_parts_are_eliminated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = solver_module.least

    def counted(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        return real(*arguments)

    monkeypatch.setattr(solver_module, "least", counted)
    rng = np.random.default_rng(0)
    costs, edge = rng.uniform(size=3), rng.uniform(size=(3, 3))
    star = CostTables((costs,) * 9, {(0, leaf): edge for leaf in range(1, 9)})
    assert solve(star).cost == pytest.approx(min(costs + 8 * (costs + edge).min(axis=1)), rel=1e-12)
    assert calls == 2  # a leaf, and the last leaf with the hub
