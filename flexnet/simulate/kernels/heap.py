"""A plain binary heap, earliest first: for what needs no order between equal times."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.kernels import called
from flexnet.structs import struct

__all__ = ["Heap", "pop", "push"]


@struct
class Heap(NamedTuple):
    """Events to come, ``n`` (1,) of them."""

    times: npt.NDArray[np.float64]
    items: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]


@called
def push(heap, time, item):  # type: ignore[no-untyped-def]
    """Add ``item``."""
    times, items = heap.times, heap.items
    hole = np.uint32(heap.n[0])
    heap.n[0] += 1
    while hole > 0:
        parent = np.uint32((hole - 1) >> 1)
        if not times[parent] > time:
            break
        times[hole] = times[parent]
        items[hole] = items[parent]
        hole = parent
    times[hole] = time
    items[hole] = item


@called
def pop(heap):  # type: ignore[no-untyped-def]
    """Take out the earliest item and return it; its time is ``heap.times[0]`` before."""
    times, items = heap.times, heap.items
    earliest = items[0]
    heap.n[0] -= 1
    n = np.uint32(heap.n[0])
    time = times[n]
    hole = np.uint32(0)
    while True:
        child = np.uint32(2 * hole + 1)
        if child >= n:
            break
        if child + 1 < n and times[child + 1] < times[child]:
            child = np.uint32(child + 1)
        if times[child] >= time:
            break
        times[hole] = times[child]
        items[hole] = items[child]
        hole = child
    times[hole] = time
    items[hole] = items[n]
    return earliest
