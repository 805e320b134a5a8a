"""Processes that work for another one."""

import os
import threading
import time

__all__ = ["end_with_parent", "n_core"]

LOOK_S = 0.5


def end_with_parent() -> None:
    """From now on, end this process when the one that started it is gone, even if that was killed."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)


def n_core() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
