"""Small changes of links and cycles; every one gives links in which no server has more, or None where it cannot.

Links and cycles go in and come out together: a cycle is taken up and laid with its links, both ways of it, where it
runs along links; a change may take links from other cycles, of the same group or of others, which then follow routes.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.cubic import has_half, links_along, ring_and_half, third_matching, whole_and_half, with_whole
from flexnet.network.demand import Demand
from flexnet.network.packing import both_ways, over, pack_cycles
from flexnet.network.topology import by_members
from flexnet.network.wiring.links import (
    add_pair_links,
    are_connected,
    join_components,
    lay,
    lay_pairs,
    links_of_cycles,
)
from flexnet.network.wiring.orders import regular_orders, serving_order
from flexnet.network.wiring.shares import sent_by_group

__all__ = ["Wiring", "half_ring", "more_rings", "other_order", "other_packing", "swap_links", "turn_ring", "undirected"]

Cycle = tuple[int, ...]


class Wiring(NamedTuple):
    """Links int64 (n_server, n_server), and directed cycles."""

    links: npt.NDArray[np.int64]
    cycles: tuple[Cycle, ...]


def undirected(cycles: Sequence[Cycle]) -> list[Cycle]:
    """Every cycle once, of those that are there both ways; the others as they are.

    >>> undirected([(0, 1, 2), (2, 1, 0), (0, 1, 2), (3, 4)])
    [(0, 1, 2), (0, 1, 2), (3, 4)]
    """
    left: dict[Cycle, int] = {}
    found = []
    for cycle in cycles:
        back = _normal(cycle[::-1])
        if len(cycle) > 2 and left.get(back):
            left[back] -= 1
            continue
        found.append(cycle)
        left[_normal(cycle)] = left.get(_normal(cycle), 0) + 1
    return found


def swap_links(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """Two links a - b and c - d become a - c and b - d; cycles over them follow routes if no parallel link is left.

    Links that no cycle uses are preferred where there are two.
    """
    links = wiring.links
    spare = np.triu(links - links_of_cycles(wiring.cycles, links))
    pool = spare if np.count_nonzero(spare) > 1 else np.triu(links)
    ends = np.argwhere(pool > 0)
    if len(ends) < 2:
        return None
    (a, b), (c, d) = (ends[i].tolist() for i in rng.choice(len(ends), 2, replace=False))
    if rng.random() < 0.5:
        c, d = d, c
    if len({a, b, c, d}) < 4:
        return None
    changed = links.copy()
    for one, other, change in ((a, b, -1), (c, d, -1), (a, c, 1), (b, d, 1)):
        changed[one, other] += change
        changed[other, one] += change
    return _if_connected(changed, wiring.cycles)


def turn_ring(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """A part of a ring is walked the other way round: two of its links change, and it still runs along links."""
    rings = _laid_rings(wiring, 5)
    if not rings:
        return None
    ring = rings[int(rng.integers(len(rings)))]
    size = len(ring)
    i, length = int(rng.integers(size)), int(rng.integers(2, size - 1))
    moved = [*ring[i:], *ring[:i]]
    turned = tuple(moved[:length][::-1] + moved[length:])
    return _replaced(wiring, ring, [turned])


def other_order(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """A ring visits its servers in another order: by another jump over them, or one that serves pair traffic."""
    rings = _laid_rings(wiring, 5)
    if not rings:
        return None
    ring = rings[int(rng.integers(len(rings)))]
    group = sorted(ring)
    if rng.random() < 0.5:
        orders = regular_orders(group, max(len(group) // 2, 1))
        order = orders[int(rng.integers(len(orders)))]
    else:
        without = wiring.links.copy()
        lay(without, ring, -1)
        both = demand.model_parallel + demand.model_parallel.T
        order = serving_order(group, without, both, rng)
    return _replaced(wiring, ring, [order])


def more_rings(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """A ring's interfaces go to pairs, or those of some pairs to a ring more, of a group that reduces much."""
    both = demand.model_parallel + demand.model_parallel.T
    rings = _laid_rings(wiring, 3)
    if rings and rng.random() < 0.5:
        ring = rings[int(rng.integers(len(rings)))]
        taken = _replaced(wiring, ring, [], connected=False)
        if taken is None:
            return None
        free = np.zeros(len(both), np.int64)
        free[list(ring)] = 2
        return _filled(taken, free, both)
    group = _drawn_group(demand, rng)
    spared = None if group is None else _spared(wiring, group, 2, both, rng)
    if group is None or spared is None:
        return None
    links, free = spared
    others = tuple(cycle for cycle in wiring.cycles if _runs_along(cycle, wiring.links) or sorted(cycle) != list(group))
    order = serving_order(group, links, both, rng)
    lay(links, order)
    free[list(group)] -= 2
    times = 2 if has_half(undirected([cycle for cycle in others if sorted(cycle) == list(group)])) else 1
    return _filled(Wiring(links, others + both_ways([order] * times)), free, both)


def half_ring(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """A group's rings get one interface more of its servers, from pairs, or give it back (`flexnet.network.cubic`)."""
    group, both = _drawn_group(demand, rng), demand.model_parallel + demand.model_parallel.T
    if group is None:
        return None
    own = undirected([cycle for cycle in wiring.cycles if tuple(sorted(cycle)) == group])
    others = tuple(cycle for cycle in wiring.cycles if tuple(sorted(cycle)) != group)
    if not all(_runs_along(ring, wiring.links) for ring in own):
        return None
    if has_half(own):
        whole, halves = whole_and_half(own)
        ring = halves[int(rng.integers(3))]
        links, free = wiring.links.copy(), np.zeros(len(both), np.int64)
        given = {link for half in halves for link in links_along(half)} - {*links_along(ring)}
        lay_pairs(links, [(min(link), max(link)) for link in given], -1)
        free[list(group)] = 1
        return _filled(Wiring(links, others + both_ways([*whole, ring])), free, both)
    pairs = third_matching(own[-1], Random(int(rng.integers(2**32)))) if own else None
    spared = None if pairs is None else _spared(wiring, group, 1, both, rng)
    if pairs is None or spared is None:
        return None
    links, free = spared
    lay_pairs(links, pairs)
    free[list(group)] -= 1
    return _filled(Wiring(links, others + both_ways(with_whole(own[:-1], ring_and_half(own[-1], pairs)))), free, both)


def other_packing(wiring: Wiring, demand: Demand, rng: np.random.Generator) -> Wiring | None:
    """A group that reduces much gets other cycles, over whatever links its members have among themselves."""
    group = _drawn_group(demand, rng)
    if group is None:
        return None
    packed = pack_cycles(wiring.links[np.ix_(group, group)], Random(int(rng.integers(2**32))))
    if not packed:
        return None
    own = over(group, packed)
    before = [cycle for cycle in wiring.cycles if tuple(sorted(cycle)) == group]
    if sorted(map(_normal, own)) == sorted(map(_normal, before)):
        return None
    others = tuple(cycle for cycle in wiring.cycles if tuple(sorted(cycle)) != group)
    return Wiring(wiring.links, others + own)


def _spared(
    wiring: Wiring, group: Cycle, n_interface: int, both: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Links without some, and interfaces that are free then: so many at least of every member of a group.

    What its own cycles run over stays.  Of the others, those go first that no group has cycles over and that carry
    least.  None if there are too few.
    """
    links, free = wiring.links.copy(), np.zeros(len(both), np.int64)
    along = [cycle for cycle in wiring.cycles if _runs_along(cycle, links)]
    spare = links - links_of_cycles([cycle for cycle in along if tuple(sorted(cycle)) == group], links)
    most = max(float(both.max()), 1.0)
    worth = both / np.maximum(links, 1) + most * (_groups_over(along, links) + 1e-9 * rng.random(both.shape))
    for server in group:
        while free[server] < n_interface:
            partners = np.flatnonzero(spare[server] > 0)
            if not len(partners):
                return None
            other = int(partners[np.argmin(worth[server, partners])])
            for matrix in (links, spare):
                matrix[server, other] -= 1
                matrix[other, server] -= 1
            free[[server, other]] += 1
    return links, free


def _groups_over(cycles: Sequence[Cycle], links: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many groups have cycles over the links between two servers, int64 (n_server, n_server)."""
    found = np.zeros_like(links)
    for own in by_members(cycles).values():
        found += links_of_cycles(own, links) > 0
    return found


def _drawn_group(demand: Demand, rng: np.random.Generator) -> Cycle | None:
    """One of the groups of more than two servers; the more its members send, the likelier."""
    sent = {group: volume for group, volume in sent_by_group(demand).items() if len(group) > 2}
    if not sent:
        return None
    volumes = np.array(list(sent.values()))
    return list(sent)[int(rng.choice(len(volumes), p=volumes / volumes.sum()))]


def _normal(cycle: Cycle) -> Cycle:
    """The cycle from its least server on."""
    at = cycle.index(min(cycle))
    return (*cycle[at:], *cycle[:at])


def _laid_rings(wiring: Wiring, least: int) -> list[Cycle]:
    """Rings of so many servers or more that run along links of their own, each once."""
    return [
        ring
        for own in map(undirected, by_members(wiring.cycles).values())
        if not has_half(own)
        for ring in own
        if len(ring) >= least and _runs_along(ring, wiring.links)
    ]


def _runs_along(cycle: Cycle, links: npt.NDArray[np.int64]) -> bool:
    """Whether there is a link from each server of a cycle to the next."""
    return bool(links[list(cycle), [*cycle[1:], cycle[0]]].all())


def _replaced(wiring: Wiring, ring: Cycle, by: list[Cycle], *, connected: bool = True) -> Wiring | None:
    """With other rings, and their links, in place of one and its links; None if servers are then not connected."""
    links = wiring.links.copy()
    lay(links, ring, -1)
    if links.min() < 0:  # a ring over one link twice
        return None
    for order in by:
        lay(links, order)
    gone = [_normal(ring), _normal(ring[::-1])]
    cycles = []
    for cycle in wiring.cycles:
        if _normal(cycle) in gone:
            gone.remove(_normal(cycle))
        else:
            cycles.append(cycle)
    both = (*cycles, *both_ways(by))
    return _if_connected(links, both) if connected else Wiring(links, both)


def _filled(wiring: Wiring, free: npt.NDArray[np.int64], both: npt.NDArray[np.float64]) -> Wiring | None:
    """With links between servers that have interfaces left; None if that does not connect all."""
    links, free = wiring.links.copy(), free.copy()
    if free.min() < 0 or not join_components(links, free, both):
        return None
    add_pair_links(links, free, both)
    return Wiring(links, wiring.cycles)


def _if_connected(links: npt.NDArray[np.int64], cycles: tuple[Cycle, ...]) -> Wiring | None:
    return Wiring(links, cycles) if are_connected(links) else None
