"""Link matrices: cycles laid and taken up, links for pairs, and whether all servers are connected."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.network.matching import match

__all__ = ["add_pair_links", "components", "join_components", "lay", "links_of_cycles"]

Links = npt.NDArray[np.int64]


def lay(links: Links, cycle: Sequence[int], change: int = 1) -> None:
    """Add a link, or with -1 take one away, between every two servers that follow each other on a cycle."""
    ahead = [*cycle[1:], cycle[0]]
    for a, b in zip(cycle, ahead, strict=True):
        links[a, b] += change
        links[b, a] += change


def links_of_cycles(cycles: Sequence[Sequence[int]], links: Links) -> Links:
    """Of every pair, how many of its links cycles use: as many as run over it one way, if there are so many links."""
    there = np.zeros_like(links)
    for cycle in cycles:
        np.add.at(there, (list(cycle), [*cycle[1:], cycle[0]]), 1)
    return np.minimum(np.maximum(there, there.T), links)


def components(links: Links) -> list[npt.NDArray[np.int64]]:
    """Servers that links connect, component by component."""
    near = links > 0
    left = np.ones(len(links), np.bool_)
    found = []
    while left.any():
        reached = np.zeros(len(links), np.bool_)
        frontier = np.flatnonzero(left)[:1]
        while len(frontier):
            reached[frontier] = True
            frontier = np.flatnonzero(near[frontier].any(axis=0) & ~reached)
        found.append(np.flatnonzero(reached))
        left &= ~reached
    return found


def join_components(links: Links, free: npt.NDArray[np.int64], demand: npt.NDArray[np.float64]) -> bool:
    """Connect all servers by links between those that have interfaces left, where most bytes go; whether that worked.

    Parameters
    ----------
    links, free : int64 (n_server, n_server), (n_server,)
        Changed.
    demand : float64 (n_server, n_server)
        Symmetric bytes.
    """
    parts = components(links)
    rooms = [int(free[part].sum()) for part in parts]
    while len(parts) > 1:
        least, most = min(rooms), max(rooms)
        # The part with most interfaces is joined with the one with fewest, so that what is joined can be joined again.
        if least <= 0:
            return False
        first, last = rooms.index(least), len(rooms) - 1 - rooms[::-1].index(most)
        one, other = parts[first], parts[last]
        a_open, b_open = one[free[one] > 0], other[free[other] > 0]
        # Servers with most interfaces left first: the last one of a server may be needed by another part.
        wanted = demand[np.ix_(a_open, b_open)]
        room = free[a_open][:, None] + free[b_open]
        best = int(np.where(wanted == wanted.max(), room, -1).argmax())
        a, b = int(a_open[best // len(b_open)]), int(b_open[best % len(b_open)])
        links[a, b] += 1
        links[b, a] += 1
        free[[a, b]] -= 1
        for i in sorted((first, last), reverse=True):
            del parts[i], rooms[i]
        parts.append(np.concatenate([one, other]))
        rooms.append(least + most - 2)
    return True


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
