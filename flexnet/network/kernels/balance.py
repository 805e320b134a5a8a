"""Shortest routes that shun busy links; see `flexnet.network.wiring.balance`."""

import numpy as np
from numba import njit

__all__ = ["balance"]


@njit(cache=True)
def balance(ptr, neighbor, hops, bandwidth, volume, pairs, route_ptr, route, load):  # type: ignore[no-untyped-def]
    """Route pairs anew, one after the other: along the shortest path that costs least with all others where they are.

    A link costs the square of the seconds it would be busy, so that the busiest count most.  Pairs whose route is not a
    shortest one keep it.

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
        Neighbours in CSR.
    hops : int16 (n_server, n_node)
        From every node to every server.
    bandwidth : float64 (n_link,)
        Bytes/s.
    volume : float64 (n_pair,)
        Bytes of every one of ``pairs``.
    pairs : int64 (n_pair,)
        Ordered pairs to route, in this order.
    route_ptr, route : int32
        Of `flexnet.network.network.Network`; ``route`` is changed in place.
    load : float64 (n_link,)
        Bytes on every link, those of the pairs on their routes included; is kept up.
    """
    n_server, n_node = hops.shape
    cost = np.empty(n_node)
    came = np.empty(n_node, np.uint32)  # the node before, and the link from it
    by = np.empty(n_node, np.uint32)
    seen = np.full(n_node, -1, np.int64)
    here = np.empty(n_node, np.uint32)
    there = np.empty(n_node, np.uint32)
    for i in range(np.uint32(pairs.shape[0])):
        pair = np.uint32(pairs[i])
        source, target = np.uint32(pair // np.uint32(n_server)), np.uint32(pair % np.uint32(n_server))
        left = hops[target]
        first, last = np.uint32(route_ptr[pair]), np.uint32(route_ptr[np.uint32(pair + np.uint32(1))])
        if np.int64(last) - np.int64(first) != left[source] or left[source] < 2:
            continue
        more = volume[i]
        for k in range(first, last):
            load[np.uint32(route[k])] -= more
        cost[source] = 0.0
        here[0] = source
        n_here = np.uint32(1)
        for far in range(left[source] - 1, -1, -1):
            n_there = np.uint32(0)
            for k in range(n_here):
                node = here[np.uint32(k)]
                for link in range(np.uint32(ptr[node]), np.uint32(ptr[np.uint32(node + np.uint32(1))])):
                    other = np.uint32(neighbor[link])
                    if left[other] != far:
                        continue
                    seconds = (load[link] + more) / bandwidth[link]
                    total = cost[node] + seconds * seconds
                    if seen[other] != i:
                        seen[other] = i
                        there[n_there] = other
                        n_there = np.uint32(n_there + np.uint32(1))
                    elif total >= cost[other]:
                        continue
                    cost[other] = total
                    came[other] = node
                    by[other] = np.uint32(link)
            here, there = there, here
            n_here = n_there
        node = target
        for back in range(np.uint32(last - first)):
            link = by[node]
            route[np.uint32(last - np.uint32(1) - np.uint32(back))] = link
            load[link] += more
            node = came[node]
