"""Routes that shun busy links, longer than need be where that pays; see `flexnet.network.wiring.balance`."""

import numpy as np
from numba import njit

__all__ = ["detour"]


@njit(cache=True)
def detour(ptr, neighbor, hops, bandwidth, volume, pairs, slack, routes, lengths, load):  # type: ignore[no-untyped-def]
    """Route pairs anew, one after the other: along the path that costs least with all others where they are.

    A link costs the square of the seconds it would be busy, so that the busiest count most.

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
    slack : int
        Links that a path may have beyond those of a shortest one.
    routes : int32 (n_pair, most)
        Links of their routes, of which each has ``lengths``, int32 (n_pair,); changed in place.
    load : float64 (n_link,)
        Bytes on every link, those of the pairs on their routes included; is kept up.
    """
    n_server, n_node = hops.shape
    most = routes.shape[1]
    cost = np.empty((most + 1, n_node))  # of the cheapest way to a node by so many links
    came = np.empty((most + 1, n_node), np.int32)  # the node before, and the link from it
    by = np.empty((most + 1, n_node), np.int32)
    seen = np.full((most + 1, n_node), -1, np.int64)
    open_ = np.empty((2, n_node), np.int32)
    for i in range(pairs.shape[0]):
        source, target = pairs[i] // n_server, pairs[i] % n_server
        left, more = hops[target], volume[i]
        longest = min(left[source] + slack, most)
        for k in range(lengths[i]):
            load[routes[i, k]] -= more
        cost[0, source] = 0.0
        open_[0, 0] = source
        n_open = 1
        best, best_at = np.inf, -1
        for at in range(longest):
            here, there = open_[at % 2], open_[(at + 1) % 2]
            n_there = 0
            for k in range(n_open):
                node = here[k]
                so_far = cost[at, node]
                if node == target or so_far >= best:
                    continue
                for link in range(ptr[node], ptr[node + 1]):
                    other = neighbor[link]
                    if left[other] > longest - at - 1:
                        continue
                    seconds = (load[link] + more) / bandwidth[link]
                    total = so_far + seconds * seconds
                    if seen[at + 1, other] != i:
                        seen[at + 1, other] = i
                        there[n_there] = other
                        n_there += 1
                    elif total >= cost[at + 1, other]:
                        continue
                    cost[at + 1, other] = total
                    came[at + 1, other] = node
                    by[at + 1, other] = link
                    if other == target and total < best:
                        best, best_at = total, at + 1
            n_open = n_there
        node = target
        for at in range(best_at, 0, -1):
            link = by[at, node]
            routes[i, at - 1] = link
            load[link] += more
            node = came[at, node]
        lengths[i] = best_at
