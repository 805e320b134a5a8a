"""A task graph file in words: the same counts as the graph it was made of, and what is wrong with it."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from fbuf_samples import circulant, small_graph

from flexnet.__main__ import main
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.report.inspection import inspect_file
from flexnet.search.plan_file import read_plan_file
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import read_contents
from flexnet.taskgraph_file.write import taskgraph_file


def test_counts_are_those_of_the_plan(run_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = read_plan_file(run_directory / "plan.npz")
    graph = plan.graph
    assert main(["inspect", str(run_directory / "taskgraph.fbuf"), "--json"]) == 0
    found = orjson.loads(capsys.readouterr().out)
    assert (found["servers"], found["links"]) == (graph.n_server, plan.network.topology.n_link)
    assert found["operators"] == len(plan.operators)
    for name, kind in (("forward", FORWARD), ("backward", BACKWARD), ("transfer", NOMINAL_COMM)):
        mine = graph.kind == kind
        assert found["tasks"].get(name, {"count": 0})["count"] == mine.sum()
        if kind == NOMINAL_COMM and mine.any():
            assert found["tasks"][name]["bytes"] == graph.bytes[mine].sum()
    assert ("all-reduce" in found["tasks"]) == (graph.kind == ALLREDUCE).any()
    compute = graph.kind <= BACKWARD
    busiest = np.bincount(graph.place[compute], weights=graph.seconds[compute]).max() * 1e3
    assert found["compute_ms"] == pytest.approx(busiest, rel=1e-5)
    n_hop = np.diff(plan.network.route_ptr)
    assert {int(hops): n for hops, n in found["hops"].items()} == {
        int(hops): int((n_hop == hops).sum()) for hops in np.unique(n_hop[n_hop > 0])
    }
    assert found["wrong"] == []


def test_orders_of_members_are_rings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, path = small_graph(4), tmp_path / "graph.fbuf"
    for cycles, told in (
        (((0, 1, 2, 3), (0, 3, 2, 1)), "along 2 rings, by the orders of members"),
        ((), "no rings, so along routes"),
    ):
        network = circulant(4, (1,)).with_cycles(cycles)
        arguments = {"operators": [], "run_seconds": graph.seconds, "inter_gpu_bandwidth": 1e9}
        path.write_bytes(encode(taskgraph_file(graph, network, **arguments)[0]))
        assert main(["inspect", str(path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.startswith("groups") and told in line]
        assert main(["inspect", str(path), "--json"]) == 0
        assert orjson.loads(capsys.readouterr().out)["member_orders"] == ({"4": 2} if cycles else {})


def test_it_is_told_in_words(run_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run_directory / "taskgraph.fbuf")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines][:3] == ["network", "operators", "tasks"]
    assert lines[0].startswith("network    4 servers, 8 links of ")
    assert lines[-1] == "wrong      nothing was found"


def test_what_is_wrong_is_told_with_exit_status_1(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = read_contents(run_directory / "taskgraph.fbuf")
    ids = file.tasks.id.copy()
    ids[1] = ids[0]
    path = tmp_path / "twice.fbuf"
    path.write_bytes(encode(replace(file, tasks=replace(file.tasks, id=ids))).tobytes())
    assert main(["inspect", str(path)]) == 1
    assert "wrong      " in (told := capsys.readouterr().out) and "occurs 2 times; ids are unique" in told
    slow = inspect_file(replace(file, link_bytes_per_ms=0.0))
    assert slow.sound and slow.links == ()
    assert "has link bandwidth 0; a replay needs --interface-bandwidth" in slow.wrong[-1]


def test_groups_and_rings_are_told(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(iter(sorted(shared_data.glob("taskgraphs/**/*.fbuf"))), None)
    if path is None:
        pytest.skip("there are no published task graphs here")
    assert main(["inspect", str(path)]) == 0
    told = capsys.readouterr().out
    assert "groups     " in told and "routes     " in told and "link       " in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no task graph given; use flexnet inspect FILE.fbuf"),
        (["a", "b"], "flexnet inspect takes one file"),
        (["none.fbuf"], "cannot read the task graph none.fbuf: No such file or directory"),
        (["damaged.fbuf"], "damaged.fbuf"),
    ],
)
def test_wrong_input_is_told(
    words: list[str],
    sentence: str,
    run_directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(run_directory / "taskgraph.fbuf", "damaged.fbuf")
    data = Path("damaged.fbuf").read_bytes()
    Path("damaged.fbuf").write_bytes(data[: len(data) // 2])
    assert main(["inspect", *words]) == 2
    assert sentence in capsys.readouterr().err
