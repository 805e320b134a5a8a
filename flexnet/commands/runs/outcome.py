"""Reads what a run left behind, for those who look at it later."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexnet.commands.runs.record import FORMAT, VERSION
from flexnet.errors import FlexNetError
from flexnet.files import read_object
from flexnet.report.run import Run
from flexnet.search.history import HISTORY, read_history
from flexnet.search.plan_file import read_plan_file

__all__ = ["PLAN", "read_run", "run_of"]

PLAN = "plan.npz"

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
    path = directory / HISTORY
    history = read_history(path) if path.exists() else None
    return Run(directory, document, read_plan_file(directory / PLAN), history)
