"""A run as reports read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.search.history import History
from flexnet.search.plan_file import PlanFile

__all__ = ["Run"]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What the directory of a search holds.

    Parameters
    ----------
    directory : Path
    document : Mapping
        ``run.json``.
    plan : PlanFile
    history : History or None
        None if the search did not keep any.
    """

    directory: Path
    document: Mapping[str, Any]
    plan: PlanFile
    history: History | None
