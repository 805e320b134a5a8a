"""What servers send each other in an iteration, before routes: all-reduces along their rings, and transfers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM

__all__ = ["AllDemand", "all_demand", "coarse", "rings_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class AllDemand(NamedTuple):
    """Bytes from one server to another, float64 (n_server, n_server); ``rings`` by group, as servers in order."""

    allreduce: Floats
    transfers: Floats
    rings: dict[tuple[int, ...], tuple[Ints, ...]]


def all_demand(graph: TaskGraph, network: Network) -> AllDemand:
    """Bytes between servers; of all-reduces 2(g-1)/g of the tensor on every edge of the rings that carry them."""
    n = graph.n_server
    transfer = graph.kind == NOMINAL_COMM
    pairs = np.bincount(graph.place[transfer], weights=graph.bytes[transfer], minlength=n * n).astype(np.float64)
    allreduce = np.zeros((n, n))
    volumes: dict[tuple[int, ...], float] = {}
    for task in np.flatnonzero(graph.kind == ALLREDUCE).tolist():
        members = tuple(graph.members(task).tolist())
        if len(members) > 1 and graph.bytes[task]:
            volumes[members] = volumes.get(members, 0.0) + float(graph.bytes[task])
    rings: dict[tuple[int, ...], tuple[Ints, ...]] = {}
    for members, volume in volumes.items():
        g = len(members)
        rings[members] = rings_of(network, members)
        for ring in rings[members]:
            np.add.at(allreduce, (ring, np.roll(ring, -1)), 2 * (g - 1) / g * volume / len(rings[members]))
    ordered = dict(sorted(rings.items(), key=lambda item: -volumes[item[0]]))
    return AllDemand(allreduce, pairs.reshape(n, n), ordered)


def rings_of(network: Network, members: tuple[int, ...]) -> tuple[Ints, ...]:
    """The rings that an all-reduce over these servers runs around, each as servers in order."""
    topology = network.topology
    same = [np.array(cycle) for cycle in topology.cycles if sorted(cycle) == sorted(members)]
    if same:
        return tuple(same)
    return tuple(np.array(ring) for ring in topology.rings_of(members) or (members,))


def coarse(matrix: Floats, block: int) -> Floats:
    """The sums over blocks of so many rows and columns."""
    at = np.arange(0, len(matrix), block)
    summed: Floats = np.add.reduceat(np.add.reduceat(matrix, at, axis=0), at, axis=1)
    return summed
