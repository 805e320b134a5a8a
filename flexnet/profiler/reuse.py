"""Times that another measurement file has of the same parts: what one GPU runs is often the same for other servers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from flexnet.cost.coverage import check_config
from flexnet.cost.measurement_file import read_with_details
from flexnet.cost.parts import part_of
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator
from flexnet.model.zoo import MODELS
from flexnet.profiler.device import Device
from flexnet.profiler.journal import Journal, Measured, difference
from flexnet.profiler.measure import Job, throttled

__all__ = ["Before", "how_it_was_made", "read_before", "take_measured"]

_Work = tuple[str, tuple[tuple[int, ...], ...]]
_Found = tuple[Entry, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Before:
    """What a measurement file holds that may be taken.

    Parameters
    ----------
    path : Path
    own : bool
        It is an unfinished file of this very profile, which goes on; what is taken from another says so.
    parts : Mapping
        What one GPU ran, as `_work_of` names it, to times and memory, and what the file says beside them.
    configs : Mapping
        The same by shape name and degrees, of an unfinished file that goes on; of another one empty.
    provenance : Mapping
        How the file was made.
    """

    path: Path
    own: bool
    parts: Mapping[_Work, _Found]
    configs: Mapping[tuple[str, tuple[int, ...]], _Found]
    provenance: Mapping[str, object]


def read_before(path: Path, job: Job, device: Device, *, own: bool = False) -> Before:
    """Read what a measurement file has measured.

    Parts are the same if their shapes and those of their weights are, whatever they were cut from: the file may be of
    other servers, another batch or another model.  Of a model that was imported only operators of ``job`` are known.

    Raises
    ------
    FlexNetError
        If the file cannot be read, holds estimates or times of another device, arithmetic or library, or its model's
        flags or configs do not fit.
    """
    table, details = read_with_details(path)
    _check_same(path, table, device)
    operators = _operators_of(table) | {shape.name: shape.op for shape in job.shapes}
    said = table.provenance.get("big_gpu")
    big_gpu = max(said, 0) if isinstance(said, int) else 0
    source: dict[str, Any] = {} if own else {"reused": path.stem}
    parts: dict[_Work, _Found] = {}
    configs: dict[tuple[str, tuple[int, ...]], _Found] = {}
    for name, entries in table.shapes.items():
        for entry in entries if name in operators else ():
            if prod(entry.degrees) > table.n_server:  # nobody can have measured it
                continue
            check_config(table, operators[name], entry)
            found = entry, {**source, **details[name, entry.degrees]}
            parts[_work_of(part_of(operators[name], entry.degrees, big_gpu))] = found
            if own and big_gpu == max(job.big_gpu, 0):
                configs[name, entry.degrees] = found
    return Before(path, own, parts, configs, table.provenance)


def take_measured(before: Sequence[Before], job: Job, journal: Journal) -> dict[Path, int]:
    """Take into the journal what it lacks and was measured before, and return how many configs are from which file.

    Of several files that have a part the first one's time is taken; a file that goes on keeps every time it has.

    Raises
    ------
    FlexNetError
        If the journal cannot be written.
    """
    taken = {file.path: 0 for file in before}
    for shape, degrees in job.configs if before else ():
        place = shape.name, degrees
        if place in journal.found:
            continue
        work = _work_of(job.part(shape, degrees))
        file = next((file for file in before if place in file.configs or work in file.parts), None)
        if file is not None:
            entry, detail = file.configs.get(place) or file.parts[work]
            journal.add(Measured(*place, entry.forward, entry.backward, entry.memory, 0.0, detail))
            taken[file.path] += 1
    return taken


def how_it_was_made(journal: Journal, before: Iterable[Before]) -> dict[str, object]:
    """Seconds that all measurements took, what held clocks down and what was taken from where, as files say it.

    A file that goes on keeps what it said.
    """
    seconds = sum(measured.took for measured in journal.found.values())
    reasons = set(throttled(journal))
    counts = Counter(str(m.detail["reused"]) for m in journal.found.values() if "reused" in m.detail)
    for said in (one.provenance for one in before if one.own):
        took, held, taken = said.get("profile_s"), said.get("throttled"), said.get("reused")
        seconds += took if isinstance(took, int | float) else 0.0
        reasons |= set(map(str, held)) if isinstance(held, list) else set()
        counts |= Counter(taken) if isinstance(taken, dict) else Counter()
    return {
        "throttled": sorted(reasons),
        "profile_s": round(seconds, 1),
        **({"reused": dict(counts)} if counts else {}),
    }


def _work_of(part: Operator) -> _Work:
    """What two parts must have in common to take as long: rows of a table that is cut show in its weights alone."""
    return shape_name(part), tuple(weight.dims for weight in part.weights)


def _check_same(path: Path, table: CostTable, device: Device) -> None:
    if table.estimated:
        raise FlexNetError(f"the times of {path} are estimated; --reuse takes a file that flexnet profile measured")
    if differs := difference(table.provenance, device.identity()):
        raise FlexNetError(f"the times of {path} cannot be reused: {differs}; measure again without it")


def _operators_of(table: CostTable) -> dict[str, Operator]:
    """The operators that a file was measured for, by shape name, as far as its model is known by name."""
    model, flags = table.provenance.get("model"), table.provenance.get("model_flags")
    if not isinstance(model, str) or model not in MODELS or not isinstance(flags, dict):
        return {}
    graph = MODELS[model].build({str(name): str(text) for name, text in flags.items()}, table.batch_size)
    return {shape_name(op): op for op in graph.operators}
