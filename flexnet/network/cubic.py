"""Rings and a half: what all-reduces fill an odd number of links of every server with, where a ring uses two.

Three perfect matchings, of which any two make one cycle through all servers, are three rings with every link in two of
them (a perfect 1-factorization of a cubic graph, A. Kotzig, Theory of Graphs and its Applications (1964) 63-82).  Used
both ways, each ring carries a sixth of the bytes each way, so that every link carries a third of them each way: half as
much again goes through in a time as over one ring.  Where servers have five links, or seven, whole rings over the
others are told twice beside these three, so that every link is in two rings again, and each carries as much.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random

__all__ = ["HALF", "has_half", "links_along", "ring_and_half", "third_matching", "whole_and_half", "with_whole"]

Cycle = tuple[int, ...]
Pair = tuple[int, int]

HALF = 0.5
"""Of a ring: one interface of every member."""

TRIES = 400
"""Matchings that are drawn; of 128 servers one in ten will do, of 1024 one in twenty-five."""


def third_matching(ring: Sequence[int], random: Random) -> list[Pair] | None:
    """Pairs of all servers of a ring that make a cycle with its every second link, and another one with the others.

    Parameters
    ----------
    ring : sequence of int
    random : random.Random

    Returns
    -------
    list of (int, int) or None
        None for an odd number of servers, or two of them, or if none was found.

    Examples
    --------
    >>> third_matching((0, 1, 2, 3), Random(0))
    [(1, 3), (2, 0)]
    """
    n = len(ring)
    if n < 4 or n % 2:
        return None
    links, behind = _halves(ring)
    for _ in range(TRIES):
        random.shuffle(links)  # links of the ring one after the other, each from either end
        ends = [(b, a) if random.random() < 0.5 else (a, b) for a, b in links]
        pairs = [(ends[i - 1][1], ends[i][0]) for i in range(1, len(ends))] + [(ends[-1][1], ends[0][0])]
        if len(_joined(behind, pairs)) == n:
            return pairs
    return None


def ring_and_half(ring: Sequence[int], pairs: Sequence[Pair]) -> tuple[Cycle, Cycle, Cycle]:
    """The ring, and the two that its every second link and the others make with pairs of `third_matching`.

    >>> ring_and_half((0, 1, 2, 3), [(1, 3), (2, 0)])
    ((0, 1, 2, 3), (0, 1, 3, 2), (1, 2, 0, 3))
    """
    links, behind = _halves(ring)
    return tuple(ring), _joined(links, pairs), _joined(behind, pairs)


def with_whole(whole: Sequence[Cycle], halves: Sequence[Cycle]) -> tuple[Cycle, ...]:
    """Rings and a half: whole ones, each twice, and the three of `ring_and_half`; what shares links is not in a row.

    >>> with_whole([(0, 2, 1, 3)], ring_and_half((0, 1, 2, 3), [(1, 3), (2, 0)]))
    ((0, 2, 1, 3), (0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (1, 2, 0, 3))
    """
    return (*whole, *halves[:2], *whole, *halves[2:])


def has_half(cycles: Sequence[Cycle]) -> bool:
    """Whether undirected cycles over the same servers are rings and a half: an odd number, with every link in two.

    >>> has_half(ring_and_half((0, 1, 2, 3), [(1, 3), (2, 0)])), has_half([(0, 1, 2, 3)] * 3)
    (True, False)
    """
    if len(cycles) < 3 or len(cycles) % 2 == 0:
        return False
    times = Counter(link for cycle in cycles for link in links_along(cycle))
    return all(count % 2 == 0 for count in times.values())


def whole_and_half(cycles: Sequence[Cycle]) -> tuple[list[Cycle], list[Cycle]]:
    """Of rings and a half the whole ones, each once, and the three that share links.

    >>> halves = ring_and_half((0, 1, 2, 3, 4, 5), [(0, 3), (2, 5), (4, 1)])
    >>> whole_and_half(with_whole([(0, 2, 4, 1, 5, 3)], halves))
    ([(0, 2, 4, 1, 5, 3)], [(0, 1, 2, 3, 4, 5), (0, 1, 4, 5, 2, 3), (1, 2, 5, 0, 3, 4)])
    """
    times: dict[frozenset[frozenset[int]], list[Cycle]] = {}
    for cycle in cycles:
        times.setdefault(frozenset(links_along(cycle)), []).append(cycle)
    whole = [cycle for same in times.values() for cycle in same[: len(same) // 2]]
    return whole, [same[0] for same in times.values() if len(same) % 2]


def links_along(cycle: Cycle) -> list[frozenset[int]]:
    """Pairs of servers that follow each other along a cycle."""
    return [frozenset(link) for link in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]


def _halves(ring: Sequence[int]) -> tuple[list[Pair], list[Pair]]:
    """Every second link of a ring, from its first server on, and the others."""
    links = list(zip(ring, (*ring[1:], ring[0]), strict=True))
    return links[::2], links[1::2]


def _joined(some: Sequence[Pair], others: Sequence[Pair]) -> Cycle:
    """Servers along two matchings in turn, from the first of ``some`` on until they are there again."""
    ahead, across = ({a: b for pair in pairs for a, b in (pair, pair[::-1])} for pairs in (some, others))
    first, second = some[0]
    path = [first, second]
    while (at := across[path[-1]]) != first:
        path += [at, ahead[at]]
    return tuple(path)
