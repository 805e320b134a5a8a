"""What a plan takes at least with some of it fixed: its cuts and places, or its network too.

Beside the bound of all plans (`flexnet.exact.bound`) these tell where a gap is: in the cuts and places, in the network,
or in routes, order and what transport adds.

With cuts and places fixed, every task has a *head*, before which it cannot begin, and a *tail* that must come after it:
longest paths, where a transfer has all interfaces of a server to itself.  Of any tasks that share a machine (what one
server computes, sends or receives) none ends before the least head, plus all their times there, plus the least tail
(J. Carlier, European J. of Operational Research 11 (1982) 42-47); the machine is told that takes longest, over all
tasks with heads or tails from some value on.  Of all servers together, every byte counts for the links that it takes at
least, where a server has no more neighbours than interfaces (Moore's bound).

With the network fixed, machines are cuts of it: what must leave a set of servers, over the links that do.  All-reduces
are rings, which cross every cut that parts their servers, each way (ForestColl, arXiv:2402.06787, bounds collectives by
the same cuts).  Sets are single servers, those that operators or groups lie on, and balls around servers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels import longest_paths
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network
from flexnet.plan.cluster import Cluster
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM

__all__ = ["FIXED", "PlanBound", "bound_with_network", "bound_with_strategy", "longest"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FIXED = ("strategy", "network")
"""What is fixed, as ``run.json`` has it."""

ROUNDING = 1e-9  # sums are in another order than the simulator's
MOST_RINGS = 4  # of one all-reduce on some network, for every interface: of as many, each may be cut short
MOST_WORK = 1e8  # tasks of all cuts that are looked at, some seconds
MOST_BALLS = 512  # servers


@dataclass(frozen=True, slots=True)
class PlanBound:
    """What a plan takes at least with some of it fixed.

    Parameters
    ----------
    seconds : float
    words : str
        What takes so long.
    """

    seconds: float
    words: str


def longest(bounds: Iterable[PlanBound]) -> PlanBound:
    """The bound that says most; of several the first."""
    return max(bounds, key=lambda bound: bound.seconds)


def bound_with_strategy(
    graph: TaskGraph, cluster: Cluster, family: TopologyFamily, small_packet_bytes: float = 0.0
) -> PlanBound:
    """What a task graph takes at least on any network of a family, whatever the routes and the order.

    Parameters
    ----------
    graph : TaskGraph
    cluster : Cluster
    family : TopologyFamily
    small_packet_bytes : float
        As of `flexnet.simulate.protocol.Protocol`: small all-reduces may be cut short.
    """
    n, widest = graph.n_server, family.widest_server(cluster)
    direct = family.neighbours(n) is not None
    sent = _ring_bytes(graph, small_packet_bytes, MOST_RINGS * family.interfaces(n) if direct else 1)
    head, tail, alone = _paths(graph, sent / widest, np.full(n * n, widest))
    machines = _machines(graph, sent, np.full(n, widest), np.full(n, widest), head, tail)
    everything = _all_servers(graph, sent, n * family.server_bandwidth(cluster), family.neighbours(n), head, tail)
    return _rounded(longest([_path(head, tail, alone), *machines, everything]))


def bound_with_network(graph: TaskGraph, network: Network, small_packet_bytes: float = 0.0) -> PlanBound:
    """What a task graph takes at least on a network, whatever the routes and the order.

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
    topology = network.topology
    of_a_set = Counter(tuple(sorted(cycle)) for cycle in topology.cycles)
    most_rings = max([1, *map(len, topology.rings.values()), *of_a_set.values()])
    sent = _ring_bytes(graph, small_packet_bytes, most_rings)
    slowest, ring_seconds = np.minimum(out, into), np.zeros(graph.n_task)
    for task in np.flatnonzero(sent).tolist():
        ring_seconds[task] = sent[task] / slowest[graph.members(task)].min()
    head, tail, alone = _paths(graph, ring_seconds, np.minimum(out[:, None], into[None, :]).ravel())
    cuts = _cuts(graph, network)[: int(MOST_WORK / max(graph.n_task, 1))]
    of_cuts = [_cut(graph, sent, network, cut, head, tail) for cut in cuts]
    machines = _machines(graph, sent, out, into, head, tail)
    return _rounded(longest([_path(head, tail, alone), *machines, *of_cuts]))


def _ring_bytes(graph: TaskGraph, small: float, most_rings: int) -> Floats:
    """Bytes that every member of an all-reduce sends at least, float64 (n_task,); 0 for other tasks."""
    sent = np.zeros(graph.n_task)
    reduces = graph.kind == ALLREDUCE
    members = np.diff(graph.group_ptr)[graph.place[reduces]].astype(np.float64)
    size = graph.bytes[reduces].astype(np.float64)
    rounds = np.where(size <= most_rings * 2 * (members - 1) * small, 1.0, 2.0 * (members - 1))
    sent[reduces] = np.where(members > 1, rounds * size / members, 0.0)
    return sent


def _paths(graph: TaskGraph, ring_seconds: Floats, widest: Floats) -> tuple[Floats, Floats, Floats]:
    """Heads, tails and times alone of all tasks, seconds.

    ``widest`` is bytes/s between every ordered pair of servers.  The head of an all-reduce is that of its bytes.
    """
    comm, reduces = graph.kind == NOMINAL_COMM, graph.kind == ALLREDUCE
    alone = graph.seconds.copy()
    alone[comm] += graph.bytes[comm] / widest[graph.place[comm]]
    alone += ring_seconds
    head, tail = np.zeros(graph.n_task), np.zeros(graph.n_task)
    n_pred = np.bincount(graph.succ, minlength=graph.n_task).astype(np.int32)
    longest_paths(graph.succ_ptr, graph.succ, n_pred, alone, np.zeros(graph.n_task, np.int32), head, tail)
    head[reduces] += graph.seconds[reduces]
    alone[reduces] -= graph.seconds[reduces]
    return head, tail, alone


def _path(head: Floats, tail: Floats, alone: Floats) -> PlanBound:
    return PlanBound(float((head + alone + tail).max(initial=0.0)), "critical path")


def _machines(
    graph: TaskGraph, sent: Floats, out: Floats, into: Floats, head: Floats, tail: Floats
) -> Iterator[PlanBound]:
    """What every server computes, sends and receives; ``out`` and ``into`` are bytes/s of the servers."""
    compute = np.flatnonzero(graph.kind <= BACKWARD)
    comm, reduces = np.flatnonzero(graph.kind == NOMINAL_COMM), np.flatnonzero(graph.kind == ALLREDUCE)
    groups = [graph.members(task) for task in reduces.tolist()]
    ringed = np.repeat(reduces, [len(group) for group in groups])
    members = np.concatenate([np.zeros(0, np.int64), *groups]).astype(np.int64)
    source, target = np.divmod(graph.place[comm].astype(np.int64), graph.n_server)
    task, size = np.concatenate([comm, ringed]), np.concatenate([graph.bytes[comm], sent[ringed]])
    sources, targets = np.concatenate([source, members]), np.concatenate([target, members])
    yield _each("compute of", graph.place[compute], compute, graph.seconds[compute], head, tail)
    yield _each("bytes sent by", sources, task, size / out[sources], head, tail)
    yield _each("bytes received by", targets, task, size / into[targets], head, tail)


def _each(
    words: str, servers: npt.NDArray[np.integer], task: Ints, seconds: Floats, head: Floats, tail: Floats
) -> PlanBound:
    """The largest bound of a server by its tasks: from late heads on, and from late tails on."""
    found = [PlanBound(0.0, words)]
    for first, second in ((head[task], tail[task]), (tail[task], head[task])):
        order = np.lexsort((-first, servers))
        of, load = servers[order], np.cumsum(seconds[order])
        begin = np.flatnonzero(np.diff(of, prepend=-1))
        number = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(of)))
        before = (load - seconds[order])[begin][number]
        shift = number * (2.0 * second.max(initial=0.0) + 1.0)  # so that every server begins anew
        least = np.minimum.accumulate(second[order] - shift) + shift
        total = first[order] + load - before + least
        if len(total):
            found.append(PlanBound(float(total.max()), f"{words} server {of[int(total.argmax())]}"))
    return longest(found)


def _one_machine(load: Floats, head: Floats, tail: Floats) -> float:
    """Seconds until a machine has done jobs of so much time each, and what must follow them is done."""
    return _each("", np.zeros(len(load), np.int64), np.arange(len(load)), load, head, tail).seconds


def _all_servers(
    graph: TaskGraph, sent: Floats, bandwidth: float, neighbours: int | None, head: Floats, tail: Floats
) -> PlanBound:
    """All bytes over the interfaces of all servers, each for every link it takes at least."""
    n, comm, reduces = graph.n_server, graph.kind == NOMINAL_COMM, graph.kind == ALLREDUCE
    members = np.diff(graph.group_ptr)[graph.place[reduces]]
    pairs = np.bincount(graph.place[comm], graph.bytes[comm], n * n).astype(np.float64).reshape(n, n)
    byte_hops = max(_byte_hops(pairs, neighbours), _byte_hops(pairs.T, neighbours)) + float(sent[reduces] @ members)
    used = comm | reduces
    rest = float(head[used].min(initial=np.inf) + tail[used].min(initial=np.inf)) if used.any() else 0.0
    return PlanBound(rest + byte_hops / bandwidth, "bytes of all servers over the links they take")


def _byte_hops(pairs: Floats, neighbours: int | None) -> float:
    """Bytes times links at least: every row's largest go to neighbours, the next to theirs."""
    if neighbours is None:
        return float(pairs.sum())
    largest = -np.sort(-pairs, axis=1)
    hops = np.zeros(pairs.shape[1])
    begin, level, near = 0, 1, neighbours
    while begin < len(hops):
        hops[begin : begin + near] = level
        begin, level, near = begin + near, level + 1, near * max(neighbours - 1, 1)
    return float(largest.sum(axis=0) @ hops)


def _cuts(graph: TaskGraph, network: Network) -> list[Bools]:
    """Sets of several servers: those of groups, of operators, and balls around servers; each once."""
    n, compute = graph.n_server, graph.kind <= BACKWARD
    groups = np.zeros((len(graph.group_ptr) - 1, n), np.bool_)
    groups[np.repeat(np.arange(len(groups)), np.diff(graph.group_ptr)), graph.group] = True
    of_ops = np.zeros((int(graph.op.max(initial=0)) + 1, n), np.bool_)
    of_ops[graph.op[compute], graph.place[compute]] = True
    sets = [groups, of_ops, *_balls(network)]
    each = {inside.tobytes(): inside for inside in np.concatenate(sets)}
    return [inside for inside in each.values() if 1 < inside.sum() < n]


def _balls(network: Network) -> Iterator[Bools]:
    """What is at most 1, 2, ... links away from every server, bool (n_server, n_server)."""
    n = network.topology.n_server
    if network.topology.n_switch or n > MOST_BALLS:
        return
    near = ((network.topology.links > 0) | np.eye(n, dtype=np.bool_)).astype(np.float32)
    ball, before = near, np.zeros_like(near)
    while (ball != before).any():
        yield ball > 0
        ball, before = (ball @ near > 0).astype(np.float32), ball


def _cut(graph: TaskGraph, sent: Floats, network: Network, cut: Bools, head: Floats, tail: Floats) -> PlanBound:
    """What must leave a set of servers, and what must reach it, over the links that do."""
    n = graph.n_server
    side = np.append(cut, np.zeros(network.topology.n_switch, np.bool_))
    comm, reduces = np.flatnonzero(graph.kind == NOMINAL_COMM), np.flatnonzero(graph.kind == ALLREDUCE)
    source, target = np.divmod(graph.place[comm].astype(np.int64), n)
    members = np.diff(graph.group_ptr)
    within = np.bincount(np.repeat(np.arange(len(members)), members), cut[graph.group], len(members))
    parted = reduces[((within > 0) & (within < members))[graph.place[reduces]]]
    best = 0.0
    for inside, a, b in ((side, source, target), (~side, target, source)):
        leaving = inside[network.link_from] & ~inside[network.link_to]
        crossing = comm[cut[a] & ~cut[b]]
        task = np.concatenate([crossing, parted])
        load = np.concatenate([graph.bytes[crossing], sent[parted]]) / network.bandwidth[leaving].sum()
        best = max(best, _one_machine(load, head[task], tail[task]))
    servers = np.flatnonzero(cut)
    return PlanBound(best, f"links of {len(servers)} servers, {servers[0]} the first")


def _rounded(bound: PlanBound) -> PlanBound:
    return PlanBound(bound.seconds * (1.0 - ROUNDING), bound.words)
