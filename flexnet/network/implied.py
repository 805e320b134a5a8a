"""Routes that are not held but follow from the links: on large networks pairs of servers get one when they need it.

A network of `MOST_ROUTED` servers or less holds a route for every ordered pair.  They are N^2, of which most send
nothing: on 4,096 servers linked directly 16.8 million, gigabytes.  So larger networks hold those that were asked for.
The route of a pair follows from the links and its number alone, whatever others were asked for before: a shortest path,
every next hop drawn uniformly from those that lead nearer.  On circulant graphs, which TopoOpt's rings make, all routes
are those of server 0 begun elsewhere, so that all links of a jump carry alike, as with coin change.
"""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.distances import all_hops
from flexnet.network.kernels import some_routes as kernels
from flexnet.network.kernels.held_routes import replaced
from flexnet.network.kernels.hops import hops_to

__all__ = ["MOST_ROUTED", "are_implied", "no_routes", "with_pairs"]

Ints32 = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

MOST_ROUTED = 1000
"""Servers of a network that holds all its routes; of one with switches, whose routes are short, any number."""

MOST_HOPS = 2**31 - 1


def are_implied(n_server: int, n_switch: int) -> bool:
    """Whether a network holds only routes that are needed."""
    return n_server > MOST_ROUTED and not n_switch


def no_routes(n_server: int) -> tuple[Ints32, Ints32]:
    """``(route_ptr, route)`` of no pair."""
    return np.zeros(n_server**2 + 1, np.int32), np.zeros(0, np.int32)


def with_pairs(
    n_server: int, link_from: Ints32, link_to: Ints32, routes: tuple[Ints32, Ints32], pairs: Ints
) -> tuple[Ints32, Ints32]:
    """Routes with those of some pairs.

    Parameters
    ----------
    n_server : int
    link_from, link_to : int32 (n_link,)
        Directed links between servers in ascending (from, to).
    routes : (route_ptr, route)
    pairs : int64 (n_some,)
        Ordered pairs ``source * n_server + target``; those that have a route keep it.

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32

    Raises
    ------
    FlexNetError
        If the links of all routes are too many to be counted.
    """
    route_ptr, route = routes
    missing = pairs[route_ptr[pairs + 1] == route_ptr[pairs]]
    missing = missing[missing % (n_server + 1) != 0]  # of two servers
    if not len(missing):
        return routes
    if (missing[1:] <= missing[:-1]).any():  # of a million, `np.unique` takes half a second, and this a hundredth
        asked = np.zeros(n_server**2, np.bool_)
        asked[missing] = True
        missing = np.flatnonzero(asked)
    ptr = np.searchsorted(link_from, np.arange(n_server + 1)).astype(np.int32)
    linked = link_from.astype(np.int64) * n_server + link_to
    link = np.minimum(np.searchsorted(linked, missing[: len(linked)]), len(linked) - 1)
    if len(link) == len(missing) and (linked[link] == missing).all():  # as the edges of cycles are
        found = np.arange(len(link)), np.ones(len(link), np.int64), link.astype(np.int32)
    elif _is_circulant(n_server, link_from, link_to):
        path_ptr, path = kernels.of_differences(ptr, link_to)
        found = kernels.translate(ptr, link_to, path_ptr, path, missing)
    else:
        found = _of_pairs(ptr, link_to, missing)
    begin, count, some = found
    total = len(route) + int(count.sum())
    if total > MOST_HOPS:
        raise FlexNetError(f"routes of {n_server} servers run over {total} links; at most {MOST_HOPS} can be held")
    merged: tuple[Ints32, Ints32] = replaced(route_ptr, route, missing, begin, count, some)
    return merged


def _of_pairs(ptr: Ints32, link_to: Ints32, pairs: Ints) -> tuple[Ints, Ints, Ints32]:
    """Shortest routes of ordered pairs, as ``begin``, ``count``, ``route``."""
    n_server = len(ptr) - 1
    target = pairs - pairs // n_server * n_server  # NumPy takes remainders one by one
    asked = np.zeros(n_server, np.bool_)
    asked[target] = True
    most = 2 * np.count_nonzero(asked) > n_server
    hops = all_hops(ptr, link_to) if most else hops_to(ptr, link_to, np.flatnonzero(asked))
    target_of = np.arange(n_server) if most else np.cumsum(asked) - 1
    short = target.astype(np.min_scalar_type(n_server))  # numbers of 16 bits are sorted in a tenth of the time
    order = np.argsort(short, kind="stable")
    found: tuple[Ints, Ints, Ints32] = kernels.of_pairs(ptr, link_to, pairs, order, target_of, hops)
    return found


def _is_circulant(n_server: int, link_from: Ints32, link_to: Ints32) -> bool:
    """Whether all servers have links by the same jumps."""
    degree, rest = divmod(len(link_to), n_server)
    if rest or not degree or (np.bincount(link_from, minlength=n_server) != degree).any():
        return False
    jumps = np.sort(((link_to - link_from) % n_server).reshape(n_server, degree), axis=1)
    return bool((jumps == jumps[0]).all())
