"""Several paths between two servers: which one does a flow take?

Switches hash a flow onto one of the equal-cost paths (ECMP, RFC 2992), so a flow stays on its path and two flows may
collide where others are free.  The hash is a seeded draw here: another seed, another hash.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import aranges
from flexnet.network.kernels import routes as kernels
from flexnet.network.topology import Topology, adjacency

__all__ = ["Drawn", "Paths", "draw_shortest"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The routes that flows took.

    Parameters
    ----------
    ptr : int32 (n_route + 1,)
    link : int32
        Link ids of route r are ``link[ptr[r]:ptr[r + 1]]``; no two routes are the same.
    route : int32 (n_flow,)
        The route of every flow.
    """

    ptr: npt.NDArray[np.int32]
    link: npt.NDArray[np.int32]
    route: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Listed paths of ordered server pairs.

    Parameters
    ----------
    n_server : int
    pair_ptr : int64 (n_server * n_server + 1,)
        Paths of the pair ``p = src * n_server + dst`` are ``pair_ptr[p]:pair_ptr[p + 1]``.
    chance : float64 (n_path,)
        Above 0; weights of the alternatives of a pair.
    hop_ptr : int64 (n_path + 1,)
    link : int32
        Link ids of every path.
    """

    n_server: int
    pair_ptr: Ints
    chance: npt.NDArray[np.float64]
    hop_ptr: Ints
    link: npt.NDArray[np.int32]

    @property
    def several(self) -> bool:
        """Whether some pair has a choice."""
        return bool((np.diff(self.pair_ptr) > 1).any())

    def draw(self, source: Ints, target: Ints, rng: np.random.Generator) -> Drawn:
        """A path for every flow, in proportion to the chances.

        Parameters
        ----------
        source, target : int64 (n_flow,)
            Servers; a flow within a server takes no link.
        rng : numpy.random.Generator
            One number a flow is drawn.

        Examples
        --------
        >>> two = Paths(2, np.array([0, 0, 2, 2, 2]), np.array([1.0, 3.0]), np.array([0, 1, 2]), np.array([7, 8]))
        >>> drawn = two.draw(np.zeros(1000, int), np.ones(1000, int), np.random.default_rng(0))
        >>> drawn.link[drawn.ptr[:-1]], np.bincount(drawn.route)
        (array([7, 8]), array([231, 769]))
        """
        total = np.concatenate([[0.0], np.cumsum(self.chance)])
        pair = source * self.n_server + target
        begin, end = self.pair_ptr[pair], self.pair_ptr[pair + 1]
        point = total[begin] + rng.random(len(pair)) * (total[end] - total[begin])
        path = np.clip(np.searchsorted(total, point, side="right") - 1, begin, np.maximum(end - 1, begin))
        path = np.where(end > begin, path, -1)
        used, route = np.unique(path, return_inverse=True)
        counts = np.where(used >= 0, self.hop_ptr[used + 1] - self.hop_ptr[used], 0)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        at = aranges(np.where(used >= 0, self.hop_ptr[used], 0), counts)
        return Drawn(ptr.astype(np.int32), self.link[at], route.astype(np.int32))


def draw_shortest(topology: Topology, source: Ints, target: Ints, rng: np.random.Generator) -> Drawn:
    """One of the shortest paths for every flow, each next hop drawn uniformly from those that lead nearer.

    Parameters
    ----------
    topology : Topology
    source, target : int64 (n_flow,)
        Servers; a flow within a server takes no link.
    rng : numpy.random.Generator
        One number is drawn.
    """
    ptr, _, link_to = adjacency(topology.links)
    order = np.argsort(target, kind="stable")
    seed = int(rng.integers(1, 1 << 32))
    route_ptr, route = kernels.draw_shortest(ptr, link_to, source[order], target[order], seed)
    counts = np.diff(route_ptr)
    padded = np.full((len(source), int(counts.max(initial=0)) + 1), -1, np.int32)
    padded[:, 0] = counts  # so that flows within a server differ from no flow
    row = np.repeat(np.arange(len(source)), counts)
    padded[row, 1 + np.arange(len(route)) - np.repeat(route_ptr[:-1], counts)] = route
    _, first, same = np.unique(padded, axis=0, return_index=True, return_inverse=True)
    kept = counts[first]
    ptr_out = np.concatenate([[0], np.cumsum(kept)])
    at = aranges(route_ptr[first], kept)
    route_of = np.empty(len(source), np.int32)
    route_of[order] = same.ravel()
    return Drawn(ptr_out.astype(np.int32), route[at], route_of)
