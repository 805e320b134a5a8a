"""What is done with all routes of a network, ``(route_ptr, route)`` of `flexnet.network.network.Network`, at once.

Of thousands of servers these are tens of millions of links, of which arrays beside them would take gigabytes.
"""

import numpy as np
from numba import njit

__all__ = ["kept", "link_loads", "over_any", "replaced"]


@njit(cache=True)
def replaced(route_ptr, route, pairs, begin, count, some):  # type: ignore[no-untyped-def]
    """Routes of all pairs, those of some in place of what they had.

    Parameters
    ----------
    route_ptr : int32 (n_pair + 1,)
    route : int32
    pairs : int64 (n_some,)
        Ascending.
    begin, count : int64 (n_some,)
    some : int32
        Link ids of ``pairs[i]`` are ``some[begin[i]:][:count[i]]``.

    Returns
    -------
    route_ptr : int32 (n_pair + 1,)
    route : int32
    """
    n_pair = route_ptr.shape[0] - 1
    total = np.int64(route.shape[0])
    for i in range(pairs.shape[0]):
        total += count[i] - (route_ptr[pairs[i] + 1] - route_ptr[pairs[i]])
    out = np.empty(total, np.int32)
    out_ptr = np.empty(n_pair + 1, np.int32)
    at = np.int64(0)
    first = np.int64(0)
    for i in range(pairs.shape[0] + 1):
        last = pairs[i] if i < pairs.shape[0] else n_pair
        later = at - route_ptr[first]
        for pair in range(first, last):  # up to the next of the pairs all stay
            out_ptr[pair] = route_ptr[pair] + later
        for k in range(route_ptr[first], route_ptr[last]):
            out[k + later] = route[k]
        at += route_ptr[last] - route_ptr[first]
        if i < pairs.shape[0]:
            out_ptr[last] = at
            for k in range(count[i]):
                out[at + k] = some[begin[i] + k]
            at += count[i]
            first = last + 1
    out_ptr[n_pair] = at
    return out_ptr, out


@njit(cache=True)
def kept(route_ptr, route, link_now, hops, wanted):  # type: ignore[no-untyped-def]
    """Routes of pairs that are wanted, of which no link is gone, and none is longer than need be.

    Parameters
    ----------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
    link_now : int32 (n_link,)
        What links are called now, -1 for those that are gone.
    hops : int16 (n_server, n_server)
        Links of a shortest path now.
    wanted : bool (n_server * n_server,)

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
    stays : bool (n_server * n_server,)
        Who has a route.
    """
    n_server = hops.shape[0]
    stays = np.zeros(n_server * n_server, np.bool_)
    kept_ptr = np.zeros(n_server * n_server + 1, np.int32)
    total = np.int32(0)
    for source in range(n_server):
        for target in range(n_server):
            pair = source * n_server + target
            first, last = route_ptr[pair], route_ptr[pair + 1]
            if wanted[pair] and last > first and last - first == hops[source, target]:
                lost = False
                for k in range(first, last):
                    lost |= link_now[route[k]] < 0
                if not lost:
                    stays[pair] = True
                    total += last - first
            kept_ptr[pair + 1] = total
    kept_route = np.empty(total, np.int32)
    for pair in range(n_server * n_server):
        if stays[pair]:
            at = kept_ptr[pair] - route_ptr[pair]
            for k in range(route_ptr[pair], route_ptr[pair + 1]):
                kept_route[at + k] = link_now[route[k]]
    return kept_ptr, kept_route, stays


@njit(cache=True)
def link_loads(route_ptr, route, sent, n_link):  # type: ignore[no-untyped-def]
    """What pairs send, ``sent`` float64 (n_pair,), summed up on the links of their routes: float64 (n_link,)."""
    loads = np.zeros(n_link)
    for pair in range(sent.shape[0]):
        if sent[pair] > 0:
            for k in range(route_ptr[pair], route_ptr[pair + 1]):
                loads[route[k]] += sent[pair]
    return loads


@njit(cache=True)
def over_any(route_ptr, route, marked, pairs):  # type: ignore[no-untyped-def]
    """Those of some ``pairs``, int64, whose routes run over a marked link; ``marked`` is bool (n_link,)."""
    found = np.empty(pairs.shape[0], np.int64)
    n_found = 0
    for pair in pairs:
        for k in range(route_ptr[pair], route_ptr[pair + 1]):
            if marked[route[k]]:
                found[n_found] = pair
                n_found += 1
                break
    return found[:n_found]
