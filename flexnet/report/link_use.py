"""Which links every flow of a task graph runs over, and how many bytes it puts on each.

The rules are those of `flexnet.simulate.kernels.rings`; what comes out is held against its link loads by the tests.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays
from flexnet.simulate.edge_bytes import bytes_of_edges
from flexnet.simulate.protocol import Protocol

__all__ = ["LinkUse", "link_use"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class LinkUse(NamedTuple):
    """Tasks on links; all arrays have shape ``(n_use,)``: a task, a link it sends over, and the bytes it puts on it."""

    task: Ints
    link: Ints
    bytes: Floats


def link_use(graph: TaskGraph, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None = None) -> LinkUse:
    """Links of all transfers and all-reduces.

    Parameters
    ----------
    graph : TaskGraph
    network : NetworkArrays
    protocol : Protocol
        Says whether all-reduces go through servers, and where rings begin.
    routes : FlowRoutes, optional
        Which route each flow takes; None: that of its pair.
    """
    transfer = np.flatnonzero(graph.kind == NOMINAL_COMM)
    path = (graph.place if routes is None else routes.transfer)[transfer].astype(np.int64)
    counts = (network.route_ptr[path + 1] - network.route_ptr[path]).astype(np.int64)
    task = [np.repeat(transfer, counts)]
    link = [network.route[aranges(network.route_ptr[path].astype(np.int64), counts)].astype(np.int64)]
    size: list[Floats] = [np.repeat(graph.bytes[transfer].astype(np.float64), counts)]
    known: dict[tuple[bytes, int], tuple[Ints, Ints, Ints]] = {}
    carried = bytes_of_edges(graph.arrays(), network, protocol)
    for reduce_ in np.flatnonzero(graph.kind == ALLREDUCE).tolist():
        group = int(graph.place[reduce_])
        begin, n = int(graph.group_ptr[group]), int(graph.group_ptr[group + 1] - graph.group_ptr[group])
        if n == 1:
            continue
        key = graph.group[begin : begin + n].tobytes(), begin if routes is not None and len(routes.edge) else -1
        if key not in known:
            rings = _rings(graph, network, protocol, routes, begin, n)
            used, at = np.unique(np.concatenate(rings), return_inverse=True)
            ring = np.repeat(np.arange(len(rings)), [len(each) for each in rings])
            known[key] = used, at, np.zeros_like(ring) if protocol.by_server else ring
        used, at, ring = known[key]
        task.append(np.full(len(used), reduce_, np.int64))
        link.append(used)
        size.append(np.bincount(at, carried[group][ring], len(used)).astype(np.float64))
    return LinkUse(np.concatenate(task), np.concatenate(link), np.concatenate(size))


def _rings(
    graph: TaskGraph, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None, begin: int, n: int
) -> list[Ints]:
    """Links of every ring of the all-reduce whose ``n`` members begin at ``begin``."""
    members = graph.group[begin : begin + n].astype(np.int64)
    if not protocol.by_server:
        cycles = _cycles(network, members)
        if cycles is not None:
            return cycles
        if network.ring_ptr[n + 1] > network.ring_ptr[n] and _is_strided(members, network.n_server, protocol):
            first = np.arange(n) if protocol.rings_by_index else members
            return [_at_servers(network, ring, first) for ring in range(network.ring_ptr[n], network.ring_ptr[n + 1])]
    phases = 2 if protocol.by_server else 1
    if routes is not None and len(routes.edge):
        paths = routes.edge[phases * begin : phases * (begin + n)].reshape(n, phases).T.astype(np.int64)
    elif protocol.by_server:
        there = members * network.n_server + members[0]
        paths = np.stack([there, members[0] * network.n_server + members])
    else:
        paths = (members * network.n_server + np.roll(members, -1))[None, :]
    found = []
    for path in paths:
        counts = (network.route_ptr[path + 1] - network.route_ptr[path]).astype(np.int64)
        found.append(network.route[aranges(network.route_ptr[path].astype(np.int64), counts)].astype(np.int64))
    return found


def _cycles(network: NetworkArrays, members: Ints) -> list[Ints] | None:
    """Links of the cycles over just these servers, if there are any."""
    mine = np.zeros(network.n_server, np.bool_)
    mine[members] = True
    same = np.flatnonzero((network.cycle_member == mine).all(axis=1))
    if not len(same):
        return None
    first, last = network.cycle_ptr[same[0]], network.cycle_ptr[same[0] + 1]
    hops = network.cycle_hops[network.cycle_edge[first : last + 1]]
    return [network.cycle_links[a:b].astype(np.int64) for a, b in pairwise(hops.tolist())]


def _is_strided(members: Ints, n_server: int, protocol: Protocol) -> bool:
    """Whether rings of the topology join a group: it is start + i N/g, or rings begin at indices."""
    n = len(members)
    return protocol.rings_by_index or (n_server % n == 0 and not ((members - members[0]) % (n_server // n)).any())


def _at_servers(network: NetworkArrays, ring: int, servers: Ints) -> Ints:
    begin, end = int(network.ring_hops[ring]), int(network.ring_hops[ring + 1])
    of_server: Ints = network.ring_links[begin:end].reshape(network.n_server, -1)[servers].ravel().astype(np.int64)
    return of_server
