"""Task graphs, links, routes and rings as columns of a task graph file."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.network.network import Network, us_text
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.taskgraph_file._taskgraph_fb import DeviceType
from flexnet.taskgraph_file.contents import FileDevices, FileRings, FileRoutes, FileTasks
from flexnet.taskgraph_file.root_order import rows_in_order
from flexnet.units import bytes_per_s_to_gbps

__all__ = ["MAX_REDUCE_BYTES", "link_columns", "ring_columns", "route_columns", "task_columns"]

MAX_REDUCE_BYTES = 2**32 - 1
"""The packet simulator counts the bytes of an all-reduce without rings in 32 bits."""

NO_SERVER = 2**64 - 1
"""Server of a logical connection."""

EQUAL = 1e-6
"""Bandwidths that differ by this share or less are the same."""

MOST_PARTS = 100
"""Bandwidths are written as multiples of a part of the least that is no smaller than this."""

Ints = npt.NDArray[np.int64]


def task_columns(
    graph: TaskGraph, n_node: int, run_seconds: npt.NDArray[np.float64], split: bool
) -> tuple[FileTasks, FileDevices, Ints]:
    """Tasks and devices of the file, and which task of the graph each is, or is a part of.

    Tasks that wait for nothing stand where the packet simulator starts them in order of their rank.

    Parameters
    ----------
    graph : TaskGraph
    n_node : int
        Servers and switches.
    run_seconds : float64 (n_task,)
        Durations of transfers; other tasks' are not looked at.
    split : bool
        Cut all-reduces over several servers into parts of at most MAX_REDUCE_BYTES.
    """
    n, kind = graph.n_server, graph.kind
    comm, reduces = kind == NOMINAL_COMM, kind == ALLREDUCE
    pairs, pair = np.unique(graph.place[comm], return_inverse=True)
    device = np.zeros(graph.n_task, np.uint64)
    device[~comm & ~reduces] = graph.place[~comm & ~reduces] + 1
    device[comm] = n + 1 + pair
    source, target = np.divmod(pairs.astype(np.int64), n)
    devices = FileDevices(
        kind=np.repeat(np.array([DeviceType.GPU, DeviceType.NW_NOMINAL], np.int16), [n, len(pairs)]),
        id=np.arange(1, n + len(pairs) + 1, dtype=np.uint64),
        server=np.concatenate([np.arange(n, dtype=np.uint64), np.full(len(pairs), NO_SERVER, np.uint64)]),
        property=np.concatenate([np.arange(n), source * n_node + target]).astype(np.uint64),
        bandwidth=np.zeros(n + len(pairs), np.uint64),
    )

    group = graph.place[reduces]
    n_member = np.zeros(graph.n_task, np.int64)
    n_member[reduces] = np.diff(graph.group_ptr)[group]
    copies = np.ones(graph.n_task, np.int64)
    if split:
        large = n_member > 1
        copies[large] = np.maximum(1, -(-graph.bytes[large] // MAX_REDUCE_BYTES))
    task = np.repeat(np.arange(graph.n_task), copies)
    first = np.concatenate([[0], np.cumsum(copies)])
    part = np.arange(len(task)) - first[task]
    size = graph.bytes // copies
    seconds = np.where(comm, run_seconds, graph.seconds)
    with np.errstate(over="ignore"):
        run_ms = (seconds[task] * 1e3).astype(np.float32)

    n_next = np.where(reduces, n_member, 0)
    np.add.at(n_next, np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr)), copies[graph.succ])
    counts = n_next[task]
    succ = np.empty(int(counts.sum()), np.uint64)
    of_reduce = np.repeat(reduces[task], counts)
    succ[of_reduce] = graph.group[_ranges(graph.group_ptr, graph.place[task[reduces[task]]])]
    succ[~of_reduce] = _ranges(first, graph.succ) + 1
    waits = np.bincount(graph.succ, minlength=graph.n_task) > 0
    row = rows_in_order(waits[task], graph.arrays().rank[task])
    size = size[task] + (part < (graph.bytes % copies)[task])
    task = task[row]  # whose row changes, to that none refers, so ids stay
    ptr = np.concatenate([[0], np.cumsum(counts)])
    return (
        FileTasks(
            kind=kind[task].astype(np.int16),
            id=np.arange(1, len(task) + 1, dtype=np.uint64),
            device=device[task],
            run_ms=run_ms[row],
            bytes=size[row].astype(np.uint64),
            succ_ptr=np.concatenate([[0], np.cumsum(counts[row])]),
            succ=succ[aranges(ptr[row], counts[row])],
        ),
        devices,
        task,
    )


def _ranges(ptr: npt.NDArray[np.integer], rows: npt.NDArray[np.integer]) -> Ints:
    """``ptr[row]`` to ``ptr[row + 1] - 1`` for every row, one after the other."""
    return aranges(ptr[rows], ptr[rows + 1] - ptr[rows])


def link_columns(network: Network) -> tuple[Ints, float, list[str]]:
    """Links as the file has them: all of one bandwidth, several in parallel where a pair of nodes has more.

    Returns
    -------
    links : int64 (n_connection, 3)
        Larger node, smaller node, number of parallel links.
    bandwidth : float
        Bytes/s of a link.
    remarks : list of str
        Sentences on what the file cannot say.
    """
    topology, unit, remarks = network.topology, network.link_bandwidth, []
    larger, smaller = np.nonzero(np.tril(topology.links, -1))
    counts = topology.links[larger, smaller]
    if topology.speeds is not None:
        bandwidth = topology.speeds.bandwidth[larger, smaller]
        if (np.abs(counts * unit / bandwidth - 1) > EQUAL).any():
            unit, counts, error = _as_multiples(bandwidth)
            if error > EQUAL:
                remarks.append(
                    "the file has one bandwidth for all links; they are written as so many parallel ones of "
                    f"{bytes_per_s_to_gbps(unit):.4g} Gbps, up to {error:.1%} off"
                )
    if network.extra_latency.any():
        remarks.append(
            f"links have latencies of {us_text(network)} us; the file holds none, and the packet simulator has one "
            "for all"
        )
    return np.column_stack([larger, smaller, counts]).astype(np.int64), unit, remarks


def _as_multiples(bandwidth: npt.NDArray[np.float64]) -> tuple[float, Ints, float]:
    """The largest part of the least bandwidth of which all are multiples, those, and by what share they are off."""
    errors = []
    for parts in range(1, MOST_PARTS + 1):
        unit = float(bandwidth.min()) / parts
        errors.append(float(np.abs(np.rint(bandwidth / unit) * unit / bandwidth - 1).max()))
        if errors[-1] <= EQUAL:
            break
    at = int(np.argmin(errors))
    unit = float(bandwidth.min()) / (at + 1)
    return unit, np.rint(bandwidth / unit).astype(np.int64), errors[at]


def route_columns(network: Network) -> FileRoutes:
    """One path for every ordered pair of servers, none from a server to itself; of large networks those they hold."""
    n = network.topology.n_server
    ptr = network.route_ptr.astype(np.int64)
    pairs = np.flatnonzero(np.diff(ptr)) if network.implies_routes else np.arange(n * n)
    source, target = np.divmod(pairs, n)
    n_link = np.where(source == target, 0, ptr[pairs + 1] - ptr[pairs])
    routed = n_link > 0
    hop_ptr = np.concatenate([[0], np.cumsum(n_link[routed] + 1)])
    hop = np.empty(int(hop_ptr[-1]), np.int64)
    is_start = np.zeros(len(hop), bool)
    is_start[hop_ptr[:-1]] = True
    hop[is_start] = source[routed]
    hop[~is_start] = network.link_to[network.route[_ranges(ptr, pairs[routed])]]
    return FileRoutes(
        source=source,
        target=target,
        path_ptr=np.concatenate([[0], np.cumsum(routed)]),
        chance=np.ones(len(hop_ptr) - 1, np.float32),
        hop_ptr=hop_ptr,
        hop=hop,
    )


def ring_columns(rings: Mapping[int, Sequence[Sequence[int]]]) -> FileRings:
    """Rings by group size, each ring the jumps of one member to the next."""
    paths = [ring for size in rings for ring in rings[size]]
    return FileRings(
        size=np.array(list(rings), np.uint64),
        ring_ptr=np.concatenate([[0], np.cumsum([len(rings[size]) for size in rings])]),
        jump_ptr=np.concatenate([[0], np.cumsum([len(ring) for ring in paths])]),
        jump=np.array([jump for ring in paths for jump in ring], np.int32),
    )
