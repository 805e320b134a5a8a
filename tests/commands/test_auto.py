"""Micro-batches and groups of GPUs that a search finds itself."""

import re
from pathlib import Path

import pytest
from command_lines import errors_of, run_json, search_words

from flexnet.__main__ import main

LLAMA = (
    *("search", "llama", "--num-layers", "3", "--hidden-size", "512", "--intermediate-size", "1024"),
    *("--num-heads", "8", "--num-kv-heads", "4", "--sequence-length", "64", "--vocabulary-size", "1024"),
    *("--batch-size", "32", "--nsimnode", "4", "--big-gpu", "4", "--gpu", "h100", "--topology", "topoopt"),
    *("--inter-gpu-bandwidth", "3600", "--search-budget", "20"),
)
AUTO = ("--micro-batches", "auto", "--tensor-parallel", "auto")


@pytest.mark.compiled
def test_what_is_found_is_as_good_as_what_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run is that of the numbers, which it tells, and goes on with them."""
    memory = ("--gpu-memory", "0.06")
    assert main([*LLAMA, *memory, *AUTO, "-o", str(tmp_path / "auto")]) == 0
    told = re.search(
        r"^auto +(--micro-batches (\d+) --tensor-parallel (\d)): the best of", capsys.readouterr().out, re.M
    )
    assert told is not None
    found = run_json(tmp_path / "auto")
    assert found["inputs"]["micro_batches"] == int(told[2]) and found["inputs"]["tensor_parallel"] == int(told[3])
    assert found["arguments"].count("auto") == 0 and found["command_line"].count("auto") == 2
    best = {}
    for batches in (1, 2, 4, 8):
        for gpus in (1, 4):
            words = ("--micro-batches", str(batches), "--tensor-parallel", str(gpus))
            assert main([*LLAMA, *memory, *words, "-o", str(tmp_path / "named"), "--overwrite"]) == 0
            best[batches, gpus] = run_json(tmp_path / "named")["best_ms"]
    assert found["best_ms"] == best[int(told[2]), int(told[3])] <= 1.02 * min(best.values())
    assert max(best.values()) > 2 * min(best.values())
    assert main(["search", "--resume", str(tmp_path / "auto"), "--search-budget", "25"]) == 0
    assert main(["search", "--resume", str(tmp_path / "auto"), "--micro-batches", "auto"]) == 2
    assert "are for a search that begins; name numbers here" in capsys.readouterr().err


def test_one_number_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LLAMA, "--micro-batches", "2", "--tensor-parallel", "auto"]) == 0
    shown = capsys.readouterr().out
    told = re.search(r"^auto +(--tensor-parallel [14]): the best of 2 ways, of which 2 were priced", shown)
    prices = re.findall(r"^ +(--tensor-parallel [14]): ([0-9.,]+) ms by first prices", shown, re.MULTILINE)
    assert told is not None and prices[0][0] == told[1] and len(prices) == 2
    assert float(prices[0][1]) < float(prices[1][1])


def test_a_measurement_file_tells_the_micro_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(tmp_path / "dlrm16.json")
    profiled = ("profile", "dlrm", "--batch-size", "16", "--nsimnode", "4", "--device", "analytic", "-o", table)
    assert main([*profiled]) == 0
    assert main(search_words("--mfile", table, "--micro-batches", "auto")) == 0
    assert "--micro-batches 4: the best of 1 way, of which 0 were priced" in capsys.readouterr().out


def test_only_what_fits_is_priced(capsys: pytest.CaptureFixture[str]) -> None:
    """If nothing does, the search says what it lacks."""
    assert main([*LLAMA, "--gpu-memory", "0.015", *AUTO]) == 0
    assert "--tensor-parallel 4: the best of 7 ways, of which 3 were priced" in capsys.readouterr().out
    assert main([*LLAMA, "--gpu-memory", "0.003", *AUTO]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert "on one server and a server has 0.012 GB" in line


def test_nothing_is_said_beside_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LLAMA, "--micro-batches", "2", "--tensor-parallel", "auto", "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("-b", "31"), "--batch-size 31 does not divide evenly over 4 servers"),
        (
            ("--semantics", "original", "--method", "mcmc"),
            "auto needs --method portfolio; name numbers for the original's chain",
        ),
        (("--mfile", "nothing.json"), "nothing.json"),
    ],
)
def test_where_no_number_will_do(flags: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(search_words("--micro-batches", "auto", *flags)) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert sentence in line


def test_comparisons_take_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare", *search_words("--micro-batches", "auto", "--time", "1")[1:])
    assert main([word for word in words if word not in ("--topology", "topoopt")]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert "--micro-batches auto and --tensor-parallel auto are for a search that begins; name numbers here" in line
