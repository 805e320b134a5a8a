"""How busy links by every jump are on circulant graphs; see `flexnet.network.wiring.circulants`."""

import numpy as np
from numba import njit

__all__ = ["busiest_jumps"]


@njit(cache=True)
def busiest_jumps(jumps, sent, sizes, volumes, found):  # type: ignore[no-untyped-def]
    """Bytes on the busiest link of circulant graphs, every link by one jump carrying the same.

    What goes so many servers further on is divided over its shortest paths, at every server from its end on equally
    over those it may come from.  Edges of rings go as many further on as takes fewest links.

    Parameters
    ----------
    jumps : int64 (n_graph, n_jump)
        1 to n / 2, ascending; every server has a link ahead and one back by each, by n / 2 one.
    sent : float64 (n,)
        Bytes from every server to the one so many further on.
    sizes, volumes : int64 (n_size,), float64 (n_size,)
        Of groups of every (n / size)-th server, and the bytes each server sends around their rings.
    found : float64 (n_graph,)
        Receives the bytes; infinity where not all servers are connected.
    """
    n = sent.shape[0]
    hops = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    load = np.empty(n, np.float64)
    bytes_ = np.empty(n, np.float64)
    for graph in range(jumps.shape[0]):
        own = jumps[graph]
        n_found = _from_first(own, hops, order)
        if n_found < n:
            found[graph] = np.inf
            continue
        bytes_[:] = sent
        for s in range(sizes.shape[0]):
            _add_rings(n, sizes[s], volumes[s], hops, bytes_)
        load[:] = 0.0
        for k in range(n - 1, 0, -1):
            at = order[k]
            n_way = 0
            for i in range(own.shape[0]):
                for jump in (own[i], n - own[i]):
                    if hops[(at - jump) % n] == hops[at] - 1 and (jump == own[i] or 2 * jump != n):
                        n_way += 1
            for i in range(own.shape[0]):
                for jump in (own[i], n - own[i]):
                    if hops[(at - jump) % n] == hops[at] - 1 and (jump == own[i] or 2 * jump != n):
                        load[jump] += bytes_[at] / n_way
                        bytes_[(at - jump) % n] += bytes_[at] / n_way
        most = 0.0
        for i in range(own.shape[0]):
            times = 0
            for other in own:
                times += other == own[i]
            most = max(most, load[own[i]] / times, load[n - own[i]] / times)
        found[graph] = most


@njit(cache=True)
def _from_first(own, hops, order):  # type: ignore[no-untyped-def]
    """Links from server 0 to every other, and servers in the order of these; returns how many are reached."""
    n = hops.shape[0]
    hops[:] = -1
    hops[0] = 0
    order[0] = 0
    n_found = 1
    k = 0
    while k < n_found:
        at = order[k]
        k += 1
        for i in range(own.shape[0]):
            for jump in (own[i], n - own[i]):
                there = (at + jump) % n
                if hops[there] < 0:
                    hops[there] = hops[at] + 1
                    order[n_found] = there
                    n_found += 1
    return n_found


@njit(cache=True)
def _add_rings(n, size, volume, hops, bytes_):  # type: ignore[no-untyped-def]
    """Add what edges of rings over groups of every (n / size)-th server send, by jumps with fewest links."""
    stride = n // size
    least = n
    n_way = 0
    for times in range(1, size):
        if _common(times, size) == 1:
            far = hops[times * stride]
            if far < least:
                least, n_way = far, 0
            n_way += far == least
    for times in range(1, size):
        if _common(times, size) == 1 and hops[times * stride] == least:
            bytes_[times * stride] += volume / n_way


@njit(cache=True)
def _common(a, b):  # type: ignore[no-untyped-def]
    """Greatest common divisor."""
    while b:
        a, b = b, a % b
    return a
