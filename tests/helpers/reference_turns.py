"""Which transfers wait for which, worked out for a task graph as a whole; beside `flexnet.plan.kernels.turns`."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM


def with_turns(graph: TaskGraph, needed: npt.NDArray[np.bool_], least_bytes: float) -> TaskGraph:
    """The graph with edges between transfers; ``needed``: whether the operator of a row needs that of a column."""
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    sender = dict(zip(graph.succ.tolist(), source.tolist(), strict=True))
    lists: dict[tuple[int, bool], list[int]] = {}
    for t in np.flatnonzero((graph.kind == NOMINAL_COMM) & (graph.bytes >= least_bytes)).tolist():
        lists.setdefault((int(graph.place[t]), graph.kind[sender[t]] == BACKWARD), []).append(t)
    waits = []
    for (_, back), transfers in lists.items():
        order = sorted(transfers, key=lambda t: (-graph.op[t] if back else graph.op[t], t))
        for i, one in enumerate(order):
            for other in order[:i][::-1]:
                first, last = (one, other) if back else (other, one)
                if needed[graph.op[last], graph.op[first]]:
                    waits.append((other, one))
                    break
    begin = np.concatenate([source, [a for a, _ in waits]]).astype(np.int64)
    end = np.concatenate([graph.succ, [b for _, b in waits]]).astype(np.int32)
    succ_ptr = np.concatenate([[0], np.cumsum(np.bincount(begin, minlength=graph.n_task))]).astype(np.int32)
    return replace(graph, succ_ptr=succ_ptr, succ=end[np.argsort(begin, kind="stable")])
