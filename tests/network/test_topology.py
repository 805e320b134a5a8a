from dataclasses import replace

import numpy as np
import pytest

from flexnet.errors import FlexNetError
from flexnet.network.network import connect
from flexnet.network.routes import shortest_routes
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topology import Topology, adjacency, digest_of
from flexnet.network.totient import ring_links_matrix

RING8 = Topology("ring", 8, 0, ring_links_matrix(8, (1, 3)), {8: ((1,), (7,), (3,), (5,)), 4: ((3, 7),), 2: ((1, 3),)})


def rng():
    return np.random.default_rng(0)


def test_legal_topologies_pass():
    RING8.check(4)
    fat_tree(5).check(1)
    full_mesh(5).check(4)
    full_mesh(1).check(0)


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ((0, 0), 1, "node 0 is linked to itself"),
        ((0, 1), 2, "2 links from node 0 to 1 but 1 back"),
        ((0, 1), -1, "nodes 0 and 1 have -1 links; expected are 0 or more"),
    ],
)
def test_check_refuses_malformed_links(cell, value, sentence):
    links = RING8.links.copy()
    links[cell] = value
    with pytest.raises(FlexNetError, match=sentence):
        replace(RING8, links=links).check(None)


def test_check_refuses_wrong_shapes():
    with pytest.raises(FlexNetError, match=r"link matrix has shape \(8, 8\); expected is \(9, 9\)"):
        replace(RING8, n_switch=1).check(None)
    with pytest.raises(FlexNetError, match="0 servers"):
        Topology("none", 0, 0, np.zeros((0, 0), np.int64), {}).check(None)


def test_check_refuses_more_links_than_interfaces():
    with pytest.raises(FlexNetError, match="server 0 has 4 links but only 3 interfaces"):
        RING8.check(3)


def test_check_refuses_servers_that_cannot_be_reached():
    links = ring_links_matrix(8, (2,))
    with pytest.raises(FlexNetError, match="server 1 cannot be reached from server 0"):
        Topology("halves", 8, 0, links, {}).check(None)


@pytest.mark.parametrize(
    ("size", "ring", "sentence"),
    [
        (8, (2,), "steps by 2 and so visits 4 of 8 servers; a ring of group size 8 must visit 8"),
        (4, (1,), "steps by 1 and so visits 8 of 8 servers; a ring of group size 4 must visit 4"),
        (4, (2,), "hops by 2 from server 0, where there is no link"),
        (8, (), "hops must be jumps of 1 to 7 servers"),
        (8, (9,), "hops must be jumps of 1 to 7 servers"),
    ],
)
def test_check_refuses_broken_rings(size, ring, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        replace(RING8, rings={size: (ring,)}).check(None)


def test_links_of_a_network_are_ordered_and_fat():
    topology = Topology("double", 4, 0, ring_links_matrix(4, (1, 2)), {})
    network = connect(topology, 10.0, 1e-6, shortest_routes(topology, rng()))
    pairs = list(zip(network.link_from.tolist(), network.link_to.tolist(), strict=True))
    assert pairs == sorted(pairs) == [(a, b) for a in range(4) for b in range(4) if a != b]
    assert network.bandwidth.tolist() == [10, 20, 10, 10, 10, 20, 20, 10, 10, 10, 20, 10]
    assert [network.link_id[a, b] for a, b in pairs] == list(range(12))
    assert (network.link_id.diagonal() == -1).all()
    ptr, link_from, link_to = adjacency(topology.links)
    assert ptr.tolist() == [0, 3, 6, 9, 12]
    assert (link_from == network.link_from).all()
    assert (link_to == network.link_to).all()


def test_rings_are_walked_from_their_second_hop():
    topology = replace(RING8, rings={4: ((1, 3, 7, 7), (3, 7)), 8: ((5,),)})
    network = connect(topology, 1.0, 0.0, shortest_routes(topology, rng()))
    assert network.ring_ptr.tolist() == [0, 0, 0, 0, 0, 2, 2, 2, 2, 3]
    assert network.ring_hops.tolist() == [0, 32, 48, 56]

    def walk(ring, member):
        hops = (network.ring_hops[ring + 1] - network.ring_hops[ring]) // 8
        links = network.ring_links[network.ring_hops[ring] + member * hops :][:hops]
        return [int(network.link_from[links[0]]), *network.link_to[links].tolist()]

    assert walk(0, 6) == [6, 1, 0, 7, 0]  # 3, 7, 7, 1
    assert walk(1, 0) == [0, 7, 2]  # 7, 3
    assert walk(2, 7) == [7, 4]


def test_cycles_are_put_together_by_their_servers_and_follow_routes():
    routes = shortest_routes(RING8, rng())
    cycles = ((0, 1, 4, 3), (2, 6), (3, 0, 1, 4), (0, 3, 4, 1))
    network = connect(replace(RING8, cycles=cycles), 1.0, 0.0, routes)
    assert network.cycles == (cycles[0], cycles[2], cycles[3], cycles[1])
    assert network.cycle_ptr.tolist() == [0, 3, 4]
    assert network.cycle_member.astype(int).tolist() == [[1, 1, 0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 0]]
    assert network.cycle_edge.tolist() == [0, 4, 8, 12, 14]

    def walk(network, edge):
        links = network.cycle_links[network.cycle_hops[edge] : network.cycle_hops[edge + 1]]
        return [int(network.link_from[links[0]]), *network.link_to[links].tolist()]

    assert [walk(network, edge) for edge in range(4)] == [[0, 1], [1, 4], [4, 3], [3, 0]]
    there, back = walk(network, 12), walk(network, 13)
    assert (there[0], there[-1], back[0], back[-1], len(there)) == (2, 6, 6, 2, 3)
    others = [network.with_routes(shortest_routes(RING8, np.random.default_rng(seed))) for seed in range(9)]
    assert len({tuple(walk(other, 12)) for other in others}) > 1
    assert network.with_cycles(()).cycle_ptr.tolist() == [0]
    for cycle in ((1,), (1, 1), (1, 8), (-1, 2)):
        with pytest.raises(FlexNetError, match="a cycle visits 2 or more distinct servers of 0 to 7"):
            network.with_cycles((cycle,))
        with pytest.raises(FlexNetError, match="a cycle visits 2 or more distinct servers of 0 to 7"):
            replace(RING8, cycles=(cycle,)).check(None)


def test_connect_refuses_what_does_not_fit():
    routes = shortest_routes(RING8, rng())
    with pytest.raises(FlexNetError, match="link bandwidth is 0 bytes/s"):
        connect(RING8, 0, 0.0, routes)
    with pytest.raises(FlexNetError, match="latency of a hop is -1"):
        connect(RING8, 1.0, -1, routes)
    with pytest.raises(FlexNetError, match="routes of 81 ordered server pairs; expected are 64"):
        connect(RING8, 1.0, 0.0, shortest_routes(full_mesh(9), rng()))
    with pytest.raises(FlexNetError, match="of 32 links"):
        connect(RING8, 1.0, 0.0, shortest_routes(full_mesh(8), rng()))
    with pytest.raises(FlexNetError, match="hops by 2 from server 0, where there is no link"):
        connect(replace(RING8, rings={4: ((2,),)}), 1.0, 0.0, routes)
    with pytest.raises(FlexNetError, match="rings for groups of 9; group sizes are 1 to 8"):
        connect(replace(RING8, rings={9: ((1,),)}), 1.0, 0.0, routes)


def test_with_routes_changes_nothing_else():
    network = connect(RING8, 1.0, 0.0, shortest_routes(RING8, rng()))
    routes = shortest_routes(RING8, np.random.default_rng(5))
    other = network.with_routes(routes)
    assert (other.route == routes[1]).all()
    assert (other.route != network.route).any()
    assert other.ring_links is network.ring_links
    with pytest.raises(FlexNetError, match="ordered server pairs"):
        network.with_routes(shortest_routes(full_mesh(9), rng()))


def test_a_single_server_is_a_network():
    topology = full_mesh(1)
    network = connect(topology, 1.0, 0.0, shortest_routes(topology, rng()))
    assert network.route_ptr.tolist() == [0, 0]
    assert network.ring_ptr.tolist() == [0, 0, 0]
    assert len(network.bandwidth) == 0


@pytest.mark.parametrize("n", [4, 200])
def test_links_are_told_apart(n):
    ring = ring_links_matrix(n, (1,))
    two = ring.copy()
    two[0, 1] = two[1, 0] = 2
    turned = np.roll(np.roll(two, 1, axis=0), 1, axis=1)
    assert digest_of(ring) == digest_of(ring.copy())
    assert len({digest_of(links) for links in (ring, two, turned, two[::-1, ::-1])}) == 4
