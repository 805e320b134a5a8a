"""A link between every two servers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster

__all__ = ["FullMesh", "full_mesh"]


@dataclass(frozen=True, slots=True)
class FullMesh(TopologyFamily):
    """A link between every two servers; see `full_mesh`."""

    name: ClassVar[str] = "fc"

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers; nothing is left to chance."""
        return full_mesh(n_server)

    def interfaces(self, n_server: int) -> int:
        """One for every other server."""
        return max(n_server - 1, 1)

    def route_bandwidth(self, cluster: Cluster) -> float:
        """One link, as parallel ones are rare."""
        return cluster.link_bandwidth


def full_mesh(n_server: int) -> Topology:
    """One link per pair of servers, however many interfaces that takes (the original's ``fc``).

    Parameters
    ----------
    n_server : int

    Returns
    -------
    Topology

    Raises
    ------
    FlexNetError
        If there is no server.

    >>> full_mesh(3).links.sum(axis=1)
    array([2, 2, 2])
    """
    if n_server < 1:
        raise FlexNetError(f"a full mesh of {n_server} servers; it needs at least 1")
    return Topology("full mesh", n_server, 0, 1 - np.eye(n_server, dtype=np.int64), {})
