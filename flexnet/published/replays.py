"""Replays every task graph whose iteration time at packet level is known, and compares.

``expected.json`` of a data directory has these times in ms:

* ``packet_simulator``: name of a task graph -> time on an ideal switch;
* ``packet_simulator_runs``: network -> name -> time, where a network is a star, a fat-tree ``k=<ports>``, a full mesh
  ``fc``, or flat (as in the file), and a name may end in ``at <Gbps> Gbps``;
* ``plans``: name of a file in ``plans/`` -> ``packet``, on the network of the file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.files import read_object
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topologies.kary import kary_fat_tree
from flexnet.published.case import Case, LeftOut, attempt
from flexnet.simulate.fabric import Fabric, unrouted
from flexnet.simulate.packets import PICOSECONDS, byte_picoseconds
from flexnet.simulate.protocol import PACKET
from flexnet.simulate.replay import replays
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph
from flexnet.units import gbps_to_bytes_per_s

__all__ = ["Run", "known_runs", "replay_cases"]

LATENCY = 1e-6  # of the packet simulator's runs (its -rtt 1000), seconds per hop
DRAWS = 5
# Percent: of each case, and of the mean of absolute errors.
TOLERANCES = {"star": (6.0, 1.2), "kary": (5.0, 1.5), "fc": (5.0, 1.0), "flat": (5.0, None), "plans": (5.0, None)}

_NAME = re.compile(r"(?P<name>\S+?)(\s+at\s+(?P<at>[0-9]+(\.[0-9]+)?)\s*Gbps)?", re.IGNORECASE)
_GBPS = re.compile(r"(?P<gbps>[0-9]+(\.[0-9]+)?)[a-z]")
_LEAST_MS, _MOST_MS = 1e-9, 1e12
_PORTS = re.compile(r"\bk\s*=\s*(?P<ports>[0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Run:
    """One known time (ms): where the task graph is, on what network it ran, and how long that took."""

    path: Path
    kind: str
    ports: int | None
    gbps: float | None
    ms: float


def known_runs(data: Path) -> tuple[list[tuple[str, list[Run]]], list[LeftOut]]:
    """Runs that ``data/expected.json`` has a time for and whose task graph is there, by network.

    Parameters
    ----------
    data : Path

    Returns
    -------
    groups : list of (str, list of Run)
    left_out : list of LeftOut
        What the file holds and cannot be compared.

    Raises
    ------
    FlexNetError
        If the file is damaged.
    """
    path = data / "expected.json"
    if not path.exists():
        return [], []
    notes: list[str] = []
    groups = list(_groups(data, read_object(path), notes))
    return groups, [LeftOut(note) for note in notes]


def replay_cases(groups: Iterable[tuple[str, list[Run]]]) -> Iterator[Case]:
    """Replay known runs, and compare; one whose task graph is damaged fails."""
    for title, runs in groups:
        errors: list[float] = []
        for run in runs:
            name = f"replay {title}: {run.path.stem}"
            yield attempt(name, partial(_replayed, name, run, errors))
        mean_limit = TOLERANCES[runs[0].kind][1] if runs else None
        if mean_limit is not None and errors:
            mean = float(np.mean(np.abs(errors)))
            yield _case(f"replay {title}: mean error", f"{len(errors)} graphs", "", mean, mean_limit)


def _replayed(name: str, run: Run, errors: list[float]) -> Case:
    """A replay against the known time; where flows draw their paths, that is a draw too, and ours are a range."""
    draws = _replayed_ms(run)
    low, high = min(draws), max(draws)
    nearest = min(max(run.ms, low), high)
    errors.append(100.0 * (nearest / run.ms - 1.0))
    ours = f"{low:.3f} ms" if len(draws) == 1 else f"{low:.3f} to {high:.3f} ms"
    return _case(name, ours, f"{run.ms:.3f} ms", errors[-1], TOLERANCES[run.kind][0])


def _case(name: str, ours: str, theirs: str, percent: float, limit: float) -> Case:
    return Case(name, ours, theirs, f"{percent:+.2f} %", f"{limit:g} %", abs(percent) <= limit)


def _groups(data: Path, expected: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, list[Run]]]:
    """Known times by network, in the order of the file."""
    graphs, plans = data / "taskgraphs", data / "plans"
    yield "star, published", _runs(expected.get("packet_simulator"), "star", None, (graphs,), notes)
    networks = expected.get("packet_simulator_runs")
    for network, times in (networks if isinstance(networks, dict) else {}).items():
        kind = _kind(network)
        if kind is not None:
            ports = _PORTS.search(network)
            title = network.split(" (")[0]
            yield title, _runs(times, kind, int(ports["ports"]) if ports else None, (graphs, plans), notes)
        elif not network.startswith("_"):
            notes.append(f"expected.json: {network!r} is not a star, a fat-tree, an fc or a flat network")
    yield "plans", _runs(expected.get("plans"), "plans", None, (plans,), notes)


def _kind(network: str) -> str | None:
    """Kind of a network by its name in ``packet_simulator_runs``; None if it has none."""
    for word, kind in (("star", "star"), ("ideal", "star"), ("fat", "kary"), ("fc", "fc"), ("mesh", "fc")):
        if network.lower().startswith(word):
            return kind
    return "flat" if "flat" in network.lower() else None


def _runs(times: object, kind: str, ports: int | None, directories: tuple[Path, ...], notes: list[str]) -> list[Run]:
    """Runs of the task graphs that are there."""
    found = []
    for text, value in (times if isinstance(times, dict) else {}).items():
        if text.startswith("_"):
            continue
        ms = value.get("packet") if isinstance(value, dict) else value
        match = _NAME.fullmatch(text)
        if match is None or isinstance(ms, bool) or not isinstance(ms, int | float) or not _LEAST_MS <= ms <= _MOST_MS:
            notes.append(f"expected.json: {text!r} is not the name of a task graph with a time from 1e-9 to 1e12 ms")
            continue
        prefix = _GBPS.match(match["name"])
        gbps = match["at"] or (prefix["gbps"] if prefix and kind != "plans" else None)
        path = next((path for d in directories if (path := d / f"{match['name']}.fbuf").is_file()), None)
        if path is None:
            notes.append(f"expected.json: {text!r} has no task graph {match['name']}.fbuf here")
            continue
        found.append(Run(path, kind, ports, float(gbps) if gbps else None, float(ms)))
    return found


def _replayed_ms(run: Run) -> list[float]:
    """Our time; several draws where flows have a choice of paths."""
    flat = run.kind in ("flat", "plans")
    file = read_taskgraph(run.path, network=flat)
    graph = to_task_graph(file)
    fabric = _fabric(run, file)
    seeds = list(range(DRAWS if fabric.several else 1))
    return [found.seconds * 1e3 for found in replays(graph, fabric, seeds, protocol=PACKET)]


def _fabric(run: Run, file: TaskGraphFile) -> Fabric:
    asked = file.link_bytes_per_ms * 1e3 if run.gbps is None else gbps_to_bytes_per_s(run.gbps)
    if not asked > 0:
        raise FlexNetError(f"{file.source} has link bandwidth {asked:g}; expected is a number above 0")
    (picoseconds,) = byte_picoseconds(np.array([asked]))  # whole ones (section 3.5)
    bandwidth = PICOSECONDS / picoseconds
    if run.kind in ("flat", "plans"):
        network = to_network(file, bandwidth, LATENCY)
        return Fabric(network, to_paths(file, network))
    n = file.n_server
    if run.kind == "kary":
        topology = kary_fat_tree(n, run.ports)
    elif run.kind == "fc":
        topology = full_mesh(n)
    else:
        topology = fat_tree(n)
    return unrouted(topology, bandwidth, LATENCY)
