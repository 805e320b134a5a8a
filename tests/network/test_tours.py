from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network.network import connect
from flexnet.network.routes import shortest_routes
from flexnet.network.topology import Topology
from flexnet.network.totient import ring_links_matrix
from flexnet.network.tours import short_tour, tours_along_routes


def length(cost, tour):
    return sum(cost[a, b] for a, b in zip(tour, (*tour[1:], tour[0]), strict=True))


@given(st.integers(1, 7), st.integers(0, 999))
@settings(deadline=None, max_examples=60)
def test_a_tour_visits_all_and_is_short(n, seed):
    rng = np.random.default_rng(seed)
    place = rng.random((n, 2))
    cost = np.linalg.norm(place - place[:, None], axis=2)
    tour = short_tour(cost)
    assert tour[0] == 0
    assert sorted(tour) == list(range(n))
    best = min(length(cost, (0, *rest)) for rest in permutations(range(1, n)))
    assert best * (1 - 1e-9) <= length(cost, tour) <= 1.25 * best


def tours(links, members, seed=0):
    topology = Topology("given", len(links), 0, links, {})
    network = connect(topology, 1.0, 0.0, shortest_routes(topology, np.random.default_rng(seed)))
    arguments = (len(links), network.route_ptr, network.route, network.bandwidth)
    return network, tours_along_routes(np.array(members), *arguments)


def test_a_line_is_walked_there_and_back():
    line = np.diag(np.ones(5, np.int64), 1)
    _, found = tours(line + line.T, [0, 2, 3, 5])
    assert found == ((0, 2, 3, 5), (0, 5, 3, 2)) or found == ((0, 5, 3, 2), (0, 2, 3, 5))


def test_a_group_whose_servers_have_no_links_among_them_uses_several_ways():
    """On a ring of jumps 1 and 4, every second server: two hops from one to the next, by either jump."""
    network, found = tours(ring_links_matrix(16, (1, 5)), range(0, 16, 2))
    assert len(found) >= 2
    assert all(sorted(cycle) == list(range(0, 16, 2)) for cycle in found)

    def busiest(cycles):
        load = np.zeros(len(network.bandwidth))
        for cycle in cycles:
            for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
                load[network.route[network.route_ptr[a * 16 + b] : network.route_ptr[a * 16 + b + 1]]] += 1
        return load.max() / len(cycles)

    assert busiest(found) <= busiest(found[:2]) <= 1.0
    assert busiest([tuple(range(0, 16, 2))]) >= busiest(found)


def test_two_servers_are_one_cycle():
    _, found = tours(ring_links_matrix(6, (1,)), [1, 4])
    assert set(found) == {(1, 4)}
