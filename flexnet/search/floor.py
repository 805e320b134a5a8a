"""What a strategy takes at least on any network, told in next to no time."""

import numpy as np

from flexnet.exact.small_reduces import ring_bytes, rings_over
from flexnet.network.kernels.demand import sum_up_servers
from flexnet.plan.arrays import Strategy, TaskArrays
from flexnet.plan.problem import Problem
from flexnet.plan.task_kinds import ALLREDUCE

__all__ = ["floor_seconds", "pipeline_seconds"]


def floor_seconds(
    problem: Problem, strategy: Strategy, tasks: TaskArrays, degree: int, small_packet_bytes: float
) -> float:
    """Seconds that the busiest server computes, sends or receives on any network with ``degree`` links of a server.

    Parameters
    ----------
    problem : Problem
    strategy : Strategy
    tasks : TaskArrays
        Its tasks in one micro-batch.
    degree : int
    small_packet_bytes : float
        Of the protocol (`flexnet.exact.small_reduces`).
    """
    n = problem.cluster.n_server
    busy, sent, received = np.zeros((3, n))
    sum_up_servers(tasks, n, busy, sent, received)
    reduces = tasks.kind == ALLREDUCE
    members = np.diff(tasks.group_ptr)
    place = tasks.place[reduces]
    reduced = np.zeros(len(members))
    reduced[place] = ring_bytes(tasks.bytes[reduces], members[place], small_packet_bytes, rings_over(degree))
    ringed = np.bincount(tasks.group, weights=np.repeat(reduced, members), minlength=n)
    most = max(float((problem.micro_batches * each + ringed).max()) for each in (sent, received))
    compute = float(busy.max()) if problem.micro_batches == 1 else pipeline_seconds(problem, strategy)
    return max(compute, most / (degree * problem.cluster.link_bandwidth))


def pipeline_seconds(problem: Problem, strategy: Strategy) -> float:
    """Seconds that some server computes for all micro-batches, and those before the first and after the last of them.

    Operators that read nothing of what they wait for in the graph are rare, and counted as if they did.
    """
    arrays, n_server = problem.arrays, problem.cluster.n_server
    chosen = arrays.candidate_ptr[:-1] + strategy.choice
    forward, backward = arrays.forward[chosen], arrays.backward[chosen]
    head, tail = np.zeros((2, len(chosen)))  # before an operator's forward pass, and behind its backward pass
    for before, after in zip(arrays.edge_src.tolist(), arrays.edge_dst.tolist(), strict=True):  # by consumer
        head[after] = max(head[after], head[before] + forward[before])
        tail[after] = max(tail[after], tail[before] + backward[before])
    op, column = np.nonzero(strategy.devices >= 0)
    server = strategy.devices[op, column]
    busy = np.bincount(server, (forward + backward)[op], n_server) * problem.micro_batches
    around = np.full((2, n_server), np.inf)
    for ends, each in zip(around, (head, tail), strict=True):
        np.minimum.at(ends, server, each[op])
    return float(np.where(busy > 0, busy + around.sum(axis=0), 0.0).max())
