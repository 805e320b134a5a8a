"""The timeline: legal, and the same as the replay it shows."""

import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from chrome_trace import check_trace, read_trace, top_slices
from command_lines import run_json
from random_models import mlp, own_keys

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    Plan,
    Settings,
    build_network,
    find_plan,
    make_problem,
    replay,
    roofline_table,
)
from flexnet.__main__ import main
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.report.link_use import link_use
from flexnet.report.trace import COLLECTIVES, ITERATION, LINKS, SERVERS, Traced, link_spans, trace_json
from flexnet.search.plan_file import read_plan_file
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.protocol import TCP


@cache
def plan_on(topology: str, n_server: int = 6) -> Plan:
    """Data parallelism, which has transfers of embeddings and all-reduces."""
    graph = MODELS["dlrm"].build({}, batch_size=n_server * 16)
    cluster = Cluster(n_server, link_bandwidth=1.25e9, latency=1e-6)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=n_server), cluster, CORRECTED)
    return find_plan(problem, Settings(topology, budget=0, start="data")).start


def traced(plan: Plan) -> Traced:
    graph = plan.task_graph()
    use = link_use(graph, network_arrays(plan.network), TCP)
    return Traced(graph, plan.timeline, plan.network, use, list(plan.configs))


def test_a_trace_is_legal_and_ends_with_the_iteration(run_directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    assert main(["trace", str(run_directory), "-o", str(path)]) == 0
    document = read_trace(path)
    tracks = check_trace(document)
    last = max(event["ts"] + event["dur"] for slices in tracks.values() for event in slices)
    best_ms = run_json(run_directory)["best_ms"]
    assert isinstance(best_ms, float)
    assert last == pytest.approx(best_ms * 1e3, abs=1.0)
    assert document["otherData"]["iteration_ms"] == pytest.approx(best_ms, rel=1e-12)


@pytest.mark.parametrize("topology", ["topoopt", "random", "fattree"])
def test_sums_of_tracks_are_busy_times_of_the_replay(topology: str, tmp_path: Path) -> None:
    plan = plan_on(topology)
    found = traced(plan)
    path = tmp_path / "trace.json"
    path.write_bytes(trace_json(found, {}))
    tracks = check_trace(read_trace(path))
    graph, timeline = found.graph, plan.timeline
    took = (timeline.end - timeline.start) * 1e6
    for server in range(graph.n_server):
        mine = (graph.kind <= BACKWARD) & (graph.place == server)
        slices = tracks[SERVERS, server]
        assert top_slices(slices) == slices  # nothing on a device overlaps
        computing = [event["dur"] for event in slices if event["cat"] in ("forward", "backward")]
        assert sum(computing) == pytest.approx(took[mine].sum(), abs=1e-3 * (len(computing) + 1))
    for number, task in enumerate(np.flatnonzero(graph.kind == ALLREDUCE).tolist()):
        (whole,) = top_slices(tracks[COLLECTIVES, number])
        assert whole["dur"] == pytest.approx(took[task], abs=2e-3)
    for link in range(len(plan.network.bandwidth)):
        on_link = found.use.task[found.use.link == link]
        busy = union([(timeline.start[task], timeline.end[task]) for task in on_link.tolist()])
        slices = tracks.get((LINKS, link), [])
        assert top_slices(slices) == slices
        assert sum(event["dur"] for event in slices) == pytest.approx(busy * 1e6, abs=1e-3 * (len(slices) + 1))
        assert sum(event["args"]["flows"] for event in slices) == len(on_link)
    (iteration,) = top_slices(tracks[ITERATION, 0])
    assert iteration["dur"] == pytest.approx(timeline.seconds * 1e6, abs=2e-3)


def union(spans: list[tuple[float, float]]) -> float:
    """Length of all spans together."""
    total, until = 0.0, -1.0
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total


def test_every_dependency_has_an_arrow() -> None:
    plan = plan_on("topoopt")
    graph = plan.task_graph()
    computes = graph.kind != NOMINAL_COMM
    wanted = 0
    for task in np.flatnonzero(computes).tolist():
        for after in graph.successors(task).tolist():
            onward = [after] if computes[after] else graph.successors(after).tolist()
            wanted += len(onward)
    document = read_trace_of(plan)
    assert sum(event["ph"] == "s" for event in document["traceEvents"]) == wanted > 0


def test_micro_batches_are_told_apart_and_what_orders_them_is_called_otherwise() -> None:
    """Layers on servers of their own: every server runs each micro-batch forward and backward, in a fixed order."""
    graph = mlp(3, width=4, batch=3)
    table = roofline_table(graph, "a100", n_server=3, over_all=False)
    problem = make_problem(graph, table, Cluster(3), CORRECTED, micro_batches=4)
    strategy = make_strategy(problem, [Config((1, 1), (server,)) for server in range(3)])
    tasks, network = build(problem, strategy), build_network("fc", problem.cluster)
    timeline = replay(tasks, network).timeline
    shown = Traced(tasks, timeline, network, link_use(tasks, network_arrays(network), TCP), ["a", "b", "c"])
    document = orjson.loads(trace_json(shown, {}))
    tracks = check_trace(document)
    for server, name in enumerate("abc"):
        slices = [event for event in tracks[SERVERS, server] if event["cat"] in ("forward", "backward")]
        for kind in ("forward", "backward"):
            titles = [event["name"] for event in slices if event["cat"] == kind]
            assert titles == [f"{name} {kind}, micro-batch {batch}" for batch in range(4)]
        assert [event["args"]["micro-batch"] for event in slices if event["cat"] == "forward"] == [0, 1, 2, 3]
    arrows = Counter(event["name"] for event in document["traceEvents"] if event["ph"] == "s")
    needed = 3 + 2 * 2  # of each: a backward pass its forward pass, and a server what those beside it send
    assert arrows["needs"] == 4 * (needed + np.count_nonzero(tasks.kind == ALLREDUCE))
    assert arrows["then"] >= 3 * 3


def test_passes_with_several_ends_are_ordered_and_need_nothing_of_each_other() -> None:
    """Of a stage with two ends, the second one's forward pass is before the first one's backward pass."""
    b = GraphBuilder("two ends", 4)
    x = b.dense(b.input(4), 4)
    b.binary(OpType.ADD, b.dense(x, 4), b.dense(x, 4), inplace=False)
    graph = own_keys(b.build())
    table = roofline_table(graph, "a100", n_server=2, over_all=False)
    problem = make_problem(graph, table, Cluster(2), CORRECTED, micro_batches=3)
    strategy = make_strategy(problem, [Config((1, 1), (0,))] * 3 + [Config((1, 1), (1,))])
    tasks, network = build(problem, strategy), build_network("fc", problem.cluster)
    shown = Traced(tasks, replay(tasks, network).timeline, network, link_use(tasks, network_arrays(network), TCP), ())
    events = orjson.loads(trace_json(shown, {}))["traceEvents"]
    read = [(0, 1), (0, 2), (1, 3), (2, 3)]
    needs = sum(event["ph"] == "s" and event["name"] == "needs" for event in events)
    assert needs == 3 * (4 + 2 * len(read) + np.count_nonzero(tasks.kind == ALLREDUCE))
    assert sum(event["ph"] == "s" and event["name"] == "then" for event in events) > 3


def read_trace_of(plan: Plan) -> Any:
    return orjson.loads(trace_json(traced(plan), {}))


def test_exposed_communication_is_where_nothing_computes() -> None:
    plan = plan_on("topoopt")
    tracks = check_trace(read_trace_of(plan))
    exposed = [event for (process, _), slices in tracks.items() if process == SERVERS for event in slices]
    waits = [event for event in exposed if event["cat"] == "exposed"]
    assert waits and all(event["cname"] in ("bad", "terrible") for event in waits)
    assert not any(event.get("cname") in ("bad", "terrible") for event in exposed if event["cat"] != "exposed")


def test_links_without_flows_have_no_spans() -> None:
    plan = plan_on("fattree", n_server=1)
    assert [len(column) for column in link_spans(traced(plan).use, plan.timeline)] == [0] * 5


BREAK: list[Callable[[dict[str, Any]], None]] = [
    lambda event: event.update(dur=-1.0),
    lambda event: event.update(tid=10**6),
    lambda event: event.pop("ts"),
    lambda event: event.update(cname="pink"),
]


@pytest.mark.parametrize("spoil", BREAK)
def test_the_checker_finds_what_is_illegal(spoil: Callable[[dict[str, Any]], None]) -> None:
    document = read_trace_of(plan_on("topoopt"))
    check_trace(document)
    spoil(next(event for event in document["traceEvents"] if event["ph"] == "X" and event["pid"] == SERVERS))
    with pytest.raises(AssertionError):
        check_trace(document)


def test_slices_that_overlap_are_found() -> None:
    document = read_trace_of(plan_on("topoopt"))
    first, second, *_ = check_trace(document)[SERVERS, 0]
    first["dur"] = second["ts"] - first["ts"] + second["dur"] / 2
    with pytest.raises(AssertionError):
        check_trace(document)


def test_a_flow_that_ends_before_it_starts_is_found() -> None:
    document = read_trace_of(plan_on("topoopt"))
    end = next(event for event in document["traceEvents"] if event["ph"] == "f")
    start = next(event for event in document["traceEvents"] if event["ph"] == "s" and event["id"] == end["id"])
    start["ts"], end["ts"] = end["ts"] + 1.0, 0.0
    with pytest.raises(AssertionError):
        check_trace(document)


def test_a_task_graph_file_is_traced_as_simulate_replays_it(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "plan.fbuf"
    shutil.copy(run_directory / "taskgraph.fbuf", source)
    assert main(["trace", str(source), "--network-latency", "0"]) == 0
    assert main(["simulate", str(source), "--network-latency", "0", "--json"]) == 0
    out = capsys.readouterr().out
    replayed = orjson.loads(out[out.index("{") :])
    document = read_trace(tmp_path / "plan.trace.json.gz")
    check_trace(document)
    assert document["otherData"]["iteration_ms"] == pytest.approx(replayed["iteration_ms"], rel=1e-9)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "nothing to trace is given; use flexnet trace DIR or flexnet trace FILE.fbuf"),
        (["a", "b"], "unexpected argument 'b'; flexnet trace takes one directory or file"),
        (["."], "holds no run: there is no run.json in it"),
        (["none.fbuf", "-o", "x.json"], "cannot read the task graph none.fbuf: No such file or directory"),
        ([".", "--seed", "1"], "--seed is for task graph files; the run in . is traced as it was priced"),
        (["none.fbuf", "-o", "no/such/x.json"], "cannot write no/such/x.json: there is no directory"),
    ],
)
def test_wrong_input_is_told(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.compiled
def test_perfettos_own_reader_takes_it(run_directory: Path, tmp_path: Path) -> None:
    processor = pytest.importorskip("perfetto.trace_processor", reason="perfetto is not installed")
    path = tmp_path / "trace.json"
    assert main(["trace", str(run_directory), "-o", str(path)]) == 0
    try:
        with processor.TraceProcessor(trace=str(path)) as opened:
            (row,) = opened.query("select count(*) as n from slice where name = 'iteration'")
    except Exception as error:
        pytest.skip(f"perfetto's trace processor does not run here: {error}")
    assert row.n == 1


def test_the_plan_of_a_run_is_read_as_it_was_written(run_directory: Path) -> None:
    plan = read_plan_file(run_directory / "plan.npz")
    assert plan.timeline.seconds * 1e3 == pytest.approx(run_json(run_directory)["best_ms"], rel=1e-12)
