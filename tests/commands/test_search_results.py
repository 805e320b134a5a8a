"""What a search tells and leaves: as JSON, of other draws, when it is wrong, stopped or cannot write."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from command_lines import run_json, search_words

from flexnet import Cluster, build_network, replay
from flexnet.__main__ import main
from flexnet.commands.runs.directory import RunFiles
from flexnet.errors import FlexNetError
from flexnet.search.plan_file import read_plan_file
from flexnet.taskgraph_file.read import read_taskgraph


def search(*more: str) -> int:
    return main(search_words(*more))


@pytest.mark.compiled
def test_the_first_checkpoint_comes_soon_and_the_others_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            self.now += 0.5  # twice at every proposal, or more
            return self.now

    saved: list[float] = []
    clock = Clock()
    monkeypatch.setattr("flexnet.commands.search.time", clock)
    save = RunFiles.save_progress

    def note(self: RunFiles, *arguments: Any) -> None:
        saved.append(clock.now)
        save(self, *arguments)

    monkeypatch.setattr(RunFiles, "save_progress", note)
    assert search("--budget", "300", "-o", str(tmp_path)) == 0
    begun, first, second, *_ = saved
    assert 10.0 <= first - begun <= 11.0
    assert 60.0 <= second - first <= 61.0


def test_what_is_found_can_be_read_by_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--budget", "20", "-o", str(tmp_path), "--json") == 0
    printed = orjson.loads(capsys.readouterr().out)
    assert printed == run_json(tmp_path)
    assert printed["status"] == "finished"
    assert (printed["interfaces"], printed["arithmetic"], printed["start"]) == (4, "fp32 arithmetic", "data-parallel")
    assert printed["compute_ms"] + printed["exposed_communication_ms"] == pytest.approx(printed["best_ms"])
    assert search("--topology", "fattree", "--json") == 0
    assert orjson.loads(capsys.readouterr().out)["interfaces"] == 1


def test_a_random_network_tells_what_other_draws_would_differ(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--topology", "random", "--nsimnode", "6", "--batch-size", "96", "--node-degree", "2", "--start", "data")
    assert search(*flags, "--json") == 0
    draws = orjson.loads(capsys.readouterr().out)["other_draws_ms"]
    assert len(draws) == 4 and draws == sorted(draws) and draws[0] > 0
    assert search(*flags) == 0
    assert "on 4 other draws of this random network" in capsys.readouterr().out
    assert search("--topology", "fc", "--json") == 0
    assert "other_draws_ms" not in orjson.loads(capsys.readouterr().out)


def test_a_plan_takes_as_long_elsewhere_as_its_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whose all-reduces are in parts, one for each ring of the network they were found on."""
    flags = ("--topology", "random", "--node-degree", "4", "--nsimnode", "8", "--method", "mcmc")
    assert search(*flags, "-o", str(tmp_path)) == 0
    plan = read_plan_file(tmp_path / "plan.npz")
    graph, network = plan.graph, plan.network
    file = read_taskgraph(tmp_path / "taskgraph.fbuf")
    assert graph.n_task < len(file.tasks.kind)
    capsys.readouterr()
    assert main(["simulate", str(tmp_path / "taskgraph.fbuf"), "--json", "--topology", "fattree"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    star = build_network("fattree", Cluster(8, link_bandwidth=network.link_bandwidth, latency=1e-6))
    assert told["tasks"] == graph.n_task
    assert told["iteration_ms"] == pytest.approx(1e3 * replay(graph, star).seconds, rel=1e-6)


def test_a_replay_without_flags_takes_as_long_as_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--nsimnode", "8", "-o", str(tmp_path)) == 0
    capsys.readouterr()
    assert main(["simulate", str(tmp_path / "taskgraph.fbuf"), "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    assert (told["network_latency_us"], told["iteration_ms"]) == (1.0, run_json(tmp_path)["best_ms"])
    assert search("--semantics", "original", "--json") == 0
    assert orjson.loads(capsys.readouterr().out)["inputs"]["latency_us"] == 0.0


def test_a_degree_that_the_topology_ignores_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--topology", "fattree", "--node-degree", "4") == 2
    sentence = "--node-degree is for --topology topoopt and random; the topology is fattree"
    assert sentence in capsys.readouterr().err


def test_a_batch_that_does_not_divide_names_one_that_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--batch-size", "30") == 2
    assert "it must be a multiple of 4, such as 32" in capsys.readouterr().err


def test_a_search_that_fails_at_its_input_leaves_no_directory(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    assert search("--mfile", str(tmp_path / "m.json"), "-o", str(tmp_path / "new" / "run")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_a_run_some_of_whose_files_are_missing_has_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise FlexNetError("cannot write plan.npz: No space left on device")

    monkeypatch.setattr("flexnet.search.outputs.plan_arrays.write_atomically", fail)
    assert search("-o", str(tmp_path)) == 2
    assert run_json(tmp_path)["status"] == "incomplete"
    assert "No space left on device" in capsys.readouterr().err
    assert search("-o", str(tmp_path)) == 2
    assert "a finished run some of whose files could not be written" in capsys.readouterr().err


def test_a_plan_too_large_for_a_file_is_told_as_it_was_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No replay of minutes is begun, and no second try to write it elsewhere."""
    monkeypatch.setattr("flexnet.taskgraph_file.encode.MAX_FILE_BYTES", 4000)
    monkeypatch.setattr("flexnet.search.pricing.Pricer.fastest", lambda *_: pytest.fail("replayed"))
    monkeypatch.setattr("flexnet.search.prepared.GLANCED_HOPS", 0.0)
    assert search("--nsimnode", "8", "-o", str(tmp_path)) == 2
    told = capsys.readouterr()
    assert "too large for a task graph file, so that times are those it was searched with" in told.out
    (sentence,) = re.findall(r"error: (.*)", told.err)
    assert re.fullmatch(
        r"a task graph of \d+ tasks and \d+ routes does not fit the 2 GiB of a task graph file; use fewer servers or "
        "larger segments",
        sentence,
    )
    record = run_json(tmp_path)
    assert (record["status"], record["as_searched"]) == ("incomplete", True)
    assert record["best_ms"] <= record["initial_ms"]
    assert (tmp_path / "strategy.json").exists()
    assert not (tmp_path / "taskgraph.fbuf").exists()


def test_control_characters_are_not_sent_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--seed", "\x1b[31mred\u202e") == 2
    told = capsys.readouterr().err
    assert "\\x1b[31mred\\u202e" in told
    assert "\x1b" not in told and "\u202e" not in told
