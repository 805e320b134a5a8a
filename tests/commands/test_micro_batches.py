"""Searches whose batch runs in micro-batches, from the command line."""

import re
from pathlib import Path

import pytest
from command_lines import errors_of, run_json, search_words

from flexnet.__main__ import main


def test_a_plan_of_micro_batches_is_told_written_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for n in (1, 4):
        words = search_words("--micro-batches", str(n), "--search-budget", "20", "-o", str(tmp_path / str(n)))
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert ("batch 64 in 4 micro-batches, 4 servers" in shown) == (n == 4)
        found[n] = run_json(tmp_path / str(n))
        assert found[n]["inputs"]["batch_size"] == 64 and found[n]["inputs"]["micro_batches"] == n
        assert found[n]["lower_bound_ms"] <= found[n]["best_ms"]
        assert ("Batch 64 in 4 micro-batches" in (tmp_path / str(n) / "report.html").read_text()) == (n == 4)
    assert main(["simulate", str(tmp_path / "4" / "taskgraph.fbuf")]) == 0
    replayed = re.search(r"([0-9.]+) ms", capsys.readouterr().out)
    assert replayed is not None and float(replayed[1]) == pytest.approx(found[4]["best_replay_ms"], abs=0.01)
    assert main(["trace", str(tmp_path / "4"), "-o", str(tmp_path / "trace.json")]) == 0
    assert main(["search", "--resume", str(tmp_path / "4"), "--search-budget", "25"]) == 0
    assert "resumed after 21 proposals" in capsys.readouterr().out
    assert main(["search", "--resume", str(tmp_path / "4"), "--micro-batches", "2"]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert line.startswith('flexnet: error: --micro-batches is "2", but was "4"')


def test_micro_batches_may_have_fewer_samples_than_there_are_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 2 samples each, two of four servers have one; stages of a pipeline may have all."""
    assert main(search_words("--micro-batches", "32", "--search-budget", "20")) == 0
    assert "the 2-server data-parallel start" in capsys.readouterr().out
    chain = ("--semantics", "original", "--method", "mcmc", "--search-budget", "5")
    assert main(search_words("--micro-batches", "32", *chain)) == 0
    assert "the 2-server data-parallel start" in capsys.readouterr().out


def test_operators_with_batches_of_their_own_are_cut_where_all_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Experts have room for seven of eight samples, which are on one server."""
    words = ("search", "moe", "-b", "64", "--nsimnode", "4", "--topology", "fattree", "--search-budget", "5")
    assert main([*words, "--micro-batches", "8"]) == 0
    assert "the 1-server data-parallel start" in capsys.readouterr().out


def test_a_measurement_file_is_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(tmp_path / "dlrm16.json")
    profiled = ("profile", "dlrm", "--batch-size", "16", "--nsimnode", "4", "--device", "analytic", "-o", table)
    assert main([*profiled]) == 0
    assert main(search_words("--mfile", table, "--micro-batches", "4")) == 0
    capsys.readouterr()
    assert main(search_words("--mfile", table, "--micro-batches", "2")) == 2
    (line,) = errors_of(capsys.readouterr().err)
    sentence = "measured at batch size 16; a micro-batch has 32 samples, and would have as many with --batch-size 32"
    assert sentence in line


@pytest.mark.parametrize("method", ["portfolio", "mcmc"])
def test_original_and_corrected_semantics_have_them(method: str) -> None:
    semantics = {"portfolio": "corrected", "mcmc": "original"}[method]
    words = ("--semantics", semantics, "--method", method, "--micro-batches", "2", "--search-budget", "5")
    assert main(search_words(*words)) == 0


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--micro-batches", "0"), '--micro-batches is "0"; it must be a whole number from 1 to 1024, or auto'),
        (("--micro-batches", "two"), '--micro-batches is "two"; it must be a whole number from 1 to 1024, or auto'),
        (
            ("-b", "62", "--micro-batches", "4"),
            "--batch-size 62 does not divide evenly over 4 micro-batches, each over one server; it must be a multiple "
            "of 4, such as 64",
        ),
        (
            ("-b", "100", "--micro-batches", "4", "--big-gpu", "8"),
            "--batch-size 100 does not divide evenly over 4 micro-batches, each over one server of 8 GPUs; it must be "
            "a multiple of 32, such as 128",
        ),
    ],
)
def test_what_cannot_be_is_refused(flags: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(search_words(*flags)) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert sentence in line
