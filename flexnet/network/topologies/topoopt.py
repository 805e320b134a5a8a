"""TopologyFinder: rings for all-reduces, matchings for model-parallel traffic (TopoOpt Alg. 1; network.cc:1852-2370).

The two semantics differ in what is shared out.  Original: all interfaces go to rings of the group size with most
bytes, and one ring over all servers keeps the graph connected.  Corrected: interfaces are divided between rings and
matchings, and rings between group sizes, in proportion to the bytes they put on the network.
"""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.coinchange import coin_rings, coin_table
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.matching import add_matchings
from flexnet.network.topology import Topology
from flexnet.network.totient import group_sizes, ring_links_matrix, select_jumps
from flexnet.plan.semantics import CORRECTED, Semantics

__all__ = ["TopoOpt", "build_topoopt"]


@dataclass(frozen=True, slots=True)
class TopoOpt(TopologyFamily):
    """Rings and matchings for a demand; see `build_topoopt`.

    Parameters
    ----------
    degree : int
        Interfaces of a server.
    semantics : Semantics
    """

    name: ClassVar[str] = "topoopt"
    follows_demand: ClassVar[bool] = True
    any_links: ClassVar[bool] = True

    degree: int = 4
    semantics: Semantics = CORRECTED

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers for a demand."""
        if demand is None:
            raise FlexNetError("a topoopt network is wired for a demand; none is given")
        return build_topoopt(demand, self.degree, self.semantics, rng)

    def interfaces(self, n_server: int) -> int:
        """All."""
        return self.degree

    def neighbours(self, n_server: int) -> int:
        """One for every interface."""
        return self.degree


def build_topoopt(demand: Demand, degree: int, semantics: Semantics, rng: np.random.Generator) -> Topology:
    """Build the topology for a demand.

    Parameters
    ----------
    demand : Demand
    degree : int
        Interfaces per server.
    semantics : Semantics
        ``split_degree``, ``proportional_rings`` and ``volume_factor_exact`` are heeded.
    rng : numpy.random.Generator
        Breaks ties of coin change.

    Returns
    -------
    Topology
        Connected, with rings for every divisor of ``n_server`` from 2 on.  Groups of other sizes have no regular
        ring; they follow routes, and count as groups of all servers here.

    Raises
    ------
    FlexNetError
        If the degree cannot be used: odd in the original's semantics, or too low to connect the servers.
    """
    n = demand.n_server
    _check_degree(n, degree, semantics)
    if n == 1:
        return Topology("topoopt", 1, 0, np.zeros((1, 1), np.int64), {})
    if n == 2 and semantics.split_degree:  # whatever the shares, all links join the same pair
        return Topology("topoopt", 2, 0, degree * (1 - np.eye(2, dtype=np.int64)), {2: ((1,),)})
    volumes = _volumes(demand, semantics)
    ring_degree = degree
    if semantics.split_degree:
        ring_degree = _ring_degree(degree, sum(volumes.values()), float(demand.model_parallel.sum()))
    fold = semantics.proportional_rings
    jumps = {
        size: select_jumps(n, size, n_ring, fold=fold)
        for size, n_ring in sorted(_ring_shares(n, volumes, ring_degree // 2, semantics).items())
    }
    laid = tuple(sorted(jump for group in jumps.values() for jump in group))
    links = ring_links_matrix(n, laid)
    if degree > ring_degree:
        links = add_matchings(links, demand.model_parallel, degree - ring_degree)

    coins = sorted({coin for jump in laid for coin in (jump, n - jump)})
    table = coin_table(n, coins, rng)
    rings = {
        size: tuple(ring for jump in jumps[size] for ring in ((jump,), (n - jump,)))
        if size in jumps
        else coin_rings(table, size, coins, rng, spread=semantics.proportional_rings)
        for size in group_sizes(n)
    }
    return Topology("topoopt", n, 0, links, rings)


def _check_degree(n_server: int, degree: int, semantics: Semantics) -> None:
    if degree < 1:
        raise FlexNetError(f"the degree is {degree}; a server needs at least 1 interface")
    if not semantics.split_degree:
        if n_server > 1 and degree % 2:
            raise FlexNetError(
                f"degree {degree} of topology topoopt must be even, because every ring takes two interfaces of a server"
            )
    elif n_server > 2 and degree < 2:
        raise FlexNetError(f"degree {degree} cannot connect {n_server} servers; topology topoopt needs at least 2")


def _volumes(demand: Demand, semantics: Semantics) -> dict[int, float]:
    """All-reduce bytes by group size, for groups that regular rings can serve."""
    n = demand.n_server
    volumes: dict[int, float] = {}
    for size, tensor_bytes in demand.allreduce.items():
        if size < 2 or tensor_bytes <= 0:
            continue
        if semantics.volume_factor_exact:
            # What a group puts on the network: each of its members sends 2(g-1)/g of the bytes.  Summed over members,
            # it is in the unit of the model-parallel demand it is weighed against.
            volume = size * (2 * (size - 1) / size) * tensor_bytes
        else:
            volume = (2 * size - 1) / size * tensor_bytes  # network.cc:1718 has 2g-1 for 2(g-1), and per member
        if n % size:  # the original throws an exception
            size = n
        volumes[size] = volumes.get(size, 0.0) + volume
    return volumes


def _ring_degree(degree: int, ring_bytes: float, pair_bytes: float) -> int:
    """Interfaces for rings, at least 2 and even, nearest to their share of the traffic (paper Alg. 1 line 1)."""
    total = ring_bytes + pair_bytes
    wanted = min(ceil(degree * ring_bytes / total), degree) if total > 0 else degree  # quotients round up at times
    return max(2, wanted - wanted % 2)


def _ring_shares(n_server: int, volumes: dict[int, float], n_ring: int, semantics: Semantics) -> dict[int, int]:
    """Rings to lay by group size, ``n_ring`` altogether, at least one of them over all servers."""
    ranked = sorted(((volume, size) for size, volume in volumes.items()), reverse=True) or [(1.0, n_server)]
    if semantics.proportional_rings:
        total = sum(volume for volume, _ in ranked)
        shares: dict[int, int] = {}
        left = n_ring
        for volume, size in ranked:  # paper Alg. 1 line 2
            shares[size] = min(left, ceil(n_ring * volume / total))
            left -= shares[size]
    else:
        # network.cc:1901 inverts the share, so the heaviest takes at least all.
        shares = {ranked[0][1]: n_ring}
    shares = {size: share for size, share in shares.items() if share > 0}
    if n_server not in shares:  # the least share gives one up, or its only one
        least = list(shares)[-1]
        shares[least] -= 1
        shares[n_server] = 1
    return {size: share for size, share in shares.items() if share > 0}
