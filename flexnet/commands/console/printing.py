"""What is printed: lines on standard output, warnings and errors on standard error, wherever these go."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from flexnet.errors import FlexNetError

# Control characters but for tabs and line ends, and those that turn the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

__all__ = ["complain", "escaped", "open_streams", "printing", "say", "warn"]


def say(text: str) -> None:
    """Print to standard output at once.

    A reader that has gone away does not end a search.  After an error, all further output goes nowhere.

    Raises
    ------
    FlexNetError
        If it cannot be printed, on a full disk for instance.
    """
    with printing():
        sys.stdout.write(f"{escaped(text)}\n")
        sys.stdout.flush()


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    complain(f"flexnet: warning: {sentence}")


def complain(line: str) -> None:
    """Print a line to standard error, if it is there; where it is not, there is nobody to tell."""
    try:
        print(escaped(line), file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def escaped(text: str) -> str:
    r"""Text without characters that would make a terminal do something: they become escapes; lines stay lines.

    >>> escaped("a\x1b[31m\nb\u202e")
    'a\\x1b[31m\nb\\u202e'
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


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
