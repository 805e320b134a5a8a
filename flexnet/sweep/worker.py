"""What computes a point: here, in a process of its own, or on a cluster.

``python -m flexnet.sweep.worker WORK [SCRIPT]`` runs a script for what it registers, as `multiprocessing` does where it
starts processes anew, without what is behind ``if __name__ == "__main__"``.  Then it reads points from standard input,
a line of JSON each, and answers each with a line.  It listens nowhere, and ends with the process that started it.
"""

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import orjson

from flexnet.errors import FlexNetError
from flexnet.processes import end_with_parent
from flexnet.sweep.store import Store

__all__ = ["compute", "main"]


def compute(work: str, text: str) -> str:
    """Compute a point, and keep its row if its store is to be seen from here.

    Parameters
    ----------
    work : str
        ``module:function`` that makes the row of a point: of a dict of JSON values, one.
    text : str
        JSON: ``key`` and ``point``; ``store`` and ``token``: the directory to keep the row in, if the file ``token``
        there has this content, and so it is the same directory.

    Returns
    -------
    str
        JSON: ``row``; or ``error``, a sentence on what is wrong with the point.
    """
    asked = orjson.loads(text)
    store = _store(asked)
    if store is not None and store.has(asked["key"]):
        return orjson.dumps({"row": store.rows([asked["key"]])[0]}).decode()
    module, name = work.split(":")
    try:
        row: dict[str, Any] = getattr(import_module(module), name)(asked["point"])
    except FlexNetError as error:
        return orjson.dumps({"error": str(error)}).decode()
    if store is not None:
        store.put(asked["key"], row)
    return orjson.dumps({"row": row}).decode()


def _store(asked: dict[str, Any]) -> Store | None:
    """The store, if this machine sees it."""
    store = Store(Path(asked["store"]))
    try:
        return store if (store.directory / "token").read_text() == asked["token"] else None
    except OSError:
        return None


def main() -> None:
    """Answer points until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one answers it
    end_with_parent()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    work, *scripts = sys.argv[1:]
    for script in scripts:
        sys.argv = [script]
        sys.path.insert(0, str(Path(script).parent))  # as where it was started
        with suppress(SystemExit):
            run_path(script, run_name="__mp_main__")
    for line in sys.stdin:
        answers.write(compute(work, line) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
