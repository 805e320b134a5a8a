"""A fat-tree without oversubscription: one ideal switch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology

__all__ = ["FatTree", "fat_tree"]


@dataclass(frozen=True, slots=True)
class FatTree(TopologyFamily):
    """One ideal switch; see `fat_tree`."""

    name: ClassVar[str] = "fattree"

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers; nothing is left to chance."""
        return fat_tree(n_server)

    def interfaces(self, n_server: int) -> int:
        """One."""
        return 1


def fat_tree(n_server: int) -> Topology:
    """Every server linked once to one switch (network.cc:565); only interfaces can be contended.

    Parameters
    ----------
    n_server : int

    Returns
    -------
    Topology
        The switch is node ``n_server``.

    Raises
    ------
    FlexNetError
        If there is no server.

    >>> fat_tree(2).links
    array([[0, 0, 1],
           [0, 0, 1],
           [1, 1, 0]])
    """
    if n_server < 1:
        raise FlexNetError(f"a fat-tree of {n_server} servers; it needs at least 1")
    links = np.zeros((n_server + 1, n_server + 1), np.int64)
    links[n_server, :n_server] = links[:n_server, n_server] = 1
    return Topology("fat-tree", n_server, 1, links, {})
