"""Shortest routes of some pairs of servers, the same whatever others are asked for; see `flexnet.network.implied`."""

import numpy as np
from numba import njit

from flexnet.network.kernels.xorshift import draw

__all__ = ["of_differences", "of_pairs", "translate"]

# Of targets with a pair for so many servers, what leads nearer is listed: a pair asks at some four servers.
LISTED = np.uint32(4)

WARM_UP = 4  # draws before the first that counts: the states of neighbouring numbers are much alike


@njit(cache=True)
def of_differences(ptr, neighbor):  # type: ignore[no-untyped-def]
    """One shortest path for every difference of server ids on a circulant graph, from server 0.

    Parameters
    ----------
    ptr : int32 (n_server + 1,)
    neighbor : int32 (n_link,)
        Neighbours, ascending for every server.

    Returns
    -------
    path_ptr : int64 (n_server + 1,)
    path : int32
        Jumps, as positions among the neighbours of server 0; none to servers that cannot be reached.
    """
    n = ptr.shape[0] - 1
    degree = ptr[1]
    hops = np.full(n, -1, np.int32)
    queue = np.zeros(n, np.int64)
    hops[0] = 0
    head = 0
    tail = 1
    while head < tail:
        for k in range(degree):
            other = (queue[head] + neighbor[k]) % n
            if hops[other] < 0:
                hops[other] = hops[queue[head]] + 1
                queue[tail] = other
                tail += 1
        head += 1
    path_ptr = np.zeros(n + 1, np.int64)
    for difference in range(n):
        path_ptr[difference + 1] = path_ptr[difference] + max(hops[difference], 0)
    path = np.empty(path_ptr[n], np.int32)
    for difference in range(1, n):
        state = difference
        for _ in range(WARM_UP):
            state = draw(state)
        left = difference
        for at in range(path_ptr[difference], path_ptr[difference + 1]):
            nearer = 0
            for k in range(degree):
                nearer += hops[(left - neighbor[k]) % n] == hops[left] - 1
            state = draw(state)
            pick = (state * nearer) >> 32
            for k in range(degree):
                if hops[(left - neighbor[k]) % n] == hops[left] - 1:
                    if pick == 0:
                        path[at] = k
                        left = (left - neighbor[k]) % n
                        break
                    pick -= 1
    return path_ptr, path


@njit(cache=True)
def translate(ptr, neighbor, path_ptr, path, pairs):  # type: ignore[no-untyped-def]
    """Routes of some ordered pairs on a circulant graph: those of server 0, begun elsewhere.

    Parameters
    ----------
    ptr, neighbor, path_ptr, path
        As in `of_differences`.
    pairs : int64 (n_some,)
        ``source * n_server + target``.

    Returns
    -------
    begin, count : int64 (n_some,)
    route : int32
        Link ids of pair i are ``route[begin[i]:][:count[i]]``.
    """
    n = ptr.shape[0] - 1
    degree = ptr[1]
    before = np.zeros(n, np.int64)  # neighbours of lower ids, behind which those of higher ones begin
    for node in range(n):
        for k in range(degree):
            before[node] += neighbor[ptr[node] + k] < node
    begin = np.zeros(pairs.shape[0], np.int64)
    count = np.zeros(pairs.shape[0], np.int64)
    total = 0
    for i in range(pairs.shape[0]):
        difference = (pairs[i] - pairs[i] // n) % n
        begin[i] = total
        count[i] = path_ptr[difference + 1] - path_ptr[difference]
        total += count[i]
    route = np.empty(total, np.int32)
    at = 0
    for i in range(pairs.shape[0]):
        node = pairs[i] // n
        difference = (pairs[i] - node) % n
        for k in range(path_ptr[difference], path_ptr[difference + 1]):
            link = ptr[node] + (before[node] + path[k]) % degree
            route[at] = link
            node = neighbor[link]
            at += 1
    return begin, count, route


@njit(cache=True)
def of_pairs(ptr, neighbor, pairs, order, target_of, hops):  # type: ignore[no-untyped-def]
    """One shortest route for each of some ordered pairs, next hops drawn uniformly from those that lead nearer.

    Parameters
    ----------
    ptr : int32 (n_server + 1,)
    neighbor : int32 (n_link,)
    pairs : int64 (n_some,)
        ``source * n_server + target``; what is drawn follows from this number alone.
    order : int64 (n_some,)
        By target, so that what leads nearer is listed once for each.
    target_of : int64 (n_server,)
        Where a target is among those that ``hops`` tells of.
    hops : int16 (n_target, n_server)
        From every server to every target, -1 where there is no way.

    Returns
    -------
    begin, count, route
        As in `translate`; nothing for targets that cannot be reached.
    """
    n = np.uint32(ptr.shape[0] - 1)
    nearer_ptr = np.zeros(n + 1, np.uint32)  # links of every server that lead nearer to the target, ascending
    nearer = np.zeros(neighbor.shape[0] + 1, np.uint32)
    begin = np.zeros(pairs.shape[0], np.int64)
    count = np.zeros(pairs.shape[0], np.int64)
    n_some = np.uint32(pairs.shape[0])
    total = np.int64(0)
    for k in range(n_some):
        asked = np.uint32(pairs[k])
        source = np.uint32(asked // n)
        count[k] = max(hops[np.uint32(target_of[np.uint32(asked - source * n)]), source], 0)
        total += count[k]
    route = np.empty(total, np.int32)
    total = np.int64(0)
    at = np.uint32(0)
    while at < n_some:  # all pairs of one target, then those of the next
        target = np.uint32(np.uint32(pairs[np.uint32(order[at])]) % n)
        until = np.uint32(at + np.uint32(1))
        while until < n_some and np.uint32(pairs[np.uint32(order[until])]) % n == target:
            until = np.uint32(until + np.uint32(1))
        to_target = hops[np.uint32(target_of[target])]
        listed = np.uint32(until - at) * LISTED > n
        if listed:
            _list_nearer(ptr, neighbor, to_target, nearer_ptr, nearer)
        for one in range(at, until):
            i = np.uint32(order[one])
            pair = np.uint32(pairs[i])
            node = np.uint32(pair // n)
            begin[i] = total
            left = count[i]
            state = np.int64(pair) + 1
            if left > 1:
                for _ in range(WARM_UP):
                    state = draw(state)
            for hop in range(left):
                first, last = nearer_ptr[node], nearer_ptr[np.uint32(node + np.uint32(1))]
                if not listed:
                    first, last = np.uint32(0), _nearer_of(ptr, neighbor, to_target, node, nearer)
                pick = np.int64(0)
                if left > 1:
                    state = draw(state)
                    pick = (state * (np.int64(last) - np.int64(first))) >> 32
                link = nearer[np.uint32(first + np.uint32(pick))]
                route[np.uint64(total + hop)] = link
                node = np.uint32(neighbor[link])
            total += left
        at = until
    return begin, count, route


@njit(cache=True)
def _list_nearer(ptr, neighbor, hops, nearer_ptr, nearer):  # type: ignore[no-untyped-def]
    """List the links of every server to those that are one hop nearer; there is room for one more."""
    at = np.uint32(0)
    for node in range(np.uint32(hops.shape[0])):
        nearer_ptr[node] = at
        wanted = hops[node] - 1
        for link in range(np.uint32(ptr[node]), np.uint32(ptr[np.uint32(node + np.uint32(1))])):
            nearer[at] = link
            at = np.uint32(at + np.uint32(hops[np.uint32(neighbor[link])] == wanted))
    nearer_ptr[hops.shape[0]] = at


@njit(cache=True)
def _nearer_of(ptr, neighbor, hops, node, nearer):  # type: ignore[no-untyped-def]
    """List the links of one server to those that are one hop nearer; return how many they are."""
    n_nearer = np.uint32(0)
    for link in range(np.uint32(ptr[node]), np.uint32(ptr[np.uint32(node + np.uint32(1))])):
        nearer[n_nearer] = link
        n_nearer = np.uint32(n_nearer + np.uint32(hops[np.uint32(neighbor[link])] == hops[node] - 1))
    return n_nearer
