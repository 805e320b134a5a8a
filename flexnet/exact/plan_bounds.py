"""What a plan takes at least with some of it fixed: its cuts and places, or its network too.

Beside the bound of all plans (`flexnet.exact.bound`) these tell where a gap is: in the cuts and places, in the network,
or in routes, order and what transport adds.

With cuts and places fixed, every task has a *head*, before which it cannot begin, and a *tail* that must come after it:
longest paths, where transfers to or from one task have all interfaces of its server to themselves, together.  What one
server computes, sends or receives shares a machine, and so does what goes from one server to another, which has one
route; the machine is told that takes longest (`flexnet.exact.machines`), over all tasks with heads or tails from some
value on.  Of all servers together, every byte counts for the links that it takes at least, where a server has no more
neighbours than interfaces (Moore's bound).  What several servers get of one, and hand on, leaves it once at least, and
every copy counts for one link; so do sums.

With the network fixed, machines are cuts of it: what must leave a set of servers, over the links that do.  All-reduces
are rings, which cross every cut that parts their servers, each way (ForestColl, arXiv:2402.06787, bounds collectives by
the same cuts).  Sets are single servers, those that operators or groups lie on, and balls around servers.

Proposals are given up by heads and tails too, on the network there is and by its routes
(`flexnet.simulate.kernels.bounds`).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels.plans import heads_and_tails
from flexnet.exact.machines import (
    Orders,
    PlanBound,
    Routes,
    jobs_of,
    latest_first,
    longest,
    of_every_server,
    of_pairs,
    of_servers,
    on_routes,
    sizes_of,
)
from flexnet.exact.small_reduces import most_rings, ring_bytes
from flexnet.network.csr import ends
from flexnet.network.family import TopologyFamily
from flexnet.network.nearness import least_hops
from flexnet.network.network import Network
from flexnet.plan.cluster import Cluster
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM

__all__ = ["FIXED", "bound_with_network", "bound_with_strategy"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int32]

FIXED = ("strategy", "network")
"""What is fixed: how keys of ``run.json`` begin, ``strategy_bound_ms`` and so on."""

ROUNDING = 1e-7  # files hold times in float32
MOST_WORK = 1e8  # tasks of all cuts that are looked at, some seconds
OF_A_CUT = 5000  # tasks, in whose time a cut is laid out
MOST_CELLS = 10**8  # of groups times servers, to look at cuts
MOST_BALLS = 512  # servers
SHOWN_SERVERS = 8  # of a set, in words


def bound_with_strategy(
    graph: TaskGraph,
    cluster: Cluster,
    family: TopologyFamily,
    small_packet_bytes: float = 0.0,
    copies: Counts | None = None,
    route: float = np.inf,
) -> PlanBound:
    """What a task graph takes at least on any network of a family, whatever the routes and the order.

    Parameters
    ----------
    graph : TaskGraph
    cluster : Cluster
    family : TopologyFamily
    small_packet_bytes : float
        As of `flexnet.simulate.protocol.Protocol`: small all-reduces may be cut short.
    copies : int32 (n_task,), optional
        As of `flexnet.plan.task_graph_builder.Builder.alike`, where servers hand on what several get: then one copy
        leaves a server, or one sum comes to it, at least.
    route : float, optional
        Bytes/s that all transfers from one server to another share at most; unless given, those of a server.
    """
    if copies is None or not family.forwards(graph.n_server):
        copies = np.ones(graph.n_task, np.int32)
    n, widest = graph.n_server, family.widest_server(cluster)
    sent = _ring_bytes(graph, small_packet_bytes, most_rings(family, n))
    out = into = np.full(n, widest)
    routes = np.full(n, min(route, widest))
    head, tail, alone = _paths(graph, sent / widest, out, into, (routes, routes), copies)
    orders = latest_first(head, tail)
    machines = (*of_servers(graph, sent, out, into, orders, copies), of_pairs(graph, (routes, routes), orders))
    everything = _all_servers(
        graph, sent, copies, n * family.server_bandwidth(cluster), family.neighbours(n), head, tail
    )
    return _rounded(longest([_path(head, tail, alone), *machines, everything]))


def bound_with_network(graph: TaskGraph, network: Network, small_packet_bytes: float = 0.0) -> PlanBound:
    """What a task graph takes at least on a network, whatever the routes and the order.

    All-reduces run over their own members, as those of a plan do: not as FlexNetPacket runs regular rings of groups of
    fewer than all servers (`flexnet.simulate.protocol.Protocol.rings_by_index`).

    Parameters
    ----------
    graph : TaskGraph
    network : Network
    small_packet_bytes : float
        As of `bound_with_strategy`.
    """
    n, n_node = graph.n_server, len(network.topology.links)
    ends = network.link_from, network.link_to
    out, into = (np.bincount(each, network.bandwidth, n_node)[:n].astype(np.float64) for each in ends)
    widest = np.zeros((2, n_node))
    for side, each in zip(widest, ends, strict=True):
        np.maximum.at(side, each, network.bandwidth)
    topology = network.topology
    of_a_set = Counter(tuple(sorted(cycle)) for cycle in topology.cycles)
    rings = max([1, *map(len, topology.rings.values()), *of_a_set.values()])
    sent = _ring_bytes(graph, small_packet_bytes, rings)
    slowest, ring_seconds = np.minimum(out, into), np.zeros(graph.n_task)
    for task in np.flatnonzero(sent).tolist():
        ring_seconds[task] = sent[task] / slowest[graph.members(task)].min()
    each = np.ones(graph.n_task, np.int32)
    routes = widest[0, :n], widest[1, :n]
    head, tail, alone = _paths(graph, ring_seconds, out, into, routes, each)
    orders = latest_first(head, tail)
    machines = (*of_servers(graph, sent, out, into, orders, each), of_pairs(graph, routes, orders))
    return _rounded(longest([_path(head, tail, alone), *machines, *_of_cuts(graph, sent, network, orders)]))


def _ring_bytes(graph: TaskGraph, small: float, rings: int) -> Floats:
    """Bytes that every member of an all-reduce sends at least, float64 (n_task,); 0 for other tasks.

    FlexNetPacket sends one byte less than asked where that saves a packet, in every round (`sizes_of`).
    """
    sent = np.zeros(graph.n_task)
    reduces = graph.kind == ALLREDUCE
    members = np.diff(graph.group_ptr)[graph.place[reduces]].astype(np.float64)
    most = ring_bytes(graph.bytes[reduces].astype(np.float64), members, small, rings)
    sent[reduces] = np.maximum(most - 2.0 * members, 0.0)
    return sent


def _paths(
    graph: TaskGraph, ring_seconds: Floats, out: Floats, into: Floats, routes: Routes, copies: Counts
) -> tuple[Floats, Floats, Floats]:
    """Heads, tails and times alone of all tasks, seconds.

    ``out`` and ``into`` are bytes/s of the servers, ``routes`` of the widest link from each and to each, for one route
    takes one; ``copies`` as of `bound_with_strategy`.  Servers reduce inside before they send, so the head of an
    all-reduce is that of its bytes.
    """
    n_task, reduces = graph.n_task, graph.kind == ALLREDUCE
    comm = np.flatnonzero(graph.kind == NOMINAL_COMM)
    source, target = np.divmod(graph.place[comm], graph.n_server)
    sent, received = np.zeros((2, n_task))
    sent[comm], received[comm] = (sizes_of(graph, comm) / speed for speed in (out[source], into[target]))
    alone = graph.seconds + ring_seconds
    alone[comm] += on_routes(graph, comm, routes)
    sent /= np.maximum(copies, 1)
    received /= np.maximum(-copies, 1)
    head, tail = np.zeros((2, n_task))
    n_pred = np.bincount(graph.succ, minlength=n_task).astype(np.int32)
    order = np.zeros(n_task, np.int32)
    edges = graph.succ_ptr, graph.succ, ends(n_pred), np.empty_like(graph.succ)
    heads_and_tails(*edges, alone, sent, received, n_pred, order, head, tail)
    head[reduces] += graph.seconds[reduces]
    alone[reduces] -= graph.seconds[reduces]
    return head, tail, alone


def _path(head: Floats, tail: Floats, alone: Floats) -> PlanBound:
    return PlanBound(float((head + alone + tail).max(initial=0.0)), "critical path")


def _all_servers(
    graph: TaskGraph,
    sent: Floats,
    copies: Counts,
    bandwidth: float,
    neighbours: int | None,
    head: Floats,
    tail: Floats,
) -> PlanBound:
    """All bytes over the interfaces of all servers, each for every link it takes at least; what is alike for one."""
    n, comm, reduces = graph.n_server, np.flatnonzero(graph.kind == NOMINAL_COMM), graph.kind == ALLREDUCE
    members = np.diff(graph.group_ptr)[graph.place[reduces]]
    size, alone = sizes_of(graph, comm), copies[comm] == 1
    pairs = np.bincount(graph.place[comm], size * alone, n * n).astype(np.float64).reshape(n, n)
    hops = np.append(least_hops(n - 1, neighbours), 0)  # every row's largest go to neighbours, the next to theirs
    byte_hops = max(float(-np.sort(-rows, axis=1).sum(axis=0) @ hops) for rows in (pairs, pairs.T))
    used = (graph.kind == NOMINAL_COMM) | reduces
    rest = float(head[used].min(initial=np.inf) + tail[used].min(initial=np.inf)) if used.any() else 0.0
    total = byte_hops + float(size[~alone].sum()) + float(sent[reduces] @ members)
    return PlanBound(rest + total / bandwidth, "bytes of all servers over the links they take")


def _of_cuts(graph: TaskGraph, sent: Floats, network: Network, orders: Orders) -> Iterator[PlanBound]:
    """What must leave a set of servers, and what must reach it, over the links that do."""
    n = graph.n_server
    comm, reduces = np.flatnonzero(graph.kind == NOMINAL_COMM), np.flatnonzero(graph.kind == ALLREDUCE)
    source, target = np.divmod(graph.place[comm].astype(np.int64), n)
    size, members = sizes_of(graph, comm), np.diff(graph.group_ptr)
    group = np.repeat(np.arange(len(members)), members)
    for cut in islice(_cuts(graph, network), int(MOST_WORK / (graph.n_task + OF_A_CUT))):
        side = np.append(cut, np.zeros(network.topology.n_switch, np.bool_))
        within = np.bincount(group, cut[graph.group], len(members))
        parted = reduces[((within > 0) & (within < members))[graph.place[reduces]]]
        seconds = 0.0
        for inside, a, b in ((side, source, target), (~side, target, source)):
            bandwidth = network.bandwidth[inside[network.link_from] & ~inside[network.link_to]].sum()
            crossing = cut[a] & ~cut[b]
            task = np.concatenate([comm[crossing], parted])
            load = np.concatenate([size[crossing], sent[parted]]) / bandwidth
            jobs = jobs_of(graph, task), np.zeros(len(task), np.int32), load
            seconds = max(seconds, of_every_server("", *jobs, orders).seconds)
        yield PlanBound(seconds, f"links from or to servers {_few(np.flatnonzero(cut).tolist())}")


def _few(servers: list[int]) -> str:
    """The first ones of many.

    >>> _few([0, 4, 8]), _few(list(range(40)))
    ('0 4 8', '0 1 2 3 4 5 6 7 and 32 others')
    """
    left = len(servers) - SHOWN_SERVERS
    return " ".join(map(str, servers[:SHOWN_SERVERS])) + (f" and {left} others" if left > 0 else "")


def _cuts(graph: TaskGraph, network: Network) -> Iterator[Bools]:
    """Sets of several servers, though not all: those of groups, of operators, and balls around servers; each once."""
    n, compute, seen = graph.n_server, graph.kind <= BACKWARD, set[bytes]()
    n_group, n_op = len(graph.group_ptr) - 1, int(graph.op.max(initial=0)) + 1
    tables: list[Bools] = []
    if (n_group + n_op) * n <= MOST_CELLS:
        groups, of_ops = np.zeros((n_group, n), np.bool_), np.zeros((n_op, n), np.bool_)
        groups[np.repeat(np.arange(n_group), np.diff(graph.group_ptr)), graph.group] = True
        of_ops[graph.op[compute], graph.place[compute]] = True
        tables = [groups, of_ops]
    for sets in chain(tables, _balls(network)):
        for inside in sets:
            key = np.packbits(inside).tobytes()
            if key not in seen and 1 < inside.sum() < n - 1:  # one server alone is looked at by itself
                seen.add(key)
                yield inside


def _balls(network: Network) -> Iterator[Bools]:
    """What is at most 1, 2, ... links away from every server, up to half of them, bool (n_server, n_server)."""
    n = network.topology.n_server
    if network.topology.n_switch or n > MOST_BALLS:
        return
    near = ((network.topology.links > 0) | np.eye(n, dtype=np.bool_)).astype(np.float32)
    ball, before = near, np.zeros_like(near)
    while (ball != before).any() and ball.sum(axis=1).min() <= n / 2:
        yield ball > 0
        ball, before = (ball @ near > 0).astype(np.float32), ball


def _rounded(bound: PlanBound) -> PlanBound:
    return PlanBound(bound.seconds * (1.0 - ROUNDING), bound.words)
