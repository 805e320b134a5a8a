"""Where strategy and topology meet: the demand a task graph puts on the network."""

import numpy as np

from flexnet.taskgraph import ALLREDUCE, NOMINAL_COMM, TaskArrays
from flexnet.topology import Demand

__all__ = ["demand_of", "traffic_bytes"]


def demand_of(tasks: TaskArrays, n_server: int) -> Demand:
    """Bytes per ordered server pair (transfers) and per group size (all-reduces, as the tensor's bytes).

    The original counts the same when a task is created (network.cc:1718).
    """
    comm = tasks.kind == NOMINAL_COMM
    weighed = np.bincount(tasks.place[comm], weights=tasks.bytes[comm], minlength=n_server * n_server)
    pairs = weighed.astype(np.float64, copy=False)
    reduce_ = tasks.kind == ALLREDUCE
    sizes = np.diff(tasks.group_ptr)[tasks.place[reduce_]]
    volume = np.bincount(sizes, weights=tasks.bytes[reduce_], minlength=n_server + 1)
    groups = {int(g): float(volume[g]) for g in np.flatnonzero(volume) if g >= 2}
    return Demand(n_server, pairs.reshape(n_server, n_server), groups)


def traffic_bytes(tasks: TaskArrays) -> tuple[float, int]:
    """Bytes an iteration must move: by ring all-reduces (2(g-1) S over a group of g), by model-parallel transfers."""
    reduce_ = tasks.kind == ALLREDUCE
    sizes = np.diff(tasks.group_ptr)[tasks.place[reduce_]]
    allreduce = float(np.sum(2.0 * (sizes - 1) * tasks.bytes[reduce_]))
    return allreduce, int(tasks.bytes[tasks.kind == NOMINAL_COMM].sum())
