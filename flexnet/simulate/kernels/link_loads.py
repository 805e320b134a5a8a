"""Bytes over every link, and the time they take at least."""

import numpy as np

from flexnet.kernels import called
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.rings import ring_rounds

__all__ = ["load_links"]


@called
def load_links(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Bytes every link carries, in ``work.links.bytes``; returns a time no schedule can beat.

    None ends before the busiest server has computed and the busiest link has carried its bytes.
    """
    load, rings, classes, compute = work.links.bytes, work.rings, work.classes, work.server_load
    kind, place, bytes_, group_ptr = tasks.kind, tasks.place, tasks.bytes, tasks.group_ptr
    load[:] = 0.0
    compute[:] = 0.0
    for t in range(kind.shape[0]):
        if kind[t] <= BACKWARD:
            compute[np.uint32(place[t])] += tasks.seconds[t]
        elif kind[t] == NOMINAL_COMM:
            path = np.uint32(routes.transfer[t])
            for i in range(np.uint32(network.route_ptr[path]), np.uint32(network.route_ptr[path + 1])):
                load[np.uint32(network.route[i])] += bytes_[t]
        else:
            c = place[t]
            n = group_ptr[c + 1] - group_ptr[c]
            if n > 1:
                count = rings.n_class[rings.group_class[c]]
                first = rings.first[rings.group_class[c]]
                for r in range(count):
                    rounds, share = ring_rounds(n, bytes_[t], count, r, rings.turn[c], rings.apart[0], protocol)
                    share *= rounds
                    for i in range(classes.begin[first + r], classes.end[first + r]):
                        load[classes.link[i]] += share
    bound = 0.0
    for server in range(network.n_server):
        bound = max(bound, compute[server])
    for link in range(network.bandwidth.shape[0]):
        bound = max(bound, load[link] / network.bandwidth[link])
    return bound
