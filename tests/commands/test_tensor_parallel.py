"""Searches whose servers' GPUs share more than samples, from the command line."""

import json
import re
from pathlib import Path

import pytest
from command_lines import errors_of, run_json

from flexnet.__main__ import main

LLAMA = [
    "llama",
    "--num-layers",
    "3",
    "--hidden-size",
    "512",
    "--intermediate-size",
    "1024",
    "--num-heads",
    "8",
    "--num-kv-heads",
    "4",
    "--sequence-length",
    "64",
    "--vocabulary-size",
    "1024",
    "--batch-size",
    "32",
    "--nsimnode",
    "4",
    "--big-gpu",
    "4",
]
ON = ["--topology", "topoopt", "--inter-gpu-bandwidth", "3600"]
SEARCH = ("search", *LLAMA, *ON, "--gpu", "h100", "--search-budget", "20")


def test_a_plan_of_groups_is_told_written_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for n in (1, 4):
        words = (*SEARCH, "--gpu-memory", "0.06", "--tensor-parallel", str(n), "-o", str(tmp_path / str(n)))
        assert main(words) == 0
        shown = capsys.readouterr().out
        assert ("4 servers of 4 GPUs in groups of 4;" in shown) == (n == 4)
        told = re.search(
            r"^groups +4 GPUs share more than samples of (\d+) of 46 operators; .* is (\d+) %", shown, re.M
        )
        found[n] = run_json(tmp_path / str(n))
        assert found[n]["inputs"]["tensor_parallel"] == n
        assert found[n]["lower_bound_ms"] <= found[n]["best_ms"]
        assert ("4 GPUs in groups of 4" in (tmp_path / str(n) / "report.html").read_text()) == (n == 4)
        if n == 4:
            assert told is not None and int(told[1]) == len(found[4]["in_groups"]) > 0
            assert int(told[2]) == round(100 * found[4]["exchange_in_groups"]) > 0
        else:
            assert told is None and not {"in_groups", "exchange_in_groups"} & found[1].keys()
    assert found[4]["best_ms"] < 0.6 * found[1]["best_ms"], "weights that fit need not be dealt out"
    assert main(["simulate", str(tmp_path / "4" / "taskgraph.fbuf")]) == 0
    replayed = re.search(r"([0-9.]+) ms", capsys.readouterr().out)
    assert replayed is not None and float(replayed[1]) == pytest.approx(found[4]["best_replay_ms"], abs=0.01)
    assert main(["search", "--resume", str(tmp_path / "4"), "--search-budget", "25"]) == 0
    assert "resumed after 21 proposals" in capsys.readouterr().out
    assert main(["search", "--resume", str(tmp_path / "4"), "--tensor-parallel", "2"]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert line.startswith('flexnet: error: --tensor-parallel is "2", but was "4"')


def test_a_server_may_have_fewer_samples_than_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    """Two samples of a micro-batch, one for each of two servers; without groups there must be four for one."""
    words = (*SEARCH, "--micro-batches", "16")
    assert main([*words, "--tensor-parallel", "4"]) == 0
    assert "the 2-server data-parallel start" in capsys.readouterr().out
    assert main([*words]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert "does not divide evenly over 16 micro-batches, each over one server of 4 GPUs" in line


def test_measured_times_are_scaled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the ratio of the GPU that is named, and told as estimates; not those of operators that share samples alone."""
    table = str(tmp_path / "llama.json")
    assert main(["profile", *LLAMA, "--device", "analytic", "-o", table]) == 0
    document = json.loads(Path(table).read_text())
    document["estimated"] = False
    Path(table).write_text(json.dumps(document))
    seconds, shares = {}, []
    for flags in ("--gpu a100", "--gpu b200", "--gpu-memory 0.06", "--cuts measured"):
        given = ["--mfile", table, "--tensor-parallel", "2", "--search-budget", "5", *flags.split()]
        assert main(["search", *LLAMA, *ON, *given, "-o", str(tmp_path / "run"), "--overwrite"]) == 0
        assert "4 servers of 4 GPUs in groups of 2;" in capsys.readouterr().out
        found = run_json(tmp_path / "run")
        seconds[flags] = found["initial_ms"]
        shares.append(found["estimated_cuts"]["operators"])
    assert seconds["--gpu a100"] != seconds["--gpu b200"]
    assert all(0 < share < 1 for share in shares)


def test_operators_may_have_batches_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """52 samples of an expert come in two for two groups, not in eight for eight GPUs."""
    words = [
        "search",
        "moe",
        "--batch-size",
        "64",
        "--nsimnode",
        "2",
        "--big-gpu",
        "4",
        "--gpu",
        "h100",
        "--topology",
        "topoopt",
        "--search-budget",
        "5",
    ]
    assert main([*words, "--tensor-parallel", "4"]) == 0
    assert "2 servers of 4 GPUs in groups of 4;" in capsys.readouterr().out


def test_groups_do_not_divide_all_batches(capsys: pytest.CaptureFixture[str]) -> None:
    """Three groups have ten samples of a micro-batch: what does not come out even is left out, and not all does."""
    words = [*SEARCH, "--batch-size", "20", "--micro-batches", "2", "--nsimnode", "3", "--tensor-parallel", "4"]
    del words[words.index("32") - 1 : words.index("32") + 1]
    del words[words.index("--nsimnode") : words.index("--nsimnode") + 2]
    assert main(words) == 0
    assert "in 2 micro-batches, 3 servers of 4 GPUs in groups of 4;" in capsys.readouterr().out


def test_a_plan_of_groups_may_not_be_one_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(tmp_path / "strategy.json")
    assert main([*SEARCH, "--export", plan]) == 0
    for gpus in ("2", "4"):
        status = main([*SEARCH, "--warm-start", plan, "--tensor-parallel", gpus])
        (line,) = errors_of(capsys.readouterr().err) if status else ("",)
        assert status == 0 or (status == 2 and "which does not come out even" in line)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--tensor-parallel", "0"), '--tensor-parallel is "0"; it must be a whole number from 1 to 1024, or auto'),
        (
            ("--tensor-parallel", "3"),
            "--tensor-parallel 3 does not divide the GPUs of a server, 4 (--big-gpu); it must be 1, 2 or 4",
        ),
        (
            ("--tensor-parallel", "2", "--semantics", "original", "--method", "mcmc"),
            "--tensor-parallel needs --semantics corrected; the original knows cuts of the batch alone",
        ),
    ],
)
def test_groups_that_cannot_be(flags: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, *flags]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert line == f"flexnet: error: {sentence}"


def test_networks_are_compared_for_groups(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--tensor-parallel", "4", "--gpu", "h100", "--time", "1", "--topology", "topoopt,fattree")
    assert main(["compare", *LLAMA, *flags]) == 0
    assert "topoopt" in capsys.readouterr().out
