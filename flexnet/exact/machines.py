"""What machines take at least for the tasks that share them: servers that compute, send or receive, and routes.

Of any tasks that share a machine none ends before the least head, plus all their times there, plus the least tail
(J. Carlier, European J. of Operational Research 11 (1982) 42-47); from late heads on, and from late tails on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels.plans import one_machine
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM

__all__ = [
    "Orders",
    "PlanBound",
    "Routes",
    "jobs_of",
    "latest_first",
    "longest",
    "of_every_server",
    "of_pairs",
    "of_servers",
    "on_routes",
    "sizes_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Orders = tuple[tuple[Ints, Floats, Floats], ...]  # see `latest_first`
Routes = tuple[Floats, Floats]
"""Bytes/s of the widest link from every server, and to it: a route takes one."""

SAME = 1e-12


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
    """The bound that says most; of those that say the same, but for how sums were rounded, the first."""
    told = list(bounds)
    most = max(bound.seconds for bound in told)
    return next(bound for bound in told if bound.seconds >= (1.0 - SAME) * most)


def sizes_of(graph: TaskGraph, tasks: Ints) -> Floats:
    """Bytes of transfers at least."""
    sizes: Floats = np.maximum(graph.bytes[tasks] - 1.0, 0.0)
    return sizes


def of_servers(
    graph: TaskGraph, sent: Floats, out: Floats, into: Floats, orders: Orders, copies: Counts
) -> Iterator[PlanBound]:
    """What every server computes, sends and receives; ``out`` and ``into`` are bytes/s of the servers."""
    compute, comm = np.flatnonzero(graph.kind <= BACKWARD), np.flatnonzero(graph.kind == NOMINAL_COMM)
    reduces = np.flatnonzero(sent)
    yield of_every_server("compute of", jobs_of(graph, compute), graph.place[compute], graph.seconds[compute], orders)
    per_group, members = np.zeros(len(graph.group_ptr) - 1), np.diff(graph.group_ptr)
    per_group[graph.place[reduces]] = sent[reduces]
    first, count = jobs_of(graph, comm)
    first[reduces] = len(comm) + graph.group_ptr[graph.place[reduces]]
    count[reduces] = members[graph.place[reduces]]
    of_groups, sizes = np.repeat(per_group, members), sizes_of(graph, comm)
    source, target = np.divmod(graph.place[comm], np.int32(graph.n_server))
    for words, end, speed, alike in (("sent", source, out, copies), ("received", target, into, -copies)):
        size = np.concatenate([sizes / np.maximum(alike[comm], 1), of_groups])
        servers = np.concatenate([end, graph.group])
        seconds = np.divide(size, speed[servers], out=np.zeros(len(size)), where=size > 0)
        yield of_every_server(f"bytes {words} by", (first, count), servers, seconds, orders)


def on_routes(graph: TaskGraph, transfers: Ints, routes: Routes) -> Floats:
    """Seconds of transfers on routes of their own."""
    source, target = np.divmod(graph.place[transfers], np.int32(graph.n_server))
    seconds: Floats = sizes_of(graph, transfers) / np.minimum(routes[0][source], routes[1][target])
    return seconds


def of_pairs(graph: TaskGraph, routes: Routes, orders: Orders) -> PlanBound:
    """What goes from one server to another over the one route that it has."""
    comm = np.flatnonzero(graph.kind == NOMINAL_COMM)
    seconds = on_routes(graph, comm, routes)
    most, pair = _busiest(jobs_of(graph, comm), graph.place[comm], seconds, orders)
    source, target = divmod(pair, graph.n_server)
    return PlanBound(most, f"bytes from server {source} to server {target}")


def latest_first(head: Floats, tail: Floats) -> Orders:
    """Tasks by heads and by tails, the latest first, each with what they are by and the other one."""
    return (np.argsort(-head, kind="stable"), head, tail), (np.argsort(-tail, kind="stable"), tail, head)


def jobs_of(graph: TaskGraph, tasks: Ints) -> tuple[Counts, Counts]:
    """Where the jobs of every task begin, and how many there are, if those of these tasks come one after the other."""
    first, count = np.zeros((2, graph.n_task), np.int32)
    first[tasks], count[tasks] = np.arange(len(tasks)), 1
    return first, count


def of_every_server(
    words: str, jobs: tuple[Counts, Counts], servers: Counts, seconds: Floats, orders: Orders
) -> PlanBound:
    """The largest bound of a server by its jobs: from late heads on, and from late tails on."""
    most, busiest = _busiest(jobs, servers, seconds, orders)
    return PlanBound(most, f"{words} server {busiest}")


def _busiest(jobs: tuple[Counts, Counts], machines: Counts, seconds: Floats, orders: Orders) -> tuple[float, int]:
    """The largest bound of a machine by its jobs, and which machine: from late heads on, and from late tails on."""
    found, which, n_machine = 0.0, 0, int(machines.max(initial=0)) + 1
    for order, late, other in orders:
        room = np.zeros(n_machine), np.full(n_machine, np.inf)
        most, busiest = one_machine(order, *jobs, machines, seconds, late, other, *room)
        if most > found * (1.0 + SAME):
            found, which = float(most), int(busiest)
    return found, which
