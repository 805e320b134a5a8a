"""Servers that links connect, and links that join them."""

import numpy as np
from numba import njit

__all__ = ["component_of", "join"]


@njit(cache=True)
def component_of(links):  # type: ignore[no-untyped-def]
    """Which component every server is in, int64 (n_server,): numbered by their first servers."""
    n = links.shape[0]
    label = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    n_found = 0
    for first in range(n):
        if label[first] >= 0:
            continue
        label[first] = n_found
        queue[0] = first
        length = 1
        at = 0
        while at < length:
            server = queue[at]
            at += 1
            for other in range(n):
                if links[server, other] > 0 and label[other] < 0:
                    label[other] = n_found
                    queue[length] = other
                    length += 1
        n_found += 1
    return label


@njit(cache=True)
def join(links, free, demand):  # type: ignore[no-untyped-def]
    """Connect all servers; see `flexnet.network.wiring.links.join_components`.

    Parts are lists of servers in an order of their own, the one that was joined last at the end: of links that are as
    good the first one is taken.
    """
    n = links.shape[0]
    label = component_of(links)
    n_part = 0
    for server in range(n):
        n_part = max(n_part, label[server] + 1)
    following, first, last = np.full(n, -1, np.int64), np.full(n_part, -1, np.int64), np.full(n_part, -1, np.int64)
    room, listed = np.zeros(n_part, np.int64), np.arange(n_part)
    for server in range(n):
        part = label[server]
        room[part] += free[server]
        if first[part] < 0:
            first[part] = server
        else:
            following[last[part]] = server
        last[part] = server
    while n_part > 1:
        # The part with most interfaces is joined with the one with fewest, so that what is joined can be joined again.
        low = high = 0
        for k in range(n_part):
            if room[listed[k]] < room[listed[low]]:
                low = k
            if room[listed[k]] >= room[listed[high]]:
                high = k
        one, other = listed[low], listed[high]
        if room[one] <= 0:
            return False
        a, b = _best_link(free, demand, following, first[one], first[other])
        links[a, b] += 1
        links[b, a] += 1
        free[a] -= 1
        free[b] -= 1
        following[last[one]] = first[other]
        last[one] = last[other]
        room[one] += room[other] - 2
        kept = 0
        for k in range(n_part):
            if k not in (low, high):
                listed[kept] = listed[k]
                kept += 1
        listed[kept] = one
        n_part -= 1
    return True


@njit(cache=True)
def _best_link(free, demand, following, one, other):  # type: ignore[no-untyped-def]
    """The two servers with free interfaces, of a part each, that send most; of those alike with most interfaces left.

    The last interface of a server may be needed by another part.
    """
    most, most_room = -1.0, -1
    best_a = best_b = -1
    a = one
    while a >= 0:
        if free[a] > 0:
            b = other
            while b >= 0:
                if free[b] > 0:
                    room = free[a] + free[b]
                    if demand[a, b] > most or (demand[a, b] == most and room > most_room):
                        most, most_room, best_a, best_b = demand[a, b], room, a, b
                b = following[b]
        a = following[a]
    return best_a, best_b
