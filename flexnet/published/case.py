"""What a validation compares."""

from collections.abc import Callable
from dataclasses import dataclass

from flexnet.errors import FlexNetError

__all__ = ["Case", "LeftOut", "attempt"]


@dataclass(frozen=True, slots=True)
class Case:
    """One published value beside ours.

    Parameters
    ----------
    name : str
    ours, theirs, difference, tolerance : str
        As they are to be shown, with units.
    ok : bool
    problem : str
        Why it could not be recomputed; empty if it was.
    """

    name: str
    ours: str
    theirs: str
    difference: str
    tolerance: str
    ok: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something published that is there and is not recomputed; ``sentence`` says what, and why."""

    sentence: str


def attempt(name: str, compute: Callable[[], Case]) -> Case:
    """What ``compute`` finds, or, if its files are damaged or missing, a case that failed for that reason."""
    try:
        return compute()
    except FlexNetError as error:
        return Case(name, "", "", "", "", False, str(error))
