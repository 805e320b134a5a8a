"""Plan files: the tasks of a plan, when each ran and on which network, to be looked at later as they were priced.

NumPy's format for arrays (``plan.npz``), without pickles; what is no array is one JSON document in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812

import numpy as np
import numpy.typing as npt
import orjson

from flexnet.errors import FlexNetError
from flexnet.files import read_regular
from flexnet.model.operators import type_name
from flexnet.network.network import Network
from flexnet.plan.memory import memory_by_server
from flexnet.plan.strategy import configs_of
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.search.config_text import cut_text
from flexnet.search.network_document import network_document, read_network
from flexnet.search.plan import Plan
from flexnet.simulate.link_model import Timeline

__all__ = ["PlanFile", "PlanOperator", "plan_bytes", "read_plan_file"]

FORMAT = "flexnet-plan"
VERSION = 2
FAST = 1  # compression
KINDS = (FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE)

_GRAPH = ("kind", "place", "seconds", "bytes", "succ_ptr", "succ", "group_ptr", "group", "op")
_INTEGERS = ("kind", "place", "bytes", "succ_ptr", "succ", "group_ptr", "group", "op", "route_ptr", "route")


class PlanOperator(NamedTuple):
    """An operator: its name, its kind in words, how it is cut (`flexnet.search.config_text.cut_text`), its servers.

    ``after`` names the operator that its gradients wait for; empty if none.
    """

    name: str
    kind: str
    cut: str
    servers: tuple[int, ...]
    after: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PlanFile:
    """What a plan file holds.

    Parameters
    ----------
    graph : TaskGraph
    timeline : Timeline
        As it was priced when the plan was found.
    network : Network
    memory : float64 (n_server,)
        Bytes every server needs.
    operators : tuple of PlanOperator
    """

    graph: TaskGraph
    timeline: Timeline
    network: Network
    memory: npt.NDArray[np.float64]
    operators: tuple[PlanOperator, ...]

    @classmethod
    def of(cls, plan: Plan) -> "PlanFile":
        """What a plan's file is to hold."""
        configs = configs_of(plan.problem, plan.strategy)
        operators = tuple(
            PlanOperator(op.name, type_name(op), cut_text(op, config), config.devices, config.after or "")
            for op, config in zip(plan.problem.graph.operators, configs, strict=True)
        )
        memory = memory_by_server(plan.problem, plan.strategy)
        return cls(plan.task_graph(), plan.timeline, plan.network, memory, operators)


def plan_bytes(plan: PlanFile) -> bytes:
    """The file of a plan."""
    graph, network = plan.graph, network_document(plan.network)
    route_ptr, route = network.pop("route_ptr"), network.pop("route")
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "n_server": graph.n_server,
        "network": network,
        "operators": list(map(list, plan.operators)),
    }
    arrays = {
        "meta": np.frombuffer(orjson.dumps(meta, option=orjson.OPT_SERIALIZE_NUMPY), np.uint8),
        **{name: getattr(graph, name) for name in _GRAPH},
        "start": plan.timeline.start,
        "end": plan.timeline.end,
        "iteration": np.array(plan.timeline.seconds),
        "route_ptr": route_ptr,
        "route": route,
        "memory": plan.memory,
    }
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=FAST) as file:  # as `np.savez_compressed`, which takes minutes
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return out.getvalue()


def read_plan_file(path: Path) -> PlanFile:
    """Read a plan file, believing nothing in it.

    Raises
    ------
    FlexNetError
        If it cannot be read, is damaged, or of another version.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise FlexNetError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        return _plan_file(held)
    except (BadZipFile, EOFError, FlexNetError, KeyError, TypeError, ValueError, IndexError, ZlibError) as error:
        raise FlexNetError(f"plan file {path} is damaged, or of another version of flexnet: {error}") from None


def _plan_file(held: Mapping[str, npt.NDArray[Any]]) -> PlanFile:
    meta = orjson.loads(held["meta"].tobytes())
    if (meta["format"], meta["version"]) != (FORMAT, VERSION):
        raise ValueError(f"it must be a {FORMAT} of version {VERSION}")
    for name in _INTEGERS:
        if held[name].dtype.kind != "i":
            raise ValueError(f"{name} must be whole numbers")
    n = meta["n_server"]
    graph = TaskGraph(n, **{name: held[name] for name in _GRAPH})
    _check(graph, held["start"], held["end"])
    network = read_network({"cycles": (), **meta["network"], "route_ptr": held["route_ptr"], "route": held["route"]})
    if network.topology.n_server != n or held["memory"].shape != (n,):
        raise ValueError(f"tasks are of {n} servers, the network or the memory of others")
    operators = tuple(
        PlanOperator(str(name), str(kind), str(cut), tuple(map(int, servers)), str(after))
        for name, kind, cut, servers, after in meta["operators"]
    )
    if len(graph.op) and not -1 <= graph.op.min() <= graph.op.max() < len(operators):
        raise ValueError("a task is of an operator that is not there")
    iteration = float(held["iteration"])
    if not (0 <= iteration < np.inf and (held["memory"] >= 0).all() and np.isfinite(held["memory"]).all()):
        raise ValueError("an iteration and the memory must be finite, and 0 or more")
    timeline = Timeline(iteration, held["start"], held["end"])
    return PlanFile(graph, timeline, network, held["memory"].astype(np.float64), operators)


def _check(graph: TaskGraph, start: npt.NDArray[np.float64], end: npt.NDArray[np.float64]) -> None:
    """Refuse tasks that could not be indexed with."""
    n_task, n = graph.n_task, graph.n_server
    for name in ("place", "seconds", "bytes", "op"):
        if getattr(graph, name).shape != (n_task,):
            raise ValueError(f"{name} is not of {n_task} tasks")
    if not (np.isfinite(graph.seconds).all() and (graph.seconds >= 0).all() and (graph.bytes >= 0).all()):
        raise ValueError("seconds and bytes must be finite, and 0 or more")
    if not np.isin(graph.kind, KINDS).all():
        raise ValueError("a task is of a kind that does not exist")
    if start.shape != (n_task,) or end.shape != (n_task,) or not (end >= start).all() or not np.isfinite(end).all():
        raise ValueError("tasks must end, and not before they start")
    for ptr, values, most in ((graph.succ_ptr, graph.succ, n_task), (graph.group_ptr, graph.group, n)):
        if ptr[0] != 0 or ptr[-1] != len(values) or (np.diff(ptr) < 0).any():
            raise ValueError("rows of successors or members do not follow each other")
        if len(values) and not 0 <= values.min() <= values.max() < most:
            raise ValueError("a successor or member does not exist")
    if len(graph.succ_ptr) != n_task + 1:
        raise ValueError("successors are not of all tasks")
    most_place = np.where(
        graph.kind == NOMINAL_COMM, n * n, np.where(graph.kind == ALLREDUCE, len(graph.group_ptr) - 1, n)
    )
    if not ((graph.place >= 0) & (graph.place < most_place)).all():
        raise ValueError("a task is on a server, pair or group that does not exist")
