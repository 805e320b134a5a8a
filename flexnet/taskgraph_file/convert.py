"""A task graph file as the objects flexnet simulates."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.csr import aranges
from flexnet.network.network import Network, connect
from flexnet.network.paths import Paths
from flexnet.network.topology import Topology
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.taskgraph_file._taskgraph_fb import DeviceType, SimTaskType
from flexnet.taskgraph_file.check import allreduce_members, lookup, successor_positions, transfers
from flexnet.taskgraph_file.check_network import path_lengths
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.root_order import root_ranks

__all__ = ["to_network", "to_paths", "to_task_graph", "with_speeds"]

Ints = npt.NDArray[np.int64]


def to_task_graph(file: TaskGraphFile) -> TaskGraph:
    """Tasks of a file that `read_taskgraph` accepted, numbered in file order.

    Parameters
    ----------
    file : TaskGraphFile

    Returns
    -------
    TaskGraph
        Times to float32 precision, operators unknown (-1), ranks of the packet simulator
        (`flexnet.taskgraph_file.root_order`).  Devices of the file that no task uses are dropped.

    Raises
    ------
    FlexNetError
        If the file has what flexnet does not simulate: UPDATE and BARRIER tasks, several processors in a server,
        transfers inside a server.
    """
    tasks, n = file.tasks, file.n_server
    _require_kinds(file)
    comm, reduces = tasks.kind == NOMINAL_COMM, tasks.kind == ALLREDUCE
    device, _ = lookup(file.devices.id, tasks.device)
    compute_device = device[~comm & ~reduces]
    _require_one_processor(file, compute_device)

    place = np.zeros(len(tasks.kind), np.int64)
    place[~comm & ~reduces] = file.devices.server[compute_device].astype(np.int64)
    _, source, target = transfers(file)
    place[comm] = source * n + target
    place[reduces] = np.arange(reduces.sum())
    succ_ptr, succ, _ = successor_positions(tasks)
    group_ptr, group = allreduce_members(tasks)
    return TaskGraph(
        n_server=n,
        kind=tasks.kind.astype(np.int8),
        place=place.astype(np.int32),
        seconds=np.where(comm, 0.0, tasks.run_ms.astype(np.float64) * 1e-3),
        bytes=np.where(comm | reduces, tasks.bytes, 0).astype(np.int64),
        succ_ptr=succ_ptr.astype(np.int32),
        succ=succ.astype(np.int32),
        group_ptr=group_ptr.astype(np.int32),
        group=group.astype(np.int32),
        op=np.full(len(tasks.kind), -1, np.int32),
        rank=root_ranks(tasks.id, np.bincount(succ, minlength=len(tasks.kind)) > 0),
    )


def to_network(file: TaskGraphFile, link_bandwidth: float, latency: float) -> Network:
    """Links, routes and rings of a file that `read_taskgraph` accepted, at a speed of one's own.

    Parameters
    ----------
    file : TaskGraphFile
        The first alternative of every route is taken.
    link_bandwidth : float
        Bytes/s of one link; the file's own is ``file.link_bytes_per_ms * 1e3``.
    latency : float
        Seconds per hop.

    Returns
    -------
    Network

    Raises
    ------
    FlexNetError
        If links are too few to join all servers and switches, or rings do not close.
    """
    n, n_node = file.n_server, file.n_server + file.n_switch
    if len(file.links) < n_node - 1:  # also keeps the matrix below in proportion to the file
        raise FlexNetError(
            f"{file.source}: {len(file.links)} links cannot join {n} servers and {file.n_switch} switches; expected "
            f"are at least {n_node - 1}"
        )
    links = np.zeros((n_node, n_node), np.int64)
    larger, smaller, count = file.links.T
    links[larger, smaller] = links[smaller, larger] = count
    topology = Topology(name=file.source, n_server=n, n_switch=file.n_switch, links=links, rings=_rings(file))
    topology.check(None)
    link_id = np.full((n_node, n_node), -1, np.int32)
    link_id[links > 0] = np.arange(np.count_nonzero(links))
    return connect(topology, link_bandwidth, latency, _routes(file, link_id))


def with_speeds(network: Network, drawing: Topology) -> Network:
    """The network of a file with the speeds of a drawing that has the same links, which a file rounds or lacks."""
    topology = replace(network.topology, name=drawing.name, links=drawing.links, speeds=drawing.speeds)
    routes = network.route_ptr, network.route
    return connect(topology, network.link_bandwidth, network.latency, routes)


def _routes(file: TaskGraphFile, link_id: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Link ids of the first path of every ordered pair, as CSR over ``source * n_server + target``."""
    routes, n = file.routes, file.n_server
    n_hop = np.where(routes.source == routes.target, 0, path_lengths(file))
    route = np.flatnonzero(n_hop > 1)
    pair = routes.source[route] * n + routes.target[route]
    route, pair = route[np.argsort(pair)], np.sort(pair)
    counts = np.zeros(n * n, np.int64)
    counts[pair] = n_hop[route] - 1
    ptr = np.concatenate([[0], np.cumsum(counts)])
    first = routes.hop_ptr[routes.path_ptr[route]]
    at = aranges(first, counts[pair])
    return ptr.astype(np.int32), link_id[routes.hop[at], routes.hop[at + 1]]


def to_paths(file: TaskGraphFile, network: Network) -> Paths:
    """All alternatives of all routes of a file, with their chances.

    Parameters
    ----------
    file : TaskGraphFile
    network : Network
        Made of it by `to_network`.

    Raises
    ------
    FlexNetError
        If the chance of a path that has alternatives is not above 0.
    """
    routes, n = file.routes, file.n_server
    route = np.repeat(np.arange(len(routes.source)), np.diff(routes.path_ptr))
    n_hop = np.diff(routes.hop_ptr)
    used = np.flatnonzero((n_hop > 1) & (routes.source != routes.target)[route])
    pair = routes.source[route[used]] * n + routes.target[route[used]]
    used, pair = used[np.argsort(pair, kind="stable")], np.sort(pair)
    counts = np.bincount(pair, minlength=n * n)
    chance = np.where(counts[pair] > 1, routes.chance[used].astype(np.float64), 1.0)
    bad = ~(np.isfinite(chance) & (chance > 0))
    if bad.any():
        at = int(np.argmax(bad))
        source, target = divmod(int(pair[at]), n)
        raise FlexNetError(
            f"{file.source}: a path of route {source} -> {target} has chance {chance[at]:g}; the chance of an "
            "alternative is above 0"
        )
    hop_ptr = np.concatenate([[0], np.cumsum(n_hop[used] - 1)])
    at_hop = aranges(routes.hop_ptr[used], n_hop[used] - 1)
    link = network.link_id[routes.hop[at_hop], routes.hop[at_hop + 1]]
    return Paths(n, np.concatenate([[0], np.cumsum(counts)]), chance, hop_ptr, link)


def _rings(file: TaskGraphFile) -> dict[int, tuple[tuple[int, ...], ...]]:
    rings = file.rings
    if rings is None:
        return {}
    jumps = [
        tuple(rings.jump[begin:end].tolist())
        for begin, end in zip(rings.jump_ptr[:-1].tolist(), rings.jump_ptr[1:].tolist(), strict=True)
    ]
    ptr = rings.ring_ptr.tolist()
    return {size: tuple(jumps[ptr[i] : ptr[i + 1]]) for i, size in enumerate(rings.size.tolist())}


def _require_kinds(file: TaskGraphFile) -> None:
    known = np.isin(file.tasks.kind, (FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE))
    if not known.all():
        at = int(np.argmin(known))
        name = "UPDATE" if file.tasks.kind[at] == SimTaskType.UPDATE else "BARRIER"
        raise FlexNetError(
            f"{file.source}: task {file.tasks.id[at]} is of type {name}; flexnet simulates FORWARD, "
            "BACKWARD, NOMINAL_COMM and ALLREDUCE"
        )


def _require_one_processor(file: TaskGraphFile, compute_device: Ints) -> None:
    """Refuse two busy devices in one server, and transfers that do not use the network."""
    busy = np.unique(compute_device)
    servers, times = np.unique(file.devices.server[busy], return_counts=True)
    if (times > 1).any():
        raise FlexNetError(
            f"{file.source}: tasks run on {times.max()} devices of server {servers[np.argmax(times)]}; flexnet "
            "simulates one device per server, its GPUs acting as one"
        )
    if len(transfers(file)[0]) < np.count_nonzero(file.tasks.kind == NOMINAL_COMM):
        raise FlexNetError(
            f"{file.source}: a transfer is on a PCI or NVLINK device; flexnet simulates those on NW_NOMINAL "
            f"{DeviceType.NW_NOMINAL} devices"
        )
