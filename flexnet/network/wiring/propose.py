"""Another network, a little different from one that is there: what a search over networks prices."""

from collections.abc import Callable, Mapping

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.cycles import add_cycles
from flexnet.network.demand import Demand
from flexnet.network.network import Network
from flexnet.network.wiring.balance import balanced, with_demand
from flexnet.network.wiring.changes import (
    Wiring,
    half_ring,
    more_rings,
    other_order,
    other_packing,
    swap_links,
    turn_ring,
)
from flexnet.network.wiring.reroute import reroute_busiest
from flexnet.network.wiring.rewire import as_cycles, rewired

__all__ = ["CHANGES", "KINDS", "ROUTES", "propose_network"]

CHANGES: dict[str, Callable[[Wiring, Demand, np.random.Generator], Wiring | None]] = {
    "swap": swap_links,
    "turn": turn_ring,
    "share": more_rings,
    "half": half_ring,
    "order": other_order,
    "pack": other_packing,
}
"""Changes of links and cycles by name."""

REROUTES: dict[str, Callable[[Network, Demand, np.random.Generator], Network | None]] = {
    "reroute": reroute_busiest,
    "balance": balanced,
}
"""Changes of routes alone by name."""

ROUTES = {"reroute": 1.0, "balance": 0.2}
"""Their shares."""

KINDS = dict.fromkeys(CHANGES, 1.0) | {"half": 0.2, "pack": 0.3} | ROUTES
"""All changes, and their shares."""

TRIES = 8

FRESH = 0.25
"""Chance that groups without links of their own get other round trips; finding them costs more than all the rest."""


def propose_network(
    rng: np.random.Generator, network: Network, demand: Demand, *, kinds: Mapping[str, float] | None = None
) -> Network:
    """A network that differs by one change.

    Parameters
    ----------
    rng : numpy.random.Generator
    network : Network
        Without switches; regular rings become cycles for the groups of the demand, and other groups get some too.
    demand : Demand
        What is to be carried; it makes changes for the better likelier, and forbids none.
    kinds : mapping of str to float, optional
        Shares of the changes; `KINDS` if None.

        ``swap``
            two links a - b and c - d become a - c and b - d;
        ``turn``
            the same with two links of a ring, which then runs the other way between them;
        ``order``
            a ring visits its servers in another order, by another jump or along the pairs that send most;
        ``share``
            a ring's interfaces go to pairs, or those of pairs to a ring;
        ``half``
            a ring gets one interface more of its servers from pairs, or gives it back;
        ``pack``
            all-reduces of a group run over other links between its members;
        ``reroute``
            pairs leave the busiest link for other paths, at most one hop longer;
        ``balance``
            all pairs are routed anew, along shortest paths that share the load.

    Returns
    -------
    Network
        All servers connected, none with more links than before.  The same network where no change was possible in a
        few tries.

    Raises
    ------
    FlexNetError
        If the network has switches or links of several speeds, or a kind is unknown.
    """
    shares = KINDS if kinds is None else dict(kinds)
    unknown = sorted(set(shares) - set(KINDS))
    if unknown:
        raise FlexNetError(f"there is no change {unknown[0]!r}; changes are {', '.join(KINDS)}")
    if network.topology.n_switch or network.topology.speeds is not None:
        raise FlexNetError(
            f"{network.topology.name} has switches or links of several speeds; only servers are wired anew"
        )
    names, below = list(shares), np.cumsum(list(shares.values()))
    base = with_demand(add_cycles(as_cycles(network, tuple(demand.groups)), demand.groups, rng), demand)
    wiring = Wiring(base.topology.links, base.topology.cycles)
    for _ in range(TRIES):
        name = names[int(np.searchsorted(below, rng.random() * below[-1], side="right"))]
        if name in REROUTES:
            found = REROUTES[name](base, demand, rng)
            if found is not None and found is not base:
                return found
            continue
        changed = CHANGES[name](wiring, demand, rng)
        if changed is not None and (changed.cycles != wiring.cycles or (changed.links != wiring.links).any()):
            return _fresh_tours(rewired(base, changed.links, changed.cycles, demand, rng), demand, rng)
    return network


def _fresh_tours(network: Network, demand: Demand, rng: np.random.Generator) -> Network:
    """With cycles for groups of a demand that have none, and now and then others for those that follow routes."""
    links, cycles = network.topology.links, network.topology.cycles
    if rng.random() < FRESH:
        along = {tuple(sorted(c)) for c in cycles if links[list(c), [*c[1:], c[0]]].all()}
        kept = [c for c in cycles if tuple(sorted(c)) in along or tuple(sorted(c)) not in demand.groups]
        network = network.with_cycles(tuple(kept))
    return add_cycles(network, demand.groups, rng)
