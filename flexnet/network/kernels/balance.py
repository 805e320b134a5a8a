"""Shortest routes that shun busy links; see `flexnet.network.wiring.balance`."""

import numpy as np
from numba import njit

__all__ = ["balance"]


@njit(cache=True)
def balance(ptr, neighbor, hops, bandwidth, volume, pairs, route_ptr, route, load, power):  # type: ignore[no-untyped-def]
    """Route pairs anew, one after the other: along the shortest path that costs least with all others where they are.

    A link costs the seconds it would be busy, raised to ``power``.  Pairs whose route is not a shortest one keep it.

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
        Neighbours in CSR.
    hops : int16 (n_server, n_node)
        From every node to every server.
    bandwidth : float64 (n_link,)
        Bytes/s.
    volume : float64 (n_server * n_server,)
        Bytes of every ordered pair.
    pairs : int64 (n_pair,)
        Those to route, in this order.
    route_ptr, route : int32
        Of `flexnet.network.network.Network`; ``route`` is changed in place.
    load : float64 (n_link,)
        Bytes on every link, those of the pairs on their routes included; is kept up.
    power : int
    """
    n_server, n_node = hops.shape
    cost = np.empty(n_node)
    came = np.empty(n_node, np.int64)  # the node before, and the link from it
    by = np.empty(n_node, np.int64)
    seen = np.full(n_node, -1, np.int64)
    here = np.empty(n_node, np.int64)
    there = np.empty(n_node, np.int64)
    for i in range(pairs.shape[0]):
        source, target = pairs[i] // n_server, pairs[i] % n_server
        left = hops[target]
        first, last = route_ptr[pairs[i]], route_ptr[pairs[i] + 1]
        if last - first != left[source] or last - first < 2:
            continue
        more = volume[pairs[i]]
        for k in range(first, last):
            load[route[k]] -= more
        cost[source] = 0.0
        here[0] = source
        n_here = 1
        for far in range(left[source] - 1, -1, -1):
            n_there = 0
            for k in range(n_here):
                node = here[k]
                for link in range(ptr[node], ptr[node + 1]):
                    other = neighbor[link]
                    if left[other] != far:
                        continue
                    seconds = (load[link] + more) / bandwidth[link]
                    total = cost[node] + seconds**power
                    if seen[other] != i:
                        seen[other] = i
                        there[n_there] = other
                        n_there += 1
                    elif total >= cost[other]:
                        continue
                    cost[other] = total
                    came[other] = node
                    by[other] = link
            here, there = there, here
            n_here = n_there
        node = target
        for k in range(last - 1, first - 1, -1):
            route[k] = by[node]
            load[by[node]] += more
            node = came[node]
