"""Circulant graphs for a demand: every server has links to those so many further on, the same jumps for all.

Strategies that cut operators over evenly spaced servers send as much from every server to those as many further on, so
that graphs which look alike from every server suit them, and routes that do: where all send on by the same jumps in the
same order, links by a jump are as busy as each other.  (TopoOpt, algorithm 1, chooses such links for all-reduces, and
routes over them so.)  Routes that are drawn and then improved one by one come near that at best: a plan of VGG on 16
servers takes 242 ms with those on the graph of jumps 1 and 3, and 188 with these; 201 on all that its all-reduces want.
"""

from itertools import combinations_with_replacement
from math import comb

import numpy as np
import numpy.typing as npt

from flexnet.network.demand import Demand
from flexnet.network.kernels.circulants import busiest_jumps
from flexnet.network.topology import Topology
from flexnet.network.wiring.shares import sent_by_group

__all__ = ["best_circulants", "circulant"]

Ints = npt.NDArray[np.int64]

MOST_GRAPHS = 2000
"""With more sets of jumps, so many of them are drawn."""

REDUCED = (1.0, 0.1)
"""What bytes of all-reduces count for: many operators wait for transfers, and few for all-reduces."""


def best_circulants(demand: Demand, degree: int, most: int, rng: np.random.Generator) -> list[Topology]:
    """Circulant graphs whose busiest links have least to carry, by what all-reduces count for; no graph twice.

    Parameters
    ----------
    demand : Demand
    degree : int
        Links of a server; of an odd number one goes half-way round, where servers are even.
    most : int
        Graphs for each of `REDUCED`.
    rng : numpy.random.Generator
        Draws which graphs are looked at, where there are many.
    """
    n = demand.n_server
    jumps = _sets_of_jumps(n, degree, rng)
    best: dict[tuple[int, ...], None] = {}
    busiest = np.empty((len(REDUCED), len(jumps)))
    if len(jumps):
        busiest_jumps(_both_ways(jumps, n), *_asked(demand), busiest)
    for row in busiest:
        for at in np.argsort(row, kind="stable")[:most].tolist():
            if np.isfinite(row[at]):
                best[tuple(jumps[at].tolist())] = None
    return [circulant(n, found) for found in best]


def circulant(n_server: int, jumps: tuple[int, ...]) -> Topology:
    """A link from every server to that so many further on, for every jump; several for one that is there as often.

    >>> circulant(6, (1, 3)).links[0]
    array([0, 1, 0, 1, 0, 1])
    """
    links = np.zeros((n_server, n_server), np.int64)
    server = np.arange(n_server)
    for jump in jumps:
        links[server, (server + jump) % n_server] += 1
        if 2 * jump != n_server:
            links[(server + jump) % n_server, server] += 1
    return Topology("wired", n_server, 0, links, {}, None, ())


def _sets_of_jumps(n: int, degree: int, rng: np.random.Generator) -> Ints:
    """Jumps of graphs to look at, int64 (n_graph, n_jump); none where there is no choice."""
    n_both, below = degree // 2, (n - 1) // 2
    half = [n // 2] if degree % 2 and n % 2 == 0 else []
    if n_both < 1 or below < 2:
        return np.zeros((0, 0), np.int64)
    if comb(below + n_both - 1, n_both) <= MOST_GRAPHS:
        both = np.array(list(combinations_with_replacement(range(1, below + 1), n_both)), np.int64)
    else:
        both = np.unique(np.sort(rng.integers(1, below + 1, (MOST_GRAPHS, n_both)), axis=1), axis=0)
    return np.hstack([both, np.tile(np.array(half, np.int64), (len(both), 1))])


def _both_ways(jumps: Ints, n: int) -> Ints:
    """Jumps, each ahead and then back, half-way round once: int64 (n_graph, n_coin)."""
    back = np.stack([jumps, n - jumps], axis=2).reshape(len(jumps), -1)
    return back[:, :-1] if 2 * jumps[0, -1] == n else back


def _asked(demand: Demand) -> tuple[npt.NDArray[np.float64], Ints, npt.NDArray[np.float64]]:
    """On the mean over servers: bytes to the one so many further on, and around rings of evenly spaced groups by size.

    For each of `REDUCED`, as `busiest_jumps` takes them.  Rings of other groups go from member to member, half of it
    each way.
    """
    n = demand.n_server
    server = np.arange(n)
    pairs = np.array([demand.model_parallel[server, (server + ahead) % n].sum() / n for ahead in range(n)])
    pairs[0] = 0.0
    sent, reduced = np.tile(pairs, (len(REDUCED), 1)), np.array(REDUCED)
    volumes: dict[int, npt.NDArray[np.float64]] = {}
    for group, volume in sent_by_group(demand).items():
        size, members = len(group), np.array(group)
        gaps = np.diff(np.append(members, members[0] + n))
        if size > 2 and (gaps == gaps[0]).all():
            volumes[size] = volumes.get(size, np.zeros(len(reduced))) + reduced * volume * size / n
        else:
            for row, share in zip(sent, reduced.tolist(), strict=True):
                np.add.at(row, gaps % n, 0.5 * share * volume / n)
                np.add.at(row, -gaps % n, 0.5 * share * volume / n)
    around = np.array(list(volumes.values())).reshape(len(volumes), len(reduced))
    return sent, np.array(list(volumes), np.int64), np.ascontiguousarray(around.T)
