"""What a running search shows, and how Ctrl-C stops it between two proposals."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from flexnet.errors import FlexNetError
from flexnet.units import s_to_ms

__all__ = ["Display", "complain", "duration_text", "interruptible", "open_streams", "say", "warn"]

REFRESH_S = 0.1
LINES = 10  # plain lines of a whole search


def say(text: str) -> None:
    """Print to standard output at once.

    A reader that has gone away does not end a search.  After an error, all further output goes nowhere.

    Raises
    ------
    FlexNetError
        If it cannot be printed, on a full disk for instance.
    """
    _print(f"{text}\n")


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


def duration_text(seconds: float) -> str:
    """A duration as people say it.

    >>> duration_text(3.21), duration_text(75), duration_text(7322)
    ('3.2 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    if seconds < float("inf"):
        return f"{int(seconds) // 3600} h {int(seconds) // 60 % 60:02d} min"
    return "unknown"


class Display:
    """Progress of a search: one live line on a terminal, some ten plain lines elsewhere.

    Parameters
    ----------
    total : int
        Proposals of the whole search.
    done : int
        Proposals made before now.
    """

    def __init__(self, total: int, done: int = 0) -> None:
        self._total = total
        self._live = sys.stdout.isatty()
        self._shown_at = time.monotonic()
        self._step = max(total // LINES, 1)
        self._shown_step = done // self._step
        self._width = 0

    def show(self, iteration: int, current: float, best: float, speed: float, left: float) -> None:
        """Show the state after a proposal, if it is time to.

        Parameters
        ----------
        iteration : int
            Proposals made.
        current, best : float
            Iteration times of the current and the best plan, seconds.
        speed : float
            Proposals/s.
        left : float
            Seconds left.
        """
        if not self._is_time(iteration):
            return
        self._show(
            f"{iteration} of {self._total}: current {s_to_ms(current):.3f} ms, best {s_to_ms(best):.3f} ms, "
            f"{speed:.0f} proposals/s, {duration_text(left)} left"
        )

    def show_step(self, n_done: int, what: str, left: float) -> None:
        """Show a step of something else, if it is time to: how many are done, what was, and seconds left."""
        if self._is_time(n_done):
            self._show(f"{n_done} of {self._total}: {what}, {duration_text(left)} left")

    def _is_time(self, n_done: int) -> bool:
        if self._live:
            if time.monotonic() - self._shown_at < REFRESH_S:
                return False
        elif n_done // self._step == self._shown_step:
            return False
        self._shown_at = time.monotonic()
        self._shown_step = n_done // self._step
        return True

    def _show(self, text: str) -> None:
        if self._live:
            self._rewrite(text)
        else:
            say(text)

    def clear(self) -> None:
        """Remove the live line."""
        if self._width:
            self._rewrite("")
            self._width = 0

    def _rewrite(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        padded = text.ljust(self._width)
        self._width = len(text)
        _print(f"\r{padded}" if text else f"\r{padded}\r")


class Interruption:
    """Whether, and by which signal, the program was asked to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.signal is not None

    @property
    def status(self) -> int:
        """Exit status of a program that a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + (self.signal or 0)


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """While it lasts, SIGINT, SIGTERM and SIGHUP are only noted; the previous handlers are restored after."""
    asked = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, _frame: object) -> None:
        asked.signal = number

    names = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not on every system
    previous = {number: signal.signal(number, note) for name in names if (number := getattr(signal, name, None))}
    try:
        yield asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
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
