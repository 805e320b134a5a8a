"""Proves the bound of a search beside it, in a process of its own, so that a terminal can tell the gap as it closes.

Where there is a core to spare this is done without one too, and nobody waits for the bound in the end.
"""

import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.connection import Connection

from flexnet.interrupts import GivenUp, check
from flexnet.search.prepared import Prepared
from flexnet.search.starts.start import Bound

__all__ = ["Bounding"]

LOOK_S = 0.1


class Bounding:
    """A bound that is being proven.

    Parameters
    ----------
    ready : Prepared
        The search it is for.
    """

    def __init__(self, ready: Prepared) -> None:
        context = multiprocessing.get_context("fork")  # the problem is inherited as it is
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_prove, args=(ready, sender), daemon=True)
        self._process.start()
        sender.close()
        self._bound: Bound | None = None
        self._done = False

    @staticmethod
    def possible() -> bool:
        """Whether this system can do so."""
        return "fork" in multiprocessing.get_all_start_methods()

    def poll(self) -> Bound | None:
        """The bound, if it is proven by now."""
        if not self._done and self._receiver.poll():
            self._done = True
            try:
                self._bound = self._receiver.recv()
            except EOFError:  # the process was ended; the search proves the bound itself
                self._bound = None
        return self._bound

    def wait(self) -> Bound | None:
        """The bound, once it is proven.

        Raises
        ------
        GivenUp
            If nobody waits for it any more.
        """
        while not self._done and self._process.is_alive() and not self._receiver.poll(LOOK_S):
            check()
        bound = self.poll()
        if bound is None:
            check()  # it may have ended because nobody waits
        return bound

    def stop(self) -> None:
        """End the process if it is still at it."""
        self._process.kill()  # it would tell the first process of other signals as if they were for that
        self._process.join()
        self._receiver.close()


def _prove(ready: Prepared, sender: Connection) -> None:
    signal.set_wakeup_fd(-1)  # which is the first process's
    for number in (signal.SIGINT, signal.SIGTERM):  # the search answers Ctrl-C, and ends this process
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    with suppress(GivenUp):
        sender.send(ready.bound())
    sender.close()
