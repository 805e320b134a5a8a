"""Reads what a run left behind, for those who look at it later."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flexnet.commands.runs.record import FORMAT, VERSION
from flexnet.errors import FlexNetError
from flexnet.exact.plan_bounds import FIXED
from flexnet.files import read_object
from flexnet.report.run import Run
from flexnet.search.history import HISTORY, read_history
from flexnet.search.plan_file import read_plan_file
from flexnet.units import s_to_ms

__all__ = ["PLAN", "read_run", "run_of"]

PLAN = "plan.npz"
ROUNDED = 1e-6  # a time may be off by such a share

_NEEDED = {
    "status": str,
    "initial_ms": float,
    "best_ms": float,
    "topology": str,
    "semantics": str,
    "estimated": bool,
    "times": str,
    "remarks": list,
    "inputs": dict,
    "files": dict,
    "arguments": list,
    "command_line": list,
    "written": str,
    "versions": dict,
}
_NEEDED_INPUTS = ("model", "batch_size", "big_gpu", "settings")


def read_run(directory: Path) -> Run:
    """Read the directory of a search.

    Raises
    ------
    FlexNetError
        If it holds no run, one that has not ended, or files are damaged.
    """
    path = directory / "run.json"
    if not path.exists():
        raise FlexNetError(
            f"{directory} holds no run: there is no run.json in it; name a directory that flexnet search -o DIR wrote"
        )
    document = read_object(path, "run")
    if (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise FlexNetError(
            f'{path} is not of a run of this version: it must say "format": "{FORMAT}", "version": {VERSION}'
        )
    if document.get("status") == "running":
        raise FlexNetError(
            f"the run in {directory} is under way or was killed, so there is no plan yet; go on with it by flexnet "
            f"search --resume {directory}"
        )
    for name, kind in _NEEDED.items():
        if not isinstance(document.get(name), (float, int) if kind is float else kind):
            raise FlexNetError(f'{path} is damaged: "{name}" is missing, or not what it must be')
    lacking = [name for name in _NEEDED_INPUTS if name not in document["inputs"]]
    if lacking:
        raise FlexNetError(f'{path} is damaged: "inputs" lack "{lacking[0]}"')
    wrong = next((name for name, is_right in _within(document) if not is_right), None)
    if wrong is not None:
        raise FlexNetError(f'{path} is damaged: "{wrong}" is not what it must be')
    return run_of(directory, document)


def run_of(directory: Path, document: Mapping[str, Any]) -> Run:
    """The run in a directory that ``document`` describes.

    Raises
    ------
    FlexNetError
        If its files are missing or damaged.
    """
    if not (directory / PLAN).exists():
        raise FlexNetError(f"{directory} has no {PLAN}; an earlier version of flexnet made it, so search again")
    plan = read_plan_file(directory / PLAN)
    if not math.isclose(s_to_ms(plan.timeline.seconds), document["best_ms"], rel_tol=ROUNDED):
        raise FlexNetError(
            f"{directory / PLAN} is of another run: its iteration takes {s_to_ms(plan.timeline.seconds):.6g} ms, and "
            f"that of run.json {document['best_ms']:.6g} ms"
        )
    path = directory / HISTORY
    return Run(directory, document, plan, read_history(path) if path.exists() else None)


def _within(document: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """What reports read of a run besides the types of its fields, and whether it is right."""
    inputs = document["inputs"]
    for name in ("arguments", "command_line", "remarks", "operators_changed"):
        yield name, _is_list_of(document.get(name, []), str)
    counts = {"micro_batches": 1, "tensor_parallel": 1, **inputs}  # runs of earlier versions have one
    for name, least in (("batch_size", 1), ("micro_batches", 1), ("tensor_parallel", 1), ("big_gpu", 0)):
        yield f"inputs.{name}", isinstance(counts[name], int) and counts[name] >= least
    settings = inputs["settings"]
    yield "inputs.settings", isinstance(settings, dict) and _is_number(settings.get("gpu_memory", ""), or_none=True)
    for flag, file in document["files"].items():
        named = isinstance(file, dict) and all(isinstance(file.get(key), str) for key in ("path", "sha256"))
        yield f"files.{flag}", named
    yield "lower_bound_ms", _is_number(document.get("lower_bound_ms"), or_none=True)
    for name in ("initial_ms", "best_ms"):
        yield name, _is_number(document[name]) and document[name] >= 0
    for name in (f"{one}_bound" for one in FIXED if f"{one}_bound_ms" in document):
        yield f"{name}_ms", _is_number(document[f"{name}_ms"]) and isinstance(document.get(f"{name}_of"), str)
    cuts = document.get("estimated_cuts", {"operators": 0.0, "compute_time": 0.0})
    yield "estimated_cuts", _are_numbers(cuts) and {"operators", "compute_time"} <= cuts.keys()
    in_groups = document.get("in_groups", {})
    yield "in_groups", isinstance(in_groups, dict) and all(_is_list_of(cut, int) for cut in in_groups.values())
    yield "exchange_in_groups", _is_number(document.get("exchange_in_groups", 0.0))
    yield "bound_terms", _are_numbers(document.get("bound_terms", {}))
    yield "extended_at", _is_list_of(document.get("extended_at", []), int)


def _is_list_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _are_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_number(value: object, *, or_none: bool = False) -> bool:
    return (value is None and or_none) or (isinstance(value, int | float) and math.isfinite(value))
