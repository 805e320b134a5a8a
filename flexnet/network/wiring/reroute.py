"""Pairs leave the busiest link for other short paths."""

import heapq

import numpy as np

from flexnet.network.demand import Demand
from flexnet.network.kernels.held_routes import NO_BYTES, NO_PAIRS, link_loads, over_any, replaced
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
    routes, sent = (network.route_ptr, network.route), demand.model_parallel.ravel()
    used = np.flatnonzero(link_loads(*routes, sent, NO_PAIRS, NO_BYTES, len(seconds)))
    if not len(used):
        return None
    busy = used[seconds[used] >= BUSY * seconds[used].max()]
    busiest = int(busy[rng.integers(len(busy))])
    pairs = over_any(*routes, np.arange(len(seconds)) == busiest, np.flatnonzero(sent > 0))
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
    pairs = sorted(changed)
    count = np.array([len(changed[pair]) for pair in pairs])
    links = np.array([link for pair in pairs for link in changed[pair]], np.int32)
    begin = np.cumsum(count) - count
    return network.with_routes(replaced(network.route_ptr, network.route, np.array(pairs), begin, count, links))
