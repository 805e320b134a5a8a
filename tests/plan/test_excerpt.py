from dataclasses import replace

import pytest

from flexnet import CORRECTED, MODELS, Cluster, Problem, complete_table, make_problem, roofline_table
from flexnet.plan.excerpt import excerpt, kept_operators

SMALL: dict[str, str | int] = {"--hidden-size": 64, "--num-heads": 4, "--sequence-length": 16, "--vocabulary-size": 128}
FLAGS: dict[str, dict[str, str | int]] = {
    "gpt": SMALL,
    "t5": SMALL,
    "llama": {**SMALL, "--intermediate-size": 64, "--num-kv-heads": 2},
}


def problem_of(model: str, layers: int, n_server: int) -> Problem:
    graph = MODELS[model].build({**FLAGS[model], "--num-layers": layers}, 8)
    table = complete_table(roofline_table(graph, "a100", n_server=n_server), graph)
    return make_problem(graph, table, Cluster(n_server), CORRECTED)


@pytest.mark.parametrize("model", sorted(FLAGS))
def test_three_layers_stand_for_all(model: str) -> None:
    """What is left of a model of seven layers is the model of three."""
    problem, three = problem_of(model, 7, 4), problem_of(model, 3, 2)
    short = excerpt(problem, 2)
    assert len(short.graph.operators) == len(three.graph.operators)
    for found, wanted in zip(short.graph.operators, three.graph.operators, strict=True):
        assert replace(found, name=wanted.name) == wanted
    assert short.candidates == three.candidates

    kept = kept_operators(problem.graph)
    assert [op for op, other in enumerate(kept) if op == other] == sorted(set(kept))
    for op, other in zip(problem.graph.operators, kept, strict=True):
        assert problem.graph.operators[other].key == op.key


def test_a_model_of_few_layers_is_left_as_it_is() -> None:
    problem = problem_of("gpt", 2, 4)
    short = excerpt(problem, 4)
    assert short.graph.operators == problem.graph.operators and short.candidates == problem.candidates
