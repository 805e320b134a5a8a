"""A task graph and its network as a file for the packet simulator (schemas/taskgraph.fbs)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.files import write_atomically
from flexnet.network.network import Network
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.ring_packets import FLEXNETPACKET, RingPackets
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.columns import link_columns, ring_columns, route_columns, task_columns
from flexnet.taskgraph_file.contents import FileOperators, FileRings, TaskGraphFile
from flexnet.taskgraph_file.cycles import along_cycles
from flexnet.taskgraph_file.encode import encode, require_room

__all__ = ["DRAM_BANDWIDTH", "require_room_for", "taskgraph_and_origin", "taskgraph_file", "write_taskgraph"]

DRAM_BANDWIDTH = 33554432e3
"""Bytes/s; the constant of the original, which no reader uses."""


def write_taskgraph(
    path: str | Path,
    graph: TaskGraph,
    network: Network,
    *,
    operators: Sequence[tuple[str, int]],
    run_seconds: npt.NDArray[np.float64],
    inter_gpu_bandwidth: float,
    dram_bandwidth: float = DRAM_BANDWIDTH,
    packets: RingPackets = FLEXNETPACKET,
) -> tuple[str, ...]:
    """Write ``taskgraph.fbuf``; the file is there whole or not at all.

    Parameters
    ----------
    path : str or Path
    graph, network, operators, run_seconds, inter_gpu_bandwidth, dram_bandwidth, packets
        As in `taskgraph_file`.

    Returns
    -------
    tuple of str
        Sentences on what the packet simulator will not simulate as meant; empty if nothing.

    Raises
    ------
    FlexNetError
        If the file cannot be written, or the packet simulator could not run it.
    """
    file, remarks = taskgraph_file(
        graph,
        network,
        operators=operators,
        run_seconds=run_seconds,
        inter_gpu_bandwidth=inter_gpu_bandwidth,
        dram_bandwidth=dram_bandwidth,
        packets=packets,
        source=str(path),
    )
    write_atomically(path, encode(file))
    return remarks


def taskgraph_file(
    graph: TaskGraph,
    network: Network,
    *,
    operators: Sequence[tuple[str, int]],
    run_seconds: npt.NDArray[np.float64],
    inter_gpu_bandwidth: float,
    dram_bandwidth: float = DRAM_BANDWIDTH,
    packets: RingPackets = FLEXNETPACKET,
    source: str = "task graph",
) -> tuple[TaskGraphFile, tuple[str, ...]]:
    """Contents of the file, checked against everything the packet simulator is known to fail on.

    Parameters
    ----------
    graph : TaskGraph
    network : Network
        Over the same servers.
    operators : sequence of (str, int)
        Name and kind (`flexnet.model.graph.OpType`) of every operator.
    run_seconds : float64 (n_task,)
        Duration of every task in a simulation; only transfers' are written, and nothing reads them.
    inter_gpu_bandwidth : float
        Bytes/s between the GPUs of a server.  Departure: the original writes the constant 20971520 bytes/ms
        whatever its flag says (machine_model.cc:868).
    dram_bandwidth : float
        Bytes/s.
    packets : RingPackets
        Of the transport that the file is for: by which all-reduces over several cycles are divided.
    source : str
        Name for error messages.

    Returns
    -------
    file : TaskGraphFile
        Task ids are 1, 2, ... in creation order, but that tasks which wait for nothing have changed places so that
        the packet simulator starts them as flexnet does (`flexnet.taskgraph_file.root_order`).
    remarks : tuple of str
        Sentences on what the packet simulator will not simulate as meant.

    Raises
    ------
    FlexNetError
        If the packet simulator could not run the file.

    Notes
    -----
    Departure: without rings, an all-reduce of 2**32 bytes or more over several servers becomes several of equal
    size, because the packet simulator would take its size modulo 2**32.  All start together and each waits the
    whole time inside the servers, as the one did.

    Departure: an all-reduce over several cycles of the network becomes one for each, of whole packets and over its
    members in the order of the cycle (`flexnet.taskgraph_file.cycles`), because the packet simulator runs an all-reduce
    around its members as they stand in the file; then there are no rings in it.

    With rings, but none for some group size in use, the packet simulator would wait forever; the file then has
    no rings and all-reduces follow routes.

    The file holds one bandwidth for all links, and no latency: links with speeds of their own are written as so many
    parallel links of the largest bandwidth that divides all of theirs, to 1 in a million, or else as nearly as it goes.
    """
    return taskgraph_and_origin(
        graph,
        network,
        operators=operators,
        run_seconds=run_seconds,
        inter_gpu_bandwidth=inter_gpu_bandwidth,
        dram_bandwidth=dram_bandwidth,
        packets=packets,
        source=source,
    )[:2]


def taskgraph_and_origin(
    graph: TaskGraph,
    network: Network,
    *,
    operators: Sequence[tuple[str, int]],
    run_seconds: npt.NDArray[np.float64],
    inter_gpu_bandwidth: float,
    dram_bandwidth: float = DRAM_BANDWIDTH,
    packets: RingPackets = FLEXNETPACKET,
    source: str = "task graph",
) -> tuple[TaskGraphFile, tuple[str, ...], npt.NDArray[np.int64]]:
    """`taskgraph_file`, and which task of the graph every task of the file is, or is a part of: int64 (n,)."""
    n = graph.n_server
    topology = network.topology
    if topology.n_server != n:
        raise FlexNetError(f"the task graph has {n} servers and the network {topology.n_server}; they must be equal")
    if len(run_seconds) != graph.n_task:
        raise FlexNetError(f"there are {len(run_seconds)} durations for {graph.n_task} tasks; expected is one each")
    whole = graph
    graph, origin = along_cycles(graph, network, packets)
    run_seconds = run_seconds[origin]
    links, link_bandwidth, on_links = link_columns(network)
    rings, on_rings = _rings(graph, network) if graph is whole else (None, [])
    remarks = [*on_links, *on_rings]
    network = network.routing(_talking_pairs(graph)) if network.implies_routes else network
    require_room_for(graph, network)
    tasks, devices, part_of = task_columns(graph, n + topology.n_switch, run_seconds, split=rings is None)
    file = TaskGraphFile(
        source=source,
        n_gpu_per_server=1,
        n_server=n,
        n_switch=topology.n_switch,
        inter_gpu_bytes_per_ms=_bytes_per_ms(inter_gpu_bandwidth, "between GPUs"),
        dram_bytes_per_ms=_bytes_per_ms(dram_bandwidth, "of memory"),
        link_bytes_per_ms=_bytes_per_ms(link_bandwidth, "of a link"),
        links=links,
        operators=FileOperators(
            id=np.arange(1, len(operators) + 1, dtype=np.uint64),
            kind=np.array([kind for _, kind in operators], np.uint64),
            name=tuple(name for name, _ in operators),
        ),
        tasks=tasks,
        devices=devices,
        routes=route_columns(network),
        rings=rings,
    )
    check_file(file)
    _check_runs(file, graph)
    n_split = np.count_nonzero(np.bincount(part_of) > 1)
    if n_split:
        remarks.append(f"{n_split} all-reduces of 4 GiB or more are written as several smaller ones")
    return file, tuple(remarks), origin[part_of]


def require_room_for(tasks: TaskArrays | TaskGraph, network: Network) -> None:
    """Refuse a task graph that no file holds, before one is made of it, which takes minutes.

    Parameters
    ----------
    tasks : TaskArrays or TaskGraph
    network : Network
        With routes for what they send.

    Raises
    ------
    TooLargeError
        If tasks and the routes they need alone are too many.
    """
    n = network.topology.n_server
    used = np.zeros(n * n, np.bool_)
    used[tasks.place[tasks.kind == NOMINAL_COMM]] = True
    links = np.diff(network.route_ptr)[used]
    n_route = len(links)
    require_room(len(tasks.kind), len(tasks.succ), n_route, n_route, int(links.sum()) + n_route)


def _talking_pairs(graph: TaskGraph) -> npt.NDArray[np.int64]:
    """Ordered pairs of servers that a transfer or an edge of an all-reduce joins, and those of the ways back."""
    n = graph.n_server
    ahead = np.arange(1, len(graph.group) + 1)
    ahead[graph.group_ptr[1:] - 1] = graph.group_ptr[:-1]
    begin, end = np.divmod(graph.place[graph.kind == NOMINAL_COMM].astype(np.int64), n)
    begin, end = np.concatenate([begin, graph.group]), np.concatenate([end, graph.group[ahead]])
    talking = np.zeros(n**2, np.bool_)  # of a million, `np.unique` takes half a second
    talking[begin * n + end] = talking[end * n + begin] = True
    return np.flatnonzero(talking)


def _bytes_per_ms(bandwidth: float, what: str) -> float:
    """Bytes/s to what the file holds, a float32 of bytes/ms."""
    per_ms = bandwidth / 1e3
    if not 0 <= per_ms <= float(np.finfo(np.float32).max):
        raise FlexNetError(f"the bandwidth {what} is {bandwidth} bytes/s; a task graph file holds 0 to 3.4e41")
    return float(np.float32(per_ms))


def _rings(graph: TaskGraph, network: Network) -> tuple[FileRings | None, list[str]]:
    """Rings of a network without switches, largest groups first, and what to say about them."""
    topology = network.topology
    if topology.n_switch or not any(topology.rings.values()):
        return None, []
    rings = {size: topology.rings[size] for size in sorted(topology.rings, reverse=True) if topology.rings[size]}
    sizes = np.diff(graph.group_ptr)
    missing = sorted(set(sizes[sizes > 1].tolist()) - set(rings))
    if missing:
        return None, [
            f"there is no ring for all-reduces over {missing[0]} servers, so the file has no rings and the packet "
            "simulator sends all-reduces along routes"
        ]
    remarks = []
    starts = np.repeat(graph.group_ptr[:-1], sizes)
    displaced = (graph.group != np.arange(len(graph.group)) - starts) & (np.repeat(sizes, sizes) > 1)
    n_displaced = len(np.unique(starts[displaced]))
    if n_displaced:
        remarks.append(
            f"{n_displaced} all-reduces are over servers other than 0, 1, 2 ...; the packet simulator runs their rings "
            "from server 0 on all the same"
        )
    return ring_columns(rings), remarks


def _check_runs(file: TaskGraphFile, graph: TaskGraph) -> None:
    """Refuse what is a legal graph, but makes the packet simulator hang or read uninitialised memory."""
    starts = np.bincount(graph.succ, minlength=graph.n_task) == 0
    alone = np.flatnonzero(starts & (graph.kind == ALLREDUCE))
    if len(alone):
        raise FlexNetError(
            f"all-reduce task {alone[0]} waits for no task; the packet simulator needs all-reduces to follow one"
        )
    compute = (graph.kind != NOMINAL_COMM) & (graph.kind != ALLREDUCE)
    n_member = np.diff(graph.group_ptr)
    seconds = graph.seconds[compute]
    # The packet simulator counts picoseconds, and one that ends at 0 never ends.
    if not (np.any(seconds * 1e12 >= 1) or np.any(graph.kind == NOMINAL_COMM) or np.any(n_member > 1)):
        raise FlexNetError(
            f"no task of {file.source} takes any time; the packet simulator needs an iteration of at least 1 ps"
        )
