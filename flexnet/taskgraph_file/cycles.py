"""All-reduces over several cycles as files tell them, where each runs round one ring: one task a cycle; and back."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.network.network import Network
from flexnet.network.topology import by_members
from flexnet.plan.kernels.ring_parts import deal_out
from flexnet.plan.ring_packets import FLEXNETPACKET, RingPackets
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE

__all__ = ["along_cycles", "put_together"]

Ints = npt.NDArray[np.int64]


def along_cycles(graph: TaskGraph, network: Network, packets: RingPackets = FLEXNETPACKET) -> tuple[TaskGraph, Ints]:
    """Every all-reduce that the network has cycles for as one all-reduce a cycle, over its members in their order.

    The parts are whole packets in every round (`flexnet.plan.kernels.ring_parts`), wait for the same tasks, and
    each takes the whole time inside the servers, at the same time as the others.  If some all-reduce is cut so, those
    over regular rings of the topology are as well: whoever reads members as a ring looks at no other rings.

    Parameters
    ----------
    graph : TaskGraph
    network : Network
        Over the same servers.
    packets : RingPackets
        That are dealt out.

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
    n_ring = np.array([len(rings) for rings in of_reduce], np.int64)
    parts = np.empty((len(reduces), n_ring.max()), np.int64)
    n = np.array([len(group) for group in members], np.int64)
    deal_out(n, graph.bytes[reduces].astype(np.int64), n_ring, packets.packet_bytes, packets.small_bytes, parts)
    copies = np.ones(graph.n_task, np.int64)
    copies[reduces] = (parts >= 0).sum(axis=1)
    origin = np.repeat(np.arange(graph.n_task), copies)
    first = np.concatenate([[0], np.cumsum(copies)])
    counts = copies[graph.succ]
    edge_ptr = np.concatenate([[0], np.cumsum(counts)])
    n_next = np.diff(edge_ptr[graph.succ_ptr])[origin]  # all-reduces, which are in parts, have none
    rings = [
        ring
        for rings, sizes in zip(of_reduce, parts.tolist(), strict=True)
        for ring, size in zip(rings, sizes, strict=False)
        if size >= 0
    ]
    place, size = graph.place[origin].astype(np.int32), graph.bytes[origin]
    in_parts = graph.kind[origin] == ALLREDUCE
    place[in_parts], size[in_parts] = np.arange(len(rings)), parts[parts >= 0]
    return replace(
        graph,
        kind=graph.kind[origin],
        place=place,
        seconds=graph.seconds[origin],
        bytes=size,
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


def put_together(graph: TaskGraph) -> TaskGraph:
    """All-reduces that `along_cycles` divided, whole again and over ascending members: for another network.

    Parts of one all-reduce follow each other, wait for the same tasks, join the same servers, have equal times and, but
    for two packets a round at most, sizes.  So may several all-reduces; where a ring comes again, the next one begins.
    Of rings that are all alike, as those of two servers, it cannot be seen which belong together; they stay apart.

    Parameters
    ----------
    graph : TaskGraph
        Of a file.

    Returns
    -------
    TaskGraph
        The very same if no all-reduce tells a ring; its tasks stay in order.
    """
    reduces = np.flatnonzero(graph.kind == ALLREDUCE).tolist()
    orders = [tuple(graph.members(task).tolist()) for task in reduces]
    members = [tuple(sorted(order)) for order in orders]
    if orders == members:
        return graph
    waits = _predecessors(graph)
    kept, rings, size = np.ones(graph.n_task, np.bool_), list[tuple[int, ...]](), graph.bytes.copy()
    begin = 0
    while begin < len(reduces):
        end = begin + 1
        while (
            end < len(reduces)
            and members[end] == members[begin]
            and orders[end] not in orders[begin:end]
            and _alike(graph, waits, reduces[begin], reduces[end])
        ):
            end += 1
        parts = reduces[begin:end]
        kept[parts[1:]] = False
        size[parts[0]] = graph.bytes[parts].sum()
        rings.append(members[begin])
        begin = end
    number = np.cumsum(kept) - 1
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    edge = kept[graph.succ]  # parts have no successors
    n_next = np.bincount(source[edge], minlength=graph.n_task)[kept]
    place = graph.place[kept]
    place[graph.kind[kept] == ALLREDUCE] = np.arange(len(rings))
    return replace(
        graph,
        kind=graph.kind[kept],
        place=place,
        seconds=graph.seconds[kept],
        bytes=size[kept],
        succ_ptr=np.concatenate([[0], np.cumsum(n_next)]).astype(np.int32),
        succ=number[graph.succ[edge]].astype(np.int32),
        group_ptr=np.concatenate([[0], np.cumsum([len(ring) for ring in rings])]).astype(np.int32),
        group=np.array([server for ring in rings for server in ring], np.int32),
        op=graph.op[kept],
        rank=None if graph.rank is None else graph.rank[kept],
    )


def _predecessors(graph: TaskGraph) -> dict[int, tuple[int, ...]]:
    """What every all-reduce waits for, ascending."""
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    found: dict[int, list[int]] = {task: [] for task in np.flatnonzero(graph.kind == ALLREDUCE).tolist()}
    to_reduce = graph.kind[graph.succ] == ALLREDUCE
    for before, task in zip(source[to_reduce].tolist(), graph.succ[to_reduce].tolist(), strict=True):
        found[task].append(before)
    return {task: tuple(before) for task, before in found.items()}


def _alike(graph: TaskGraph, waits: dict[int, tuple[int, ...]], first: int, other: int) -> bool:
    """Whether an all-reduce can be a part of the one whose first part is ``first``."""
    a_round = FLEXNETPACKET.packet_bytes * len(graph.members(first))
    return bool(
        graph.seconds[first] == graph.seconds[other]
        and abs(graph.bytes[first] - graph.bytes[other]) <= 2.0 * a_round
        and waits[first] == waits[other]
    )
