"""Routes that share the load: shortest ones, each chosen with all others where they are."""

import numpy as np
import numpy.typing as npt

from flexnet.network.demand import Demand
from flexnet.network.kernels.balance import balance
from flexnet.network.kernels.held_routes import link_loads, over_any
from flexnet.network.kernels.hops import hops_to
from flexnet.network.network import Network
from flexnet.network.topology import by_members
from flexnet.network.wiring.shares import sent_by_group

__all__ = ["balanced", "crowding", "link_seconds", "with_demand"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POWER = 2
"""Of the seconds a link is busy: the higher, the more the busiest links count."""

REDUCED = (0.1, 1.0)
"""What bytes of all-reduces count for beside those of transfers: operators wait for transfers, and for few all-reduces;
which share of them matters only the time of a whole plan tells, so one of these is drawn."""

PASSES = 2
"""How often every pair is routed anew."""

BUSIEST = 8
"""Power of the mean of what links carry that `crowding` is."""

MOST_PAIRS = 2**16
"""With more pairs, `SOME_PAIRS` of those over the `CROWDED` busiest links are: each takes a microsecond a pass."""

SOME_PAIRS = 2**15
CROWDED = 0.1


def with_demand(network: Network, demand: Demand) -> Network:
    """The network with routes for what a demand sends; the same if all have one."""
    return network.routing(np.flatnonzero(_sent(network, demand, 1.0)[0])) if network.implies_routes else network


def link_seconds(network: Network, demand: Demand) -> Floats:
    """Seconds for which every link is busy with what a demand puts on it.

    Returns
    -------
    float64 (n_link,)
    """
    seconds: Floats = _load(network, demand, 1.0)[1] / network.bandwidth
    return seconds


def crowding(network: Network, demand: Demand) -> float:
    """Seconds for which links are busy with transfers, a mean in which the busiest ones count most (`BUSIEST`).

    An iteration takes as long as its busiest links; of two networks that have as busy ones, this tells which has fewer.
    """
    sent, n_link = demand.model_parallel.ravel(), len(network.bandwidth)
    seconds = link_loads(network.route_ptr, network.route, sent, n_link) / network.bandwidth
    most = float(seconds.max(initial=0.0))
    return most * float(((seconds / most) ** BUSIEST).mean()) ** (1 / BUSIEST) if most > 0.0 else 0.0


def balanced(network: Network, demand: Demand, rng: np.random.Generator, pairs: Ints | None = None) -> Network:
    """The network with shortest routes that share the load of a demand.

    Transfers, and edges of all-reduces where there is no link, are routed anew one after the other, each along the
    shortest path on which links are least busy with everything else.

    Parameters
    ----------
    network : Network
        Without switches.  Routes that are longer than need be stay, and pairs without one (`with_demand`) have none.
    demand : Demand
    rng : numpy.random.Generator
        Draws the order, and what all-reduces count for.
    pairs : int64 (n_pair,), optional
        Ordered pairs ``source * n_server + target`` that may be routed anew; all if None.

    Returns
    -------
    Network
        The same one if every route is as it was.
    """
    volume, load = _load(network, demand, REDUCED[int(rng.integers(len(REDUCED)))])
    used = (volume > 0) & (np.diff(network.route_ptr) > 1)
    open_ = np.flatnonzero(used) if pairs is None else pairs[used[pairs]]
    if len(open_) > MOST_PAIRS:
        open_ = rng.permutation(_crowded(network, load / network.bandwidth, open_))[:SOME_PAIRS]
    if not len(open_):
        return network
    ptr, link_to = network.link_ptr, network.link_to
    hops = hops_to(ptr, link_to, np.arange(network.topology.n_server))
    route = network.route.copy()
    for _ in range(PASSES):
        order = rng.permutation(open_)
        balance(ptr, link_to, hops, network.bandwidth, volume, order, network.route_ptr, route, load, POWER)
    same = np.array_equal(route, network.route)
    return network if same else network.with_routes((network.route_ptr, route))


def _crowded(network: Network, seconds: Floats, pairs: Ints) -> Ints:
    """Those of some ordered pairs of servers whose route runs over one of the busiest links."""
    busy = seconds >= np.quantile(seconds, 1.0 - CROWDED)
    crowded: Ints = over_any(network.route_ptr, network.route, busy, pairs)
    return crowded


def _load(network: Network, demand: Demand, reduced: float) -> tuple[Floats, Floats]:
    """Bytes along the route of every ordered pair of servers, float64 (n_server * n_server,), and on every link.

    Bytes of all-reduces count for ``reduced`` bytes each.
    """
    along, on_rings = _sent(network, demand, reduced)
    return along, on_rings + link_loads(network.route_ptr, network.route, along, len(on_rings))


def _sent(network: Network, demand: Demand, reduced: float) -> tuple[Floats, Floats]:
    """Bytes along routes of pairs as in `_load`, and those of rings on every link."""
    n = network.topology.n_server
    along: Floats = demand.model_parallel.ravel().copy()
    on_rings = np.zeros(len(network.bandwidth))
    cycles = by_members(network.topology.cycles)
    for group, sent in sent_by_group(demand).items():
        rings = () if group in cycles else network.topology.rings_of(group)
        for ring in range(network.ring_ptr[len(group)], network.ring_ptr[len(group)] + len(rings)):
            links = network.ring_links[network.ring_hops[ring] : network.ring_hops[ring + 1]].reshape(n, -1)
            np.add.at(on_rings, links[list(group)], reduced * sent / len(rings))
        if not rings:
            own = cycles.get(group, [group])
            for cycle in own:
                here, ahead = np.array(cycle), np.array((*cycle[1:], cycle[0]))
                along[here * n + ahead] += reduced * sent / len(own)
    return along, on_rings
