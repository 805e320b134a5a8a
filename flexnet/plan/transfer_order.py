"""Transfers of a task in an order that spreads those of several servers over their receivers at any time."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM

__all__ = ["spread_transfers"]

Ints = npt.NDArray[np.int64]


def spread_transfers(graph: TaskGraph) -> TaskGraph:
    """Let servers send to the others in different orders.

    What a task sends to several servers leaves in the order of its successors, the first packets of all at once.  In
    the order of their numbers all servers send to the first one first, whose link they fill while others are idle.
    Here the k-th sender, counted among those of its pass, sends to receiver ``j ^ k`` in its ``j``-th step, counted
    among those of the consumer, or among all that get gradients from it: a matching of senders and receivers in every
    step where both are as many and a power of two, as in exchanges along the dimensions of a hypercube (S. L. Johnsson
    and C.-T. Ho, IEEE Trans. Computers 38 (9), 1989), and nearly even otherwise.  Consumers stay one after the other.

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
    consumer = 2 * graph.op[transfer].astype(np.int64) + of_pass
    order = np.lexsort((edge, _ranks(consumer, receiver) ^ _ranks(of_pass, sender), consumer, task))
    succ = graph.succ.copy()
    succ[edge] = transfer[order]  # edges are by task already
    return replace(graph, succ=succ)


def _ranks(group: Ints, server: Ints) -> Ints:
    """Place of every server among the different ones of its group."""
    most = int(server.max()) + 1
    pairs, number = np.unique((group - group.min()) * most + server, return_inverse=True)
    ranks: Ints = number.reshape(-1) - np.searchsorted(pairs // most, group - group.min())
    return ranks
