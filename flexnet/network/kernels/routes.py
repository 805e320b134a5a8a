"""Shortest routes over a graph, and coin change over the jumps of a circulant graph."""

import numpy as np
from numba import njit

from flexnet.network.kernels.hops import hops_from
from flexnet.network.kernels.xorshift import draw

__all__ = ["coin_routes", "coin_table", "draw_shortest", "fewest_coins", "shortest"]


@njit(cache=True)
def shortest(ptr, neighbor, hops, seed):  # type: ignore[no-untyped-def]
    """One shortest route per ordered server pair.

    Every next hop is drawn uniformly from those that lead nearer; without a seed, it is told by the target: the first
    choice on the way is its last digit, where that many lead nearer, the next one the digit before.

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
        Neighbours in CSR, ascending for every node.
    hops : int16 (n_server, n_node)
        From every node to every server; see `flexnet.network.kernels.hops.hops_to`.
    seed : int
        1..2**32-1, or 0.

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
        Link ids (positions in ``neighbor``); empty for unreachable pairs.
    """
    n_server, n_node = hops.shape
    route_ptr = np.zeros(n_server * n_server + 1, np.int32)
    total = 0
    for source in range(n_server):
        for target in range(n_server):
            total += max(int(hops[target, source]), 0)
            route_ptr[source * n_server + target + 1] = total
    route = np.empty(total, np.int32)
    nearer = np.empty(neighbor.shape[0], np.int32)  # per node, the links that lead nearer to the target
    n_nearer = np.zeros(n_node, np.int32)
    state = seed
    for target in range(n_server):
        left = hops[target]
        for node in range(n_node):
            n_nearer[node] = 0
            if left[node] < 1:
                continue
            begin = ptr[node]
            if left[node] == 1:
                end = ptr[node + 1]  # bisect for the direct link; a scan makes full meshes cubic
                low = begin
                while low < end:
                    middle = (low + end) >> 1
                    if neighbor[middle] < target:
                        low = middle + 1
                    else:
                        end = middle
                nearer[begin] = low
                n_nearer[node] = 1
                continue
            for link in range(begin, ptr[node + 1]):
                if left[neighbor[link]] == left[node] - 1:
                    nearer[begin + n_nearer[node]] = link
                    n_nearer[node] += 1
        for source in range(n_server):
            at = route_ptr[source * n_server + target]
            node = source
            digits = target
            for _ in range(left[source]):
                pick = ptr[node]
                if n_nearer[node] > 1 and seed == 0:
                    pick += digits % n_nearer[node]
                    digits //= n_nearer[node]
                elif n_nearer[node] > 1:
                    state = draw(state)
                    pick += (state * int(n_nearer[node])) >> 32
                link = nearer[pick]
                route[at] = link
                at += 1
                node = neighbor[link]
    return route_ptr, route


@njit(cache=True)
def draw_shortest(ptr, neighbor, source, target, seed):  # type: ignore[no-untyped-def]
    """One shortest route for every flow, every next hop drawn uniformly from those that lead nearer (ECMP).

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
    source, target : int64 (n_flow,)
        Grouped by target, or one search is made for every flow.
    seed : int
        1..2**32-1.

    Returns
    -------
    route_ptr : int32 (n_flow + 1,)
    route : int32
        Link ids; empty for flows within a server and unreachable targets.
    """
    n_node = ptr.shape[0] - 1
    n_flow = source.shape[0]
    hops = np.full(n_node, -1, np.int32)
    queue = np.empty(n_node, np.int32)
    route_ptr = np.zeros(n_flow + 1, np.int32)
    route = np.empty(4 * n_flow, np.int32)
    total = 0
    state = seed
    for f in range(n_flow):
        if f == 0 or target[f] != target[f - 1]:
            hops_from(ptr, neighbor, target[f], hops, queue)
        node = source[f]
        while total + hops[node] > route.shape[0]:
            larger = np.empty(2 * route.shape[0], np.int32)
            larger[:total] = route[:total]
            route = larger
        for left in range(hops[node] - 1, -1, -1):
            nearer = 0
            for link in range(ptr[node], ptr[node + 1]):
                nearer += hops[neighbor[link]] == left
            state = draw(state)
            pick = (state * nearer) >> 32
            for link in range(ptr[node], ptr[node + 1]):
                if hops[neighbor[link]] == left:
                    if pick == 0:
                        route[total] = link
                        node = neighbor[link]
                        break
                    pick -= 1
            total += 1
        route_ptr[f + 1] = total
    return route_ptr, route[:total].copy()


@njit(cache=True)
def fewest_coins(coins, count, queue):  # type: ignore[no-untyped-def]
    """How many coins every residue takes at least, -1 where no number of them will do, and residues in that order.

    ``count`` and ``queue`` (n,) are filled; returns how many residues there are in the latter.
    """
    n = count.shape[0]
    count[:] = -1
    count[0] = 0
    queue[0] = 0
    head = 0
    tail = 1
    while head < tail:
        residue = queue[head]
        head += 1
        for coin in coins:
            other = (residue + coin) % n
            if count[other] < 0:
                count[other] = count[residue] + 1
                queue[tail] = other
                tail += 1
    return tail


@njit(cache=True)
def coin_table(n, coins, seed):  # type: ignore[no-untyped-def]
    """Fewest coins that sum to every residue mod ``n`` (network.cc:2204).

    Parameters
    ----------
    n : int
    coins : int64 (n_coin,)
        Residues 1..n-1; on equal counts a later coin replaces an earlier one with probability 0.5.
    seed : int
        1..2**32-1.

    Returns
    -------
    count : int32 (n,)
        Coins needed, -1 where no number of them will do.
    last : int32 (n,)
        Coin to peel off first; meaningless where ``count < 1``.
    """
    count, queue = np.empty(n, np.int32), np.empty(n, np.int32)
    last = np.zeros(n, np.int32)
    fewest_coins(coins, count, queue)
    state = seed
    for residue in range(1, n):
        for coin in coins:
            before = count[(residue - coin) % n]
            if before < 0 or before != count[residue] - 1:
                continue
            if last[residue] != 0:
                state = draw(state)
                if (state >> 31) == 0:
                    continue
            last[residue] = coin
    return count, last


@njit(cache=True)
def coin_routes(count, last, link_id):  # type: ignore[no-untyped-def]
    """Routes that walk every server pair's difference coin by coin; arrays as in `coin_table` and `shortest`.

    Every difference can be paid: no ``count`` is negative.
    """
    n = count.shape[0]
    steps = np.zeros(n + 1, np.int64)
    column = np.full(n, -1)
    n_coin = 0
    for difference in range(n):
        steps[difference + 1] = steps[difference] + count[difference]
        if count[difference] == 1:
            column[difference] = n_coin
            n_coin += 1
    link = np.empty((n, n_coin), np.int32)
    for coin in np.flatnonzero(column >= 0):
        for node in range(n):
            link[node, column[coin]] = link_id[node, (node + coin) % n]
    passed = np.empty(steps[n], np.int64)  # how far from the source the way to a difference comes by
    paid = np.empty(steps[n], np.int64)  # the column of the coin it goes on with
    for difference in range(n):
        offset = 0
        for step in range(steps[difference], steps[difference + 1]):
            coin = last[(difference - offset) % n]
            passed[step] = offset
            paid[step] = column[coin]
            offset = (offset + coin) % n
    route_ptr = np.zeros(n * n + 1, np.int32)
    route = np.empty(steps[n] * n, np.int32)
    at = 0
    for source in range(n):
        for target in range(n):
            difference = target - source if target >= source else target - source + n
            for step in range(steps[difference], steps[difference + 1]):
                node = source + passed[step]
                route[at] = link[node if node < n else node - n, paid[step]]
                at += 1
            route_ptr[source * n + target + 1] = at
    return route_ptr, route
