"""A network with other links: routes that still are shortest stay, others are drawn anew."""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.csr import aranges
from flexnet.network.demand import Demand
from flexnet.network.network import Network, Routes, connect
from flexnet.network.routes import shortest_routes, some_routes
from flexnet.network.topology import Topology
from flexnet.network.wiring.balance import balanced, with_demand

__all__ = ["as_cycles", "merged_routes", "rewired"]

Cycles = tuple[tuple[int, ...], ...]


def as_cycles(network: Network, groups: tuple[tuple[int, ...], ...]) -> Network:
    """The network with its regular rings told as cycles, for those of these groups that they join.

    Rings of jumps are the same for all servers, so that links can hardly change; cycles may.

    Parameters
    ----------
    network : Network
    groups : tuple of tuple of int
        Member servers, ascending.

    Raises
    ------
    FlexNetError
        If it has switches, or links with speeds of their own.
    """
    topology = network.topology
    if topology.n_switch or topology.speeds is not None:
        raise FlexNetError(f"{topology.name} has switches or links of several speeds; only servers are wired anew")
    if not topology.rings:
        return network
    n = topology.n_server
    has = {tuple(sorted(cycle)) for cycle in topology.cycles}
    found: list[tuple[int, ...]] = []
    for group in groups:
        if len(group) > 2 and group not in has:
            found += topology.rings_of(group)
    plain = Topology(topology.name, n, 0, topology.links, {}, None, topology.cycles + tuple(found))
    return connect(plain, network.link_bandwidth, network.latency, (network.route_ptr, network.route))


def rewired(
    network: Network, links: npt.NDArray[np.int64], cycles: Cycles, demand: Demand, rng: np.random.Generator
) -> Network:
    """The network with other links and cycles, and new routes for pairs that need them or have shorter ones now.

    Parameters
    ----------
    network : Network
        Without switches, regular rings, and speeds of single links.
    links : int64 (n_server, n_server)
        Symmetric, connected.
    cycles : tuple of tuple of int
    demand : Demand
        What new routes are to share the load of.
    rng : numpy.random.Generator
    """
    topology = Topology(network.topology.name, len(links), 0, links, {}, None, cycles)
    if network.implies_routes:  # pairs that send nothing get theirs when they do
        fresh = some_routes(topology, np.flatnonzero(demand.model_parallel))
    else:
        fresh = shortest_routes(topology, rng)
    routes, stays = merged_routes(network, topology, fresh)
    changed = connect(topology, network.link_bandwidth, network.latency, routes)
    return balanced(with_demand(changed, demand), demand, rng, np.flatnonzero(~stays))


def merged_routes(network: Network, topology: Topology, fresh: Routes) -> tuple[Routes, npt.NDArray[np.bool_]]:
    """The routes of a network where a topology of as many servers still has their links, and none is shorter.

    Parameters
    ----------
    network : Network
    topology : Topology
    fresh : (route_ptr, route)
        Shortest routes of the topology.

    Returns
    -------
    routes : (route_ptr, route)
    stays : bool (n_server * n_server,)
        Which of them are of the network.
    """
    fresh_ptr, fresh_route = fresh
    link_id = np.full(topology.links.shape, -1, np.int32)
    link_id[topology.links > 0] = np.arange(np.count_nonzero(topology.links), dtype=np.int32)
    translated = link_id[network.link_from, network.link_to][network.route]
    lost = np.concatenate([[0], np.cumsum(translated < 0)])
    ptr = network.route_ptr
    stays = (lost[ptr[1:]] == lost[ptr[:-1]]) & (np.diff(ptr) == np.diff(fresh_ptr))
    both = np.concatenate([translated, fresh_route])
    begin = np.where(stays, ptr[:-1], fresh_ptr[:-1].astype(np.int64) + len(translated))
    return (fresh_ptr, both[aranges(begin, np.diff(fresh_ptr))].astype(np.int32)), stays
