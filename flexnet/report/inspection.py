"""What a task graph file holds, and what is wrong with it: counts, bytes, groups, rings, routes, and busy links."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.graphs import MAX_NODES
from flexnet.plan.task_graph import TaskGraph
from flexnet.report.link_use import link_use
from flexnet.simulate.fabric import Fabric, draw_routes
from flexnet.simulate.protocol import PACKET
from flexnet.simulate.short_cuts import short_cuts
from flexnet.taskgraph_file._taskgraph_fb import SimTaskType
from flexnet.taskgraph_file.check import allreduce_members, check_file
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph

__all__ = ["BusyLink", "Inspection", "inspect_file"]

SHOWN_LINKS = 5
KINDS = {
    SimTaskType.FORWARD: "forward",
    SimTaskType.BACKWARD: "backward",
    SimTaskType.UPDATE: "update",
    SimTaskType.BARRIER: "barrier",
    SimTaskType.NOMINAL_COMM: "transfer",
    SimTaskType.ALLREDUCE: "all-reduce",
}
"""Names of types of tasks."""


@dataclass(frozen=True, slots=True)
class BusyLink:
    """A link, the bytes over it, and the seconds that they take at least."""

    begin: int
    end: int
    bytes: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a file holds; times in seconds, sizes in bytes.

    Parameters
    ----------
    n_server, n_switch, n_link, n_operator : int
    link_bandwidth : float
        Bytes/s.
    tasks : dict of str to (int, int, float)
        By type: how many, their bytes, and their seconds.
    busiest_compute : float
        Seconds that tasks take on the server where they take longest.
    groups : dict of int to (int, int, float)
        By size: how many groups, all-reduces over them, and bytes of their tensors.
    rings : dict of int to int
        By group size: how many rings.
    orders : dict of int to int
        By group size: in how many orders members are listed, each a ring that all-reduces run round, of those groups
        that are listed in several; none where there is no such group.
    hops : dict of int to int
        By length: how many routes between different servers have it, the first alternative counting.
    n_alternative : int
        Routes with more than one path.
    links : tuple of BusyLink
        Those with most bytes for their speed; none where `wrong` says why.
    wrong : tuple of str
        Sentences on what a simulator would hang or fail on, or simulate otherwise than meant.
    sound : bool
        Whether it can be simulated.
    """

    n_server: int
    n_switch: int
    n_link: int
    n_operator: int
    link_bandwidth: float
    tasks: dict[str, tuple[int, int, float]]
    busiest_compute: float
    groups: dict[int, tuple[int, int, float]]
    rings: dict[int, int]
    orders: dict[int, int]
    hops: dict[int, int]
    n_alternative: int
    links: tuple[BusyLink, ...]
    wrong: tuple[str, ...]
    sound: bool

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it; times in ms."""
        return {
            "servers": self.n_server,
            "switches": self.n_switch,
            "links": self.n_link,
            "operators": self.n_operator,
            "link_gbps": self.link_bandwidth * 8e-9,
            "tasks": {
                name: {"count": n, "bytes": size, "ms": seconds * 1e3}
                for name, (n, size, seconds) in self.tasks.items()
            },
            "compute_ms": self.busiest_compute * 1e3,
            "groups": {
                str(size): {"groups": n, "allreduces": count, "bytes": total}
                for size, (n, count, total) in self.groups.items()
            },
            "rings": {str(size): n for size, n in self.rings.items()},
            "member_orders": {str(size): n for size, n in self.orders.items()},
            "hops": {str(length): n for length, n in self.hops.items()},
            "routes_with_alternatives": self.n_alternative,
            "busiest_links": [
                {"from": link.begin, "to": link.end, "bytes": link.bytes, "ms": link.seconds * 1e3}
                for link in self.links
            ],
            "wrong": list(self.wrong),
        }


def inspect_file(file: TaskGraphFile) -> Inspection:
    """Look at a file that is not damaged, whether it makes sense or not."""
    tasks, rings = file.tasks, file.rings
    wrong: list[str] = []
    links: tuple[BusyLink, ...] = ()
    busiest, sound = 0.0, True
    try:
        check_file(file)
        graph = to_task_graph(file)
    except FlexNetError as error:
        sound = False
        wrong.append(str(error))
    else:
        compute = graph.seconds * (graph.kind <= SimTaskType.BACKWARD)
        on_server = np.where(graph.kind <= SimTaskType.BACKWARD, graph.place, 0)
        busiest = float(np.bincount(on_server, weights=compute, minlength=file.n_server).max())
        wrong += short_cuts(graph)
        try:
            links = _busiest(file, graph)
        except FlexNetError as error:
            wrong.append(str(error))
    known = {kind: name for kind, name in KINDS.items() if (tasks.kind == kind).any()}
    return Inspection(
        n_server=file.n_server,
        n_switch=file.n_switch,
        n_link=int(file.links[:, 2].sum()),
        n_operator=len(file.operators.name),
        link_bandwidth=file.link_bytes_per_ms * 1e3,
        tasks={name: _of_kind(file, tasks.kind == kind) for kind, name in known.items()},
        busiest_compute=busiest,
        groups=_groups(file),
        rings={}
        if rings is None
        else dict(zip(rings.size.astype(int).tolist(), np.diff(rings.ring_ptr).tolist(), strict=True)),
        orders=_orders(file),
        hops=_hops(file),
        n_alternative=int((np.diff(file.routes.path_ptr) > 1).sum()),
        links=links,
        wrong=tuple(wrong),
        sound=sound,
    )


def _of_kind(file: TaskGraphFile, mine: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """How many tasks, their bytes and seconds."""
    size = sum(file.tasks.bytes[mine].tolist())  # of a damaged file, more than 64 bits
    return int(mine.sum()), size, float(file.tasks.run_ms[mine].astype(np.float64).sum()) * 1e-3


def _groups(file: TaskGraphFile) -> dict[int, tuple[int, int, float]]:
    ptr, members = allreduce_members(file.tasks)
    size = file.tasks.bytes[file.tasks.kind == SimTaskType.ALLREDUCE].astype(np.float64)
    found: dict[int, tuple[set[tuple[int, ...]], int, float]] = {}
    for i in range(len(ptr) - 1):
        group = tuple(sorted(members[ptr[i] : ptr[i + 1]].tolist()))
        groups, count, total = found.get(len(group), (set(), 0, 0.0))
        found[len(group)] = groups | {group}, count + 1, total + float(size[i])
    return {n: (len(groups), count, total) for n, (groups, count, total) in sorted(found.items())}


def _orders(file: TaskGraphFile) -> dict[int, int]:
    ptr, members = allreduce_members(file.tasks)
    told = {tuple(members[begin:end].tolist()) for begin, end in pairwise(ptr.tolist())}
    rings: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for order in told:
        first = order.index(min(order)) if order else 0
        rings.setdefault(tuple(sorted(order)), set()).add(order[first:] + order[:first])
    found: dict[int, int] = {}
    for group, orders in rings.items():
        if len(orders) > 1:
            found[len(group)] = found.get(len(group), 0) + len(orders)
    return dict(sorted(found.items()))


def _hops(file: TaskGraphFile) -> dict[int, int]:
    routes = file.routes
    has_path = (np.diff(routes.path_ptr) > 0) & (routes.source != routes.target)
    nodes = np.diff(routes.hop_ptr)[routes.path_ptr[:-1][has_path]]
    lengths, counts = np.unique(nodes[nodes > 1] - 1, return_counts=True)
    return dict(zip(lengths.tolist(), counts.tolist(), strict=True))


def _busiest(file: TaskGraphFile, graph: TaskGraph) -> tuple[BusyLink, ...]:
    """The links with most bytes for their speed, where flows take the first draw of their paths."""
    if not file.link_bytes_per_ms > 0:
        raise FlexNetError(f"{file.source} has link bandwidth 0; a replay needs --interface-bandwidth")
    if file.n_server + file.n_switch > MAX_NODES:
        raise FlexNetError(
            f"{file.source} has {file.n_server + file.n_switch} nodes; at most {MAX_NODES} can be replayed"
        )
    network = to_network(file, file.link_bytes_per_ms * 1e3, 0.0)
    fabric = Fabric(network, to_paths(file, network))
    arrays, routes = draw_routes(graph, fabric, PACKET, np.random.default_rng(0))
    use = link_use(graph, arrays, PACKET, routes)
    carried = np.bincount(use.link, weights=use.bytes, minlength=len(network.bandwidth))
    seconds = carried / network.bandwidth
    order = np.argsort(-seconds, kind="stable")[:SHOWN_LINKS]
    return tuple(
        BusyLink(int(network.link_from[i]), int(network.link_to[i]), float(carried[i]), float(seconds[i]))
        for i in order.tolist()
        if carried[i] > 0
    )
