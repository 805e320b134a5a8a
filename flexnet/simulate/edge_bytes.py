"""What every ring of every all-reduce puts on each of its edges."""

import numpy as np
import numpy.typing as npt

from flexnet.plan.arrays import TaskArrays
from flexnet.simulate.arrays import NetworkArrays
from flexnet.simulate.kernels.rings import edge_bytes, ring_turns
from flexnet.simulate.protocol import Protocol

__all__ = ["bytes_of_edges", "most_rings_laid"]


def most_rings_laid(network: NetworkArrays) -> int:
    """Rings that any all-reduce runs over at most, 1 along routes."""
    return max(int(np.diff(ptr).max(initial=1)) for ptr in (network.ring_ptr, network.cycle_ptr))


def bytes_of_edges(tasks: TaskArrays, network: NetworkArrays, protocol: Protocol) -> npt.NDArray[np.float64]:
    """Bytes on an edge in all rounds, float64 (n_allreduce, `most_rings_laid`); 0 of rings that are not there."""
    n_reduce = len(tasks.group_ptr) - 1
    turns = np.zeros(n_reduce, np.int64)
    ring_turns(tasks, network, protocol, turns)
    carried = np.zeros((n_reduce, most_rings_laid(network)))
    edge_bytes(tasks, network, protocol, turns, carried)
    return carried
