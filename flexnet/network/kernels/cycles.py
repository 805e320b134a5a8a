"""Cycles through all nodes of a graph, by extending and rotating paths (L. Posa, Discrete Math. 14 (1976) 359-364)."""

import numpy as np
from numba import njit

from flexnet.network.kernels.xorshift import draw

__all__ = ["FAILED", "MANY", "closed_path", "cycle_with_third", "two_cycles"]

MANY = 512  # nodes; of more, cycles come from one another
TURNS = 64  # rotations at least from one to the next, so that what they leave differs
MORE = 4  # times as many are drawn
FAILED = 4  # after so many without a cycle no more are drawn: where many links are double, there may be none


@njit(cache=True)
def closed_path(ptr, neighbor, most_steps, reversed_every, seed):  # type: ignore[no-untyped-def]
    """A path over all nodes whose ends are neighbours, int64 (n_node,); of no node if none was found.

    Parameters
    ----------
    ptr : int64 (n_node + 1,)
    neighbor : int64 (n_link,)
        Neighbours in CSR; symmetric.
    most_steps : int
        Extensions and rotations that are tried.
    reversed_every : int
        Of so many steps that do not extend the path, about one turns it round.
    seed : int
        1..2**32-1.
    """
    n = ptr.shape[0] - 1
    path = np.empty(n, np.int64)
    place = np.full(n, -1, np.int64)  # of every node on the path
    state = draw(seed)
    path[0] = (state * n) >> 32
    place[path[0]] = 0
    length = 1
    for step in range(most_steps):
        end = path[length - 1]
        new = -1
        least = n + 1
        n_least = 0
        for i in range(ptr[end], ptr[end + 1]):
            node = neighbor[i]
            if length == n and node == path[0]:
                return path
            if place[node] >= 0:
                continue
            ways = 0
            for k in range(ptr[node], ptr[node + 1]):
                ways += place[neighbor[k]] < 0
            if ways > least:
                continue
            if ways < least:
                least = ways
                n_least = 0
            n_least += 1
            if n_least > 1:  # one of those with the fewest ways on, each as likely
                state = draw(state)
            if n_least == 1 or (state * n_least) >> 32 == 0:
                new = node
        if new >= 0:
            place[new] = length
            path[length] = new
            length += 1
            continue
        first = 0
        if step % reversed_every != 1:  # else the other end may have somewhere to go
            state = draw(state)
            first = place[neighbor[ptr[end] + ((state * (ptr[end + 1] - ptr[end])) >> 32)]] + 1
        _turn(path, place, first, length - 1)
    return path[:0]


@njit(cache=True)
def _turn(path, place, first, last):  # type: ignore[no-untyped-def]
    """Walk a part of a path the other way round."""
    low, high = np.uint32(first), np.uint32(last)
    while low < high:
        path[low], path[high] = path[high], path[low]
        place[path[low]] = low
        place[path[high]] = high
        low, high = np.uint32(low + np.uint32(1)), np.uint32(high - np.uint32(1))


@njit(cache=True)
def _turned_path(ptr, neighbor, closed, most_steps, seed):  # type: ignore[no-untyped-def]
    """Another path over all nodes whose ends are neighbours, by rotations of one, int64 (n_node,); empty if none was.

    Of thousands of nodes it takes a tenth of what a path takes that begins with one node.  Parameters as of
    `closed_path`; ``closed`` is the path before.
    """
    n = closed.shape[0]
    state = draw(seed)
    begin = (state * n) >> 32
    path = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    for i in range(n):
        path[i] = closed[(begin + i) % n]
        place[path[i]] = i
    for step in range(most_steps):
        end = path[n - 1]
        state = draw(state)
        by = neighbor[ptr[end] + ((state * (ptr[end + 1] - ptr[end])) >> 32)]
        if step >= TURNS:
            for i in range(ptr[end], ptr[end + 1]):
                if neighbor[i] == path[0]:
                    return path
                other = path[min(place[neighbor[i]] + 1, n - 1)]
                for k in range(ptr[other], ptr[other + 1]):
                    if neighbor[k] == path[0]:  # it would be the end, and the path closed
                        by = neighbor[i]
        _turn(path, place, place[by] + 1, n - 1)
    return path[:0]


@njit(cache=True)
def cycle_with_third(ptr, neighbor, most_steps, reversed_every, seed, tries):  # type: ignore[no-untyped-def]
    """A cycle of a cubic graph, int64 (n_node,), as `flexnet.network.cubic.third_matching` has it with what it leaves.

    Parameters
    ----------
    ptr, neighbor, most_steps, reversed_every, seed
        As of `closed_path`; every node has three neighbours, and there are an even number of nodes.
    tries : int
        Cycles that are drawn.

    Returns
    -------
    int64 (n_node,)
        Empty if none was found.
    """
    n = ptr.shape[0] - 1
    third = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    for _ in range(tries):
        seed = draw(seed)
        path = closed_path(ptr, neighbor, most_steps, reversed_every, seed)
        if path.shape[0] == 0:
            continue
        for i in range(n):
            node = path[i]
            place[node] = i
            for k in range(ptr[node], ptr[node + 1]):
                if neighbor[k] != path[i - 1] and neighbor[k] != path[(i + 1) % n]:
                    third[node] = neighbor[k]
        fits = True
        for half in range(2):  # along every second link of the cycle, and across what it leaves
            node, length = path[0], 0
            while length == 0 or node != path[0]:
                i = place[node]
                node = third[path[(i + 1) % n] if (i + half) % 2 == 0 else path[i - 1]]
                length += 2
            fits = fits and length == n
        if fits:
            return path
    return third[:0]


@njit(cache=True)
def two_cycles(ptr, neighbor, ends, most_steps, reversed_every, seed, tries):  # type: ignore[no-untyped-def]
    """Two cycles through all nodes that share no link, int64 (2, n_node); the last one found alone, or none.

    Parameters
    ----------
    ends : int64 (n_node, 4)
        Neighbours over all four links, of which some may be the same.
    ptr, neighbor, most_steps, reversed_every, seed
        As of `closed_path`.
    tries : int
        Cycles that are drawn until what one of them leaves is a cycle too; of many nodes, `MORE` times as many, which
        come from one another, but `FAILED` if none is found.
    """
    n = ends.shape[0]
    left = np.empty((n, 2), np.int64)
    found = np.empty((2, n), np.int64)
    n_found = 0
    path = found[0, :0]
    for drawn in range(tries if n <= MANY else MORE * tries):
        if n > MANY and n_found == 0 and drawn == FAILED:
            break
        seed = draw(seed)
        if n <= MANY or path.shape[0] == 0:
            path = closed_path(ptr, neighbor, most_steps, reversed_every, seed)
        else:
            path = _turned_path(ptr, neighbor, path, most_steps, seed)
        if path.shape[0] == 0:
            continue
        n_found = 1
        for i in range(n):
            found[0, i] = path[i]
            node, before, after = path[i], path[i - 1], path[(i + 1) % n]
            k = 0
            for other in ends[node]:
                if other == before:
                    before = -1
                elif other == after:
                    after = -1
                else:
                    left[node, k] = other
                    k += 1
        found[1, 0] = 0
        before, node, length = 0, left[0, 0], 1
        while node != 0:
            found[1, length] = node
            length += 1
            ahead = left[node, 1] if left[node, 0] == before else left[node, 0]
            before, node = node, ahead
        if length == n:
            return found
    return found[:n_found]
