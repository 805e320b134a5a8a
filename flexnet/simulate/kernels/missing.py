"""Which pairs of servers a task graph sends between without a route; see `flexnet.simulate.routed`."""

import numpy as np

from flexnet.kernels import inlined, kernel
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.simulate.kernels.rings import ring_count

__all__ = ["find_missing"]


@kernel
def find_missing(tasks, network, protocol, missing):  # type: ignore[no-untyped-def]
    """Find transfers, and edges of all-reduces that run along routes, whose ordered pair of servers has no route.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    network : flexnet.simulate.arrays.NetworkArrays
    protocol : flexnet.simulate.protocol.Protocol
    missing : int64
        Receives the pairs ``source * n_server + target``, each as often as it sends; room for all transfers, and two
        for every member of a group.

    Returns
    -------
    int
        How many these are.
    """
    group_ptr, group, n_server = tasks.group_ptr, tasks.group, network.n_server
    found = 0
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] == NOMINAL_COMM:
            found = _look_at(network, missing, found, tasks.place[task])
    for c in range(group_ptr.shape[0] - 1):
        start = group_ptr[c]
        n = group_ptr[c + 1] - start
        if n == 1 or ring_count(tasks, network, protocol, c) > 0:
            continue
        for m in range(n):
            if protocol.by_server:
                found = _look_at(network, missing, found, group[start + m] * n_server + group[start])
                found = _look_at(network, missing, found, group[start] * n_server + group[start + m])
            else:
                found = _look_at(network, missing, found, group[start + m] * n_server + group[start + (m + 1) % n])
    return found


@inlined
def _look_at(network, missing, found, pair):  # type: ignore[no-untyped-def]
    """Note a pair of different servers if it has no route; returns how many are noted."""
    at = np.uint32(pair)
    none = network.route_ptr[at] == network.route_ptr[np.uint32(at + np.uint32(1))]
    if none and pair // network.n_server != pair % network.n_server:
        missing[np.uint32(found)] = pair
        found += 1
    return found
