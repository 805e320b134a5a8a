"""Where every server's time went: computing, waiting for transfers, waiting for all-reduces, or idle."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.simulate.link_model import Timeline

__all__ = ["ACTIVITIES", "COMPUTE", "EXPOSED_ALLREDUCE", "EXPOSED_TRANSFER", "IDLE", "Attribution", "attribute"]

COMPUTE, EXPOSED_ALLREDUCE, EXPOSED_TRANSFER, IDLE = range(4)
ACTIVITIES = ("compute", "exposed all-reduce", "exposed transfers", "idle")
"""What a server does, by number."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """What every server does at any time of an iteration.

    Parameters
    ----------
    n_server : int
    server, activity : int64 (n_span,)
        Of spans of time, one after the other, server by server; activities are those of `ACTIVITIES`.
    begin, end : float64 (n_span,)
        Seconds.
    """

    n_server: int
    server: Ints
    activity: Ints
    begin: Floats
    end: Floats

    @property
    def seconds(self) -> Floats:
        """Seconds of every activity on every server, float64 (n_server, 4); rows add up to the iteration time."""
        key = self.server * len(ACTIVITIES) + self.activity
        sums = np.bincount(key, weights=self.end - self.begin, minlength=self.n_server * len(ACTIVITIES))
        table: Floats = sums.reshape(self.n_server, len(ACTIVITIES)).astype(np.float64)
        return table


def attribute(graph: TaskGraph, timeline: Timeline) -> Attribution:
    """Say what every server does at any time.

    A server that does not compute waits for transfers while one is under way to it.  Once its last task has run, only
    the end of the iteration is waited for: then it waits for an all-reduce as long as one that it takes part in is
    under way.  Whatever is left is idle: it waits for others to compute, or for what goes on between others.
    """
    n, total = graph.n_server, timeline.seconds
    compute, transfer = graph.kind <= BACKWARD, graph.kind == NOMINAL_COMM
    reduces = np.flatnonzero(graph.kind == ALLREDUCE)
    counts = np.diff(graph.group_ptr)[graph.place[reduces]].astype(np.int64)
    member = graph.group[aranges(graph.group_ptr[graph.place[reduces]].astype(np.int64), counts)]
    reduce_ = np.repeat(reduces, counts)
    server = np.concatenate([graph.place[compute], graph.place[transfer] % n, member, np.arange(n)]).astype(np.int64)
    tasks = np.concatenate([np.flatnonzero(compute), np.flatnonzero(transfer), reduce_])
    sizes = [int(compute.sum()), int(transfer.sum()), len(reduce_), n]
    what = np.repeat(np.arange(4), sizes)  # 3: the whole iteration, so that every server has some span
    begin = np.concatenate([timeline.start[tasks], np.zeros(n)])
    end = np.concatenate([timeline.end[tasks], np.full(n, total)])
    last = np.zeros(n)
    np.maximum.at(last, graph.place[compute], timeline.end[compute])

    at = np.concatenate([begin, end, last])
    of = np.concatenate([server, server, np.arange(n)])
    change = np.zeros((len(at), 3), np.int8)
    n_interval = len(begin)
    for column in range(3):
        mine = np.flatnonzero(what == column)
        change[mine, column], change[n_interval + mine, column] = 1, -1
    order = np.lexsort((at, of))
    at, of = at[order], of[order]
    under_way = np.stack([np.cumsum(each[order], dtype=np.int32) > 0 for each in change.T], axis=1)
    here = (of[1:] == of[:-1]) & (at[1:] > at[:-1])
    at_begin, at_end, of_span, busy = at[:-1][here], at[1:][here], of[:-1][here], under_way[:-1][here]
    activity = _activities(busy, at_begin >= last[of_span])
    return Attribution(n, *_merged(of_span, activity, at_begin, at_end))


def _activities(busy: npt.NDArray[np.bool_], over: npt.NDArray[np.bool_]) -> Ints:
    """The activity of spans by what is under way, and whether all computing is over."""
    compute, transfer, allreduce = busy.T
    return np.select(
        [compute, over & allreduce, transfer], [COMPUTE, EXPOSED_ALLREDUCE, EXPOSED_TRANSFER], default=IDLE
    ).astype(np.int64)


def _merged(server: Ints, activity: Ints, begin: Floats, end: Floats) -> tuple[Ints, Ints, Floats, Floats]:
    """Spans of one activity that follow each other as one."""
    new = np.ones(len(server), np.bool_)
    new[1:] = (server[1:] != server[:-1]) | (activity[1:] != activity[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(server)) - 1
    return server[first], activity[first], begin[first], end[last]
