"""How many rings every group gets, of the interfaces of its members."""

from collections.abc import Mapping
from itertools import combinations
from math import inf, log

import numpy as np
import numpy.typing as npt

from flexnet.network.cubic import HALF
from flexnet.network.demand import Demand
from flexnet.network.kernels.shares import highest_averages

__all__ = ["Group", "Traffic", "best_shares", "ring_shares", "sent_by_group", "with_halves"]

Group = tuple[int, ...]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_SIZES = 4
"""Group sizes, those with most bytes, of which all combinations are looked at."""


UNEVEN = 1.5
"""Bytes on the busiest link over those on the mean, of what goes along routes."""


def sent_by_group(demand: Demand) -> dict[Group, float]:
    """Bytes that each member of every group sends around its rings: 2 (g - 1) / g of the tensors; largest first.

    Groups that are known by their size alone count as one of all servers.
    """
    groups = demand.groups or {tuple(range(demand.n_server)): sum(demand.allreduce.values())}
    sent = {group: 2 * (len(group) - 1) / len(group) * volume for group, volume in groups.items() if len(group) > 1}
    return dict(sorted(((g, volume) for g, volume in sent.items() if volume > 0), key=lambda item: (-item[1], item[0])))


def ring_shares(sent: Mapping[Group, float], free: Ints) -> dict[Group, int]:
    """Rings of every group, each of which takes two interfaces of every member; most bytes a ring come first.

    The method of highest averages (D'Hondt): a ring more goes to the group with most bytes for each ring it would have,
    of those whose members all have two interfaces left.

    Parameters
    ----------
    sent : mapping of group to float
    free : int64 (n_server,)
        Interfaces for rings.

    >>> ring_shares({(0, 1, 2, 3): 30.0, (0, 1): 14.0}, np.array([6, 6, 4, 4]))
    {(0, 1, 2, 3): 2, (0, 1): 1}
    """
    groups = _Groups(sent)
    return groups.shares(np.ones(len(sent), np.bool_), free)


def best_shares(demand: Demand, degree: int, least: int = 0, *, halves: bool = True) -> dict[Group, float]:
    """Rings of every group so that the busiest server, by `Traffic.busiest`, is done soonest.

    Groups of some sizes get rings, by `ring_shares`, from all interfaces but some that are for pairs; all combinations
    of the heaviest sizes, and all numbers of interfaces for pairs, are tried, with halves of rings and without.

    Parameters
    ----------
    demand : Demand
    degree : int
    least : int
        Interfaces of every server that are not for rings.
    halves : bool
        Whether several rings may have half a one more; a single one may in any case.
    """
    sent = sent_by_group(demand)
    volume: dict[int, float] = {}
    for group, each in sent.items():
        volume[len(group)] = volume.get(len(group), 0.0) + each * len(group)
    sizes = sorted(volume, key=lambda size: (-volume[size], size))[:MOST_SIZES]
    traffic, groups = Traffic(demand, sent, degree), _Groups(sent)
    size_of = [len(group) for group in sent]
    best: tuple[float, dict[Group, float]] | None = None
    tried = set()
    for n_size in range(len(sizes), -1, -1):
        for some in combinations(sizes, n_size):
            open_ = np.array([size in some for size in size_of], np.bool_)
            for pairs in range(least, degree + 1):
                free = np.full(demand.n_server, degree - pairs)
                whole: dict[Group, float] = dict(groups.shares(open_, free))
                for shares in (whole, with_halves(whole, sent, free, most=inf if halves else 1)):
                    if (key := tuple(shares.items())) in tried:
                        continue
                    tried.add(key)
                    load = traffic.busiest(shares)
                    if best is None or load < best[0] * (1 - 1e-9):
                        best = load, shares
                if not whole:
                    break
    assert best is not None
    return best[1]


def with_halves(
    shares: Mapping[Group, float], sent: Mapping[Group, float], free: Ints, most: float = inf
) -> dict[Group, float]:
    """Rings of every group, with half a one more for those of up to ``most`` whose members have an interface left.

    Those with most bytes come first; an odd number of members has no half (`flexnet.network.cubic`).

    >>> with_halves({(0, 1, 2, 3): 1, (2, 3, 4, 5): 1}, {(0, 1, 2, 3): 3.0, (2, 3, 4, 5): 4.0}, np.array([3] * 6))
    {(0, 1, 2, 3): 1, (2, 3, 4, 5): 1}
    >>> with_halves({(0, 1, 2, 3): 1, (2, 3, 4, 5): 1}, {(0, 1, 2, 3): 3.0, (2, 3, 4, 5): 4.0}, np.array([5] * 6))
    {(0, 1, 2, 3): 1, (2, 3, 4, 5): 1.5}
    """
    left, found = free.copy(), dict(shares)
    for group, share in shares.items():
        left[list(group)] -= int(2 * share)
    for group in sorted(shares, key=lambda group: -sent[group]):
        members = list(group)
        if 0 < shares[group] <= most and len(group) > 2 and len(group) % 2 == 0 and left[members].min() > 0:
            found[group] = shares[group] + HALF
            left[members] -= 1
    return found


class _Groups:
    """Groups in CSR, with the bytes that each sends around its rings."""

    def __init__(self, sent: Mapping[Group, float]) -> None:
        self._groups = tuple(sent)
        self._ptr = np.cumsum([0, *map(len, sent)])
        self._member = np.array([server for group in sent for server in group], np.int64)
        self._sent = np.array(list(sent.values()), np.float64)

    def shares(self, some: npt.NDArray[np.bool_], free: Ints) -> dict[Group, int]:
        """`ring_shares` of some of them."""
        found = highest_averages(self._ptr, self._member, self._sent, some.copy(), free.astype(np.int64)).tolist()
        return {group: share for group, share in zip(self._groups, found, strict=True) if share}


class Traffic:
    """What servers send, to tell which of them is done last.

    Parameters
    ----------
    demand : Demand
    sent : mapping of group to float
        Of `sent_by_group`.
    degree : int
        Interfaces of a server.
    """

    def __init__(self, demand: Demand, sent: Mapping[Group, float], degree: int) -> None:
        n = demand.n_server
        pairs = np.maximum(demand.model_parallel, demand.model_parallel.T)
        self._degree = degree
        self._hops = UNEVEN * max(1.0, log(max(n, 2)) / log(max(degree - 1, 2)))
        self._sent = {group: (np.array(group), volume) for group, volume in sent.items()}
        self._total = pairs.sum(axis=1)
        # What every server sends its 0, 1, 2, ... largest partners.
        most = min(degree, n)
        largest = -np.sort(-np.partition(pairs, n - most, axis=1)[:, n - most :], axis=1)
        self._largest = np.concatenate([np.zeros((n, 1)), np.cumsum(largest, axis=1)], axis=1)

    def busiest(self, shares: Mapping[Group, float]) -> float:
        """About how long the busiest server's links carry bytes, in bytes a link, with so many rings of every group.

        A ring's links carry its share of the group's bytes, and links to the partners a server sends most, as many as
        it has interfaces left, those.  What goes elsewhere, of groups without rings and of other pairs, is spread over
        all links, not quite evenly, over as many hops as a random graph of the degree has on the mean.
        """
        n = len(self._total)
        on_rings, elsewhere, left = np.zeros(n), np.zeros(n), np.full(n, self._degree)
        for group, (members, volume) in self._sent.items():
            if share := shares.get(group, 0):
                on_rings[members] = np.maximum(on_rings[members], volume / (2 * share))
                left[members] -= int(2 * share)
            else:
                elsewhere[members] += volume * self._hops
        direct = self._largest[np.arange(n), np.clip(left, 0, self._largest.shape[1] - 1)]
        elsewhere += (self._total - direct) * self._hops
        busiest: Floats = np.maximum(on_rings, direct / np.maximum(left, 1)) + elsewhere / self._degree
        return float(busiest.max(initial=0.0))
