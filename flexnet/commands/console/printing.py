"""What is printed: lines on standard output, warnings and errors on standard error, wherever these go."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from flexnet.errors import FlexNetError

__all__ = ["complain", "open_streams", "printing", "say", "warn"]


def say(text: str) -> None:
    """Print to standard output at once.

    A reader that has gone away does not end a search.  After an error, all further output goes nowhere.

    Raises
    ------
    FlexNetError
        If it cannot be printed, on a full disk for instance.
    """
    with printing():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    complain(f"flexnet: warning: {sentence}")


def complain(line: str) -> None:
    """Print a line to standard error, if it is there; where it is not, there is nobody to tell."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def open_streams() -> None:
    """Send what is printed nowhere if the process was started with standard output or error closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, as long as the process


@contextmanager
def printing() -> Iterator[None]:
    """While standard output is written to: a reader that has gone away is no error, a full disk is one.

    Raises
    ------
    FlexNetError
        If it cannot be printed.
    """
    try:
        yield
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        raise FlexNetError(f"cannot print to standard output: {error.strerror or error}") from None


def _discard(stream: TextIO) -> None:
    """Send all further output of a stream that cannot be written to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
