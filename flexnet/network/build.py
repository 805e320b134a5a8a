"""Topologies and networks by name: what programs call, and commands too."""

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.cycles import with_cycles
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies import TOPOLOGIES
from flexnet.network.topologies.drawn import Drawn
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, Semantics

__all__ = ["build_network", "build_topology", "family_of"]


def family_of(topology: str | TopologyFamily | Topology, **parameters: object) -> TopologyFamily:
    """The family that is meant.

    Parameters
    ----------
    topology : str, TopologyFamily or Topology
        A name in `flexnet.network.topologies.TOPOLOGIES`, a family, or the one topology that is given.
    **parameters
        For a family by name: those that it has are set, the others not looked at.

    Raises
    ------
    FlexNetError
        If there is no family of this name.
    """
    if isinstance(topology, Topology):
        return Drawn(topology)
    return TOPOLOGIES[topology].make(**parameters) if isinstance(topology, str) else topology


def build_topology(
    topology: str | TopologyFamily, n_server: int, *, demand: Demand | None = None, seed: int = 0, **parameters: object
) -> Topology:
    """Wire servers.

    Parameters
    ----------
    topology : str or TopologyFamily
        As in `family_of`, with its parameters.
    n_server : int
    demand : Demand, optional
        What is to be carried, for families that follow it (``topoopt``).
    seed : int
        Same seed, same topology.
    **parameters
        Of a family that is given by its name: ``degree``, ``semantics``, ``servers_per_leaf``, ``oversubscription``,
        ``ports``.

    Raises
    ------
    FlexNetError
        If there is no such family or parameter, or these servers cannot be wired so.

    Examples
    --------
    >>> build_topology("random", 8, degree=3, seed=2).links.sum(axis=1)
    array([3, 3, 3, 3, 3, 3, 3, 3])
    """
    if parameters and not isinstance(topology, str):
        raise FlexNetError(f"{next(iter(parameters))} is given beside a family, which has parameters of its own")
    family = family_of(topology, **parameters)
    unknown = sorted(set(parameters) - family.parameters())
    if unknown:
        has = ", ".join(sorted(family.parameters())) or "none"
        raise FlexNetError(f"topology {family.name} has no parameter {unknown[0]}; its parameters are: {has}")
    return family.build(n_server, demand, np.random.default_rng(seed))


def build_network(
    topology: str | TopologyFamily | Topology,
    cluster: Cluster,
    *,
    semantics: Semantics = CORRECTED,
    demand: Demand | None = None,
    rng: np.random.Generator | None = None,
) -> Network:
    """Wire the servers of a cluster, and choose a route for every pair of them.

    A topology without switches that has neither rings nor cycles gets cycles over all servers if semantics say so.

    Parameters
    ----------
    topology : str, TopologyFamily or Topology
        As in `family_of`; one by name has the degree of the cluster.
    cluster : Cluster
        Servers, interfaces, and the speed of links that have none of their own.
    semantics : Semantics
        How routes and cycles are chosen, and how ``topoopt`` shares out interfaces.
    demand : Demand, optional
        As in `build_topology`.
    rng : numpy.random.Generator, optional
        That of seed 0 if None.

    Raises
    ------
    FlexNetError
        If these servers cannot be wired so.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    family = family_of(topology, degree=cluster.degree, semantics=semantics)
    built = family.build(cluster.n_server, demand, rng)
    network = connect(built, cluster.link_bandwidth, cluster.latency, routes_for(built, semantics, rng))
    if not semantics.pack_cycles or built.rings or built.cycles:
        return network
    return with_cycles(network, {tuple(range(cluster.n_server)): 1.0}, rng)
