"""Networks whose links all join two sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_demands import grouped_demands

from flexnet.network.demand import Demand
from flexnet.network.network import connect
from flexnet.network.routes import shortest_routes
from flexnet.network.wiring.balance import balanced, link_seconds
from flexnet.network.wiring.links import are_connected
from flexnet.network.wiring.two_sided import two_sided
from flexnet.network.wiring.wire import wire


def blocks(*sizes: int) -> Demand:
    """Servers in sets, all of which send to all others of theirs."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    pairs = 1e9 * (label[:, None] == label) * (1 - np.eye(len(label)))
    return Demand(len(label), pairs, {})


@given(grouped_demands(), st.integers(2, 8), st.integers(0, 99))
@settings(deadline=None, max_examples=100)
def test_links_join_two_halves_alike(demand: Demand, degree: int, seed: int) -> None:
    topology = two_sided(demand, degree, np.random.default_rng(seed))
    n = demand.n_server
    if n % 2 or n < 4:
        assert topology is None
        return
    if topology is None:  # no draw was connected, as two shifts by which few servers are reached
        assert degree < 4
        return
    links = topology.links
    assert are_connected(links)
    assert (links.sum(axis=1) == degree).all()
    side = (links[0] > 0).astype(int)  # servers an odd number of links away from server 0
    while (grown := ((links @ (links @ side)) > 0) | (side > 0)).sum() > (side > 0).sum():
        side = grown.astype(int)
    assert side.sum() == n // 2
    assert not links[np.ix_(side > 0, side > 0)].any()
    assert not links[np.ix_(side == 0, side == 0)].any()


@pytest.mark.parametrize("sizes", [(8, 8), (8, 1, 1, 1, 1, 1, 1, 1, 1), (4, 4, 4, 4), (6, 6, 2, 2)])
def test_those_that_exchange_stand_on_one_side(sizes: tuple[int, ...]) -> None:
    topology = two_sided(blocks(*sizes), 4, np.random.default_rng(0))
    assert topology is not None
    first = 0
    for size in sizes:
        within = slice(first, first + size)
        assert not topology.links[within, within].any()
        first += size


def test_idle_servers_lend_their_interfaces() -> None:
    """Eight of sixteen servers exchange: links among themselves are busy for longer than those by way of the others."""
    demand, rng = blocks(8, *[1] * 8), np.random.default_rng(0)
    busiest = {}
    for name, topology in (("direct", wire(demand, 4, rng)), ("two-sided", two_sided(demand, 4, rng))):
        network = connect(topology, 1e9, 1e-6, shortest_routes(topology, rng))
        busiest[name] = link_seconds(balanced(network, demand, rng), demand).max()
    assert busiest["two-sided"] < 0.9 * busiest["direct"]
