"""How Ctrl-C and other signals stop what is running."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flexnet.interrupts import give_up, undisturbed

__all__ = ["Interruption", "heard_by_kernels", "interruptible", "raising"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not on every system
STOPPING = frozenset(number for name in _NAMES if (number := getattr(signal, name, None)) is not None)


_END = 0  # no signal has this number


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
    """While it lasts, handlers of SIGINT, SIGTERM and SIGHUP only note them; the previous ones are restored after."""
    asked = Interruption()

    def note(number: int, _frame: object) -> None:
        asked.signal = number

    with _handled_by(note):
        yield asked


@contextmanager
def raising() -> Iterator[Interruption]:
    """While it lasts, SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does; it tells which came."""
    asked = Interruption()

    def stop(number: int, _frame: object) -> None:
        asked.signal = number
        raise KeyboardInterrupt

    with _handled_by(stop):
        yield asked


@contextmanager
def _handled_by(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Have signals handled, but for those that whoever started the program wants ignored, as nohup does SIGHUP.

    Only the main thread can; elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)


@contextmanager
def heard_by_kernels() -> Iterator[None]:
    """While it lasts, signals that Python handles also make running kernels return at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with undisturbed():  # nothing is left over from an earlier command
        pass
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    listener = threading.Thread(target=_listen, args=(receiver,), daemon=True)
    listener.start()
    previous = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        os.write(sender, bytes([_END]))
        listener.join()
        os.close(sender)
        os.close(receiver)
        with undisturbed():
            pass


def _listen(receiver: int) -> None:
    while _END not in (numbers := os.read(receiver, 64)):
        if STOPPING.intersection(numbers):
            give_up()
