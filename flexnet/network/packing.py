"""Edge-disjoint cycles through all servers of a network: what all-reduces over all of them fill its links with.

Almost every 4-regular graph decomposes into two such cycles (J. H. Kim and N. C. Wormald, J. Combin. Theory B 81 (2001)
20-44).  One is drawn, and is kept if what it leaves has another; of random graphs of 16 servers every second one does,
of 128 servers every fifth, and of thousands one in dozens, which come from one another by rotations.
"""

from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt

from flexnet.network.cubic import has_half, ring_and_half, with_whole
from flexnet.network.hamiltonian import MOST_STEPS, REVERSED, cycle_along, from_least, hamiltonian_cycle, neighbors_of
from flexnet.network.kernels.cycles import FAILED, MANY, cycle_with_third, two_cycles

__all__ = ["ROUNDS", "both_ways", "interfaces_of", "over", "pack_cycles", "walecki"]

Cycle = tuple[int, ...]
Links = npt.NDArray[np.int64]

TRIES = 60
"""Cycles that are drawn before it is given up that what they leave has others."""

HALF_TRIES = 100
"""Cycles that are drawn to see whether what they leave is a third matching, as it is of one in ten of 16 servers."""

ROUNDS = 3
"""Whole packings that are tried."""


def pack_cycles(links: Links, random: Random, *, rounds: int = ROUNDS, halves: bool = True) -> tuple[Cycle, ...]:
    """Cycles through all servers, no two over the same link; at most half as many as the least degree.

    Where every server has three links, or another odd number, as many cycles with every link in two of them, if some
    were found (`flexnet.network.cubic`).

    Parameters
    ----------
    links : int64 (n_server, n_server)
        Symmetric count of parallel links, each of which one cycle may take.
    random : random.Random
    rounds : int
        Whole packings that are tried, of which most find what there is.
    halves : bool
        Whether to look for rings and a half where every server has an odd number of links.

    Returns
    -------
    tuple of tuple of int
        Undirected, each from server 0 on; see `both_ways`.  As many as were found, none for fewer than 3 servers but
        the one of a linked pair.

    Examples
    --------
    >>> pack_cycles(1 - np.eye(5, dtype=np.int64), Random(0))
    ((0, 1, 3, 2, 4), (0, 2, 1, 4, 3))
    """
    n = len(links)
    if n < 3:
        return ((0, 1),) if n == 2 and links[0, 1] else ()
    off = links[~np.eye(n, dtype=np.bool_)]
    if (off == off[0]).all():
        return walecki(n) * int(off[0])
    degree = links.sum(axis=1)
    wanted = int(degree.min()) // 2
    best: tuple[Cycle, ...] = ()
    if halves and n % 2 == 0 and degree.min() == degree.max() == 2 * wanted + 1:
        for _ in range(rounds if wanted > 1 else 1):
            if found := _rings_and_half(links, wanted - 1, random):
                return found
    for _ in range(rounds):
        found = _pack(links.copy(), wanted, random)
        best = max(best, found, key=len)
        if len(best) == wanted:
            break
    return best


def interfaces_of(cycles: Sequence[Cycle]) -> int:
    """How many links of every server directed cycles take, that are there both ways one after the other.

    >>> interfaces_of(both_ways([(0, 1, 2, 3)])), interfaces_of(both_ways([(0, 1, 2, 3), (0, 1, 3, 2), (3, 0, 2, 1)]))
    (2, 3)
    """
    return len(cycles) // 2 if has_half(cycles[::2]) else len(cycles) // 2 * 2


def both_ways(cycles: Sequence[Cycle]) -> tuple[Cycle, ...]:
    """Every cycle, and then the same one the other way round; that of two servers is its own reverse.

    >>> both_ways([(0, 2, 1), (0, 1)])
    ((0, 2, 1), (0, 1, 2), (0, 1))
    """
    return tuple(
        way for cycle in cycles for way in ((cycle,) if len(cycle) < 3 else (cycle, (cycle[0], *cycle[:0:-1])))
    )


def over(members: Sequence[int], cycles: Sequence[Cycle]) -> tuple[Cycle, ...]:
    """Cycles both ways, with members in place of their places.

    >>> over((3, 5, 8), [(0, 2, 1)])
    ((3, 8, 5), (3, 5, 8))
    """
    return tuple(tuple(members[place] for place in cycle) for cycle in both_ways(cycles))


def walecki(n: int) -> tuple[Cycle, ...]:
    """Edge-disjoint cycles through all of ``n`` nodes of a complete graph: (n - 1) // 2, which is all there can be.

    Walecki's construction (E. Lucas, Recreations mathematiques II (1892)): a zigzag over the others, turned by one
    place for every cycle, through one node that stays.  For an even number of nodes a matching is left over.

    >>> walecki(4), len(walecki(7)), len(walecki(128))
    (((0, 1, 2, 3),), 3, 63)
    """
    if n < 3:
        return ()
    hub, turns = n - 1, (n - 1) // 2
    cycles = []
    for turn in range(turns):
        zigzag = [(turn + (i + 1) // 2 * (1 if i % 2 else -1)) % hub for i in range(hub)]
        at = zigzag.index(0)
        cycle = (*zigzag[at:], hub, *zigzag[:at])
        cycles.append(cycle if cycle[1] < cycle[-1] else (0, *cycle[:0:-1]))
    return tuple(cycles)


def _pack(links: Links, wanted: int, random: Random) -> tuple[Cycle, ...]:
    """So many cycles, or fewer; ``links`` are used up.

    All but the last two are taken as they come.
    """
    found: list[Cycle] = []
    while wanted - len(found) > 2:
        cycle = hamiltonian_cycle(links, random)
        if cycle is None:
            return tuple(found)
        found.append(cycle)
        _take(links, cycle, -1)
    if wanted - len(found) == 2:
        return (*found, *_last_two(links, random))
    if wanted == len(found):
        return tuple(found)
    neighbors = neighbors_of(links)
    for _ in range(TRIES if len(links) <= MANY else FAILED):
        cycle = cycle_along(neighbors, random)
        if cycle is not None:
            return (*found, cycle)
    return tuple(found)


def _rings_and_half(links: Links, n_whole: int, random: Random) -> tuple[Cycle, ...]:
    """So many whole cycles and a ring and a half, of links that are three a server more; none if none were found."""
    left, whole = links.copy(), list[Cycle]()
    for _ in range(n_whole):
        cycle = hamiltonian_cycle(left, random)
        if cycle is None:
            return ()
        whole.append(cycle)
        _take(left, cycle, -1)
    if (left > 0).sum(axis=1).min() < 3:
        return ()
    halves = _ring_and_half(left, random)
    return with_whole(whole, halves) if halves else ()


def _ring_and_half(links: Links, random: Random) -> tuple[Cycle, ...]:
    """Three cycles with every link in two of them, of links to three others a server; none if none were found."""
    ptr, neighbor = neighbors_of(links)
    seed = random.randrange(1, 2**32)
    ring = cycle_with_third(ptr, neighbor, MOST_STEPS * len(links), REVERSED, seed, HALF_TRIES).tolist()
    if not ring:
        return ()
    left = links.copy()
    _take(left, ring, -1)
    pairs = [(a, b) for a, b in np.argwhere(np.triu(left)).tolist()]
    return tuple(from_least(list(cycle)) for cycle in ring_and_half(ring, pairs))


def _last_two(links: Links, random: Random) -> list[Cycle]:
    """Two cycles that share no link, or one, or none.

    Where every server has four links, what the first one leaves is seen at a glance (`flexnet.network.kernels.cycles`).
    """
    degree, neighbors = links.sum(axis=1), neighbors_of(links)
    if degree.min() == degree.max() == 4:
        ptr, neighbor = neighbors
        ends = np.repeat(neighbor, links[links > 0]).reshape(-1, 4)
        pair = two_cycles(ptr, neighbor, ends, MOST_STEPS * len(links), REVERSED, random.randrange(1, 2**32), TRIES)
        return [from_least(cycle.tolist()) for cycle in pair]
    single: list[Cycle] = []
    for _ in range(TRIES):
        cycle = cycle_along(neighbors, random)
        if cycle is None:
            continue
        single = [cycle]
        _take(links, cycle, -1)
        other = hamiltonian_cycle(links, random)
        _take(links, cycle, 1)
        if other is not None:
            return [cycle, other]
    return single


def _take(links: Links, cycle: Cycle, change: int) -> None:
    here, ahead = np.array(cycle), np.array((*cycle[1:], cycle[0]))
    links[here, ahead] += change
    links[ahead, here] += change
