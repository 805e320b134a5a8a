"""Routes that share the load: shortest ones, or nearly so, each chosen with all others where they are."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.demand import Demand
from flexnet.network.distances import all_hops
from flexnet.network.kernels.balance import balance
from flexnet.network.kernels.detours import detour
from flexnet.network.kernels.held_routes import NO_BYTES, NO_PAIRS, link_loads, over_any, replaced, senders
from flexnet.network.network import Network
from flexnet.network.topology import by_members
from flexnet.network.wiring.shares import sent_by_group

__all__ = ["balanced", "crowding", "detoured", "link_seconds", "with_demand"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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

DETOUR = 3
"""Links that a route of `detoured` may have beyond those of a shortest one.

With one more, placing what eight servers of a random graph of 24 exchange halves the busiest link for a twentieth of
all places, with two for a quarter, with three for half of them; with four for no more.
"""

DETOUR_PASSES = 4
"""How often every pair is routed anew by `detoured`."""

MOST_DETOURS = 2**20
"""Pairs times links: more take longer than prices do."""

EVEN = 0.5
"""Where links carry so much of what the busiest does on the mean, longer routes have no room."""

RELIEVED = 0.97
"""What the busiest link has left, to be worth a price."""


class _Sent(NamedTuple):
    """What a demand sends: ``by_pair``, but for ``pairs`` with edges of all-reduces, ascending, which send ``bytes``.

    And ``on_rings``, what rings over links of their own put on these.
    """

    by_pair: Floats
    pairs: Ints
    bytes: Floats
    on_rings: Floats

    def of(self, pairs: Ints) -> Floats:
        """What some pairs send."""
        found = self.by_pair[pairs]
        if len(self.pairs):
            at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
            found = np.where(self.pairs[at] == pairs, self.bytes[at], found)
        return found


def with_demand(network: Network, demand: Demand) -> Network:
    """The network with routes for what a demand sends; the same if all have one."""
    if not network.implies_routes:
        return network
    sent = _sent(network, demand, 1.0)
    return network.routing(senders(network.route_ptr, sent.by_pair, sent.pairs, 0, 0))


def link_seconds(network: Network, demand: Demand) -> Floats:
    """Seconds for which every link is busy with what a demand puts on it.

    Returns
    -------
    float64 (n_link,)
    """
    seconds: Floats = _load(network, _sent(network, demand, 1.0)) / network.bandwidth
    return seconds


def crowding(network: Network, demand: Demand) -> float:
    """Seconds for which links are busy with transfers, a mean in which the busiest ones count most (`BUSIEST`).

    An iteration takes as long as its busiest links; of two networks that have as busy ones, this tells which has fewer.
    """
    sent, n_link = demand.model_parallel.ravel(), len(network.bandwidth)
    seconds = link_loads(network.route_ptr, network.route, sent, NO_PAIRS, NO_BYTES, n_link) / network.bandwidth
    most = float(seconds.max(initial=0.0))
    return most * float(((seconds / most) ** BUSIEST).mean()) ** (1 / BUSIEST) if most > 0.0 else 0.0


def balanced(
    network: Network,
    demand: Demand,
    rng: np.random.Generator,
    stays: npt.NDArray[np.bool_] | None = None,
    *,
    in_place: bool = False,
) -> Network:
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
    stays : bool (n_server * n_server,), optional
        Ordered pairs ``source * n_server + target`` that are not routed anew; none if None.
    in_place : bool
        The network's own routes may be changed: nobody else has them.

    Returns
    -------
    Network
        The same one if every route is as it was, and not changed in place.
    """
    sent = _sent(network, demand, REDUCED[int(rng.integers(len(REDUCED)))])
    load = _load(network, sent)
    open_ = senders(network.route_ptr, sent.by_pair, sent.pairs, 2, network.topology.n_server)
    if stays is not None:
        open_ = open_[~stays[open_]]
    if len(open_) > MOST_PAIRS:
        open_ = rng.permutation(_crowded(network, load / network.bandwidth, open_))[:SOME_PAIRS]
    if not len(open_):
        return network
    ptr, link_to = network.link_ptr, network.link_to
    hops = all_hops(ptr, link_to)
    route = network.route if in_place else network.route.copy()
    for _ in range(PASSES):
        order = rng.permutation(open_)
        balance(ptr, link_to, hops, network.bandwidth, sent.of(order), order, network.route_ptr, route, load)
    if not in_place and np.array_equal(route, network.route):
        return network
    return network.with_routes((network.route_ptr, route))


def detoured(network: Network, demand: Demand, rng: np.random.Generator) -> Network | None:
    """The network with routes that share the load of a demand, some of them longer than need be.

    A link that two pairs have takes twice as long as one that has one of them, and a longer way round may have none:
    what few servers of a random graph send each other may take half the time.

    Parameters
    ----------
    network : Network
        Without switches, with routes for all that a demand sends.
    demand : Demand
    rng : numpy.random.Generator
        Draws the order, and what all-reduces count for.

    Returns
    -------
    Network or None
        None where the busiest link is next to as busy, or the others are, or pairs are many.
    """
    sent = _sent(network, demand, REDUCED[int(rng.integers(len(REDUCED)))])
    n, load = network.topology.n_server, _load(network, sent)
    pairs, bandwidth = senders(network.route_ptr, sent.by_pair, sent.pairs, 1, n), network.bandwidth
    if not len(pairs) or len(pairs) * len(load) > MOST_DETOURS:
        return None
    seconds = load / bandwidth
    before = float(seconds.max())
    if seconds.mean() > EVEN * before:
        return None
    hops = all_hops(network.link_ptr, network.link_to)
    lengths = np.diff(network.route_ptr)[pairs]
    routes = np.zeros((len(pairs), max(int(lengths.max()), int(hops[:n, :n].max()) + DETOUR)), np.int32)
    held = np.arange(routes.shape[1]) < lengths[:, None]
    routes[held] = network.route[(network.route_ptr[pairs][:, None] + np.arange(routes.shape[1]))[held]]
    for _ in range(DETOUR_PASSES):
        order = rng.permutation(len(pairs))
        pairs, lengths, routes = pairs[order], lengths[order], routes[order]
        detour(network.link_ptr, network.link_to, hops, bandwidth, sent.of(pairs), pairs, DETOUR, routes, lengths, load)
    if float((load / bandwidth).max()) > RELIEVED * before:
        return None
    order = np.argsort(pairs)
    begin, count = np.arange(len(pairs)) * routes.shape[1], lengths[order].astype(np.int64)
    changed = replaced(network.route_ptr, network.route, pairs[order], begin, count, routes[order].ravel())
    return network.with_routes(changed)


def _crowded(network: Network, seconds: Floats, pairs: Ints) -> Ints:
    """Those of some ordered pairs of servers whose route runs over one of the busiest links."""
    busy = seconds >= np.quantile(seconds, 1.0 - CROWDED)
    crowded: Ints = over_any(network.route_ptr, network.route, busy, pairs)
    return crowded


def _load(network: Network, sent: _Sent) -> Floats:
    """Bytes on every link."""
    along = sent.by_pair, sent.pairs, sent.bytes
    loads: Floats = link_loads(network.route_ptr, network.route, *along, len(sent.on_rings))
    return sent.on_rings + loads


def _sent(network: Network, demand: Demand, reduced: float) -> _Sent:
    """What a demand sends; bytes of all-reduces count for ``reduced`` bytes each."""
    n, by_pair = network.topology.n_server, demand.model_parallel.ravel()
    on_rings = np.zeros(len(network.bandwidth))
    edges, shares = [NO_PAIRS], [NO_BYTES]
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
                edges.append(here * n + ahead)
                shares.append(np.full(len(cycle), reduced * sent / len(own)))
    pairs, at = np.unique(np.concatenate(edges), return_inverse=True)
    bytes_ = by_pair[pairs]
    np.add.at(bytes_, at, np.concatenate(shares))
    some = bytes_ > 0
    return _Sent(by_pair, pairs[some], bytes_[some], on_rings)
