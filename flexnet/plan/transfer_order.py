"""Transfers of a task in an order that spreads those of several servers over their receivers at any time."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.plan.kernels.steps import are_matchings, find_steps
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM

__all__ = ["spread_transfers"]

Ints = npt.NDArray[np.int64]

MOST_COLORED = 1 << 20  # transfers of an exchange; for more, matchings would take a minute to find


def spread_transfers(graph: TaskGraph) -> TaskGraph:
    """Let servers send to the others in different orders.

    What a task sends to several servers leaves in the order of its successors, the first packets of all at once.  In
    the order of their numbers all servers send to the first one first, whose link they fill while others are idle.
    Here the k-th sender, counted among those of its pass, sends to receiver ``j ^ k`` in its ``j``-th step, counted
    among those of the consumer, or among all that get gradients from it: a matching of senders and receivers in every
    step where all send to all and they are a power of two, as in exchanges along the dimensions of a hypercube (S. L.
    Johnsson and C.-T. Ho, IEEE Trans. Computers 38 (9), 1989).  Otherwise as few matchings as there can be are
    found (`flexnet.plan.kernels.steps`; not of millions of transfers): with more, servers that have nothing to send in
    one go on to the next, in which others send to the same receivers.  Consumers stay one after the other.

    Parameters
    ----------
    graph : TaskGraph

    Returns
    -------
    TaskGraph
        With the same tasks and other ``succ``.
    """
    n, source = graph.n_server, np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    edge = np.flatnonzero((graph.kind[graph.succ] == NOMINAL_COMM) & (graph.kind[source] <= BACKWARD))
    if not len(edge):
        return graph
    task, transfer = source[edge], graph.succ[edge]
    sender, receiver = np.divmod(graph.place[transfer].astype(np.int64), n)
    of_pass = (graph.kind[task] == BACKWARD).astype(np.int64)
    of_op = graph.op[transfer] if graph.rank is None else graph.rank[transfer] // 2  # micro-batches told apart
    consumer = 2 * (of_op.astype(np.int64) - int(of_op.min())) + of_pass
    step = _ranks(consumer, receiver, n) ^ _ranks(of_pass, sender, n)
    by_consumer = np.argsort(consumer, kind="stable")
    begin = np.concatenate([np.flatnonzero(np.diff(consumer[by_consumer], prepend=-1)), [len(edge)]])
    exchanges = sender[by_consumer], receiver[by_consumer], step[by_consumer]
    found = np.empty(len(begin) - 1, np.bool_)
    room = np.empty((2, n), np.int64), *(np.full(size, -1, np.int32) for size in (int(step.max()) + 1, n * n))
    are_matchings(*exchanges, begin, *room, found)
    for first, end in zip(begin[:-1][~found].tolist(), begin[1:][~found].tolist(), strict=True):
        if end - first <= MOST_COLORED:
            of_one = by_consumer[first:end]
            step[of_one] = _matchings(sender[of_one], receiver[of_one], n)
    order = np.lexsort((step, consumer, task))
    succ = graph.succ.copy()
    succ[edge] = transfer[order]  # edges are by task already
    return replace(graph, succ=succ)


def _matchings(sender: Ints, receiver: Ints, n_server: int) -> Ints:
    """Steps that are matchings, and as few as can be."""
    most = max(int(np.bincount(side).max()) for side in (sender, receiver))
    found = np.empty(len(sender), np.int64)
    find_steps(sender, receiver, np.full((2, n_server, most), -1, np.int64), found)
    return found


def _ranks(group: Ints, server: Ints, n_server: int) -> Ints:
    """Place of every server among the different ones of its group."""
    number = np.cumsum(np.bincount(group) > 0) - 1  # of those groups that there are
    there = np.zeros((number[-1] + 1, n_server), np.bool_)
    there[number[group], server] = True
    ranks: Ints = (np.cumsum(there, axis=1, dtype=np.int32) - 1)[number[group], server].astype(np.int64)
    return ranks
