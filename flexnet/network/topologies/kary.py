"""The fat-tree of k-port switches."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology

__all__ = ["KaryFatTree", "kary_fat_tree", "kary_ports"]


@dataclass(frozen=True, slots=True)
class KaryFatTree(TopologyFamily):
    """Three tiers of k-port switches; see `kary_fat_tree`.

    Parameters
    ----------
    ports : int or None
        k; the fewest that have room if None.
    """

    name: ClassVar[str] = "kary"

    ports: int | None = None

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers; nothing is left to chance."""
        return kary_fat_tree(n_server, self.ports)

    def interfaces(self, n_server: int) -> int:
        """One."""
        return 1


def kary_ports(n_server: int) -> int:
    """Fewest ports of the switches of a fat-tree that has room for ``n_server``: even, with k^3 / 4 servers.

    >>> kary_ports(16), kary_ports(17), kary_ports(128), kary_ports(1024)
    (4, 6, 8, 16)
    """
    k = 2
    while k**3 // 4 < n_server:
        k += 2
    return k


def kary_fat_tree(n_server: int, ports: int | None = None) -> Topology:
    """Three tiers of k-port switches (Al-Fares et al., SIGCOMM 2008): full bisection if flows spread evenly.

    k pods of k/2 edge and k/2 aggregation switches, every edge switch with k/2 servers; (k/2)^2 core switches, the
    i-th k/2 of which link to the i-th aggregation switch of every pod.

    Parameters
    ----------
    n_server : int
        Servers fill edge switches in order; places may stay empty.
    ports : int, optional
        k; the least that has room if None.

    Returns
    -------
    Topology
        Switches in order: edge, aggregation, core.

    Raises
    ------
    FlexNetError
        If there is no server, or the switches have an odd number of ports or too few.

    >>> kary_fat_tree(16).n_switch, int(kary_fat_tree(16).links.sum()) // 2
    (20, 48)
    """
    if n_server < 1:
        raise FlexNetError(f"a fat-tree of {n_server} servers; it needs at least 1")
    k = kary_ports(n_server) if ports is None else ports
    if k < 2 or k % 2 or k**3 // 4 < n_server:
        raise FlexNetError(
            f"a fat-tree of {k}-port switches for {n_server} servers; ports must be even and at least "
            f"{kary_ports(n_server)}"
        )
    half = k // 2
    n_edge = k * half
    n_switch = 2 * n_edge + half * half
    links = np.zeros((n_server + n_switch,) * 2, np.int64)
    links[np.arange(n_server), n_server + np.arange(n_server) // half] = 1
    edge, up = np.divmod(np.arange(n_edge * half), half)  # every upward port of an edge or aggregation switch
    aggregation = edge // half * half + up
    links[n_server + edge, n_server + n_edge + aggregation] = 1
    links[n_server + n_edge + edge, n_server + 2 * n_edge + edge % half * half + up] = 1
    return Topology("k-ary fat-tree", n_server, n_switch, links + links.T, {})
