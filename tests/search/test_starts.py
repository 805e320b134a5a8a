from pathlib import Path

import pytest
from command_lines import SEARCH, errors_of, run_json

from flexnet.commands.cli import run


def test_search_tells_the_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, "--start", "dp", "--search-budget", "20", "-o", str(tmp_path / "a")]) == 0
    shown = capsys.readouterr().out
    assert "bound      no plan takes less than " in shown
    assert "dynamic-programming start" in shown
    record = run_json(tmp_path / "a")
    assert 0 < record["lower_bound_ms"] <= record["best_ms"]  # type: ignore[operator]
    assert record["gap"] == pytest.approx(record["best_ms"] / record["lower_bound_ms"])  # type: ignore[operator]
    assert sum(record["bound_terms"].values()) == pytest.approx(1.0, abs=0.05)  # type: ignore[attr-defined]
    assert record["additive_ms_and_memory_gb"]
    assert record["inputs"]["settings"]["start"] == "dp"  # type: ignore[index]


def test_a_resumed_search_makes_the_same_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    words = [*SEARCH, "--start", "dp", "--search-budget"]
    assert run([*words, "30", "-o", str(whole)]) == 0
    assert run([*words, "10", "-o", str(parts)]) == 0
    assert run(["search", "--resume", str(parts), "--search-budget", "30"]) == 0
    capsys.readouterr()
    assert (whole / "strategy.json").read_bytes() == (parts / "strategy.json").read_bytes()


def test_memory_limits_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, "--start", "dp", "--gpu-memory", "0.0000001"]) == 2
    assert "raise --gpu-memory" in errors_of(capsys.readouterr().err)[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--start", "best"], '--start is "best"; it must be data or dp'),
        (["--start", "dp", "--import", "plan.json"], "--start and --import exclude each other"),
    ],
)
def test_wrong_starts(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, *words]) == 2
    assert sentence in errors_of(capsys.readouterr().err)[0]
