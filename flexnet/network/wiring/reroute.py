"""Pairs leave the busiest link for other short paths."""

import heapq

import numpy as np

from flexnet.network.csr import aranges, ends
from flexnet.network.demand import Demand
from flexnet.network.network import Network
from flexnet.network.wiring.balance import link_seconds

__all__ = ["reroute_busiest"]

BUSY = 0.9
"""Of links that are this busy, compared with the busiest that carries transfers, one is drawn."""

ONE_PAIR = 0.5
"""Chance that one pair leaves it; half of that for two, and so on: many at once make another link the busiest."""

CROWDED = 4.0
"""Hops that the busiest link counts for; half as busy a link counts for a quarter as many."""


def reroute_busiest(network: Network, demand: Demand, rng: np.random.Generator) -> Network | None:
    """Send some of the pairs over a busiest link along other paths, at most one hop longer; None if there are none.

    Parameters
    ----------
    network : Network
    demand : Demand
    rng : numpy.random.Generator
    """
    n, seconds = network.topology.n_server, link_seconds(network, demand)
    over = np.repeat(np.arange(n * n), np.diff(network.route_ptr))
    sends = demand.model_parallel.ravel()[over] > 0
    used = np.flatnonzero(np.bincount(network.route[sends], minlength=len(seconds)))
    if not len(used):
        return None
    busy = used[seconds[used] >= BUSY * seconds[used].max()]
    busiest = int(busy[rng.integers(len(busy))])
    pairs = np.unique(over[sends & (network.route == busiest)])
    leaving = rng.permutation(pairs)[: int(rng.geometric(ONE_PAIR))]
    share = (seconds / max(float(seconds.max()), 1e-300)).tolist()
    links = network.link_ptr.tolist(), network.link_to.tolist()
    changed = {}
    for pair in leaving.tolist():
        length = int(network.route_ptr[pair + 1] - network.route_ptr[pair])
        path = _path(*links, pair // n, pair % n, busiest, share)
        if path is not None and len(path) <= length + 1:
            changed[pair] = path
    return _with_paths(network, changed) if changed else None


def _path(
    ptr: list[int], link_to: list[int], source: int, target: int, avoided: int, share: list[float]
) -> list[int] | None:
    """Links of a path that avoids one link: few hops, and of these few that are busy (E. W. Dijkstra, 1959).

    ``share``: for how long every link is busy, of the busiest one's time.
    """
    best = {source: 0.0}
    by: dict[int, tuple[int, int]] = {}
    heap = [(0.0, source)]
    while heap:
        cost, node = heapq.heappop(heap)
        if node == target:
            break
        if cost > best[node]:
            continue
        for link in range(ptr[node], ptr[node + 1]):
            other = link_to[link]
            new = cost + 1.0 + CROWDED * share[link] ** 2
            if link != avoided and new < best.get(other, np.inf):
                best[other] = new
                by[other] = (node, link)
                heapq.heappush(heap, (new, other))
    if target not in by:
        return None
    path = []
    node = target
    while node != source:
        node, link = by[node]
        path.append(link)
    return path[::-1]


def _with_paths(network: Network, changed: dict[int, list[int]]) -> Network:
    ptr = network.route_ptr.astype(np.int64)
    counts, begin = np.diff(ptr), ptr[:-1].copy()
    extra = [link for path in changed.values() for link in path]
    at = len(network.route)
    for pair, path in changed.items():
        counts[pair], begin[pair] = len(path), at
        at += len(path)
    route = np.concatenate([network.route, np.array(extra, np.int32)])[aranges(begin, counts)]
    return network.with_routes((ends(counts), route.astype(np.int32)))
