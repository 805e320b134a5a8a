"""A network of switches in two tiers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology

__all__ = ["LeafSpine", "leaf_spine"]


@dataclass(frozen=True, slots=True)
class LeafSpine(TopologyFamily):
    """Leaf and spine switches; see `leaf_spine`.

    Parameters
    ----------
    servers_per_leaf : int
        Places of a leaf switch; some stay empty if there are fewer servers.
    oversubscription : float
    """

    name: ClassVar[str] = "leafspine"

    servers_per_leaf: int = 16
    oversubscription: float = 1.0

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers; nothing is left to chance."""
        return leaf_spine(n_server, self.servers_per_leaf, self.oversubscription)

    def interfaces(self, n_server: int) -> int:
        """One."""
        return 1


def leaf_spine(n_server: int, servers_per_leaf: int, oversubscription: float) -> Topology:
    """Leaf switches with a link to each of their servers and one to each spine switch.

    Parameters
    ----------
    n_server : int
    servers_per_leaf : int
    oversubscription : float
        Links to servers over links to spines of a full leaf, which has ``servers_per_leaf / oversubscription`` of
        these: as many spines there are.  1 is a network without bottlenecks, but for colliding flows.

    Returns
    -------
    Topology
        Leaves are the first switches, spines the last.  One leaf needs no spine.

    Raises
    ------
    FlexNetError
        If there is no server, or the ratio does not give a whole number of spines.

    >>> leaf_spine(4, 2, 2.0).links[4:, :]
    array([[1, 1, 0, 0, 0, 0, 1],
           [0, 0, 1, 1, 0, 0, 1],
           [0, 0, 0, 0, 1, 1, 0]])
    """
    if n_server < 1 or servers_per_leaf < 1:
        raise FlexNetError(f"a leaf-spine of {n_server} servers, {servers_per_leaf} a leaf; both must be at least 1")
    n_leaf = -(-n_server // servers_per_leaf)
    n_spine = round(servers_per_leaf / oversubscription) if oversubscription > 0 else 0
    if n_spine < 1 or abs(n_spine * oversubscription - servers_per_leaf) > 1e-9 * servers_per_leaf:
        raise FlexNetError(
            f"an oversubscription of {oversubscription:g} with {servers_per_leaf} servers a leaf leaves "
            f"{servers_per_leaf / oversubscription if oversubscription else np.inf:g} links up; it must be a whole "
            "number of 1 or more"
        )
    n_spine = n_spine if n_leaf > 1 else 0
    leaf = n_server + np.arange(n_server) // servers_per_leaf
    links = np.zeros((n_server + n_leaf + n_spine,) * 2, np.int64)
    links[np.arange(n_server), leaf] = 1
    links[n_server : n_server + n_leaf, n_server + n_leaf :] = 1
    return Topology("leaf-spine", n_server, n_leaf + n_spine, links + links.T, {})
