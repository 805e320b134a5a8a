"""What is done with all routes of a network, ``(route_ptr, route)`` of `flexnet.network.network.Network`, at once.

Of thousands of servers these are tens of millions of links, of which arrays beside them would take gigabytes.
"""

import numpy as np
from numba import njit

__all__ = ["NO_BYTES", "NO_PAIRS", "kept", "link_loads", "over_any", "replaced", "senders"]

NO_PAIRS = np.zeros(0, np.int64)
NO_BYTES = np.zeros(0)


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
        other = np.uint64(pairs[i])
        total += count[i] - (route_ptr[np.uint64(other + np.uint64(1))] - route_ptr[other])
    out = np.empty(total, np.int32)
    out_ptr = np.empty(n_pair + 1, np.int32)
    at = np.uint64(0)
    first = np.uint64(0)
    for i in range(pairs.shape[0] + 1):
        last = np.uint64(pairs[i] if i < pairs.shape[0] else n_pair)
        begin_, end = np.uint64(route_ptr[first]), np.uint64(route_ptr[last])
        later = np.int32(np.int64(at) - np.int64(begin_))
        for pair in range(first, last):  # up to the next of the pairs all stay
            out_ptr[pair] = route_ptr[pair] + later
        for k in range(np.uint64(end - begin_)):
            out[np.uint64(at + k)] = route[np.uint64(begin_ + k)]
        at = np.uint64(at + end - begin_)
        if i < pairs.shape[0]:
            out_ptr[last] = at
            for k in range(np.uint64(count[i])):
                out[np.uint64(at + k)] = some[np.uint64(np.uint64(begin[i]) + k)]
            at = np.uint64(at + np.uint64(count[i]))
            first = np.uint64(last + np.uint64(1))
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
    n_server = np.uint32(hops.shape[0])
    n_pair = np.uint32(n_server * n_server)
    stays = np.zeros(n_pair, np.bool_)
    kept_ptr = np.zeros(n_pair + 1, np.int32)
    total = np.int32(0)
    pair = np.uint32(0)
    for source in range(n_server):
        for target in range(n_server):
            first, last = np.uint32(route_ptr[pair]), np.uint32(route_ptr[np.uint32(pair + np.uint32(1))])
            if wanted[pair] and last > first and last - first == hops[source, target]:
                lost = False
                for k in range(first, last):
                    lost |= link_now[np.uint32(route[k])] < 0
                if not lost:
                    stays[pair] = True
                    total += np.int32(last - first)
            pair = np.uint32(pair + np.uint32(1))
            kept_ptr[pair] = total
    kept_route = np.empty(total, np.int32)
    for one in range(n_pair):
        if stays[one]:
            at, first = np.uint32(kept_ptr[one]), np.uint32(route_ptr[one])
            for k in range(np.uint32(np.uint32(route_ptr[np.uint32(one + np.uint32(1))]) - first)):
                kept_route[np.uint32(at + k)] = link_now[np.uint32(route[np.uint32(first + k)])]
    return kept_ptr, kept_route, stays


@njit(cache=True)
def link_loads(route_ptr, route, sent, others, theirs, n_link):  # type: ignore[no-untyped-def]
    """What pairs send, summed up on the links of their routes.

    Parameters
    ----------
    route_ptr : int32 (n_pair + 1,)
    route : int32
    sent : float64 (n_pair,)
    others : int64 (n_other,)
        Pairs, ascending, that send ``theirs``, float64 (n_other,), instead.
    n_link : int

    Returns
    -------
    float64 (n_link,)
    """
    loads = np.zeros(n_link)
    other = np.uint32(0)
    for pair in range(np.uint32(sent.shape[0])):
        bytes_ = sent[pair]
        if other < others.shape[0] and others[other] == pair:
            bytes_ = theirs[other]
            other = np.uint32(other + np.uint32(1))
        if bytes_ > 0:
            for k in range(np.uint32(route_ptr[pair]), np.uint32(route_ptr[np.uint32(pair + np.uint32(1))])):
                loads[np.uint32(route[k])] += bytes_
    return loads


@njit(cache=True)
def senders(route_ptr, sent, others, least, most):  # type: ignore[no-untyped-def]
    """Pairs that send something, or are among ``others``, and whose routes have ``least`` to ``most`` links.

    Parameters as of `link_loads`; int64, ascending.
    """
    n_found = np.uint32(0)
    for counted in range(2):
        found = np.empty(n_found + 1 if counted else 0, np.int64)
        n_found = np.uint32(0)
        other = np.uint32(0)
        for pair in range(np.uint32(sent.shape[0])):
            sends = sent[pair] > 0
            if other < others.shape[0] and others[other] == pair:
                sends = True
                other = np.uint32(other + np.uint32(1))
            n_link = route_ptr[np.uint32(pair + np.uint32(1))] - route_ptr[pair]
            if sends and least <= n_link and n_link <= most:
                if counted:
                    found[n_found] = pair
                n_found = np.uint32(n_found + np.uint32(1))
    return found[:n_found]


@njit(cache=True)
def over_any(route_ptr, route, marked, pairs):  # type: ignore[no-untyped-def]
    """Those of some ``pairs``, int64, whose routes run over a marked link; ``marked`` is bool (n_link,)."""
    found = np.empty(pairs.shape[0] + 1, np.int64)
    n_found = np.uint32(0)
    for i in range(np.uint32(pairs.shape[0])):
        pair = np.uint32(pairs[i])
        over = False
        for k in range(np.uint32(route_ptr[pair]), np.uint32(route_ptr[np.uint32(pair + np.uint32(1))])):
            over |= marked[np.uint32(route[k])]
        found[n_found] = pairs[i]
        n_found = np.uint32(n_found + np.uint32(over))
    return found[:n_found]
