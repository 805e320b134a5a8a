"""Gives up long computations that nobody waits for any more.

A signal's handler in Python runs only when a compiled kernel has returned, which on a thousand servers takes minutes.
So kernels look at one number, which a thread sets as soon as the signal is there, in this process and, as the memory is
shared, in those that it has forked.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["STOP", "GivenUp", "check", "give_up", "undisturbed"]

STOP = mmap.mmap(-1, 8)
"""A 64-bit integer, not 0 while kernels are to return at once."""

_disturbed = True


class GivenUp(Exception):  # noqa: N818  (it is no error)
    """What was computed is not wanted any more."""


def give_up() -> None:
    """Let all that is being computed return at once, unless that is `undisturbed`."""
    if _disturbed:
        STOP[0] = 1


def check() -> None:
    """Go on, unless nobody waits for it.

    Raises
    ------
    GivenUp
        If `give_up` was called.
    """
    if STOP[0]:
        raise GivenUp


@contextmanager
def undisturbed() -> Iterator[None]:
    """Forget that anything was given up, and give up nothing meanwhile: for the short work of keeping what there is."""
    global _disturbed
    before, _disturbed = _disturbed, False
    STOP[0] = 0
    try:
        yield
    finally:
        _disturbed = before
