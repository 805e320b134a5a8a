"""Cycles through all nodes of a graph, by extending and rotating paths (`flexnet.network.kernels.cycles`)."""

from random import Random

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.cycles import closed_path

__all__ = ["MOST_STEPS", "REVERSED", "cycle_along", "from_least", "hamiltonian_cycle", "neighbors_of"]

Links = npt.NDArray[np.int64]

REVERSED = 8
"""Of so many steps that do not extend the path, about one turns it round: of 1024 nodes, faster than every second."""

MOST_STEPS = 60
"""Extensions and rotations a node that are tried before a path is given up; those that close take a tenth of it."""


def hamiltonian_cycle(links: Links, random: Random) -> tuple[int, ...] | None:
    """A cycle that visits every node once, or None if none was found; which one is left to chance.

    Parameters
    ----------
    links : int64 (n_node, n_node)
        Symmetric; nodes are linked where it is above 0.  3 nodes or more.
    random : random.Random

    Examples
    --------
    >>> square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    >>> hamiltonian_cycle(square, Random(0))
    (0, 1, 2, 3)
    >>> hamiltonian_cycle(square[:3, :3], Random(0)) is None
    True
    """
    return cycle_along(neighbors_of(links), random)


def cycle_along(neighbors: tuple[Links, Links], random: Random) -> tuple[int, ...] | None:
    """As `hamiltonian_cycle`, by what `neighbors_of` tells."""
    ptr, neighbor = neighbors
    degree = np.diff(ptr)
    n = len(degree)
    if n < 3 or degree.min() < 2:
        return None
    if degree.max() == 2:
        return _only_cycle(neighbor.reshape(n, 2).tolist())
    path = closed_path(ptr, neighbor, MOST_STEPS * n, REVERSED, random.randrange(1, 2**32))
    return from_least(path.tolist()) if len(path) else None


def neighbors_of(links: Links) -> tuple[Links, Links]:
    """Neighbours of every node in CSR, as kernels of cycles take them: int64 (n_node + 1,), (n_pair,)."""
    nodes, neighbor = np.nonzero(links)
    return np.searchsorted(nodes, np.arange(len(links) + 1)), neighbor


def _only_cycle(neighbors: list[list[int]]) -> tuple[int, ...] | None:
    """The cycle of a graph whose nodes have two neighbours each, if it is a single one."""
    path, before, node = [0], 0, neighbors[0][0]
    while node:
        path.append(node)
        one, other = neighbors[node]
        before, node = node, other if one == before else one
    return from_least(path) if len(path) == len(neighbors) else None


def from_least(path: list[int]) -> tuple[int, ...]:
    """The cycle from node 0 on, towards the lesser of its neighbours."""
    at = path.index(0)
    cycle = (*path[at:], *path[:at])
    return cycle if cycle[1] < cycle[-1] else (cycle[0], *cycle[:0:-1])
