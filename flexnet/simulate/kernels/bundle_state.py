"""Scratch memory of a simulation that sends what one task sends together, as its kernels see it.

A *bundle* is all transfers that wait for one task.  It is a coflow, as a ring of an all-reduce is: its flows begin
together, have rates in proportion to their bytes, and end together.  Single numbers that kernels change are arrays of
shape (1,).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.simulate.kernels.fair_state import Queues, Rings
from flexnet.simulate.kernels.heap import Heap
from flexnet.structs import struct

__all__ = ["NOBODY", "BundleLinks", "BundleWork", "Coflows", "Running"]

NOBODY = -1
"""Waits for a transfer."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@struct
class Coflows(NamedTuple):
    """Rings as in `flexnet.simulate.kernels.fair_state.Classes`, then bundles in the order of their tasks.

    Parameters
    ----------
    n : int64 (1,)
    begin, end : int64 (n_coflow,)
        Range of ``link``.
    link : int32 (n_place,)
    part : float32 (n_place,)
        Bytes that a bundle puts on a link over those of its largest flow; 1 for rings, which have a link once for every
        edge over it.
    hops : int64 (n_coflow,)
        Of the longest flow.
    extra_latency : float64 (n_coflow,)
    weight : float64 (n_coflow,)
        Share of a link that one of its flows gets beside others.
    bytes : float64 (n_coflow,)
        Of the largest flow of a bundle, in whole packets.
    waiting : int64 (n_coflow,)
        Tasks that must end before a bundle begins.
    start, arrival : float64 (n_coflow,)
        When a bundle began, and when it has arrived.
    """

    n: Ints
    begin: Ints
    end: Ints
    link: npt.NDArray[np.int32]
    part: npt.NDArray[np.float32]
    hops: Ints
    extra_latency: Floats
    weight: Floats
    bytes: Floats
    waiting: Ints
    start: Floats
    arrival: Floats


@struct
class Running(NamedTuple):
    """Coflows on the network, ``n`` (1,) of them.

    Parameters
    ----------
    coflow : int64 (n_running,)
    rate : float64 (n_running,)
        Bytes/s of the largest flow.
    finish : float64 (n_running,)
        When its last byte has left at this rate.
    delay : float64 (n_running,)
        Seconds from then to its arrival.
    item : int64 (n_running,)
        Event of the arrival.
    open : int64 (n_running,)
        Scratch: those without a rate.
    narrowest : float64 (n_running,)
        Scratch: smallest share on the links of each.
    """

    n: Ints
    coflow: Ints
    rate: Floats
    finish: Floats
    delay: Floats
    item: Ints
    open: Ints
    narrowest: Floats


@struct
class BundleLinks(NamedTuple):
    """Links of the network: float64 (n_link,) but for ``touched``.

    Parameters
    ----------
    bytes : what all flows put on every link
    users : weight of what is on it, and of what was when rates were solved last
    unfrozen, left, share, least : as in `flexnet.simulate.kernels.fair_state.Links`
    touched : int64 (n_link + 1,), links of the bundle that is laid out, and room for one more
    """

    bytes: Floats
    users: Floats
    unfrozen: Floats
    left: Floats
    share: Floats
    least: Floats
    touched: Ints


@struct
class BundleWork(NamedTuple):
    """Everything together; ``bundle`` int32 (n_task,) is the coflow of a compute task's transfers, -1 if it sends none.

    ``owner`` int32 (n_task,) is the compute task with whose bundle a transfer goes, -1 if it is none.  Transfers lie by
    owner, those of each side by side: those of a task are ``first[task]:first[task + 1]``, int32 (n_task + 1,), of
    ``path`` int32, ``size`` int64 and ``then`` int32, (n_task,) each: the route, the bytes, and the one task, not a
    transfer, that waits for it; `NOBODY` if none does, and -2 - t if several wait for transfer t.
    ``start``, ``end``, ``waiting`` and ``stop`` as in `flexnet.simulate.kernels.fair_state.FairWork`.
    """

    heap: Heap
    start: Floats
    end: Floats
    waiting: npt.NDArray[np.int32]
    bundle: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    path: npt.NDArray[np.int32]
    size: Ints
    then: npt.NDArray[np.int32]
    queues: Queues
    server_load: Floats
    rings: Rings
    coflows: Coflows
    running: Running
    links: BundleLinks
    stop: Ints
