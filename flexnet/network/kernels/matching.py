"""Matchings of thousands of servers: who has most for each other, then exchanges of partners."""

import numpy as np
from numba import njit

from flexnet.network.kernels.xorshift import draw

__all__ = ["heavy_matching"]

WARM_UP = 4  # draws before one that counts: the states of neighbouring servers are much alike
MOST_PASSES = 8  # over all exchanges; most matchings are done after three


@njit(cache=True)
def heavy_matching(demand):  # type: ignore[no-untyped-def]
    """Pair up servers: two that have most for each other, again and again, until no two pairs gain by an exchange.

    The first step gives half of the greatest demand at least (R. Preis, STACS 1999, 259-269).

    Parameters
    ----------
    demand : float64 (n_server, n_server)
        Symmetric; among equals a hash of the two servers decides.

    Returns
    -------
    int64 (n_server,)
        Everyone's partner; -1 for one of an odd number.
    """
    n = demand.shape[0]
    partner = np.full(n, -1, np.int64)
    liked = np.full(n, -1, np.int64)
    asked = np.arange(n)
    n_asked = n
    while n_asked > 0:
        for i in range(n_asked):
            liked[asked[i]] = _most_liked(demand, partner, asked[i])
        for i in range(n_asked):
            a = asked[i]
            b = liked[a]
            if b >= 0 and partner[a] < 0 and partner[b] < 0 and liked[b] == a:
                partner[a], partner[b] = b, a
        n_asked = 0
        for a in range(n):
            if partner[a] < 0 and liked[a] >= 0 and partner[liked[a]] >= 0:
                asked[n_asked] = a
                n_asked += 1
    for _ in range(MOST_PASSES):
        if not _exchange(demand, partner):
            break
    return partner


@njit(cache=True)
def _most_liked(demand, partner, a):  # type: ignore[no-untyped-def]
    """The server without a partner for which one has most; -1 if there is none."""
    best = np.int64(-1)
    most = -1.0
    drawn = np.int64(-1)  # among equals; of the best, where it was asked for
    for b in range(demand.shape[0]):
        if partner[b] >= 0 or b == a or demand[a, b] < most:
            continue
        own = np.int64(-1)
        if demand[a, b] == most:
            drawn = _hash(a, best) if drawn < 0 else drawn
            own = _hash(a, b)
            if own <= drawn:
                continue
        best = np.int64(b)
        most = demand[a, b]
        drawn = own
    return best


@njit(cache=True)
def _exchange(demand, partner):  # type: ignore[no-untyped-def]
    """Let pairs exchange partners where they have more for each other then; whether any did."""
    n = demand.shape[0]
    gained = False
    for a in range(n):
        for c in range(a + 1, n):
            b, d = partner[a], partner[c]
            if b < 0 or d < 0 or c == b:
                continue
            if demand[a, c] + demand[b, d] > (demand[a, b] + demand[c, d]) * (1.0 + 1e-9):
                partner[a], partner[c] = c, a
                partner[b], partner[d] = d, b
                gained = True
    return gained


@njit(cache=True)
def _hash(a, b):  # type: ignore[no-untyped-def]
    """A scrambled number of two servers, whichever comes first."""
    state = min(a, b) * 65537 + max(a, b) + 1
    for _ in range(WARM_UP):
        state = draw(state)
    return state
