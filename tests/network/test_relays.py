"""Trees along links: shortest, and balanced over links."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet import Cluster, build_network
from flexnet.network.network import Network, connect
from flexnet.network.relays import relay_trees
from flexnet.network.routes import shortest_routes
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topology import Topology


def loads(network: Network, trees: np.ndarray) -> np.ndarray:
    """Seconds of a byte from everyone to everyone, of every link."""
    load = np.zeros(len(network.bandwidth))
    for root, parents in enumerate(trees):
        for server, parent in enumerate(parents):
            if server != root:
                load[network.link_id[parent, server]] += 1
    return load / network.bandwidth


def connected(topology: Topology) -> Network:
    return connect(topology, 1e9, 1e-6, shortest_routes(topology, np.random.default_rng(0)))


@given(st.integers(0, 2**32 - 1), st.integers(3, 24), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_trees_are_of_shortest_paths_along_links(seed: int, n: int, degree: int) -> None:
    network = connected(random_graph(n, degree, np.random.default_rng(seed)))
    trees = relay_trees(network)
    hops = np.diff(network.route_ptr).reshape(n, n)
    for root in range(n):
        for server in range(n):
            parent = trees[root, server]
            if server == root:
                assert parent == root
            else:
                assert network.link_id[parent, server] >= 0
                assert hops[root, parent] == hops[root, server] - 1


@pytest.mark.parametrize(("n", "jumps"), [(16, (1, 5)), (32, (1, 7)), (64, (1, 9))])
def test_trees_share_the_links_of_a_circulant(n: int, jumps: tuple[int, ...]) -> None:
    """Everyone to everyone takes n - 1 links, of each server a quarter each in the best case."""
    links = sum(np.roll(np.eye(n, dtype=np.int64), jump, axis=1) for jump in jumps)
    network = connected(Topology("circulant", n, 0, links + links.T, {}))
    load = loads(network, relay_trees(network)) * 1e9
    assert load.sum() == n * (n - 1)
    assert load.max() <= 1.15 * (n - 1) / 4


def test_wider_links_carry_more() -> None:
    """Two ways round four servers, one of which is twice as wide."""
    links = np.zeros((4, 4), np.int64)
    for a, b, wide in ((0, 1, 3), (1, 2, 3), (2, 3, 1), (3, 0, 1)):
        links[a, b] = links[b, a] = wide
    network = connected(Topology("square", 4, 0, links, {}))
    trees = relay_trees(network)
    assert trees[0, 2] == 1
    assert trees[2, 0] == 1


def test_nobody_is_on_the_way_over_switches_and_between_neighbours() -> None:
    cluster = Cluster(8, link_bandwidth=1e9, degree=3)
    for topology in ("fattree", "fc"):
        trees = relay_trees(build_network(topology, cluster))
        assert (trees == np.arange(8)[:, None]).all()


def test_networks_with_the_same_links_have_the_same_trees() -> None:
    network = connected(random_graph(8, 3, np.random.default_rng(1)))
    other = network.with_routes((network.route_ptr, network.route))
    assert relay_trees(other) is relay_trees(network)
    assert np.array_equal(relay_trees(connected(network.topology)), relay_trees(network))
