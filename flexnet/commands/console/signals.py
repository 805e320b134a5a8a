"""How Ctrl-C and other signals stop a search between two proposals."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Interruption", "interruptible"]


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
