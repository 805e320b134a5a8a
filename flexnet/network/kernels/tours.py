"""Round trips: nearest neighbour, then 2-opt, over any costs or along routes; see `flexnet.network.tours`."""

import numpy as np
from numba import njit

from flexnet.network.kernels.xorshift import draw

__all__ = ["find_tour", "find_tours", "nearest_order"]


@njit(cache=True)
def find_tour(cost, gain):  # type: ignore[no-untyped-def]
    """A round trip that no exchange of two edges makes shorter by ``gain``, int64 (n,); ``cost`` is float64 (n, n)."""
    n = cost.shape[0]
    tour = np.zeros(n, np.int64)
    left = np.ones(n, np.bool_)
    left[0] = False
    for at in range(1, n):
        nearest = -1
        for node in range(n):
            if left[node] and (nearest < 0 or cost[tour[at - 1], node] < cost[tour[at - 1], nearest]):
                nearest = node
        tour[at] = nearest
        left[nearest] = False
    for _ in range(n * n if n > 3 else 0):
        best = 0.0
        first = -1
        last = -1
        for i in range(n):
            a, after_a = tour[i], tour[(i + 1) % n]
            for j in range(i + 1, n):
                # Edges i and j become a - b and after_a - after_b.
                b, after_b = tour[j], tour[(j + 1) % n]
                change = cost[a, b] + cost[after_a, after_b] - cost[a, after_a] - cost[b, after_b]
                if change < best:
                    best = change
                    first = i + 1
                    last = j
        if best > -gain:
            break
        while first < last:
            tour[first], tour[last] = tour[last], tour[first]
            first += 1
            last -= 1
    return tour


@njit(cache=True)
def nearest_order(group, links, demand, laid, noise, seed):  # type: ignore[no-untyped-def]
    """A round trip from the first of a group always to the server that counts for least, of those that are left.

    What `flexnet.network.wiring.orders.serving_order` says of a pair, but for what is random, is looked at when it is
    come to, and costs of all pairs, gigabytes of thousands of servers, are nowhere.

    Parameters
    ----------
    group : int64 (n_member,)
        Servers.
    links : int64 (n_server, n_server)
    demand : float64 (n_server, n_server)
    laid, noise : float
        What a link counts for; the largest random part.
    seed : int
        1..2**32-1.

    Returns
    -------
    int64 (n_member,)
        Servers in order.
    """
    n = np.uint32(group.shape[0])
    most = 0.0
    for i in range(n):
        for j in range(n):
            a, b = np.uint32(group[i]), np.uint32(group[j])
            most = max(most, demand[a, b] / (links[a, b] + 1))
    scale = 1.0 / most if most > 0.0 else 0.0
    order = group.copy()
    state = seed
    for at in range(n - 1):
        here = np.uint32(order[at])
        nearest, least = np.uint32(at + 1), np.inf
        for k in range(np.uint32(at + 1), n):
            there = np.uint32(order[k])
            state = draw(state)
            cost = laid * links[here, there] - scale * demand[here, there] / (links[here, there] + 1)
            cost += noise * state / 2.0**32
            if cost < least:
                nearest, least = np.uint32(k), cost
        order[at + 1], order[nearest] = order[nearest], order[at + 1]
    return order


@njit(cache=True)
def find_tours(members, n_server, route_ptr, route, bandwidth, most, crowded, gain):  # type: ignore[no-untyped-def]
    """Round trips along routes, each both ways, int64 (n_tour, n_member); a pair has one way.

    Parameters
    ----------
    members : int64 (n_member,)
    n_server : int
    route_ptr, route : int32
        Of `flexnet.network.network.Network`.
    bandwidth : float64 (n_link,)
    most : int
        Round trips that are looked at, at most.
    crowded : float
        Hops that a link counts for which those before load as much as any.
    gain : float
        Relative; less is none.
    """
    n = members.shape[0]
    ways = 1 if n == 2 else 2
    found = np.zeros((most * ways, n), np.int64)
    n_found = 0
    load = np.zeros(bandwidth.shape[0])  # seconds that one byte on every edge of all tours takes
    price = np.zeros(bandwidth.shape[0])
    cost = np.zeros((n, n))
    heaviest = 0.0
    least = np.inf
    for _ in range(most):
        for link in range(load.shape[0]):
            price[link] = 1.0 + crowded * load[link] / max(heaviest, 1e-300)
        cost[:] = 0.0
        for a in range(n):
            for b in range(n):
                pair = members[a] * n_server + members[b]
                there = 0.0
                for k in range(route_ptr[pair], route_ptr[pair + 1]):
                    there += price[route[k]]
                cost[a, b] += there
                cost[b, a] += there
        tour = find_tour(cost, gain)
        for way in range(ways):
            for i in range(n):
                found[n_found + way, i] = members[tour[i if way == 0 else (n - i) % n]]
            for i in range(n):
                pair = found[n_found + way, i] * n_server + found[n_found + way, (i + 1) % n]
                for k in range(route_ptr[pair], route_ptr[pair + 1]):
                    load[route[k]] += 1.0 / bandwidth[route[k]]
        heaviest = 0.0
        for link in range(load.shape[0]):
            heaviest = max(heaviest, load[link])
        seconds = heaviest / (n_found + ways)
        if seconds > least * (1.0 - gain):
            break
        least = seconds
        n_found += ways
    return found[:n_found].copy()
