"""What a strategy asks of the network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.kernels.demand import same_groups, sum_up
from flexnet.plan.arrays import TaskArrays

__all__ = ["Demand", "demand_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Bytes an iteration moves between servers.

    Parameters
    ----------
    n_server : int
    model_parallel : float64 (n_server, n_server)
        Bytes per ordered server pair (source, target).
    allreduce : mapping of int to float
        Group size -> bytes of the reduced tensors, summed over the all-reduces of that group size, before any factor
        for what a ring moves.
    groups : mapping of tuple of int to float
        The same by member servers, ascending: which groups they are, not only how large.  None known if empty.

    Raises
    ------
    FlexNetError
        If shapes or values are impossible.
    """

    n_server: int
    model_parallel: npt.NDArray[np.float64]
    allreduce: Mapping[int, float]
    groups: Mapping[tuple[int, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.n_server
        if n < 1:
            raise FlexNetError(f"a demand of {n} servers; at least 1 is needed")
        if self.model_parallel.shape != (n, n):
            raise FlexNetError(
                f"the model-parallel demand has shape {self.model_parallel.shape}; expected is ({n}, {n})"
            )
        if not (self.model_parallel.min() >= 0 and self.model_parallel.max() < np.inf):
            raise FlexNetError(
                "the model-parallel demand has negative or infinite bytes; expected are finite bytes >= 0"
            )
        for size, volume in self.allreduce.items():
            if not 1 <= size <= n:
                raise FlexNetError(f"an all-reduce over {size} servers; group sizes are 1 to {n}")
            if not 0 <= volume < float("inf"):
                raise FlexNetError(f"all-reduces over {size} servers of {volume} bytes; expected are finite bytes >= 0")
        for group, volume in self.groups.items():
            if list(group) != sorted(set(group)) or not all(0 <= server < n for server in group):
                raise FlexNetError(f"an all-reduce over servers {list(group)}; expected are 0 to {n - 1}, ascending")
            if not 0 <= volume < float("inf"):
                raise FlexNetError(f"all-reduces over {list(group)} of {volume} bytes; expected are finite bytes >= 0")


def demand_of(tasks: TaskArrays, n_server: int) -> Demand:
    """Bytes per ordered server pair (transfers), per group size and per group (all-reduces, as the tensor's bytes).

    The original counts the same when a task is created (network.cc:1718).
    """
    # Groups are known by the exclusive or of numbers of 64 bits that are drawn for servers.
    n_group = len(tasks.group_ptr) - 1
    first, same_as = np.zeros(n_group, np.int64), np.zeros(n_group, np.int64)
    n_different = same_groups(tasks, _drawn(n_server), np.zeros(n_group, np.uint64), first, same_as)
    pairs, volume, total = np.zeros(n_server * n_server), np.zeros(n_server + 1), np.zeros(n_group)
    sum_up(tasks, pairs, volume, total, same_as)
    by_size = {int(g): float(volume[g]) for g in np.flatnonzero(volume) if g >= 2}
    groups: dict[tuple[int, ...], float] = {}
    for g in first[:n_different].tolist():
        members = tasks.group[tasks.group_ptr[g] : tasks.group_ptr[g + 1]]
        if len(members) >= 2 and total[g] > 0:
            groups[tuple(sorted(members.tolist()))] = float(total[g])
    return Demand(n_server, pairs.reshape(n_server, n_server), by_size, groups)


@lru_cache(maxsize=64)
def _drawn(n_server: int) -> npt.NDArray[np.uint64]:
    """A number for each server, always the same, so that groups of different servers are told apart."""
    return np.random.default_rng(n_server).integers(0, 2**64, n_server, np.uint64)
