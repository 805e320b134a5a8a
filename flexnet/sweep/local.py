"""Points computed by processes of this machine, which are given one after the other."""

import os
import selectors
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from flexnet.sweep.store import Store
from flexnet.sweep.task import Done, Task, accept

__all__ = ["compute_here"]


def compute_here(
    tasks: Sequence[Task], work: str, store: Store, token: str, *, n_worker: int, retries: int, done: Done
) -> None:
    """Compute points in processes, which talk through pipes and listen nowhere.

    Parameters
    ----------
    tasks : sequence of Task
    work : str
        As of `flexnet.sweep.worker.compute`.
    store : Store
    token : str
        What its file ``token`` holds.
    n_worker : int
        Processes.
    retries : int
        How often a point is tried again whose process died.
    done : callable
    """
    waiting, deaths = deque(tasks), Counter[str]()
    running: dict[subprocess.Popen[str], Task] = {}
    with selectors.DefaultSelector() as selector:

        def give(worker: subprocess.Popen[str]) -> None:
            if not waiting:
                _end(worker)
                return
            task = waiting.popleft()
            running[worker] = task
            selector.register(_out(worker), selectors.EVENT_READ, worker)
            with suppress(BrokenPipeError):  # where it has died, its other end tells so
                _in(worker).write(task.text(store, token) + "\n")
                _in(worker).flush()

        try:
            for _ in range(min(n_worker, len(tasks))):
                give(_worker(work))
            while running:
                for ready, _ in selector.select():
                    worker = cast("subprocess.Popen[str]", ready.data)
                    selector.unregister(ready.fileobj)
                    task, answer = running.pop(worker), _out(worker).readline()
                    if answer:
                        accept(task, answer, store, done)
                        give(worker)
                        continue
                    _end(worker)
                    deaths[task.key] += 1
                    if deaths[task.key] > retries:
                        done(task, f"its process died {deaths[task.key]} times")
                    else:
                        waiting.append(task)
                    if waiting:
                        give(_worker(work))
        finally:
            for worker in running:
                worker.kill()
                _end(worker)


def _worker(work: str) -> "subprocess.Popen[str]":
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "flexnet.sweep.worker", work, *_script()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        start_new_session=True,  # Ctrl-C reaches the process that started it alone
    )


def _script() -> list[str]:
    """The program that was started, if it is a file: parts of its own that it registers are known to workers, too."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    return [str(Path(path).absolute())] if path is not None and getattr(main, "__spec__", None) is None else []


def _in(worker: "subprocess.Popen[str]") -> "subprocess.IO[str]":  # type: ignore[name-defined]
    assert worker.stdin is not None
    return worker.stdin


def _out(worker: "subprocess.Popen[str]") -> "subprocess.IO[str]":  # type: ignore[name-defined]
    assert worker.stdout is not None
    return worker.stdout


def _end(worker: "subprocess.Popen[str]") -> None:
    """Close its pipes, on which it ends, and wait for it."""
    with suppress(BrokenPipeError):
        _in(worker).close()
    _out(worker).close()
    worker.wait()
