"""What a validation compares."""

from dataclasses import dataclass

__all__ = ["Case"]


@dataclass(frozen=True, slots=True)
class Case:
    """One published value beside ours.

    Parameters
    ----------
    name : str
    ours, theirs, difference, tolerance : str
        As they are to be shown, with units.
    ok : bool
    """

    name: str
    ours: str
    theirs: str
    difference: str
    tolerance: str
    ok: bool
