"""All-reduces over several cycles, as a format can tell them that knows one ring an all-reduce: one task a cycle."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.network.network import Network
from flexnet.network.topology import by_members
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE

__all__ = ["along_cycles"]

Ints = npt.NDArray[np.int64]


def along_cycles(graph: TaskGraph, network: Network) -> tuple[TaskGraph, Ints]:
    """Every all-reduce that the network has cycles for as one all-reduce a cycle, over its members in their order.

    The parts have equal bytes, the first ones a byte more where they cannot, wait for the same tasks, and each takes
    the whole time inside the servers, at the same time as the others.  If some all-reduce is cut so, those over
    regular rings of the topology are as well: whoever reads members as a ring looks at no other rings.

    Parameters
    ----------
    graph : TaskGraph
    network : Network
        Over the same servers.

    Returns
    -------
    graph : TaskGraph
        The very same if there are no cycles for any of its all-reduces; its tasks stay in order.
    origin : int64 (n_task,)
        Task of the first graph that every task of the second one is, or is a part of.
    """
    reduces = np.flatnonzero(graph.kind == ALLREDUCE)
    members = [tuple(graph.members(task).tolist()) for task in reduces.tolist()]
    orders = _orders(network, set(members))
    if not orders:
        return graph, np.arange(graph.n_task)
    of_reduce = [orders.get(group, (group,)) for group in members]
    copies = np.ones(graph.n_task, np.int64)
    copies[reduces] = [len(parts) for parts in of_reduce]
    origin = np.repeat(np.arange(graph.n_task), copies)
    first = np.concatenate([[0], np.cumsum(copies)])
    part = np.arange(len(origin)) - first[origin]
    counts = copies[graph.succ]
    edge_ptr = np.concatenate([[0], np.cumsum(counts)])
    n_next = np.diff(edge_ptr[graph.succ_ptr])[origin]  # all-reduces, which are in parts, have none
    rings = [part for parts in of_reduce for part in parts]
    place = graph.place[origin].astype(np.int32)
    place[graph.kind[origin] == ALLREDUCE] = np.arange(len(rings))
    return replace(
        graph,
        kind=graph.kind[origin],
        place=place,
        seconds=graph.seconds[origin],
        bytes=(graph.bytes // copies)[origin] + (part < (graph.bytes % copies)[origin]),
        succ_ptr=np.concatenate([[0], np.cumsum(n_next)]).astype(np.int32),
        succ=aranges(first[graph.succ], counts).astype(np.int32),
        group_ptr=np.concatenate([[0], np.cumsum([len(ring) for ring in rings])]).astype(np.int32),
        group=np.array([server for ring in rings for server in ring], np.int32),
        op=graph.op[origin],
        rank=None if graph.rank is None else graph.rank[origin],
    ), origin


def _orders(network: Network, groups: set[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Rings of every group that has some, as members in order; none at all if there are no cycles for any."""
    cycles = by_members(network.topology.cycles)
    found = {group: tuple(cycles[key]) for group in groups if (key := tuple(sorted(group))) in cycles}
    if found:
        for group in groups - set(found):
            found[group] = (len(group) > 1 and network.topology.rings_of(group)) or (group,)
    return found
