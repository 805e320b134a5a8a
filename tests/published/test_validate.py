"""Recomputing published results, and noticing when they are not ours."""

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from flexnet.__main__ import main
from flexnet.cost.measurement_file import write_measurement
from flexnet.cost.roofline import roofline_table
from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import ORIGINAL
from flexnet.plan.strategy import configs_of
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.published.case import Case
from flexnet.published.index import published_measurement
from flexnet.published.validate import SEGMENT_BYTES, recomputed
from flexnet.search.prepare import prepare
from flexnet.search.prepared import Prepared
from flexnet.search.settings import Settings
from flexnet.taskgraph_file.write import write_taskgraph
from flexnet.units import gbps_to_bytes_per_s


@pytest.mark.compiled
def test_everything_published_is_recomputed(shared_data: Path) -> None:
    cases = [case for case in recomputed(shared_data) if isinstance(case, Case)]
    assert [case.name for case in cases if not case.ok] == []
    graphs = [case for case in cases if case.name.startswith("taskgraphs/")]
    costs = [case for case in cases if case.name.startswith("costs/")]
    assert [case.difference for case in graphs] == ["identical"] * 6
    assert len(costs) == 24
    told = (Path(__file__).parents[2] / "docs" / "costs.md").read_text()
    assert "Of six task graphs published with TopoOpt, six" in told
    assert "Of 24 costs recorded from runs of the released program, all 24" in told
    exact = [case for case in costs if ".topoopt." in case.name]
    assert [case.tolerance for case in exact] == ["0.01 %"] * 8
    replayed = {case.name: float(case.difference.split()[0]) for case in cases if case.name.startswith("replay")}
    assert sum(name.startswith("replay plans") for name in replayed) == 4
    assert max(abs(percent) for name, percent in replayed.items() if name.startswith("replay star:")) <= 0.1


# A directory of our own: a model with published flags, estimated times, our plan, its file and its costs.


@pytest.fixture(scope="module")
def started() -> Callable[[str], Prepared]:
    published = published_measurement("dlrm16")
    graph = published.build()
    table = roofline_table(graph, "a100", n_server=16, big_gpu=4)
    cluster = Cluster(16, 4, gbps_to_bytes_per_s(200), gbps_to_bytes_per_s(100), float(np.float32(1e-3)) * 1e-3, 4)
    problem = make_problem(graph, table, cluster, ORIGINAL)
    return lambda topology: prepare(problem, Settings(topology, strided=True, segment_bytes=SEGMENT_BYTES))


@pytest.fixture
def data(started: Callable[[str], Prepared], tmp_path: Path) -> Path:
    """One task graph and no costs."""
    for name in ("measurements", "taskgraphs", "costs"):
        (tmp_path / name).mkdir()
    ready = started("fattree")
    write_measurement(tmp_path / "measurements" / "dlrm16.json", ready.problem.table)
    export(ready, tmp_path)
    return tmp_path


def export(ready: Prepared, data: Path, change: Callable[[Any], None] = lambda graph: None) -> None:
    plan = ready.state.current
    graph = build(ready.problem, plan.strategy)
    change(graph)
    write_taskgraph(
        data / "taskgraphs" / "100dlrm_16.fbuf",
        graph,
        plan.network,
        operators=[(op.name, int(op.kind)) for op in ready.problem.graph.operators],
        run_seconds=graph.seconds,
        inter_gpu_bandwidth=25e9,
    )


def record(ready: Prepared) -> dict[str, Any]:
    """A plan and its cost, laid out as the published records are."""
    plan, cluster = ready.state.current, ready.problem.cluster
    network, n = plan.network, cluster.n_server
    routes = {}
    for pair, (begin, end) in enumerate(pairwise(network.route_ptr.tolist())):
        links = network.route[begin:end]
        if len(links):
            routes["{}-{}".format(*divmod(pair, n))] = [divmod(pair, n)[0], *network.link_to[links].tolist()]
    ends = np.argwhere(np.triu(network.topology.links))
    configs = zip(ready.problem.graph.operators, configs_of(ready.problem, plan.strategy), strict=True)
    return {
        "mfile": "dlrm16.json",
        "topology": ready.settings.topology,
        "num_nodes": n,
        "total_devs": n + network.topology.n_switch,
        "big_gpu": cluster.big_gpu,
        "node_degree": cluster.degree,
        "inter_gpu_bandwidth_B_per_ms": 25_000_000,
        "iface_bandwidth_B_per_ms": 12_500_000,
        "network_latency_ms": cluster.latency * 1e3,
        "operators": [{"name": op.name, "degrees": c.degrees, "devices": c.devices} for op, c in configs],
        "links": [[int(a), int(b), int(network.topology.links[a, b])] for a, b in ends],
        "routes": routes,
        "ring_jumps": {str(g): rings for g, rings in network.topology.rings.items()},
        "cost_ms": float(plan.seconds) * 1e3,
    }


def write_record(data: Path, content: object) -> None:
    (data / "costs" / "case.json").write_bytes(orjson.dumps(content))


def only(data: Path) -> tuple[Case, ...]:
    return tuple(case for case in recomputed(data) if isinstance(case, Case))


def test_our_own_export_is_identical(data: Path) -> None:
    (case,) = only(data)
    assert (case.name, case.ok, case.difference) == ("taskgraphs/100dlrm_16.fbuf", True, "identical")
    assert case.ours == case.theirs


def change_bytes(graph: Any) -> None:
    graph.bytes[np.flatnonzero(graph.kind == ALLREDUCE)[0]] += 1


def change_transfer(graph: Any) -> None:
    graph.bytes[-1] += 1


def change_members(graph: Any) -> None:
    graph.group[:2] = graph.group[1::-1].copy()


def change_intra_server(graph: Any) -> None:
    graph.seconds[np.flatnonzero(graph.kind == ALLREDUCE)[0]] *= 1.001


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (change_bytes, "differ: all-reduce bytes"),
        (change_transfer, "differ: transfers"),
        (change_members, "differ: all-reduce members"),
        (change_intra_server, "differ: intra-server times"),
    ],
)
def test_a_changed_task_graph_is_caught(change, difference, data: Path, started) -> None:
    export(started("fattree"), data, change)
    (case,) = only(data)
    assert (case.ok, case.difference) == (False, difference)


def test_a_backward_task_on_another_server_is_caught(data: Path, started) -> None:
    def change(graph: Any) -> None:
        graph.place[1] = 5

    export(started("fattree"), data, change)
    (case,) = only(data)
    assert (case.ok, case.difference) == (False, "differ: devices")


def test_run_times_of_another_measurement_are_caught(data: Path, started) -> None:
    def change(graph: Any) -> None:
        graph.seconds[0] *= 1.001

    export(started("fattree"), data, change)
    (case,) = only(data)
    assert (case.ok, case.ours) == (False, "no strategy")
    assert "the run times of the graph are not those of" in case.difference


def test_other_operators_are_caught(data: Path, started, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = started("fattree")
    plan = ready.state.current
    graph = build(ready.problem, plan.strategy)
    operators = [(op.name, int(op.kind)) for op in ready.problem.graph.operators]
    operators[3] = (operators[3][0], operators[3][1] + 1)
    path = data / "taskgraphs" / "100dlrm_16.fbuf"
    times = {"run_seconds": graph.seconds, "inter_gpu_bandwidth": 25e9}
    write_taskgraph(path, graph, plan.network, operators=operators, **times)
    (case,) = only(data)
    assert (case.ok, case.difference) == (False, "differ: operators")


# With switches 200 directions of rings are drawn for a cost, at random as many networks.
MANY_DRAWS = [pytest.param(name, marks=pytest.mark.compiled) for name in ("fattree", "random")]


@pytest.mark.parametrize("topology", ["topoopt", *MANY_DRAWS])
def test_our_own_cost_is_recomputed_and_a_changed_one_caught(topology: str, data: Path, started) -> None:
    ready = started(topology)
    (data / "taskgraphs" / "100dlrm_16.fbuf").unlink()
    content = record(ready)
    write_record(data, content)
    (case,) = only(data)
    assert (case.name, case.ok) == ("costs/case.json", True)
    if topology == "topoopt":
        assert case.difference in ("+0.0000 %", "-0.0000 %")
    for factor in (1.05, 0.95) if topology == "fattree" else (1.0002, 0.9998) if topology == "topoopt" else (2.0, 0.3):
        write_record(data, {**content, "cost_ms": content["cost_ms"] * factor})
        (case,) = only(data)
        assert not case.ok


def test_a_record_of_another_plan_is_caught(data: Path, started) -> None:
    """One table moved to the next server: another cost."""
    content = record(started("topoopt"))
    table = next(op for op in content["operators"] if len(op["devices"]) == 1)
    table["devices"] = [(table["devices"][0] + 1) % 16]
    write_record(data, content)
    assert [case.ok for case in only(data)] == [False, True] or [case.ok for case in only(data)] == [True, False]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"mfile": "dlrm17.json"}, "no published measurement is called 'dlrm17'"),
        ({"mfile": 3}, "is malformed: TypeError"),
        ({"topology": "torus"}, "has topology 'torus'; known are topoopt, fattree, random and fc"),
        ({"cost_ms": 0.0}, "is malformed: ValueError cost_ms is 0.0"),
        ({"cost_ms": "fast"}, "is malformed: ValueError"),
        ({"ring_jumps": []}, "is malformed: AttributeError"),
        ({"links": [[0, 99, 1]]}, "is malformed: ValueError link 0-99; nodes are 0 to 16"),
        ({"total_devs": 10**9}, "total_devs is 1000000000; it must be from 16"),
        ({"total_devs": 8}, "total_devs is 8; it must be from 16"),
        ({"links": [[0, -1, 1]]}, "link 0--1; nodes are 0 to 16"),
        ({"num_nodes": 1e300}, "servers"),
        ({"iface_bandwidth_B_per_ms": 1e300}, "iface_bandwidth_B_per_ms is 1e.300; it must be above 0 and fit"),
        ({"routes": {"0-1": [0, 1]}}, "routes use links -1"),
        ({"operators": []}, "the strategy has 0 operators; model dlrm has 40"),
        ({"num_nodes": 8}, "measured|servers"),
    ],
)
def test_malformed_records_are_refused(changes: dict[str, Any], sentence: str, data: Path, started) -> None:
    write_record(data, {**record(started("fattree")), **changes})
    (graph,) = (data / "taskgraphs").iterdir()
    good, bad = only(data)
    assert (good.name, good.ok, good.problem) == (f"taskgraphs/{graph.name}", True, "")
    assert (bad.name, bad.ok) == ("costs/case.json", False)
    assert re.search(sentence, bad.problem)


def test_every_missing_part_of_a_record_is_refused(data: Path, started) -> None:
    content = record(started("fattree"))
    (data / "taskgraphs" / "100dlrm_16.fbuf").unlink()
    for name in content:
        if name == "ring_jumps":  # absent where collectives follow routes
            continue
        write_record(data, {key: value for key, value in content.items() if key != name})
        (case,) = only(data)
        assert not case.ok and f"is malformed: KeyError '{name}'" in case.problem


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff"])
def test_records_that_are_no_objects_are_refused(text: bytes, data: Path) -> None:
    (data / "costs" / "case.json").write_bytes(text)
    _, case = only(data)
    assert not case.ok and re.search(r"cost record .*case\.json", case.problem)


@pytest.mark.parametrize("spoilt", ["measurements", pytest.param("taskgraphs", marks=pytest.mark.compiled)])
def test_a_damaged_file_fails_its_case_and_no_other(spoilt: str, data: Path, started) -> None:
    write_record(data, record(started("fattree")))
    for path in (data / spoilt).iterdir():
        path.write_bytes(b"{")
    cases = only(data)
    assert [(case.name, case.ok) for case in cases] == [
        ("taskgraphs/100dlrm_16.fbuf", False),
        ("costs/case.json", spoilt == "taskgraphs"),
    ]
    assert all(case.problem for case in cases if not case.ok)


def test_a_pipe_is_no_cost_record(data: Path) -> None:
    os.mkfifo(data / "costs" / "case.json")
    _, case = only(data)
    assert "it is a pipe or a device" in case.problem


def test_what_is_left_out_is_told(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "taskgraphs" / "testbed_12.fbuf").write_bytes(b"")
    (data / "plans").mkdir()
    (data / "plans" / "a.fbuf").write_bytes(b"")
    times = {"star": {"400dlrm_16": 1.0, "100dlrm_16": "fast", "a at 1.2.3 Gbps": 2}, "torus": {"a": 1}}
    (data / "expected.json").write_bytes(orjson.dumps({"_about": "", "packet_simulator_runs": times}))
    assert main(["validate", "--data", str(data)]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("left out")] == [
        "left out   expected.json: '400dlrm_16' has no task graph 400dlrm_16.fbuf here",
        "left out   expected.json: '100dlrm_16' is not the name of a task graph with a time from 1e-9 to 1e12 ms",
        "left out   expected.json: 'a at 1.2.3 Gbps' is not the name of a task graph with a time from 1e-9 to 1e12 ms",
        "left out   expected.json: 'torus' is not a star, a fat-tree, an fc or a flat network",
        "left out   taskgraphs/testbed_12.fbuf: no published case has this name, and expected.json no time for it",
        "left out   plans/a.fbuf: no published case has this name, and expected.json no time for it",
    ]


def test_a_case_that_cannot_be_recomputed_is_a_failure(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(data, [])
    (data / "expected.json").write_bytes(b"{")
    assert main(["validate", "--data", str(data)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["taskgraphs/100dlrm_16.fbuf", "costs/case.json", "expected.json"]
    assert "FAIL: cost record" in lines[1] and "is not valid JSON" in lines[2]
    assert lines[3] == "3 cases: 1 ok, 0 out of tolerance, 2 could not be recomputed"


def test_a_directory_with_nothing_to_recompute_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlexNetError, match=r"has no taskgraphs/.*\.fbuf and no costs/\*\.json to recompute"):
        only(tmp_path)
    with pytest.raises(FlexNetError, match="is not a directory; it should hold measurements/"):
        only(tmp_path / "none")


def test_files_of_no_published_case_are_left_out(data: Path) -> None:
    (data / "taskgraphs" / "testbed_12.fbuf").write_bytes(b"")
    assert len(only(data)) == 1
