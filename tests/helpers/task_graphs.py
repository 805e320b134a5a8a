"""Task graphs, changed for tests."""

import numpy as np
import numpy.typing as npt

from flexnet.plan.task_graph import TaskGraph


def permuted(graph: TaskGraph, order: npt.NDArray[np.int64]) -> TaskGraph:
    """The same graph with task ``order[i]`` renamed ``i`` (all-reduces keep their group numbers)."""
    new_id = np.empty(graph.n_task, np.int64)
    new_id[order] = np.arange(graph.n_task)
    counts = np.diff(graph.succ_ptr)[order]
    succ_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    chunks = [graph.successors(int(old)) for old in order]
    succ = new_id[np.concatenate(chunks) if chunks else np.empty(0, np.int64)].astype(np.int32)
    return TaskGraph(
        graph.n_server,
        graph.kind[order],
        graph.place[order],
        graph.seconds[order],
        graph.bytes[order],
        succ_ptr,
        succ,
        graph.group_ptr,
        graph.group,
        graph.op[order],
        None if graph.rank is None else graph.rank[order],
    )
