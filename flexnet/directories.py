"""Directories that one search at a time writes to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexnet.errors import FlexNetError

__all__ = ["one_writer"]


@contextmanager
def one_writer(directory: Path) -> Iterator[None]:
    """Make a directory if it is not there, and keep other searches out of it while this lasts.

    The lock is on the directory itself: it leaves no file behind and ends with the process, however that ends.  There
    is none on systems without such locks, or on file systems that refuse them.

    Raises
    ------
    FlexNetError
        If the directory cannot be made, or another search holds it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FlexNetError(f"cannot make directory {directory}: {error.strerror or error}") from None
    lock = _lock(directory)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(directory: Path) -> int | None:
    try:
        import fcntl
    except ImportError:
        return None
    try:
        held = os.open(directory, os.O_RDONLY)
    except OSError:
        return None  # whether its files can be written is for those who write them to find out
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise FlexNetError(
            f"another search is writing to {directory}; wait until it ends, stop it, or name another directory"
        ) from None
    except OSError:
        os.close(held)
        return None
    return held
