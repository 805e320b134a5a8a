"""The report of a run: every section, in a browser, small, and from nothing but the directory."""

import re
import shutil
from pathlib import Path

import numpy as np
import orjson
import pytest
from browser import check_page, chromium
from command_lines import search_words

from flexnet.__main__ import main

SECTIONS = ["result", "limits", "network", "strategy", "search", "demand", "memory", "origin"]
MOST_BYTES = 2_000_000


def text_of(html: str) -> str:
    """What is read of a page."""
    body = html[html.index("<body>") :]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


@pytest.mark.compiled
def test_a_report_works_for_everyone(run_directory: Path) -> None:
    with chromium() as browser:
        check_page(browser, run_directory / "report.html", SECTIONS)


def test_a_search_leaves_a_report_of_itself(run_directory: Path) -> None:
    path = run_directory / "report.html"
    html = path.read_text()
    assert len(html) < MOST_BYTES
    run = orjson.loads((run_directory / "run.json").read_bytes())
    text = text_of(html)
    for number in (run["best_ms"], run["initial_ms"], run["lower_bound_ms"]):
        assert f"{number:.2f} ms" in text or f"{number:#.3g} ms" in text
    assert "dlrm" in text and "flexnet search dlrm" in text and run["versions"]["flexnet"] in text
    assert re.findall(r'<section id="(\w+)"', html) == SECTIONS


def test_it_is_made_again_from_the_directory_wherever_that_is(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(run_directory, moved)
    (moved / "report.html").unlink()
    assert main(["report", str(moved)]) == 0
    assert capsys.readouterr().out == f"wrote {moved / 'report.html'}\n"
    again, before = (text_of((place / "report.html").read_text()) for place in (moved, run_directory))
    clocked = r"\d+\.\d+ s\b|\d+ a second"  # run.json has fewer digits of seconds than the search had
    assert re.sub(clocked, "", again) == re.sub(clocked, "", before)
    assert main(["report", str(moved), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").is_file()


def test_a_run_without_history_says_so(run_directory: Path, tmp_path: Path) -> None:
    moved = tmp_path / "old"
    shutil.copytree(run_directory, moved)
    (moved / "history.json").unlink()
    assert main(["report", str(moved)]) == 0
    assert "This run kept no history of its search" in (moved / "report.html").read_text()


@pytest.mark.parametrize("topology", ["fattree", "fc", "random"])
def test_every_kind_of_network_is_drawn(topology: str, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    assert main(search_words("--topology", topology, "-o", str(directory))) == 0
    assert main(["report", str(directory)]) == 0
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in (directory / "report.html").read_text()


def test_rings_that_share_all_their_links_say_so(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    flags = ("--nsimnode", "8", "--batch-size", "64", "--topology", "random", "--node-degree", "3")
    flags += ("--start", "data", "--search-budget", "0")  # all servers reduce
    assert main(search_words(*flags, "-o", str(directory))) == 0
    assert "ring 3 of 8 servers, over links of the others" in text_of((directory / "report.html").read_text())


def spoil(directory: Path, what: str) -> str:
    """Damage a run; what is said of it."""
    run = directory / "run.json"
    document = orjson.loads(run.read_bytes())
    if what == "none":
        run.unlink()
        return "holds no run: there is no run.json in it; name a directory that flexnet search -o DIR wrote"
    if what == "running":
        run.write_bytes(orjson.dumps({**document, "status": "running"}))
        return "is under way or was killed, so there is no plan yet; go on with it by flexnet search --resume"
    if what == "version":
        run.write_bytes(orjson.dumps({**document, "version": 99}))
        return "is not of a run of this version"
    if what == "field":
        run.write_bytes(orjson.dumps({**document, "best_ms": "fast"}))
        return '"best_ms" is missing, or not what it must be'
    if what == "input":
        run.write_bytes(orjson.dumps({**document, "inputs": {}}))
        return '"inputs" lack "model"'
    if what == "no plan":
        (directory / "plan.npz").unlink()
        return "has no plan.npz; an earlier version of flexnet made it, so search again"
    if what == "plan":
        data = (directory / "plan.npz").read_bytes()
        (directory / "plan.npz").write_bytes(data[: len(data) // 2])
        return "plan.npz is damaged, or of another version of flexnet"
    (directory / "history.json").write_bytes(b'{"format": "flexnet-history", "version": 1, "points": 3}')
    return "history.json is damaged"


@pytest.mark.parametrize("what", ["none", "running", "version", "field", "input", "no plan", "plan", "history"])
def test_a_directory_that_is_no_run_is_told(
    what: str, run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "run"
    shutil.copytree(run_directory, moved)
    sentence = spoil(moved, what)
    assert main(["report", str(moved)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command_line", ["flexnet", 3]),
        ("arguments", [None]),
        ("operators_changed", "Dense"),
        ("inputs.big_gpu", "four"),
        ("inputs.settings", {"gpu_memory": "x"}),
        ("files.MODEL", 7),
        ("lower_bound_ms", "fast"),
        ("best_ms", -5.0),
        ("network_bound_ms", None),
        ("estimated_cuts", 0.5),
        ("estimated_cuts", {"compute_time": 0.0}),
        ("bound_terms", {"path": "half"}),
        ("extended_at", [0.5]),
    ],
)
def test_a_field_that_is_not_what_it_must_be_is_told(
    name: str, value: object, run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(run_directory, tmp_path / "run") / "run.json"
    document = orjson.loads(path.read_bytes())
    *parents, last = name.split(".")
    place = document[parents[0]] if parents else document
    place[last] = value
    path.write_bytes(orjson.dumps(document))
    assert main(["report", str(path.parent)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f'run.json is damaged: "{name}" is not what it must be' in line


def change_plan(path: Path, **changed: object) -> None:
    with np.load(path) as arrays:
        held = {name: arrays[name] for name in arrays.files}
    for name, value in changed.items():
        held[name] = np.full_like(held[name], value)
    np.savez(path, **held)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("memory", np.nan, "an iteration and the memory must be finite"),
        ("iteration", np.nan, "an iteration and the memory must be finite"),
        ("iteration", -1.0, "an iteration and the memory must be finite"),
        ("seconds", np.nan, "seconds and bytes must be finite"),
        ("bytes", -1, "seconds and bytes must be finite"),
        ("kind", 9, "a task is of a kind that does not exist"),
        ("iteration", 7.0, "plan.npz is of another run: its iteration takes 7000 ms, and that of run.json "),
    ],
)
def test_a_plan_that_cannot_be_of_the_run_is_told(
    name: str, value: float, sentence: str, run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(run_directory, tmp_path / "run")
    change_plan(moved / "plan.npz", **{name: value})
    for command in ("report", "trace"):
        assert main([command, str(moved)]) == 2
        assert sentence in capsys.readouterr().err


def test_a_history_of_what_is_no_tally_is_told(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(run_directory, tmp_path / "run") / "history.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "tried": 5}))
    assert main(["report", str(path.parent)]) == 2
    assert "history.json is damaged" in capsys.readouterr().err


def test_a_history_without_numbers_is_told(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(run_directory, tmp_path / "run") / "history.json"
    document = orjson.loads(path.read_bytes())
    document["points"][-1][3] = "nan"
    path.write_bytes(orjson.dumps(document))
    assert main(["report", str(path.parent)]) == 2
    assert "a time of its points is no finite number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [([], "no run given; use flexnet report DIR"), (["a", "b"], "flexnet report takes one directory")],
)
def test_wrong_words_are_told(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_without_the_extra_a_search_goes_on_and_says_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flexnet.report.extra.find_spec", lambda name: None)
    directory = tmp_path / "run"
    assert main(search_words("-o", str(directory))) == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "report" in line)
    assert "the extra report is not installed; pip install 'flexnet[report]'" in line
    assert not (directory / "report.html").exists()
    assert orjson.loads((directory / "run.json").read_bytes())["status"] == "finished"
    assert main(["report", str(directory)]) == 2
    assert "reports need matplotlib and jinja2" in capsys.readouterr().err


def test_a_report_that_cannot_be_drawn_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> str:
        raise ZeroDivisionError("no axes")

    monkeypatch.setattr("flexnet.report.run_report.run_report", fail)
    assert main(search_words("-o", str(tmp_path / "run"))) == 0
    assert "no report could be made of this run: ZeroDivisionError: no axes" in capsys.readouterr().err
    assert orjson.loads((tmp_path / "run" / "run.json").read_bytes())["status"] == "finished"


def test_no_report_is_written_where_none_is_wanted(tmp_path: Path) -> None:
    assert main(search_words("-o", str(tmp_path / "run"), "--no-report")) == 0
    assert not (tmp_path / "run" / "report.html").exists()
    assert main(["report", str(tmp_path / "run")]) == 0
