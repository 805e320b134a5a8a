"""What a report tells of a network: links and their loads, rings, degrees, hops."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.report.demand import AllDemand
from flexnet.report.link_use import LinkUse

__all__ = ["LinkValues", "NetworkValues", "network_values"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_RINGS = 6
SHOWN_LINKS = 5


@dataclass(frozen=True, slots=True)
class LinkValues:
    """One of the busiest links: its ends, bytes over it, and the share of the iteration that they take."""

    begin: int
    end: int
    bytes: float
    utilisation: float


@dataclass(frozen=True, slots=True, eq=False)
class NetworkValues:
    """A network with its load.

    Parameters
    ----------
    n_server, n_switch, n_link : int
    ends : int64 (n_pair, 2)
        Linked nodes, the smaller first.
    count : int64 (n_pair,)
        Parallel links.
    load : float64 (n_pair,)
        Share of the iteration that the bytes of the busier direction take.
    rings : tuple of int64 (n_member,)
        The rings of the groups that reduce most, as servers in order.
    n_ring : int
        How many rings there are, each counted once for both ways round.
    degrees : tuple of (int, int)
        Links of a server, and how many servers have so many.
    hops : tuple of (int, int, float)
        Hops of a route, how many ordered pairs of servers have so many, and bytes of transfers between these.
    tax : float
        Bytes that leave servers over those that they have to send.
    busiest : tuple of LinkValues
    """

    n_server: int
    n_switch: int
    n_link: int
    ends: Ints
    count: Ints
    load: Floats
    rings: tuple[Ints, ...]
    n_ring: int
    degrees: tuple[tuple[int, int], ...]
    hops: tuple[tuple[int, int, float], ...]
    tax: float
    busiest: tuple[LinkValues, ...]

    @property
    def mean_hops(self) -> float:
        """Over all ordered pairs of servers that have a route."""
        n_pair = sum(n for _, n, _ in self.hops)
        return sum(hops * n for hops, n, _ in self.hops) / max(n_pair, 1)


def _apart(rings: list[Ints]) -> list[Ints]:
    """Rings without those that run over the same links as an earlier one, as the way back does."""
    found: dict[frozenset[tuple[int, int]], Ints] = {}
    for ring in rings:
        steps = np.sort(np.stack([ring, np.roll(ring, -1)], axis=1), axis=1)
        found.setdefault(frozenset((a, b) for a, b in steps.tolist()), ring)
    return list(found.values())


def network_values(network: Network, use: LinkUse, seconds: float, demand: AllDemand) -> NetworkValues:
    """Look at a network under a load.

    Parameters
    ----------
    network : Network
    use : LinkUse
        Which bytes are on which links.
    seconds : float
        Iteration time.
    demand : AllDemand
        What is to be sent, before routes.
    """
    topology, n = network.topology, network.topology.n_server
    carried = np.bincount(use.link, weights=use.bytes, minlength=len(network.link_from))
    share = carried / network.bandwidth / max(seconds, np.finfo(float).tiny)
    ends = np.argwhere(np.triu(topology.links) > 0)
    there, back = network.link_id[ends[:, 0], ends[:, 1]], network.link_id[ends[:, 1], ends[:, 0]]
    rings = _apart([ring for rings in demand.rings.values() for ring in rings if len(ring) > 2])
    per_server, n_with = np.unique(topology.links[:n].sum(axis=1), return_counts=True)
    n_hop = np.diff(network.route_ptr)
    hops, which = np.unique(n_hop, return_inverse=True)
    pairs = np.bincount(which)
    sent = np.bincount(which, weights=demand.transfers.ravel())
    leaving = float(carried[network.link_from < n].sum())
    needed = float(demand.allreduce.sum() + demand.transfers.sum())
    order = np.argsort(-share, kind="stable")[:SHOWN_LINKS]
    return NetworkValues(
        n_server=n,
        n_switch=topology.n_switch,
        n_link=topology.n_link,
        ends=ends,
        count=topology.links[ends[:, 0], ends[:, 1]],
        load=np.maximum(share[there], share[back]) if len(ends) else np.zeros(0),
        rings=tuple(rings[:MOST_RINGS]),
        n_ring=len(rings),
        degrees=tuple(zip(per_server.tolist(), n_with.tolist(), strict=True)),
        hops=tuple((h, k, b) for h, k, b in zip(hops.tolist(), pairs.tolist(), sent.tolist(), strict=True) if h > 0),
        tax=leaving / needed if needed else 1.0,
        busiest=tuple(
            LinkValues(int(network.link_from[i]), int(network.link_to[i]), float(carried[i]), float(share[i]))
            for i in order.tolist()
            if carried[i] > 0
        ),
    )
