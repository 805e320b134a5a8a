from pathlib import Path

import numpy as np
import orjson
import pytest
from command_lines import errors_of

from flexnet.commands.cli import run
from flexnet.exact.pase import flop_per_word, pase_problem
from flexnet.exact.tables import evaluate
from flexnet.model.zoo.pase import GRAPHS


def lines(captured: str) -> list[str]:
    return captured.splitlines()


def test_output_re_evaluates_to_its_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "strategy.json"
    assert run(["dp", "rnnlm", "-p", "6", "-b", "64", "--flops", "12.5", "--bw", "20", "-o", str(file)]) == 0
    document = orjson.loads(file.read_bytes())
    problem = pase_problem(GRAPHS["rnnlm"].build(64), 6, flop_per_word(12.5e12, 20e9), 1)
    choices = [
        int(np.flatnonzero((configs == config).all(axis=1))[0])
        for configs, config in zip(problem.configs, document["config"], strict=True)
    ]
    assert evaluate(problem.tables, choices) == document["cost"]
    parts = [item["cost"] for item in (*document["vertices"], *document["edges"])]
    assert sum(parts) == pytest.approx(document["cost"], rel=1e-12)
    assert f"total cost {document['cost']:.0f}" in capsys.readouterr().out


def test_graph_is_readable(tmp_path: Path) -> None:
    file = tmp_path / "graph.dot"
    assert run(["dp", "alexnet", "-p", "4", "--dump-graph", str(file)]) == 0
    text = file.read_text()
    assert '0 [label="0 CONV2D\\n128/4 x 3 x 55 x 55 x 11 x 11 x 96\\n4 parts, cost ' in text
    assert '0 -> 1 [label="297.4 MB, 0 B moved"];' in text
    assert text.count("->") == 13


def test_timing_and_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dp", "rnnlm", "-p", "4", "--measure", "--profile", "--algo", "1"]) == 0
    shown = capsys.readouterr().out
    assert "solving, 5 times after 2: mean" in shown
    assert "cumulative" in shown and "breadth first order" in shown


def test_models_scale(capsys: pytest.CaptureFixture[str]) -> None:
    costs = []
    for size in ("64", "128", "256"):
        assert run(["dp", "rnnlm", "-p", "4", "-m", size]) == 0
        costs.append(float(lines(capsys.readouterr().out)[-1].split()[2]))
    assert costs[0] < costs[1] < costs[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["alexnet", "-p", "0"], '--procs is "0"; it must be a whole number from 1 to 1048576'),
        (["alexnet", "-b", "-8"], '--batch-size is "-8"; it must be a whole number from 1 to 2147483647'),
        (["alexnet", "--bw", "0"], '--bw is "0"; it must be a number from 1e-6 to 1e9, in GB/s'),
        (["alexnet", "--flops", "1e300"], "a number from 1e-6 to 1e9, in TFLOP/s"),
        (["alexnet", "--flops", "1e9", "--bw", "1e-6"], "too far apart"),
        (["alexnet", "--algo", "2"], "it must be 0 or 1"),
        (["alexnet", "-m", "0"], "--model"),
        (["lenet"], "unknown graph 'lenet'"),
        (["resnet"], "did you mean resnet101?"),
        ([], "no graph given"),
        (["alexnet", "rnnlm"], "unexpected argument 'rnnlm'"),
        (["alexnet", "--prof"], "unknown flag --prof; did you mean --pro"),
        (["transformer", "-p", "16", "--memory", "0.004"], "cells ("),
        (["transformer", "-p", "16", "--memory", "0.001"], "cells ("),
        (["alexnet", "-o", "/"], "is a directory"),
        (["alexnet", "-o", "none/x.json"], "there is no directory"),
        (["alexnet", "-o", "x.json", "--dump-graph", "./x.json"], "both name x.json; name two files"),
    ],
)
def test_wrong_input_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dp", *words]) == 2
    errors = errors_of(capsys.readouterr().err)
    assert len(errors) == 1 and sentence in errors[0], errors
