"""Link matrices: cycles laid and taken up, links for pairs, and whether all servers are connected."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.components import component_of, join
from flexnet.network.matching import match

__all__ = ["add_pair_links", "are_connected", "join_components", "lay", "lay_pairs", "links_of_cycles"]

Links = npt.NDArray[np.int64]


def lay(links: Links, cycle: Sequence[int], change: int = 1) -> None:
    """Add a link, or with -1 take one away, between every two servers that follow each other on a cycle."""
    lay_pairs(links, zip(cycle, (*cycle[1:], cycle[0]), strict=True), change)


def lay_pairs(links: Links, pairs: Iterable[Sequence[int]], change: int = 1) -> None:
    """Add a link, or with -1 take one away, between the two servers of every pair."""
    for a, b in pairs:
        links[a, b] += change
        links[b, a] += change


def links_of_cycles(cycles: Sequence[Sequence[int]], links: Links) -> Links:
    """Of every pair, how many of its links cycles use: as many as run over it one way, if there are so many links."""
    n, used = len(links), np.zeros(links.shape, np.int64)
    if not cycles:
        return used
    edges = np.concatenate([np.array(cycle) * n + np.array([*cycle[1:], cycle[0]]) for cycle in cycles])
    pairs, count = np.unique(edges, return_counts=True)
    a, b = np.divmod(pairs, n)
    count = np.minimum(count, links[a, b])
    np.maximum.at(used, (a, b), count)
    np.maximum.at(used, (b, a), count)
    return used


def are_connected(links: Links) -> bool:
    """Whether links connect all servers."""
    return not component_of(links).any()


def join_components(links: Links, free: npt.NDArray[np.int64], demand: npt.NDArray[np.float64]) -> bool:
    """Connect all servers by links between those that have interfaces left, where most bytes go; whether that worked.

    Parameters
    ----------
    links, free : int64 (n_server, n_server), (n_server,)
        Changed.
    demand : float64 (n_server, n_server)
        Symmetric bytes.
    """
    return bool(join(links, free, demand))


def add_pair_links(links: Links, free: npt.NDArray[np.int64], demand: npt.NDArray[np.float64]) -> None:
    """Use up free interfaces by rounds of matchings; a pair counts with its bytes over one more than its links.

    Parameters
    ----------
    links, free : int64 (n_server, n_server), (n_server,)
        Changed; at most one server keeps free interfaces.
    demand : float64 (n_server, n_server)
        Symmetric bytes.
    """
    while np.count_nonzero(free > 0) > 1:
        open_ = np.flatnonzero(free > 0)
        at = np.ix_(open_, open_)
        for i, j in match(demand[at] / (links[at] + 1)):
            a, b = open_[i], open_[j]
            links[a, b] += 1
            links[b, a] += 1
            free[[a, b]] -= 1
