"""A thousand servers are aggregated, not listed."""

import re
from pathlib import Path

import numpy as np
import orjson

from flexnet.__main__ import main
from flexnet.network.network import connect
from flexnet.network.topology import Topology
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.search.plan_file import PlanFile, PlanOperator, plan_bytes
from flexnet.simulate.link_model import Timeline

N = 1024
JUMPS = (1, 31, 170, 401)
LAYERS = 40
MOST_BYTES = 2_000_000


def large_plan() -> PlanFile:
    """Layers on all servers, each sending to its neighbours and reducing over all, at times that are made up."""
    servers = np.arange(N)
    links = np.zeros((N, N), np.int64)
    for jump in JUMPS:
        links[servers, (servers + jump) % N] = links[(servers + jump) % N, servers] = 1
    topology = Topology("made up", N, 0, links, {N: tuple((jump,) for jump in JUMPS[:2])})
    linked = links.ravel() > 0  # routes of one hop, for neighbours alone
    ptr = np.concatenate([[0], np.cumsum(linked)]).astype(np.int32)
    network = connect(topology, 12.5e9, 1e-6, (ptr, np.arange(linked.sum(), dtype=np.int32)))
    kinds, places, starts, ends, sizes, ops = [], [], [], [], [], []
    for layer in range(LAYERS):
        kind = FORWARD if layer % 2 == 0 else BACKWARD
        target = (servers + JUMPS[layer % len(JUMPS)]) % N
        for what, place, begin in ((kind, servers, 3.0), (NOMINAL_COMM, servers * N + target, 4.0)):
            kinds.append(np.full(N, what))
            places.append(place)
            starts.append(np.full(N, 3.0 * layer + begin - 3.0))
            ends.append(starts[-1] + np.where(servers % 3 == 0, 0.5, 1.0))
            sizes.append(np.full(N, 10**6 if what == NOMINAL_COMM else 0))
            ops.append(np.full(N, layer))
    last = 3.0 * LAYERS
    kinds.append(np.full(LAYERS, ALLREDUCE))
    places.append(np.arange(LAYERS))
    starts.append(np.full(LAYERS, last - 1.0))
    ends.append(np.full(LAYERS, last))
    sizes.append(np.full(LAYERS, 10**8))
    ops.append(np.arange(LAYERS))
    start, end = np.concatenate(starts), np.concatenate(ends)
    n_task = len(start)
    graph = TaskGraph(
        n_server=N,
        kind=np.concatenate(kinds).astype(np.int8),
        place=np.concatenate(places).astype(np.int32),
        seconds=np.where(np.concatenate(kinds) <= BACKWARD, end - start, 0.0),
        bytes=np.concatenate(sizes).astype(np.int64),
        succ_ptr=np.zeros(n_task + 1, np.int32),
        succ=np.zeros(0, np.int32),
        group_ptr=(np.arange(LAYERS + 1) * N).astype(np.int32),
        group=np.tile(servers, LAYERS).astype(np.int32),
        op=np.concatenate(ops).astype(np.int32),
    )
    operators = tuple(
        PlanOperator(
            f"Layer_{i}",
            "linear",
            "" if i % 2 else "output 4",
            tuple(((servers + i) % N).tolist()),
            "Layer_3" if i == 5 else "",
        )
        for i in range(LAYERS)
    )
    memory = 1e9 + 1e6 * (servers % 100)
    return PlanFile(graph, Timeline(last, start, end), network, memory.astype(np.float64), operators)


def _write_run(directory: Path, run_directory: Path) -> None:
    (directory / "plan.npz").write_bytes(plan_bytes(large_plan()))
    document = orjson.loads((run_directory / "run.json").read_bytes())
    (directory / "run.json").write_bytes(orjson.dumps({**document, "best_ms": 3e3 * LAYERS}))


def test_a_report_of_a_thousand_servers_is_small(run_directory: Path, tmp_path: Path) -> None:
    _write_run(tmp_path, run_directory)
    assert main(["report", str(tmp_path)]) == 0
    html = (tmp_path / "report.html").read_text()
    assert len(html) < MOST_BYTES
    assert "a dot stands for" in html and "block of 16 servers" in html
    assert html.count("<tr") < 200
    assert re.search(r"<th[^>]*>reduced after</th>", html)
    assert len(re.findall(r"<td[^>]*>Layer_3</td>", html)) == 1
    assert re.search(r"class=\"bars\"", html)


def test_a_timeline_of_a_thousand_servers_is_small(tmp_path: Path, run_directory: Path) -> None:
    _write_run(tmp_path, run_directory)
    assert main(["trace", str(tmp_path)]) == 0
    assert (tmp_path / "trace.json.gz").stat().st_size < 5_000_000
