"""What tasks send, summed up."""

import numpy as np

from flexnet.kernels import kernel
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM

__all__ = ["same_groups", "sum_up", "sum_up_servers"]


@kernel
def same_groups(tasks, number, results, first, same_as):  # type: ignore[no-untyped-def]
    """Find groups of the same members, by the exclusive or of numbers that are drawn for servers.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    number : uint64 (n_server,)
    results : uint64 (n_group,)
        Receives every result once, in the order of the groups.
    first, same_as : int64 (n_group,)
        Receive the first group of every result, and for every group the first one with the same members.

    Returns
    -------
    int
        How many results there are.
    """
    n_result = 0
    for group in range(tasks.group_ptr.shape[0] - 1):
        total = number[0] ^ number[0]
        for i in range(tasks.group_ptr[group], tasks.group_ptr[group + 1]):
            total ^= number[tasks.group[i]]
        which = 0
        while which < n_result and results[which] != total:
            which += 1
        if which == n_result:
            results[which] = total
            first[which] = group
            n_result += 1
        same_as[group] = first[which]
    return n_result


@kernel
def sum_up(tasks, pairs, sizes, groups, same_as):  # type: ignore[no-untyped-def]
    """Bytes by pair of servers, by group size, and by group.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    pairs : float64 (n_server * n_server,)
    sizes : float64 (n_server + 1,)
    groups : float64 (n_group,)
        These three are added to; a group's bytes to those of the first group of the same members.
    same_as : int64 (n_group,)
        Which one that is.
    """
    for task in range(tasks.kind.shape[0]):
        place = np.uint32(tasks.place[task])
        if tasks.kind[task] == NOMINAL_COMM:
            pairs[place] += tasks.bytes[task]
        elif tasks.kind[task] == ALLREDUCE:
            sizes[tasks.group_ptr[np.uint32(place + np.uint32(1))] - tasks.group_ptr[place]] += tasks.bytes[task]
            groups[np.uint32(same_as[place])] += tasks.bytes[task]


@kernel
def sum_up_servers(tasks, n_server, busy, sent, received):  # type: ignore[no-untyped-def]
    """Seconds that every server computes, and bytes of its transfers; these, float64 (n_server,), are added to."""
    for task in range(tasks.kind.shape[0]):
        place = np.uint32(tasks.place[task])
        if tasks.kind[task] <= BACKWARD:
            busy[place] += tasks.seconds[task]
        elif tasks.kind[task] == NOMINAL_COMM:
            source = np.uint32(place // np.uint32(n_server))
            sent[source] += tasks.bytes[task]
            received[np.uint32(place - source * np.uint32(n_server))] += tasks.bytes[task]
