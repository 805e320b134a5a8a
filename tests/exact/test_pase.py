from pathlib import Path

import numpy as np
import pytest
from pase_cases import choices_of, problem_of, recorded

from flexnet.errors import FlexNetError
from flexnet.exact.baseline import data_parallel
from flexnet.exact.pase import pase_problem
from flexnet.exact.tables import evaluate
from flexnet.model.builder import GraphBuilder
from flexnet.model.zoo.pase import GRAPHS

NAMES = sorted(GRAPHS)


@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_the_recorded_ones(shared_data: Path, name: str) -> None:
    record = recorded(shared_data, "graphs")[name]
    spec = GRAPHS[name]
    problem = pase_problem(spec.build(128), 4, 5000.0, spec.cutoff)
    assert spec.cutoff == record["cutoff"]
    assert [list(domain.sizes) for domain in problem.domains] == [op["dom"] for op in record["ops"]]
    for op, theirs in zip(problem.graph.operators, record["ops"], strict=True):
        sources = {source.op for source in op.inputs if source.op is not None}
        assert sorted(sources) == sorted(theirs["preds"])
    calls = [source.op for op in problem.graph.operators for source in op.inputs if source.op is not None]
    assert len(calls) == len(record["edge_calls"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [4, 8, 16, 32])
def test_tables_have_the_recorded_sums(shared_data: Path, name: str, p: int) -> None:
    record = recorded(shared_data, "graphs")[name][f"p{p}"]
    inputs = {"graph": name, "p": p, "batch": 128, "flops": 10.0, "bw": 16.0}
    problem = problem_of(inputs)
    assert [len(configs) for configs in problem.configs] == record["nconfigs"]
    ours = [[costs.min(), costs.max(), costs.sum()] for costs in problem.tables.vertices]
    theirs = [[item["min"], item["max"], item["sum"]] for item in record["vertex_cost"]]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    edges = {(item["u"], item["v"]): [item["min"], item["max"], item["sum"]] for item in record["edge_cost"]}
    assert edges.keys() == problem.tables.edges.keys()
    ours = [[table.min(), table.max(), table.sum()] for table in problem.tables.edges.values()]
    np.testing.assert_allclose(ours, [edges[ends] for ends in problem.tables.edges], rtol=1e-12)


def test_random_strategies_cost_what_pase_says(shared_data: Path) -> None:
    for case in recorded(shared_data, "golden")["random_strategies"]:
        problem = problem_of(case)
        choices = choices_of(problem, case["config"])
        assert evaluate(problem.tables, choices) == pytest.approx(case["cost"], rel=1e-9)
        alone = sum(costs[i] for costs, i in zip(problem.tables.vertices, choices, strict=True))
        assert alone == pytest.approx(case["vertex_part"], rel=1e-9)


def test_reference_strategies_cost_what_pase_says(shared_data: Path) -> None:
    for case in recorded(shared_data, "golden")["exact"]:
        if case["inputs"]["p"] in (1, 8):
            problem, costs = problem_of(case["inputs"]), case["reference_costs"]
            assert evaluate(problem.tables, (0,) * len(problem.configs)) == pytest.approx(costs["all_ones"], rel=1e-9)
            assert evaluate(problem.tables, data_parallel(problem)) == pytest.approx(costs["data_parallel"], rel=1e-9)


def test_tensors_between_the_same_operators_add_up() -> None:
    graph = GRAPHS["transformer"].build(16)
    added = pase_problem(graph, 4, 5000.0, 1).tables.edges
    last = pase_problem(graph, 4, 5000.0, 1, overwrite=True).tables.edges
    assert added.keys() == last.keys()
    more = [ends for ends in added if not np.array_equal(added[ends], last[ends])]
    assert len(more) == 24  # 18 x Unstack to scores, 6 x encoder to Stack
    assert all((added[ends] >= last[ends]).all() for ends in more)


def test_tables_that_do_not_fit_are_refused_with_their_size() -> None:
    with pytest.raises(FlexNetError, match=r"need 0\.\d+ GB, the largest of .* x .* cells .* allows 0\.001 GB"):
        pase_problem(GRAPHS["transformer"].build(128), 16, 5000.0, 1, memory=1e6)


def test_operators_outside_the_model_are_refused() -> None:
    b = GraphBuilder("lookup", 8)
    b.embedding(b.input(1, dtype="int64"), 100, 4)
    with pytest.raises(FlexNetError, match=r"Embedding_100 .* has no costs under PaSE's model"):
        pase_problem(b.build(), 2, 5000.0, 1)
