"""Scratch memory of the first-in-first-out link model."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.simulate.kernels.heap import Heap
from flexnet.structs import struct

__all__ = ["FifoWork"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@struct
class FifoWork(NamedTuple):
    """Scratch memory of `flexnet.simulate.kernels.fifo.simulate_fifo`."""

    heap: Heap
    ready: Floats
    start: Floats
    end: Floats
    waiting: Ints
    left: Ints
    flow_ptr: Ints
    flow_route: Ints
    flow_route_end: Ints
    flow_on_ring: npt.NDArray[np.bool_]
    flow_left: Ints
    flow_ready: Floats
    flow_collective: Ints
    collective_ready: Floats
    collective_waiting: Ints
    link_free: Floats
    link_bandwidth: Floats
    server_free: Floats
    link_left: Floats
    server_left: Floats
    latest: Floats
    stop: Ints
