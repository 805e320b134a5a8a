"""Leaf-spines and k-ary fat-trees from the command line: searched on their switches, by their flags."""

from pathlib import Path

import orjson
import pytest
from command_lines import errors_of, run_json

from flexnet.__main__ import main

ALEXNET = ("search", "alexnet", "--batch-size", "1024", "--nsimnode", "16", "--big-gpu", "4")
ALEXNET += ("--interface-bandwidth", "25", "--inter-gpu-bandwidth", "200", "--search-budget", "200")
NARROW = ("--topology", "leafspine", "--servers-per-leaf", "4", "--oversubscription", "4")


def test_a_narrow_leaf_spine_is_searched_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of what the best plan for an ideal switch takes there, whose flows cross the leaves."""
    times = {}
    for name, flags in (("switch", ("--topology", "fattree")), ("tiers", NARROW)):
        out = tmp_path / name
        assert main([*ALEXNET, *flags, "-o", str(out)]) == 0
        capsys.readouterr()
        on = flags if name == "tiers" else NARROW
        assert main(["simulate", str(out / "taskgraph.fbuf"), *on, "--json"]) == 0
        times[name] = orjson.loads(capsys.readouterr().out)["iteration_ms"]
    assert times["tiers"] < 0.6 * times["switch"]
    document = run_json(tmp_path / "tiers")
    settings = document["inputs"]["settings"]  # type: ignore[index]
    assert settings["topology_parameters"] == {"oversubscription": 4.0, "servers_per_leaf": 4}
    assert main(["simulate", str(tmp_path / "tiers" / "taskgraph.fbuf"), "--json"]) == 0
    assert orjson.loads(capsys.readouterr().out)["iteration_ms"] == document["best_ms"]
    words = ["search", "--resume", str(tmp_path / "tiers"), "--search-budget", "210"]
    assert main([*words, "--oversubscription", "2"]) == 2
    assert '--oversubscription is "2", but was "4"' in capsys.readouterr().err
    assert main(words) == 0


def test_what_other_paths_would_take_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("search", "vgg", "--batch-size", "512", "--nsimnode", "8", "--topology", "kary", "--ports", "4")
    assert main([*words, "--search-budget", "5", "-o", str(tmp_path / "run")]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("paths"))
    assert line.endswith(" in 4 draws where every flow takes any of the shortest paths")
    document = run_json(tmp_path / "run")
    draws = document["path_draws_ms"]
    assert draws == sorted(draws)  # type: ignore[type-var]
    assert draws[0] > document["best_ms"]  # type: ignore[index]  # no two flows collide on the routes searched


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--topology", "kary", "--ports", "2"), "ports must be even and at least 4"),
        (("--topology", "kary", "--oversubscription", "2"), "--oversubscription is for --topology leafspine; "),
        (("--topology", "leafspine", "--node-degree", "2"), "--node-degree is for --topology topoopt and random; "),
        ((*NARROW[:4], "--oversubscription", "3"), "leaves 1.33333 links up; it must be a whole number"),
    ],
)
def test_flags_that_do_not_fit(flags: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALEXNET, *flags]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert sentence in line
