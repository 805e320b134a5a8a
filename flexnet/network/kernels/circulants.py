"""How busy links by every jump are on circulant graphs; see `flexnet.network.wiring.circulants`."""

from math import gcd

import numpy as np
from numba import njit

from flexnet.network.kernels.routes import fewest_coins

__all__ = ["busiest_jumps"]


@njit(cache=True)
def busiest_jumps(coins, sent, sizes, volumes, found):  # type: ignore[no-untyped-def]
    """Bytes on the busiest link of circulant graphs, every link by one jump carrying the same.

    What goes so many servers further on is divided over its shortest paths, at every server from its end on equally
    over those it may come from.  Edges of rings go as many further on as takes fewest links.

    Parameters
    ----------
    coins : int64 (n_graph, n_coin)
        Every server has a link to the one so many further on, 1 to n - 1, for each; several for one that is there as
        often.
    sent : float64 (n_demand, n)
        Bytes from every server to the one so many further on, of several demands.
    sizes, volumes : int64 (n_size,), float64 (n_demand, n_size)
        Of groups of every (n / size)-th server, and the bytes each server sends around their rings.
    found : float64 (n_demand, n_graph)
        Receives the bytes; infinity where not all servers are connected.
    """
    n = sent.shape[1]
    hops = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    load = np.empty(n, np.float64)
    bytes_ = np.empty(n, np.float64)
    for graph in range(coins.shape[0]):
        own = coins[graph]
        if fewest_coins(own, hops, order) < n:
            found[:, graph] = np.inf
            continue
        for demand in range(sent.shape[0]):
            for jump in range(n):
                bytes_[jump] = sent[demand, jump]
            for s in range(sizes.shape[0]):
                _add_rings(n, sizes[s], volumes[demand, s], hops, bytes_)
            load[:] = 0.0
            for k in range(n - 1, 0, -1):
                at = order[k]
                n_way = 0
                for coin in own:
                    before = at - coin if at >= coin else at - coin + n
                    n_way += hops[before] == hops[at] - 1
                for coin in own:
                    before = at - coin if at >= coin else at - coin + n
                    if hops[before] == hops[at] - 1:
                        load[coin] += bytes_[at] / n_way
                        bytes_[before] += bytes_[at] / n_way
            most = 0.0
            for coin in own:
                alike = 0
                for other in own:
                    alike += other == coin
                most = max(most, load[coin] / alike)
            found[demand, graph] = most


@njit(cache=True)
def _add_rings(n, size, volume, hops, bytes_):  # type: ignore[no-untyped-def]
    """Add what edges of rings over groups of every (n / size)-th server send, by jumps with fewest links."""
    stride = n // size
    least = n
    n_way = 0
    for times in range(1, size):
        if gcd(times, size) == 1:
            far = hops[times * stride]
            if far < least:
                least, n_way = far, 0
            n_way += far == least
    for times in range(1, size):
        if gcd(times, size) == 1 and hops[times * stride] == least:
            bytes_[times * stride] += volume / n_way
