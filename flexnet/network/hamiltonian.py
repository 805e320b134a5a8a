"""Cycles through all nodes of a graph, by extending and rotating paths (L. Posa, Discrete Math. 14 (1976) 359-364)."""

from collections.abc import Sequence
from random import Random

__all__ = ["hamiltonian_cycle"]

REVERSED = 8
"""Of so many steps that do not extend the path, about one turns it round: of 1024 nodes, faster than every second."""

MOST_STEPS = 60
"""Extensions and rotations a node that are tried before a path is given up; those that close take a tenth of it."""


def hamiltonian_cycle(neighbors: Sequence[Sequence[int]], random: Random) -> tuple[int, ...] | None:
    """A cycle that visits every node once, or None if none was found; which one is left to chance.

    Parameters
    ----------
    neighbors : sequence of sequence of int
        Of every node ``0..n-1``, the nodes it is linked to; symmetric.  3 nodes or more.
    random : random.Random

    Examples
    --------
    >>> hamiltonian_cycle([[1, 3], [0, 2], [1, 3], [0, 2]], Random(0))
    (0, 1, 2, 3)
    >>> hamiltonian_cycle([[1], [0, 2], [1]], Random(0)) is None
    True
    """
    n = len(neighbors)
    if n < 3 or min(map(len, neighbors)) < 2:
        return None
    if max(map(len, neighbors)) == 2:
        return _only_cycle(neighbors)
    path = [random.randrange(n)]
    place = [-1] * n  # of every node on the path
    place[path[0]] = 0
    for step in range(MOST_STEPS * n):
        if len(path) == n and path[0] in neighbors[path[-1]]:
            return _from_least(path)
        end = path[-1]
        new = [node for node in neighbors[end] if place[node] < 0]
        if new:
            node = _tightest(new, neighbors, place, random)
            place[node] = len(path)
            path.append(node)
            continue
        if step % REVERSED == 1:  # the other end may have somewhere to go
            path.reverse()
            first = 0
        else:
            first = place[random.choice(neighbors[end])] + 1
            path[first:] = path[: first - 1 : -1]
        for i in range(first, len(path)):
            place[path[i]] = i
    return None


def _only_cycle(neighbors: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The cycle of a graph whose nodes have two neighbours each, if it is a single one."""
    path, before, node = [0], 0, neighbors[0][0]
    while node:
        path.append(node)
        one, other = neighbors[node]
        before, node = node, other if one == before else one
    return _from_least(path) if len(path) == len(neighbors) else None


def _tightest(new: list[int], neighbors: Sequence[Sequence[int]], place: list[int], random: Random) -> int:
    """Of the nodes that are new to the path, one with the fewest ways on."""
    if len(new) == 1:
        return new[0]
    ways = [sum(place[other] < 0 for other in neighbors[node]) for node in new]
    least = min(ways)
    return random.choice([node for node, n_way in zip(new, ways, strict=True) if n_way == least])


def _from_least(path: list[int]) -> tuple[int, ...]:
    """The cycle from node 0 on, towards the lesser of its neighbours."""
    at = path.index(0)
    cycle = (*path[at:], *path[:at])
    return cycle if cycle[1] < cycle[-1] else (cycle[0], *cycle[:0:-1])
