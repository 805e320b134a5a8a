"""Cycles for all-reduces on a network whose links stay: for all servers, or for the groups of a strategy."""

from collections.abc import Mapping
from random import Random

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.implied import are_implied, no_routes, with_pairs
from flexnet.network.network import Network, Routes
from flexnet.network.packing import ROUNDS, interfaces_of, over, pack_cycles
from flexnet.network.routes import shortest_routes
from flexnet.network.topology import Topology, adjacency, by_members, digest_of
from flexnet.network.tours import tours_along_routes

__all__ = ["add_cycles", "cycles_for", "more_cycles", "with_cycles"]

Cycles = tuple[tuple[int, ...], ...]
Groups = Mapping[tuple[int, ...], float]

MOST_TOURED = 256  # members, where routes are searched for them alone
MOST_KNOWN = 4096
_known: dict[tuple[bytes, int, bool], Cycles] = {}  # packings


def cycles_for(topology: Topology, groups: Groups, rng: np.random.Generator, *, routes: Routes | None = None) -> Cycles:
    """Cycles for all-reduces over groups of servers along links that are there.

    A group whose members' links among themselves hold cycles through all of them gets as many as were found that share
    no link (`flexnet.network.packing`), each both ways; another one gets short round trips along routes
    (`flexnet.network.tours`), or on a network that does not hold all its routes none, if it is large.  Groups are
    looked at one by one: cycles of different groups may use the same links.

    Parameters
    ----------
    topology : Topology
    groups : mapping of tuple of int to float
        Member servers, ascending -> bytes, as `flexnet.network.demand.Demand` has them; groups of one server or with
        no bytes get no cycles.
    rng : numpy.random.Generator
        Not asked where there are switches.
    routes : (route_ptr, route), optional
        Those the all-reduces will follow where there is no link; shortest ones if None.

    Returns
    -------
    tuple of tuple of int
        Directed cycles, for `Topology` and `Network.with_cycles`.  None for a network with switches, where every server
        has one link and all orders of its servers are alike.

    Raises
    ------
    FlexNetError
        If a group has a member that does not exist, or one twice.

    Examples
    --------
    >>> from flexnet.network.topologies.full_mesh import full_mesh
    >>> cycles_for(full_mesh(4), {(0, 1, 2, 3): 1e9, (0, 2): 1e6}, np.random.default_rng(0))
    ((0, 1, 2, 3), (0, 3, 2, 1), (0, 2))
    """
    n = topology.n_server
    for group in groups:
        if len(set(group)) < len(group) or not all(0 <= server < n for server in group):
            raise FlexNetError(f"{topology.name}: group {list(group)}; members are distinct servers of 0 to {n - 1}")
    if topology.n_switch:
        return ()
    _, link_from, link_to = adjacency(topology.links)
    if topology.speeds is None:
        bandwidth = topology.links[link_from, link_to].astype(np.float64)
    else:
        bandwidth = topology.speeds.bandwidth[link_from, link_to]
    cycles: list[tuple[int, ...]] = []
    for group, volume in groups.items():
        if len(group) < 2 or not volume > 0:
            continue
        members = sorted(group)
        packed = _packed(topology.links[np.ix_(members, members)])
        if packed:
            cycles += over(members, packed)
            continue
        at = np.array(members, np.int64)
        if are_implied(n, 0):
            if len(members) <= MOST_TOURED:
                held = no_routes(n) if routes is None else routes
                between = with_pairs(n, link_from, link_to, held, np.add.outer(at * n, at).ravel())
                cycles += tours_along_routes(at, n, *between, bandwidth)
            continue
        if routes is None:
            routes = shortest_routes(topology, rng)
        cycles += tours_along_routes(at, n, *routes, bandwidth)
    return tuple(cycles)


def add_cycles(network: Network, groups: Groups, rng: np.random.Generator) -> Network:
    """A network with cycles for those of these groups that have none yet and for which it may matter.

    Two servers have one way to and fro, with a cycle or without.

    Parameters
    ----------
    network, groups, rng
        As in `with_cycles`.

    Raises
    ------
    FlexNetError
        As `cycles_for`.
    """
    has = {tuple(sorted(cycle)) for cycle in network.topology.cycles}
    new = {group: volume for group, volume in groups.items() if len(group) > 2 and tuple(sorted(group)) not in has}
    if not new:
        return network
    found = cycles_for(network.topology, new, rng, routes=(network.route_ptr, network.route))
    return network.with_cycles(network.topology.cycles + found)


def more_cycles(topology: Topology, groups: Groups) -> Cycles:
    """Cycles over all links between the members of a group, where those hold more than it has; the others as they are.

    All-reduces of other groups seldom run at the same time: what was laid for them is free for this one meanwhile.

    Parameters
    ----------
    topology : Topology
        Without switches.
    groups
        As in `with_cycles`; those without cycles and regular rings get none.

    Returns
    -------
    tuple of tuple of int
        Directed cycles, for `Topology` and `Network.with_cycles`; the topology's own where none has more.
    """
    cycles, changed = by_members(topology.cycles), False
    for group, volume in groups.items():
        if len(group) < 3 or not volume > 0:
            continue
        own = cycles.get(group, topology.rings_of(group))
        if not own:
            continue
        links = topology.links[np.ix_(group, group)]
        if interfaces_of(own) // 2 < links.sum(axis=1).min() // 2:
            packed = over(group, _packed(links, few=True))  # three cost 9 ms where there are none
            if interfaces_of(packed) > interfaces_of(own):
                cycles[group], changed = list(packed), True
    return tuple(cycle for own in cycles.values() for cycle in own) if changed else topology.cycles


def with_cycles(network: Network, groups: Groups, rng: np.random.Generator) -> Network:
    """A network with cycles for these groups in place of those it has; links and routes stay.

    Parameters
    ----------
    network : Network
    groups : mapping of tuple of int to float
        As in `cycles_for`.
    rng : numpy.random.Generator

    Raises
    ------
    FlexNetError
        As `cycles_for`.
    """
    return network.with_cycles(cycles_for(network.topology, groups, rng, routes=(network.route_ptr, network.route)))


def _packed(links: npt.NDArray[np.int64], *, few: bool = False) -> Cycles:
    """Cycles packed into links, int64 (n, n); the same for the same links, as searches ask for them again and again.

    With ``few`` tries, and no half of a ring.
    """
    n = len(links)
    key = digest_of(links), n, few
    if key not in _known:
        if len(_known) == MOST_KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = tuple(pack_cycles(links, Random(n), rounds=1 if few else ROUNDS, halves=not few))
    return _known[key]
