"""A network for a demand: rings over any groups, several sizes at once, and links for pairs from what is left."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.cubic import HALF, ring_and_half, third_matching, with_whole
from flexnet.network.cycles import cycles_for
from flexnet.network.demand import Demand
from flexnet.network.packing import both_ways
from flexnet.network.topology import Topology
from flexnet.network.wiring.links import add_pair_links, join_components, lay, lay_pairs
from flexnet.network.wiring.orders import regular_orders, serving_order
from flexnet.network.wiring.shares import Group, best_shares

__all__ = ["wire"]


def wire(
    demand: Demand,
    degree: int,
    rng: np.random.Generator,
    *,
    rings: Mapping[Group, float] | None = None,
    regular: bool = False,
    halves: bool = True,
) -> Topology:
    """Spend the interfaces of every server on rings of the groups it is in, and on links for pairs.

    What TopologyFinder does (TopoOpt Alg. 1) for groups of any servers, and server by server: one that is in no group
    has all its interfaces for pairs.  Rings visit their servers in orders that serve pair traffic too.

    Parameters
    ----------
    demand : Demand
        ``groups`` say who reduces; groups known by their size alone count as one of all servers.
    degree : int
        Interfaces of a server.
    rng : numpy.random.Generator
    rings : mapping of tuple of int to float, optional
        Rings of every group, each of two interfaces of its members; an even number of members may have a half more, of
        one interface (`flexnet.network.cubic`).  None: as many as an estimate of the busiest server's time says
        (`flexnet.network.wiring.shares`).
    regular : bool
        Rings by jumps over the members, as TotientPerm has them, not by pair traffic.
    halves : bool
        Whether several rings may have half a one more, by that estimate; a single one may in any case.

    Returns
    -------
    Topology
        Connected, no server with more links than ``degree``, with both ways of every ring as cycles; groups that got
        none have cycles along the links of others (`flexnet.network.cycles.more_cycles` has them share links).

    Raises
    ------
    FlexNetError
        If the degree cannot connect the servers, or the rings that are asked for cannot be or need more interfaces.

    Examples
    --------
    >>> demand = Demand(6, np.zeros((6, 6)), {}, {(0, 1, 2, 3): 1e9})
    >>> wired = wire(demand, 3, np.random.default_rng(0), regular=True)
    >>> wired.cycles, wired.links.sum(axis=1)
    (((0, 1, 2, 3), (0, 3, 2, 1)), array([3, 3, 3, 3, 3, 3]))
    """
    n = demand.n_server
    if degree < min(n - 1, 2):
        raise FlexNetError(f"degree {degree} cannot connect {n} servers; at least {min(n - 1, 2)} is needed")
    for group, share in (rings or {}).items():
        if len(set(group)) < max(len(group), 2) or not all(0 <= server < n for server in group) or share < 0:
            raise FlexNetError(
                f"{share} rings over servers {list(group)}; expected are 0 or more, over 2 or more of 0 to {n - 1}"
            )
        if share % 1 and (share < 1 or share % 1 != HALF or len(group) % 2 or len(group) < 4):
            raise FlexNetError(
                f"{share} rings over {len(group)} servers; expected are whole ones or, over 4, 6, 8, ... servers, a "
                "half and one whole or more"
            )
    both = demand.model_parallel + demand.model_parallel.T
    for reserved in range(degree + 1):  # with all reserved for pairs, they can be connected
        shares = best_shares(demand, degree, reserved, halves=halves) if rings is None else dict(rings)
        found = _laid(shares, both, degree, rng, regular=regular)
        if found is not None:
            return _with_other_cycles(Topology("wired", n, 0, *found), demand, rng)
        if rings is not None:
            break
    raise FlexNetError(f"the rings that are asked for leave too few of {degree} interfaces to connect {n} servers")


def _laid(
    shares: Mapping[Group, float],
    both: npt.NDArray[np.float64],
    degree: int,
    rng: np.random.Generator,
    *,
    regular: bool,
) -> tuple[npt.NDArray[np.int64], dict[int, tuple[tuple[int, ...], ...]], None, tuple[Group, ...]] | None:
    """Links, no regular rings, no speeds and cycles of so many rings; None if not all servers can be connected."""
    n = len(both)
    links = np.zeros((n, n), np.int64)
    cycles: list[Group] = []
    for group, share in shares.items():
        if len(group) == 2:  # a ring of two servers is two links
            links[group[0], group[1]] += int(2 * share)
            links[group[1], group[0]] += int(2 * share)
            continue
        orders = regular_orders(group, int(share)) if regular else []
        own: list[Group] = []
        for i in range(int(share)):
            own.append(orders[i] if regular else serving_order(group, links, both, rng))
            lay(links, own[-1])
        if share % 1 and (pairs := third_matching(own[-1], Random(int(rng.integers(2**32))))):
            lay_pairs(links, pairs)
            own = list(with_whole(own[:-1], ring_and_half(own[-1], pairs)))
        cycles += own
    free = degree - links.sum(axis=1)
    if free.min() < 0 or not join_components(links, free, both):
        return None
    add_pair_links(links, free, both)
    return links, {}, None, both_ways(cycles)


def _with_other_cycles(topology: Topology, demand: Demand, rng: np.random.Generator) -> Topology:
    """With cycles for the groups that got no rings of their own."""
    has = {tuple(sorted(cycle)) for cycle in topology.cycles}
    others = {group: volume for group, volume in demand.groups.items() if len(group) > 2 and group not in has}
    if not others:
        return topology
    return replace(topology, cycles=topology.cycles + cycles_for(topology, others, rng))
