"""Replays experiments and found plans whose times at packet level are known to the picosecond, and compares by family.

* ``micro/micro.json.gz`` has small experiments with the end of every transfer and all-reduce, ``micro/fbuf.tar.gz``
  their task graphs, ``<id>.fbuf``;
* ``found_plans/plans.json`` has plans that searches found with their times, ``found_plans/*.fbuf.gz`` their files.
"""

import gzip
import itertools
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from flexnet.errors import FlexNetError
from flexnet.published.case import Case
from flexnet.simulate.fabric import Fabric
from flexnet.simulate.link_model import LinkModel
from flexnet.simulate.protocol import PACKET, Protocol
from flexnet.simulate.replay import replay
from flexnet.simulate.replay_report import Replay
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph
from flexnet.taskgraph_file.read import decode
from flexnet.units import gbps_to_bytes_per_s

__all__ = ["Experiment", "compared", "experiment_cases", "found_plans", "micro_experiments", "replayed", "wrong_orders"]

Floats = npt.NDArray[np.float64]

# Percent, of absolute errors but for the bias.
TOLERANCES = {
    "micro": {"median": 0.5, "90th percentile": 8.0},
    "micro, ends of tasks": {"median": 3.0, "90th percentile": 15.0},
    "found plans": {"mean": 1.0, "worst": 5.0, "bias": 0.5},
}
MOST_WRONG_ORDERS = 1.0  # percent of pairs of plans
DIFFERENT = 0.005  # plans whose times differ by less have no order
PLAN_LATENCY_NS = 1000.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """A task graph file with its time at packet level.

    Parameters
    ----------
    name, family : str
    file : TaskGraphFile
    gbps, latency_ns : float
        Of a link, and of a hop.
    ms : float
        End of the last task.
    ends_ms : Mapping[int, float]
        Of tasks by id, where they are known.
    alike : list of list of int
        Ids of tasks whose ends may be swapped.
    """

    name: str
    family: str
    file: TaskGraphFile
    gbps: float
    latency_ns: float
    ms: float
    ends_ms: Mapping[int, float]
    alike: list[list[int]]


def micro_experiments(data: Path) -> Iterator[Experiment]:
    """Experiments of ``data/micro``, none if there is no such directory; `FlexNetError` if a file is damaged."""
    path = data / "micro" / "micro.json.gz"
    if not path.exists():
        return
    try:
        scenarios = _unzipped(path)["scenarios"]
        with tarfile.open(data / "micro" / "fbuf.tar.gz") as archive:
            members = {Path(member.name).name: member for member in archive.getmembers()}
            for one in scenarios:
                member = archive.extractfile(members[f"{one['id']}.fbuf"])
                assert member is not None
                yield Experiment(
                    one["id"],
                    one["family"],
                    _checked(member.read(), f"{one['id']}.fbuf"),
                    float(one["gbps"]),
                    float(one["latency_ns_per_hop"]),
                    float(one["finish_ms"]),
                    {int(task): float(ms) for task, ms in one["task_finish_ms"].items()},
                    [[int(task) for task in group] for group in one.get("interchangeable_finish", [])],
                )
    except (AttributeError, AssertionError, KeyError, TypeError, ValueError, OSError, tarfile.TarError) as error:
        if isinstance(error, FlexNetError):
            raise
        raise FlexNetError(f"{path} is malformed or lacks a task graph: {type(error).__name__} {error}") from error


def found_plans(data: Path) -> Iterator[Experiment]:
    """Plans of ``data/found_plans``, none if there is no such directory; `FlexNetError` if a file is damaged."""
    path = data / "found_plans" / "plans.json"
    if not path.exists():
        return
    try:
        for one in orjson.loads(path.read_bytes())["plans"]:
            content = gzip.decompress((path.parent / one["file"]).read_bytes())
            yield Experiment(
                one["file"].removesuffix(".fbuf.gz"),
                "star" if one["topology"] == "fattree" else one["topology"],
                _checked(content, one["file"]),
                float(one["gbps"]),
                PLAN_LATENCY_NS,
                float(one["packet_ms"]),
                {},
                [],
            )
    except (AttributeError, KeyError, TypeError, ValueError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, FlexNetError):
            raise
        raise FlexNetError(f"{path} is malformed or lacks a plan: {type(error).__name__} {error}") from error


def replayed(experiment: Experiment, protocol: Protocol = PACKET, links: LinkModel | None = None) -> Replay:
    """An experiment replayed on the network of its file."""
    network = to_network(experiment.file, gbps_to_bytes_per_s(experiment.gbps), experiment.latency_ns * 1e-9)
    fabric = Fabric(network, to_paths(experiment.file, network))
    return replay(to_task_graph(experiment.file), fabric, protocol=protocol, links=links)


def compared(experiment: Experiment, found: Replay) -> tuple[float, Floats]:
    """Relative errors of a replay: of its time, and of the ends of those tasks that are known."""
    at = {int(task): row for row, task in enumerate(experiment.file.tasks.id)}
    end = {task: float(found.timeline.end[at[task]]) * 1e3 for task in experiment.ends_ms}
    for group in experiment.alike:
        known = [task for task in group if task in end]
        theirs = sorted(known, key=lambda task: experiment.ends_ms[task])
        for task, ms in zip(theirs, sorted(end[task] for task in known), strict=True):
            end[task] = ms
    ends = np.array([end[task] / ms - 1.0 for task, ms in experiment.ends_ms.items()])
    return found.seconds * 1e3 / experiment.ms - 1.0, ends


def experiment_cases(data: Path) -> Iterator[Case]:
    """Replay all that is there, and tell mean, median, worst and bias of every family."""
    errors: dict[str, list[float]] = {}
    ends: dict[str, list[float]] = {}
    try:
        for one in micro_experiments(data):
            error, of_tasks = compared(one, replayed(one))
            errors.setdefault(one.family, []).append(error)
            ends.setdefault(one.family, []).extend(of_tasks)
        for family in sorted(errors):
            yield _told(f"micro {family}", errors[family], TOLERANCES["micro"])
            yield _told(f"micro {family}, ends of tasks", ends[family], TOLERANCES["micro, ends of tasks"])
        times: list[tuple[str, float, float]] = []
        errors = {}
        for one in found_plans(data):
            found = replayed(one)
            errors.setdefault(one.family, []).append(found.seconds * 1e3 / one.ms - 1.0)
            times.append((one.name.split(".")[0], found.seconds * 1e3, one.ms))
        for family in sorted(errors):
            yield _told(f"found plans, {family}", errors[family], {"worst": TOLERANCES["found plans"]["worst"]})
        if times:
            yield _told("found plans", list(itertools.chain(*errors.values())), TOLERANCES["found plans"])
            wrong, pairs = wrong_orders(times)
            share = 100.0 * wrong / max(pairs, 1)
            yield Case(
                "found plans, order of pairs",
                f"{wrong} wrong",
                f"{pairs} pairs",
                f"{share:.2f} %",
                f"{MOST_WRONG_ORDERS:g} %",
                share <= MOST_WRONG_ORDERS,
            )
    except FlexNetError as error:
        yield Case("experiments at packet level", "", "", "", "", False, str(error))


def wrong_orders(times: list[tuple[str, float, float]]) -> tuple[int, int]:
    """Pairs of plans of one model (model, our time, theirs) that we put in another order, and how many have one."""
    wrong = pairs = 0
    for (model, ours, theirs), (other_model, other_ours, other_theirs) in itertools.combinations(times, 2):
        if model == other_model and abs(theirs / other_theirs - 1.0) > DIFFERENT:
            pairs += 1
            wrong += (ours < other_ours) != (theirs < other_theirs)
    return wrong, pairs


def _told(name: str, errors: list[float], tolerances: Mapping[str, float]) -> Case:
    percent = 100.0 * np.array(errors)
    size = np.abs(percent)
    values = {
        "mean": float(size.mean()),
        "median": float(np.median(size)),
        "90th percentile": float(np.percentile(size, 90)),
        "worst": float(size.max()),
        "bias": float(percent.mean()),
    }
    ok = all(abs(values[what]) <= limit for what, limit in tolerances.items())
    shown = ", ".join(f"{what} {value:{'+' if what == 'bias' else ''}.2f}" for what, value in values.items())
    limits = ", ".join(f"{what} {limit:g}" for what, limit in tolerances.items())
    return Case(name, f"{len(errors)} replayed", "packet level", f"{shown} %", f"{limits} %", ok)


def _unzipped(path: Path) -> Any:
    return orjson.loads(gzip.decompress(path.read_bytes()))


def _checked(content: bytes, source: str) -> TaskGraphFile:
    file = decode(content, source)
    check_file(file, network=True)
    return file
