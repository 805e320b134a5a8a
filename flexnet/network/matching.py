"""Matchings that give model-parallel traffic direct links (TopoOpt Alg. 1, step 3)."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import rustworkx as rx

from flexnet.network.kernels.matching import heavy_matching

__all__ = ["add_matchings", "match"]

# A pair's weight is an integer of two fields, demand above hash; the lower one holds the sum over a whole matching (up
# to 4096 pairs) without running into the upper one.
DEMAND_LEVELS = 1 << 32
DEMAND_UNIT = 1 << 44

# Above this many servers, only each server's likeliest partners are considered; who finds none of them free is matched
# with the rest.  The matched demand was the same as without in all cases tried (uniform, random, few hubs, one row).
# A round over 128 servers takes 4-8 ms instead of 12-44, over 256 14-24 instead of 93-117.
EXACT_SERVERS = 64
N_LIKELY = 32

# Above this many servers they are matched in good pairs, not in the best: a round over 1024 takes 10 ms, not 0.1 s, and
# 0.7 % of uniform random demands and 2 % of skewed ones are lost; over 4096 0.2 s, not 3 s.
MANY_SERVERS = 1000


def match(demand: npt.NDArray[np.float64]) -> tuple[tuple[int, int], ...]:
    """Pair up servers so that the demand between partners is greatest; of more than `MANY_SERVERS` nearly so.

    With demand as cost ``max - demand`` this is the original's minimum-cost perfect matching (network.cc:1852).
    Among equals a hash of the partners' ids decides, so that one matching only is best and the answer does not depend
    on the solver; a hash, because a ring with random chords has short paths (Bollobas and Chung, The diameter of a
    cycle plus a random matching, SIAM J. Discrete Math. 1 (1988)) and one with chords of equal length has not.

    Parameters
    ----------
    demand : float64 (n_server, n_server)
        Symmetric bytes.

    Returns
    -------
    tuple of (int, int)
        Ascending pairs (a, b), a < b; perfect for an even number of servers, one server is left out for an odd one.

    >>> demand = np.zeros((4, 4)); demand[0, 2] = demand[2, 0] = 8.0
    >>> match(demand)
    ((0, 2), (1, 3))
    """
    n = len(demand)
    if n > MANY_SERVERS:
        partner = heavy_matching(demand)
        return tuple((a, b) for a, b in enumerate(partner.tolist()) if a < b)
    most = demand.max(initial=0.0)
    levels = np.rint(demand / most * DEMAND_LEVELS).astype(np.int64) if most > 0 else np.zeros((n, n), np.int64)
    hashes = _hashes(n)
    if n <= EXACT_SERVERS:
        return tuple(sorted(_solve(np.ones((n, n), np.bool_), levels, hashes)))
    order = (levels << 30) + (hashes >> 2)
    np.fill_diagonal(order, -1)
    left, pairs = np.arange(n), list[tuple[int, int]]()
    while len(left) > 1:
        at = np.ix_(left, left)
        allowed = np.ones((len(left), len(left)), np.bool_) if pairs else _likely(order)
        found = _solve(allowed, levels[at], hashes[at])
        pairs += [(int(left[a]), int(left[b])) for a, b in found]
        left = np.delete(left, [one for pair in found for one in pair])
    return tuple(sorted(pairs))


def _likely(order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Pairs of which one is among the `N_LIKELY` likeliest partners of the other."""
    likely = np.zeros(order.shape, np.bool_)
    likely[np.arange(len(order))[:, None], np.argpartition(-order, N_LIKELY, axis=1)[:, :N_LIKELY]] = True
    return likely | likely.T


def add_matchings(links: npt.NDArray[np.int64], demand: npt.NDArray[np.float64], n_round: int) -> npt.NDArray[np.int64]:
    """Add rounds of matching links; every round takes one interface of each server.

    A pair that has c links counts with ``demand / (c + 1)``: each new link shrinks it by c/(c+1), as in the original,
    and ring links count as serving their pair too.

    Parameters
    ----------
    links : int64 (n_server, n_server)
        Link counts so far; not changed.
    demand : float64 (n_server, n_server)
        Model-parallel bytes per ordered pair.
    n_round : int

    Returns
    -------
    int64 (n_server, n_server)
        Link counts.
    """
    links = links.copy()
    both = demand + demand.T
    left = both / (links + 1)
    for _ in range(n_round):
        a, b = np.array(match(left), np.int64).reshape(-1, 2).T
        for pair in ((a, b), (b, a)):
            links[pair] += 1
            left[pair] = both[pair] / (links[pair] + 1)
    return links


def _solve(
    allowed: npt.NDArray[np.bool_], levels: npt.NDArray[np.int64], hashes: npt.NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Heaviest of the largest matchings among allowed pairs."""
    first, second = np.nonzero(np.triu(allowed, 1))
    weights = [
        level * DEMAND_UNIT + low
        for level, low in zip(levels[first, second].tolist(), hashes[first, second].tolist(), strict=True)
    ]
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(allowed)))
    graph.add_edges_from(list(zip(first.tolist(), second.tolist(), weights, strict=True)))
    matching = rx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return [(min(pair), max(pair)) for pair in matching]


@lru_cache(maxsize=2)
def _hashes(n_server: int) -> npt.NDArray[np.int64]:
    """Fixed scrambled numbers in 0..2**32-1, symmetric in the pair (the finalizer of splitmix64)."""
    x = np.arange(1, n_server * n_server + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    upper = np.triu((x >> np.uint64(32)).astype(np.int64).reshape(n_server, n_server), 1)
    return upper + upper.T
