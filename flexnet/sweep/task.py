"""The points of a sweep as they are given out and come back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from flexnet.sweep.store import Store

__all__ = ["Done", "Task", "accept"]


@dataclass(frozen=True, slots=True)
class Task:
    """A point to be computed.

    Parameters
    ----------
    key : str
        Its hash.
    point : dict
    """

    key: str
    point: dict[str, Any]

    def text(self, store: Store, token: str) -> str:
        """The line that `flexnet.sweep.worker.compute` takes."""
        asked = {"key": self.key, "point": self.point, "store": str(store.directory.absolute()), "token": token}
        return orjson.dumps(asked).decode()


Done = Callable[[Task, str], None]
"""Told of every point that has come back: with nothing, or a sentence on why it could not be computed."""


def accept(task: Task, answer: str, store: Store, done: Done) -> None:
    """Keep the row that came back, unless its worker has."""
    found = orjson.loads(answer)
    if "error" in found:
        done(task, found["error"])
        return
    if not store.has(task.key):
        store.put(task.key, found["row"])
    done(task, "")
