"""A ring and a half: what all-reduces fill three links of every server with, where a ring uses two.

Three perfect matchings, of which any two make one cycle through all servers, are three rings with every link in two of
them (a perfect 1-factorization of a cubic graph, A. Kotzig, Theory of Graphs and its Applications (1964) 63-82).  Used
both ways, each ring carries a sixth of the bytes each way, so that every link carries a third of them each way: half as
much again goes through in a time as over one ring.
"""

from collections.abc import Sequence
from random import Random

__all__ = ["HALF", "is_ring_and_half", "ring_and_half", "third_matching"]

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


def is_ring_and_half(cycles: Sequence[Cycle]) -> bool:
    """Whether undirected cycles over the same servers are three, and every link of them is in two.

    >>> is_ring_and_half(ring_and_half((0, 1, 2, 3), [(1, 3), (2, 0)])), is_ring_and_half([(0, 1, 2, 3)] * 3)
    (True, False)
    """
    if len(cycles) != 3:
        return False
    links = [{frozenset(link) for link in zip(cycle, (*cycle[1:], cycle[0]), strict=True)} for cycle in cycles]
    return links[0] ^ links[1] == links[2]


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
