"""A network with other links: routes that still are shortest stay, others are drawn anew."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.network.cycle_layout import cycle_layout
from flexnet.network.demand import Demand
from flexnet.network.distances import all_hops
from flexnet.network.implied import with_pairs
from flexnet.network.kernels.held_routes import kept, replaced
from flexnet.network.network import Network, Routes, connect
from flexnet.network.routes import shortest_routes
from flexnet.network.topology import Topology, adjacency
from flexnet.network.wiring.balance import balanced, with_demand

__all__ = ["as_cycles", "rewired"]

Cycles = tuple[tuple[int, ...], ...]


def as_cycles(network: Network, groups: tuple[tuple[int, ...], ...]) -> Network:
    """The network with its regular rings told as cycles, for those of these groups that they join.

    Rings of jumps are the same for all servers, so that links can hardly change; cycles may.

    Parameters
    ----------
    network : Network
    groups : tuple of tuple of int
        Member servers, ascending.
    """
    topology = network.topology
    if not topology.rings:
        return network
    has = {tuple(sorted(cycle)) for cycle in topology.cycles}
    found: list[tuple[int, ...]] = []
    for group in groups:
        if len(group) > 2 and group not in has:
            found += topology.rings_of(group)
    plain = replace(topology, rings={}, cycles=topology.cycles + tuple(found))
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
    if network.implies_routes:
        routes, stays = _kept_routes(network, topology, demand)
    else:
        routes, stays = _merged_routes(network, topology, shortest_routes(topology, rng))
    changed = connect(topology, network.link_bandwidth, network.latency, routes)
    return balanced(with_demand(changed, demand), demand, rng, stays, in_place=True)


def _kept_routes(network: Network, topology: Topology, demand: Demand) -> tuple[Routes, npt.NDArray[np.bool_]]:
    """Routes of a large network for what is sent, and which of them it had; pairs that send nothing get none."""
    wanted = demand.model_parallel.ravel() > 0
    wanted[cycle_layout(topology).pair] = True
    ptr, link_from, link_to = adjacency(topology.links)
    hops = all_hops(ptr, link_to)
    *routes, stays = kept(network.route_ptr, network.route, _link_now(network, topology), hops, wanted)
    missing = np.flatnonzero(wanted & ~stays)
    return with_pairs(topology.n_server, link_from, link_to, tuple(routes), missing), stays


def _merged_routes(network: Network, topology: Topology, fresh: Routes) -> tuple[Routes, npt.NDArray[np.bool_]]:
    """Shortest routes of a topology, but those that a network still has stay; and which of them do."""
    n, (fresh_ptr, fresh_route) = topology.n_server, fresh
    hops = np.diff(fresh_ptr).reshape(n, n).astype(np.int16)
    now, every = _link_now(network, topology), np.ones(n * n, np.bool_)
    ptr, route, stays = kept(network.route_ptr, network.route, now, hops, every)
    pairs, begin = np.flatnonzero(stays), ptr.astype(np.int64)
    return replaced(fresh_ptr, fresh_route, pairs, begin[pairs], np.diff(begin)[pairs], route), stays


def _link_now(network: Network, topology: Topology) -> npt.NDArray[np.int32]:
    """What the links of a network are called in a topology, -1 for those that are gone."""
    there = np.flatnonzero(topology.links)
    asked = network.link_from.astype(np.int64) * topology.links.shape[1] + network.link_to
    at = np.minimum(np.searchsorted(there, asked), max(len(there) - 1, 0))
    return np.where(there[at] == asked, at, -1).astype(np.int32)
