"""Short round trips over some servers along routes: nearest neighbour, then 2-opt.

G. A. Croes, A method for solving traveling-salesman problems, Operations Research 6 (1958) 791-812.
"""

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.tours import find_tour, find_tours

__all__ = ["MOST_EXCHANGED", "short_tour", "tours_along_routes"]

Floats = npt.NDArray[np.float64]
Cycle = tuple[int, ...]

MOST_TOURS = 8
CROWDED = 4.0
"""Hops that a link counts for which earlier tours load as much as any."""

GAIN = 1e-9
MOST_EXCHANGED = 1000  # nodes: looking for an exchange takes n^2, and a tour as many of these as it has nodes


def short_tour(cost: Floats) -> Cycle:
    """A round trip over all nodes that no exchange of two edges makes shorter; it begins with node 0.

    Of more than `MOST_EXCHANGED` nodes it goes to the nearest node that is left, and is not made shorter.

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
    return tuple(find_tour(cost, GAIN if len(cost) <= MOST_EXCHANGED else np.inf).tolist())


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
    tours = find_tours(members, n_server, route_ptr, route, bandwidth, MOST_TOURS, CROWDED, GAIN)
    return tuple(map(tuple, tours.tolist()))
