"""In which order a ring visits the servers of its group: all orders reduce alike, so one that helps other traffic."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.tours import nearest_order
from flexnet.network.totient import select_jumps
from flexnet.network.tours import MOST_EXCHANGED, short_tour

__all__ = ["regular_orders", "serving_order"]

LAID = 2.0
"""What a link that is there already counts for in the order of another ring; the busiest pair counts 1."""

NOISE = 0.25
"""Largest random part of what a pair counts for: among pairs without bytes rings are random, which has short paths."""


def regular_orders(group: Sequence[int], n_ring: int) -> list[tuple[int, ...]]:
    """So many rings over a group, by jumps over its members as TotientPerm has them.

    >>> regular_orders((0, 3, 4, 6, 9), 2)
    [(0, 3, 4, 6, 9), (0, 4, 9, 3, 6)]
    """
    size = len(group)
    if size < 3 or not n_ring:
        return [tuple(group)] * n_ring
    jumps = select_jumps(size, size, n_ring, fold=True)
    members, steps = np.array(group), np.arange(size)
    return [tuple(members[steps * jump % size].tolist()) for jump in jumps]


def serving_order(
    group: Sequence[int],
    links: npt.NDArray[np.int64],
    demand: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """A ring over a group whose neighbours have much to send each other and few links yet.

    Of more than `MOST_EXCHANGED` servers it is not made shorter by exchanges.

    Parameters
    ----------
    group : sequence of int
    links : int64 (n_server, n_server)
        Those there are.
    demand : float64 (n_server, n_server)
        Symmetric bytes.
    rng : numpy.random.Generator
    """
    size = len(group)
    if size > MOST_EXCHANGED:
        seed = int(rng.integers(1, 1 << 32))
        return tuple(nearest_order(np.array(group), links, demand, LAID, NOISE, seed).tolist())
    at = np.ix_(group, group)
    wanted = demand[at] / (links[at] + 1)
    most = wanted.max(initial=0.0)
    noise = np.triu(rng.random((size, size)), 1) * NOISE
    cost = LAID * links[at] - (wanted / most if most > 0 else 0.0) + noise + noise.T
    return tuple(group[i] for i in short_tour(cost))
