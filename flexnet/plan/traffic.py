"""How much a task graph moves between servers."""

import numpy as np

from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM

__all__ = ["traffic_bytes"]


def traffic_bytes(tasks: TaskArrays) -> tuple[float, int]:
    """Bytes an iteration must move: by ring all-reduces (2(g-1) S over a group of g), by model-parallel transfers."""
    reduce_ = tasks.kind == ALLREDUCE
    sizes = np.diff(tasks.group_ptr)[tasks.place[reduce_]]
    allreduce = float(np.sum(2.0 * (sizes - 1) * tasks.bytes[reduce_]))
    return allreduce, int(tasks.bytes[tasks.kind == NOMINAL_COMM].sum())
