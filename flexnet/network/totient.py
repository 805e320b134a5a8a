"""TotientPerm: regular rings over evenly strided groups, and which of them to lay (TopoOpt; network.cc:1901)."""

from functools import lru_cache
from math import gcd

import numpy as np
import numpy.typing as npt

from flexnet.model.cutting import divisors

__all__ = ["group_sizes", "ring_links_matrix", "select_jumps", "totient_jumps"]


@lru_cache(maxsize=256)
def group_sizes(n: int) -> tuple[int, ...]:
    """Group sizes that have regular rings: the divisors of ``n`` from 2 on, ascending.

    >>> group_sizes(12)
    (2, 3, 4, 6, 12)
    """
    return tuple(divisors(n, n)[1:])


@lru_cache(maxsize=4096)
def totient_jumps(n_server: int, size: int, *, fold: bool = False) -> tuple[int, ...]:
    """Jumps that lead once around every strided group of ``size`` servers.

    Parameters
    ----------
    n_server : int
    size : int
        Group size, 2 or more; must divide ``n_server``.
    fold : bool
        Only one of each pair of jumps j and ``n_server - j``, which are the same ring walked both ways.

    Returns
    -------
    tuple of int
        Ascending; ``k * n_server / size`` for all k coprime to ``size``.

    >>> totient_jumps(12, 12), totient_jumps(12, 4), totient_jumps(12, 12, fold=True)
    ((1, 5, 7, 11), (3, 9), (1, 5))
    """
    stride = n_server // size
    last = size // 2 if fold else size
    return tuple(k * stride for k in range(1, last + 1) if gcd(k, size) == 1)


@lru_cache(maxsize=4096)
def select_jumps(n_server: int, size: int, n_jump: int, *, fold: bool = False) -> tuple[int, ...]:
    """Jumps close to a geometric sequence, so that few hops lead anywhere (paper SelectPermutations).

    Targets are ``first * ratio**i`` with ``ratio = (last / first)**(1 / n_jump)`` over all jumps of the group size;
    each takes the smallest free jump not below it.  The original reads past the end when there is none; we take the
    largest free one, and when every jump is taken, all are free again (parallel rings).

    Parameters
    ----------
    n_server, size : int
        As in `totient_jumps`.
    n_jump : int
        Rings to lay, 1 or more.
    fold : bool
        Lay a ring twice only when all others are laid; the original counts a ring and its reverse as two.

    Returns
    -------
    tuple of int
        ``n_jump`` jumps, ascending.

    >>> select_jumps(16, 16, 2), select_jumps(16, 16, 4), select_jumps(128, 64, 3)
    ((1, 5), (1, 3, 5, 9), (2, 10, 34))
    """
    every = totient_jumps(n_server, size)
    ratio = (every[-1] / every[0]) ** (1 / n_jump)
    chosen: list[int] = []
    free: list[int] = []
    for i in range(n_jump):
        free = free or list(totient_jumps(n_server, size, fold=fold))
        target = every[0] * ratio**i
        jump = next((j for j in free if j >= target), free[-1])
        free.remove(jump)
        chosen.append(jump)
    return tuple(sorted(chosen))


def ring_links_matrix(n_server: int, jumps: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Link counts of rings by ``jumps`` from every server.

    Every jump takes two interfaces of a server; half of ``n_server`` gives double links.

    Returns
    -------
    int64 (n_server, n_server)

    >>> ring_links_matrix(4, (1,))
    array([[0, 1, 0, 1],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [1, 0, 1, 0]])
    """
    first = np.zeros(n_server, np.int64)
    for jump in jumps:
        first[jump] += 1
        first[n_server - jump] += 1
    every = np.lib.stride_tricks.sliding_window_view(np.concatenate([first, first]), n_server)
    links: npt.NDArray[np.int64] = every[n_server:0:-1].copy()
    return links
