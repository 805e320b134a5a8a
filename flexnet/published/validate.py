"""Recomputes what was published: rebuilds task graphs and re-prices recorded costs of a data directory.

The directory has ``measurements/*.json``, ``taskgraphs/<Gbps><model>_<servers>.fbuf``, ``costs/*.json``,
``plans/*.fbuf``, ``expected.json``, ``micro/`` and ``found_plans/``; whatever of these is there is used.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flexnet.cost.measurement_file import read_measurement
from flexnet.errors import FlexNetError
from flexnet.files import read_object
from flexnet.network.csr import aranges
from flexnet.network.network import Network, connect
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import ORIGINAL, Semantics
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.published.case import Case, LeftOut, attempt
from flexnet.published.experiments import experiment_cases
from flexnet.published.index import Published, published_measurement, task_graph_case
from flexnet.published.recover import recover_strategy
from flexnet.published.replays import Run, known_runs, replay_cases
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fifo import FifoLinks
from flexnet.taskgraph_file.convert import to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph
from flexnet.units import gbps_to_bytes_per_s

__all__ = ["read_record", "recomputed", "recorded_plan"]

# The published graphs were made with 200 Gbps between the GPUs of a server (`--inter-gpu-bandwidth`).
INTER_GPU_GBPS = 200.0
# The released code cuts transfers into 1 MiB messages (simulator.cu:298), and so did the runs behind the records.
SEGMENT_BYTES = 1 << 20
# Ring directions are random in the original (simulator.cc:1241): how far that may move a cost.
DRAWN = ("random", "fattree")
COST_TOLERANCE = {"topoopt": 0.01, "fc": 0.6}
RANDOM_DRAWS = 200
ROUNDING = 1e-6  # the costs of draws that are all the same differ in their last digits
MOST_SWITCHES = 4096  # keeps the matrix of links in proportion


def recomputed(data: Path) -> Iterator[Case | LeftOut]:
    """Recompute every case found in ``data``, one by one; one whose files are damaged or missing fails.

    Parameters
    ----------
    data : Path

    Yields
    ------
    Case or LeftOut
        What was recomputed, then what is in the directory and was not.

    Raises
    ------
    FlexNetError
        If there is nothing to recompute.
    """
    if not data.is_dir():
        raise FlexNetError(f"{data} is not a directory; it should hold measurements/, taskgraphs/ or costs/")
    measurements = data / "measurements"
    files = sorted(data.glob("taskgraphs/*.fbuf"))
    graphs = [path for path in files if task_graph_case(path.name) is not None]
    costs = sorted(data.glob("costs/*.json"))
    groups: list[tuple[str, list[Run]]] = []
    left_out: list[LeftOut] = []
    damaged = None
    try:
        groups, left_out = known_runs(data)
    except FlexNetError as error:
        damaged = Case("expected.json", "", "", "", "", False, str(error))
    replayed = {run.path for _, runs in groups for run in runs}
    there = any((data / name).is_dir() for name in ("micro", "found_plans"))
    if not graphs and not costs and not replayed and damaged is None and not there:
        raise FlexNetError(f"{data} has no taskgraphs/<Gbps><model>_<servers>.fbuf and no costs/*.json to recompute")
    for path in graphs:
        yield attempt(f"taskgraphs/{path.name}", partial(_task_graph, path, measurements))
    for path in costs:
        yield attempt(f"costs/{path.name}", partial(_cost, path, measurements))
    if damaged is not None:
        yield damaged
    yield from replay_cases(groups)
    yield from experiment_cases(data)
    yield from left_out
    for path in (*files, *sorted(data.glob("plans/*.fbuf"))):
        if path not in replayed and path not in graphs:
            name = f"{path.parent.name}/{path.name}"
            yield LeftOut(f"{name}: no published case has this name, and expected.json no time for it")


def _problem(published: Published, measurements: Path, cluster: Cluster, semantics: Semantics = ORIGINAL) -> Problem:
    path = measurements / f"{published.name}.json"
    table = read_measurement(path, batch_size=published.batch_size, n_server=published.n_server)
    return make_problem(published.build(), table, cluster, semantics)


def _task_graph(path: Path, measurements: Path) -> Case:
    case = task_graph_case(path.name)
    assert case is not None
    gbps, published = case
    file = read_taskgraph(path)
    theirs = to_task_graph(file)
    cluster = Cluster(
        n_server=published.n_server,
        big_gpu=published.big_gpu,
        inter_gpu_bandwidth=gbps_to_bytes_per_s(INTER_GPU_GBPS),
        link_bandwidth=gbps_to_bytes_per_s(gbps),
    )
    problem = _problem(published, measurements, cluster)
    name = f"taskgraphs/{path.name}"
    if file.operators.name:
        ours_names = [(op.name, int(op.kind)) for op in problem.graph.operators]
        operators_equal = ours_names == list(zip(file.operators.name, file.operators.kind.tolist(), strict=True))
    else:
        operators_equal = True
    try:
        ours, differences = _rebuilt(problem, theirs)
        if differences:  # a file of ours has its roots where they start in the order of their creation
            ours, differences = min((ours, differences), _rebuilt(problem, _as_started(theirs)), key=_number_of)
    except FlexNetError as error:
        return Case(name, "no strategy", f"{theirs.n_task} tasks", str(error), "identical", False)
    differences = [*([] if operators_equal else ["operators"]), *differences]
    shown = "identical" if not differences else "differ: " + ", ".join(differences)
    return Case(name, f"{ours.n_task} tasks", f"{theirs.n_task} tasks", shown, "identical", not differences)


def _rebuilt(problem: Problem, theirs: TaskGraph) -> tuple[TaskGraph, list[str]]:
    """The task graph of the strategy behind another one, and in what they differ."""
    ours = build(problem, make_strategy(problem, recover_strategy(problem, theirs)))
    return ours, _differences(ours, theirs)


def _number_of(rebuilt: tuple[TaskGraph, list[str]]) -> int:
    return len(rebuilt[1])


def _as_started(graph: TaskGraph) -> TaskGraph:
    """The graph with tasks that wait for nothing in the order in which they start; nothing refers to these."""
    rank = graph.arrays().rank
    roots = np.flatnonzero(np.bincount(graph.succ, minlength=graph.n_task) == 0)
    row = np.arange(graph.n_task)
    row[roots] = roots[np.argsort(rank[roots], kind="stable")]
    counts = np.diff(graph.succ_ptr)[row]
    return replace(
        graph,
        kind=graph.kind[row],
        place=graph.place[row],
        seconds=graph.seconds[row],
        bytes=graph.bytes[row],
        succ_ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        succ=graph.succ[aranges(graph.succ_ptr[row], counts)],
        op=graph.op[row],
        rank=rank[row],
    )


def _differences(ours: TaskGraph, theirs: TaskGraph) -> list[str]:
    """Which parts of two task graphs are not the same, times to float32 of milliseconds."""

    def columns(graph: TaskGraph) -> dict[str, Any]:
        comm = graph.kind == NOMINAL_COMM
        reduce_ = graph.kind == ALLREDUCE
        compute = ~comm & ~reduce_
        ms = (graph.seconds * 1e3).astype(np.float32)
        return {
            "run times": (graph.kind[compute].tolist(), ms[compute].tolist()),
            "devices": graph.place[compute].tolist(),
            "all-reduce bytes": graph.bytes[reduce_].tolist(),
            "all-reduce members": [graph.members(int(t)).tolist() for t in np.flatnonzero(reduce_)],
            "intra-server times": ms[reduce_].tolist(),
            "transfers": (graph.place[comm].tolist(), graph.bytes[comm].tolist()),
        }

    mine, other = columns(ours), columns(theirs)
    return [name for name in mine if mine[name] != other[name]]


def read_record(path: Path) -> dict[str, Any]:
    """A cost record, as yet unchecked.

    Raises
    ------
    FlexNetError
        If it cannot be read or is not a JSON object.
    """
    return read_object(path, "cost record")


def recorded_plan(
    record: dict[str, Any], measurements: Path, semantics: Semantics = ORIGINAL
) -> tuple[TaskGraph, Network]:
    """Task graph of the strategy of a cost record, and the very network it was priced on.

    Raises
    ------
    FlexNetError
        If the strategy is not one of the model, or its measurement is missing.
    KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError
        If the record lacks a part or a part is of another kind.
    """
    published = published_measurement(Path(record["mfile"]).stem)
    bytes_per_ms = float(record["iface_bandwidth_B_per_ms"])
    if not 0 < bytes_per_ms <= float(np.finfo(np.float32).max):
        raise ValueError(f"iface_bandwidth_B_per_ms is {bytes_per_ms}; it must be above 0 and fit a float32")
    cluster = Cluster(
        n_server=record["num_nodes"],
        big_gpu=record["big_gpu"],
        inter_gpu_bandwidth=record["inter_gpu_bandwidth_B_per_ms"] * 1e3,
        link_bandwidth=float(np.float32(bytes_per_ms)) * 1e3,
        latency=record["network_latency_ms"] * 1e-3,
        degree=record["node_degree"],
    )
    problem = _problem(published, measurements, cluster, semantics)
    configs = [Config(tuple(op["degrees"]), tuple(op["devices"])) for op in record["operators"]]
    return build(problem, make_strategy(problem, configs)), _recorded_network(record, cluster)


def _cost(path: Path, measurements: Path) -> Case:
    record = read_record(path)
    name = f"costs/{path.name}"
    try:
        graph, recorded = recorded_plan(record, measurements)
        theirs = float(record["cost_ms"])
        topology = record["topology"]
        if not 0 < theirs < math.inf:
            raise ValueError(f"cost_ms is {theirs}")
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        if isinstance(error, FlexNetError):
            raise
        raise FlexNetError(f"cost record {path} is malformed: {type(error).__name__} {error}") from error
    tasks, network = graph.arrays(), network_arrays(recorded)
    simulator = FifoLinks(ORIGINAL, SEGMENT_BYTES)
    if topology in DRAWN:
        rng = np.random.default_rng(0)
        shape = (RANDOM_DRAWS, len(tasks.group_ptr) - 1)
        directions = rng.integers(0, 2, shape, dtype=np.int8) * np.int8(2) - np.int8(1)
        draws = [simulator.seconds(tasks, network, directions=draw) * 1e3 for draw in directions]
        low, high = min(draws), max(draws)
        inside = low * (1 - ROUNDING) <= theirs <= high * (1 + ROUNDING)
        shown = "inside" if inside else "outside"
        return Case(name, f"{low:.3f} to {high:.3f} ms", f"{theirs:.3f} ms", shown, "within 200 draws", inside)
    if topology not in COST_TOLERANCE:
        raise FlexNetError(f"cost record {path} has topology {topology!r}; known are topoopt, fattree, random and fc")
    ours = simulator.seconds(tasks, network) * 1e3
    tolerance = COST_TOLERANCE[topology]
    percent = 100.0 * (ours / theirs - 1.0)
    return Case(
        name, f"{ours:.6f} ms", f"{theirs:.6f} ms", f"{percent:+.4f} %", f"{tolerance} %", abs(percent) <= tolerance
    )


def _recorded_network(record: dict[str, Any], cluster: Cluster) -> Network:
    """The network a record was priced on, with its very routes and rings."""
    n, n_node = cluster.n_server, int(record["total_devs"])
    if not n <= n_node <= n + MOST_SWITCHES:
        raise ValueError(f"total_devs is {n_node}; it must be from {n} (num_nodes) to {n + MOST_SWITCHES}")
    links = np.zeros((n_node, n_node), np.int64)
    for a, b, count in record["links"]:
        if not (0 <= a < n_node and 0 <= b < n_node):
            raise ValueError(f"link {a}-{b}; nodes are 0 to {n_node - 1}")
        links[a, b] = links[b, a] = count
    rings = {
        int(g): tuple(tuple(int(hop) for hop in ring) for ring in rings)
        for g, rings in record.get("ring_jumps", {}).items()
    }
    topology = Topology(str(record["topology"]), n, n_node - n, links, rings)
    topology.check(None)
    ends = np.argwhere(links > 0)
    link_id = np.full((n_node, n_node), -1, np.int32)
    link_id[ends[:, 0], ends[:, 1]] = np.arange(len(ends))
    route_ptr, route = [0], []
    for src in range(n):
        for dst in range(n):
            hops = record["routes"].get(f"{src}-{dst}", []) if src != dst else []
            route += [int(link_id[a, b]) for a, b in itertools.pairwise(hops)]
            route_ptr.append(len(route))
    return connect(
        topology,
        cluster.link_bandwidth,
        cluster.latency,
        (np.array(route_ptr, np.int32), np.array(route, np.int32)),
    )
