"""An iteration as a timeline in Chrome's trace format, which Perfetto opens: what ran where, and what waited for what.

Tracks: the iteration with its phases; every server's device, where waiting that communication causes stands between
tasks; every link, busy while a flow over it is under way; every collective, with what of it no computing hides.  Arrows
go from a task to those that need what it puts out, and, of another name, to those that are only to come behind it.  The
format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU; times in it are
microseconds, here to the nanosecond.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from flexnet.network.csr import aranges
from flexnet.network.network import Network
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.report.attribution import ACTIVITIES, EXPOSED_ALLREDUCE, EXPOSED_TRANSFER, attribute
from flexnet.report.link_use import LinkUse
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.phases import phases_of

__all__ = ["Traced", "link_spans", "trace_json"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Event = dict[str, Any]

ITERATION, SERVERS, LINKS, COLLECTIVES = 1, 2, 3, 4  # processes of the trace
_PROCESSES = {ITERATION: "iteration", SERVERS: "servers", LINKS: "links", COLLECTIVES: "collectives"}
_EXPOSED = {EXPOSED_ALLREDUCE: "terrible", EXPOSED_TRANSFER: "bad"}  # the format's names of red and orange
_KINDS = {FORWARD: ("forward", "good"), BACKWARD: ("backward", "rail_response")}


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """An iteration to be traced.

    Parameters
    ----------
    graph : TaskGraph
    timeline : Timeline
    network : Network
    use : LinkUse
        Which task is on which links.
    operators : sequence of str
        Names of operators, by the numbers that tasks have; may be empty.
    """

    graph: TaskGraph
    timeline: Timeline
    network: Network
    use: LinkUse
    operators: Sequence[str]


def trace_json(traced: Traced, about: Mapping[str, object]) -> bytes:
    """The trace, uncompressed; ``about`` becomes its ``otherData``."""
    batch_of = _micro_batches(traced.graph)
    tracks = [*_iteration(traced), *_devices(traced, batch_of), *_links(traced), *_collectives(traced)]
    events = [*tracks, *_arrows(traced, batch_of)]
    return orjson.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": dict(about)})


def link_spans(use: LinkUse, timeline: Timeline) -> tuple[Ints, Floats, Floats, Ints, Floats]:
    """When links are busy: link, begin and end in seconds, flows and bytes of every span, link by link in order."""
    order = np.lexsort((timeline.start[use.task], use.link))
    link, task, size = use.link[order], use.task[order], use.bytes[order]
    begin, end = timeline.start[task], timeline.end[task]
    room = timeline.seconds + 1.0  # of every link, so that the latest end so far is never another link's
    latest = np.maximum.accumulate(end + link * room) - link * room
    first = np.ones(len(link), np.bool_)
    first[1:] = (link[1:] != link[:-1]) | (begin[1:] > latest[:-1])
    at = np.flatnonzero(first)
    if not len(at):
        none = np.zeros(0)
        return np.zeros(0, np.int64), none, none, np.zeros(0, np.int64), none
    ends = np.maximum.reduceat(end, at)
    return link[at], begin[at], ends, np.diff(np.append(at, len(link))), np.add.reduceat(size, at)


def _iteration(traced: Traced) -> list[Event]:
    """The whole iteration, and its phases within it."""
    events = [*_named(ITERATION, [(0, "iteration")]), _slice(ITERATION, 0, "iteration", 0.0, traced.timeline.seconds)]
    at = 0.0
    for phase in phases_of(traced.graph, traced.timeline):
        until = min(at + phase.seconds, traced.timeline.seconds)
        if until > at:
            events.append(_slice(ITERATION, 0, phase.name, at, until))
        at = until
    return events


def _devices(traced: Traced, batch_of: Ints) -> list[Event]:
    graph, timeline = traced.graph, traced.timeline
    events = _named(SERVERS, [(server, f"server {server}") for server in range(graph.n_server)])
    several = bool(batch_of.max(initial=0))
    for task in np.flatnonzero(graph.kind <= BACKWARD).tolist():
        name, colour = _KINDS[int(graph.kind[task])]
        start, end = float(timeline.start[task]), float(timeline.end[task])
        title, about = _title(traced, task, name), {"task": task}
        if several:
            about["micro-batch"] = int(batch_of[task])
            title += f", micro-batch {batch_of[task]}"
        events.append(_slice(SERVERS, int(graph.place[task]), title, start, end, name, colour, about))
    spans = attribute(graph, timeline)
    for at in np.flatnonzero(np.isin(spans.activity, list(_EXPOSED))).tolist():
        activity = int(spans.activity[at])
        begin, end = float(spans.begin[at]), float(spans.end[at])
        what = ACTIVITIES[activity]
        events.append(_slice(SERVERS, int(spans.server[at]), what, begin, end, "exposed", _EXPOSED[activity]))
    return events


def _links(traced: Traced) -> list[Event]:
    network, n = traced.network, traced.graph.n_server
    names = [
        (link, f"{_node(a, n)} to {_node(b, n)}")
        for link, (a, b) in enumerate(zip(network.link_from.tolist(), network.link_to.tolist(), strict=True))
    ]
    events = _named(LINKS, names)
    columns = [column.tolist() for column in link_spans(traced.use, traced.timeline)]
    for link, begin, end, flows, size in zip(*columns, strict=True):
        about = {"flows": flows, "bytes": size}
        events.append(_slice(LINKS, link, "busy", begin, end, "link", "rail_load", about))
    return events


def _collectives(traced: Traced) -> list[Event]:
    """Every all-reduce, and within it what comes after all its members have computed."""
    graph, timeline = traced.graph, traced.timeline
    over = np.zeros(graph.n_server)
    compute = graph.kind <= BACKWARD
    np.maximum.at(over, graph.place[compute], timeline.end[compute])
    tasks = np.flatnonzero(graph.kind == ALLREDUCE).tolist()
    events = _named(COLLECTIVES, [(i, _title(traced, task, f"all-reduce {i}")) for i, task in enumerate(tasks)])
    for i, task in enumerate(tasks):
        members = graph.members(task)
        start, end = float(timeline.start[task]), float(timeline.end[task])
        about = {"task": task, "servers": len(members), "bytes": int(graph.bytes[task])}
        events.append(_slice(COLLECTIVES, i, "all-reduce", start, end, "all-reduce", "rail_animation", about))
        exposed = max(start, float(over[members].max()))
        if exposed < end:
            events.append(_slice(COLLECTIVES, i, "exposed", exposed, end, "exposed", _EXPOSED[EXPOSED_ALLREDUCE]))
    return events


def _arrows(traced: Traced, batch_of: Ints) -> list[Event]:
    """From every task that computes to those which need what it puts out, over transfers or not, and to all-reduces.

    What waits for a task of another micro-batch, or of another operator the other way, needs nothing of it: it comes
    behind it.  Of passes of a micro-batch that go the same way that is not told apart.
    """
    graph, timeline = traced.graph, traced.timeline
    source, target = _dependencies(graph)
    other_pass = (graph.kind[source] != graph.kind[target]) & (graph.op[source] != graph.op[target])
    other_pass |= batch_of[source] != batch_of[target]
    ordered = other_pass & (graph.kind[target] <= BACKWARD) & (batch_of.max(initial=0) > 0)
    track = np.where(graph.kind <= BACKWARD, graph.place, np.cumsum(graph.kind == ALLREDUCE) - 1)
    process = np.where(graph.kind <= BACKWARD, SERVERS, COLLECTIVES)
    start, end = _ns(timeline.start), _ns(timeline.end)
    leaves = np.maximum(end[source] - 1, start[source])  # within the slice
    events: list[Event] = []
    pairs = zip(source.tolist(), target.tolist(), leaves.tolist(), start[target].tolist(), strict=True)
    for i, (a, b, begin, arrives) in enumerate(pairs):
        same = {"name": "then" if ordered[i] else "needs", "cat": "order" if ordered[i] else "dependency", "id": i}
        there = {"pid": int(process[a]), "tid": int(track[a]), "ts": begin / 1e3}
        here = {"pid": int(process[b]), "tid": int(track[b]), "ts": arrives / 1e3}
        events += ({"ph": "s", **same, **there}, {"ph": "f", "bp": "e", **same, **here})
    return events


def _dependencies(graph: TaskGraph) -> tuple[Ints, Ints]:
    """Pairs of tasks that compute or reduce, the later needing the earlier, int64 (n_pair,) each."""
    counts = np.diff(graph.succ_ptr).astype(np.int64)
    source, target = np.repeat(np.arange(graph.n_task), counts), graph.succ.astype(np.int64)
    computes = graph.kind[source] <= BACKWARD
    direct = computes & (graph.kind[target] != NOMINAL_COMM)
    sent = computes & (graph.kind[target] == NOMINAL_COMM)
    transfer = target[sent]
    onward = aranges(graph.succ_ptr[transfer].astype(np.int64), counts[transfer])
    from_ = np.repeat(source[sent], counts[transfer])
    to = graph.succ[onward].astype(np.int64)
    lands = graph.kind[to] != NOMINAL_COMM
    return np.concatenate([source[direct], from_[lands]]), np.concatenate([target[direct], to[lands]])


def _micro_batches(graph: TaskGraph) -> Ints:
    """Which micro-batch a task that computes is of, int64 (n_task,), from 0; tasks of each come in their order.

    A server has one part of an operator, so the i-th task of an operator, server and kind is of micro-batch i.  All are
    of the first where operators are not known, as of a task graph file.
    """
    found = np.zeros(graph.n_task, np.int64)
    compute = np.flatnonzero((graph.kind <= BACKWARD) & (graph.op >= 0))
    same = (graph.op[compute].astype(np.int64) * graph.n_server + graph.place[compute]) * 2 + graph.kind[compute]
    order = np.argsort(same, kind="stable")
    first = np.flatnonzero(np.diff(same[order], prepend=-1))
    counts = np.diff(np.append(first, len(order)))
    found[compute[order]] = np.arange(len(order)) - np.repeat(first, counts)
    return found


def _named(process: int, tracks: Sequence[tuple[int, str]]) -> list[Event]:
    """Metadata: names of a process and its tracks, in this order."""
    name = {"ph": "M", "pid": process, "name": "process_name", "args": {"name": _PROCESSES[process]}}
    order = {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}
    events: list[Event] = [name, order]
    for track, title in tracks:
        at = {"ph": "M", "pid": process, "tid": track}
        events.append({**at, "name": "thread_name", "args": {"name": title}})
        events.append({**at, "name": "thread_sort_index", "args": {"sort_index": track}})
    return events


def _slice(
    process: int,
    track: int,
    name: str,
    begin: float,
    end: float,
    category: str = "phase",
    colour: str = "",
    about: Mapping[str, object] | None = None,
) -> Event:
    """A complete event; its ends are rounded each by itself, so that slices which touch still do."""
    first, last = round(begin * 1e9), round(end * 1e9)
    event: Event = {
        "ph": "X",
        "pid": process,
        "tid": track,
        "name": name,
        "cat": category,
        "ts": first / 1e3,
        "dur": (last - first) / 1e3,
    }
    if colour:
        event["cname"] = colour
    if about:
        event["args"] = about
    return event


def _ns(seconds: Floats) -> Ints:
    """Seconds as whole nanoseconds, rounded as those of slices."""
    return np.rint(seconds * 1e9).astype(np.int64)


def _title(traced: Traced, task: int, what: str) -> str:
    """What a task is called: its operator where that is known."""
    op = int(traced.graph.op[task])
    return f"{traced.operators[op]} {what}" if 0 <= op < len(traced.operators) else what


def _node(node: int, n_server: int) -> str:
    return f"server {node}" if node < n_server else f"switch {node - n_server}"
