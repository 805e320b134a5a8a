"""Short round trips over some servers along routes: nearest neighbour, then 2-opt.

G. A. Croes, A method for solving traveling-salesman problems, Operations Research 6 (1958) 791-812.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["short_tour", "tours_along_routes"]

Floats = npt.NDArray[np.float64]
Cycle = tuple[int, ...]

MOST_TOURS = 8
CROWDED = 4.0
"""Hops that a link counts for which earlier tours load as much as any."""

GAIN = 1e-9


def short_tour(cost: Floats) -> Cycle:
    """A round trip over all nodes that no exchange of two edges makes shorter; it begins with node 0.

    Parameters
    ----------
    cost : float64 (n, n)
        Symmetric.

    Examples
    --------
    >>> place = np.array([0.0, 3.0, 1.0, 2.0])
    >>> short_tour(abs(place - place[:, None]))
    (0, 2, 3, 1)
    """
    n = len(cost)
    tour = [0]
    left = np.ones(n, np.bool_)
    left[0] = False
    for _ in range(n - 1):
        tour.append(int(np.argmin(np.where(left, cost[tour[-1]], np.inf))))
        left[tour[-1]] = False
    for _ in range(n * n if n > 3 else 0):
        here = np.array(tour)
        ahead = np.roll(here, -1)
        step = cost[here, ahead]
        # Edges i and j > i become here[i] - here[j] and ahead[i] - ahead[j].
        change = cost[np.ix_(here, here)] + cost[np.ix_(ahead, ahead)] - step[:, None] - step
        change[np.tril_indices(n)] = 0.0
        i, j = divmod(int(np.argmin(change)), n)
        if change[i, j] > -GAIN:
            break
        tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
    return tuple(tour)


def tours_along_routes(
    members: npt.NDArray[np.int64],
    n_server: int,
    route_ptr: npt.NDArray[np.int32],
    route: npt.NDArray[np.int32],
    bandwidth: Floats,
) -> tuple[Cycle, ...]:
    """Round trips over servers that are not all linked, each both ways; more than one if that spreads the load.

    The first has few hops.  Further ones shun the links of those before, and are kept while a byte that is divided over
    all of them takes less time on the busiest link.

    Parameters
    ----------
    members : int64 (n_member,)
        2 servers or more.
    n_server : int
    route_ptr, route
        Of `flexnet.network.network.Network`.
    bandwidth : float64 (n_link,)
        Bytes/s; all the same if only relative loads matter.

    Returns
    -------
    tuple of tuple of int
        Directed cycles.
    """
    pair = members[:, None] * n_server + members
    load = np.zeros(len(bandwidth))  # seconds that one byte on every edge of all tours takes
    found: list[Cycle] = []
    least = np.inf
    for _ in range(MOST_TOURS):
        per_link = 1.0 + CROWDED * load / load.max(initial=1e-300)
        until = np.concatenate([[0.0], np.cumsum(per_link[route])])
        cost = until[route_ptr[pair + 1]] - until[route_ptr[pair]]
        order = members[list(short_tour(cost + cost.T))]
        ways = [order] if len(order) == 2 else [order, np.concatenate([order[:1], order[:0:-1]])]
        for way in ways:
            for edge in (way * n_server + np.roll(way, -1)).tolist():
                links = route[route_ptr[edge] : route_ptr[edge + 1]]
                load[links] += 1.0 / bandwidth[links]
        seconds = float(load.max(initial=0.0)) / (len(found) + len(ways))
        if seconds > least * (1 - GAIN):
            break
        least = seconds
        found += [tuple(way.tolist()) for way in ways]
    return tuple(found)
