import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_demands import demands

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.routes import routes_for
from flexnet.network.topologies.topoopt import build_topoopt
from flexnet.network.totient import group_sizes, ring_links_matrix
from flexnet.plan.semantics import CORRECTED, ORIGINAL

SMALL_RINGS = [replace(CORRECTED, split_degree=False), replace(CORRECTED, proportional_rings=False)]


def build(n, degree, groups, pairs=0.0, semantics=ORIGINAL, seed=0):
    demand = Demand(n, pairs * (1 - np.eye(n)), groups)
    topology = build_topoopt(demand, degree, semantics, np.random.default_rng(seed))
    topology.check(degree)
    return topology


def own_rings(jumps, n):
    return tuple(ring for jump in jumps for ring in ((jump,), (n - jump,)))


@pytest.mark.parametrize(
    ("n", "degree", "jumps"),
    [
        (8, 4, (1, 3)),
        (12, 4, (1, 5)),
        (16, 4, (1, 5)),
        (16, 8, (1, 3, 5, 9)),
        (32, 4, (1, 7)),
        (128, 4, (1, 13)),
        (128, 6, (1, 7, 27)),
        (128, 8, (1, 5, 13, 39)),
    ],
)
@pytest.mark.parametrize("groups", ["all", "none", "indivisible"])
def test_original_gives_all_interfaces_to_the_heaviest_group(n, degree, jumps, groups):
    topology = build(n, degree, {"all": {n: 1e9, 2: 1e3}, "none": {}, "indivisible": {n - 1: 1e9}}[groups], 1e12)
    assert (topology.links == ring_links_matrix(n, jumps)).all()
    assert topology.rings[n] == own_rings(jumps, n)
    assert tuple(topology.rings) == group_sizes(n)
    assert all(len(topology.rings[size]) == 2 for size in group_sizes(n)[:-1])


def test_original_lays_one_ring_over_all_servers_beside_smaller_groups():
    topology = build(128, 8, {64: 1e9, 128: 1e8})
    assert topology.rings[64] == own_rings((2, 10, 34), 128)
    assert topology.rings[128] == ((1,), (127,))
    only = build(128, 2, {64: 1e9})
    assert only.rings[128] == ((1,), (127,))
    assert only.rings[64] == ((1, 1), (127, 127))


def test_original_weighs_groups_with_2g_minus_1():
    assert len(build(16, 4, {16: 1.0, 2: 1.3}).rings[2]) == 2  # 1.9375 < 1.95
    assert build(16, 4, {16: 1.0, 2: 1.3}).rings[2] == ((8,), (8,))
    assert build(16, 4, {16: 1.0, 2: 1.29}).rings[16] == own_rings((1, 5), 16)  # 1.9375 > 1.935


def test_original_of_pairs_has_parallel_links():
    topology = build(16, 8, {2: 1e9})
    assert topology.rings[2] == own_rings((8, 8, 8), 16)
    assert topology.links[0, 8] == 6
    assert topology.links[0, 1] == 1


def test_original_refuses_an_odd_degree():
    with pytest.raises(FlexNetError, match="degree 5 of topology topoopt must be even"):
        build(16, 5, {16: 1.0})
    with pytest.raises(FlexNetError, match="degree is 0"):
        build(16, 0, {16: 1.0})


@pytest.mark.parametrize(("semantics", "degree"), [(ORIGINAL, 2), (ORIGINAL, 4), (CORRECTED, 1), (CORRECTED, 4)])
def test_one_and_two_servers(semantics, degree):
    assert not build(1, degree, {}, semantics=semantics).rings
    topology = build(2, degree, {2: 1e6}, 1e6, semantics)
    assert topology.links.tolist() == [[0, degree], [degree, 0]]
    assert set(topology.rings[2]) == {(1,)}


@pytest.mark.parametrize(
    ("pairs", "n_ring"),
    [(0.0, 8), (30 / 240 / 8, 8), (30 / 240 / 6.9, 6), (30 / 240, 4), (30 / 240 * 7, 2), (1e9, 2)],
)
def test_corrected_splits_interfaces_by_bytes_on_the_network(pairs, n_ring):
    # All-reduces of 1 byte over 16 servers put 30 bytes on the network, `pairs` bytes per pair 240 times that.
    topology = build(16, 8, {16: 1.0}, pairs, CORRECTED)
    assert len(topology.rings[16]) == n_ring
    assert (topology.links.sum(axis=1) == 8).all()


def test_corrected_shares_rings_in_proportion_largest_first():
    groups = {16: 1.0 / 30, 8: 1.0 / 14}  # both put the same on the network
    topology = build(16, 8, groups, 0.0, CORRECTED)
    assert topology.rings[16] == own_rings((1, 5), 16)
    assert topology.rings[8] == own_rings((2, 6), 16)
    heavy = build(16, 8, {16: 1.0 / 30, 8: 9.0 / 14}, 0.0, CORRECTED)
    assert len(heavy.rings[8]) == 6
    assert heavy.rings[16] == ((1,), (15,))


def test_corrected_gives_an_odd_interface_to_a_matching():
    even = build(16, 5, {16: 1.0}, 0.0, CORRECTED)
    assert len(even.rings[16]) == 4
    assert (even.links.sum(axis=1) == 5).all()
    odd = build(15, 5, {15: 1.0}, 0.0, CORRECTED)
    assert sorted(odd.links.sum(axis=1)) == [4] + [5] * 14
    with pytest.raises(FlexNetError, match="degree 1 cannot connect 3 servers; topology topoopt needs at least 2"):
        build(3, 1, {3: 1.0}, 0.0, CORRECTED)


def test_corrected_links_the_pairs_that_talk():
    pairs = np.zeros((16, 16))
    pairs[0, 6] = pairs[6, 0] = pairs[3, 12] = 1e9
    topology = build_topoopt(Demand(16, pairs, {16: 1.0}), 4, CORRECTED, np.random.default_rng(0))
    assert topology.links[0, 6] == 2
    assert topology.links[3, 12] == 2


@settings(max_examples=150, deadline=None)
@given(
    demand=demands(),
    degree=st.integers(1, 9),
    semantics=st.sampled_from([ORIGINAL, CORRECTED, *SMALL_RINGS]),
    seed=st.integers(0, 9),
)
def test_every_topology_is_legal(demand, degree, semantics, seed):
    n = demand.n_server
    try:
        topology = build_topoopt(demand, degree, semantics, np.random.default_rng(seed))
    except FlexNetError as error:
        assert (degree % 2 == 1 and not semantics.split_degree and n > 1) or (degree < 2 and n > 2)
        assert str(error).startswith("degree ")
        return
    topology.check(degree)
    assert tuple(topology.rings) == group_sizes(n)
    if n % 2 == 0:
        assert (topology.links.sum(axis=1) == degree).all()
    again = build_topoopt(demand, degree, semantics, np.random.default_rng(seed))
    assert (topology.links == again.links).all()
    assert topology.rings == again.rings
    for size, rings in topology.rings.items():
        for ring in rings:
            for start in range(n // size):
                visited, at = [], start
                for _ in range(size):
                    visited.append(at)
                    for hop in ring:
                        assert topology.links[at, (at + hop) % n] > 0
                        at = (at + hop) % n
                assert at == start
                assert sorted(visited) == list(range(start, n, n // size))


@pytest.mark.parametrize("case", ["dlrm16.topoopt.init", "dlrm16.topoopt.best", "vgg16.topoopt.it20"])
def test_records_of_the_original_have_these_links_and_rings(shared_data, case):
    path = shared_data / "costs" / f"{case}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the published data on this machine")
    record = json.loads(path.read_text())
    n = record["num_nodes"]
    groups: dict[int, float] = {}
    for group in record["allreduce_groups"]:
        groups[len(group["nodes"])] = groups.get(len(group["nodes"]), 0.0) + group["bytes"]
    pairs = np.zeros((n, n))
    for source, target, volume in record["model_parallel_bytes"]:
        pairs[source, target] = volume
    drawn = {size: set() for size in group_sizes(n)}
    for seed in range(60):
        topology = build_topoopt(Demand(n, pairs, groups), record["node_degree"], ORIGINAL, np.random.default_rng(seed))
        for size, rings in topology.rings.items():
            drawn[size].add(frozenset(tuple(sorted(ring)) for ring in rings))
    assert [[a, b, int(topology.links[a, b])] for a, b in np.argwhere(topology.links)] == record["links"]
    for size, jumps in record["ring_jumps"].items():
        assert frozenset(tuple(sorted(ring)) for ring in jumps) in drawn[int(size)]
    route_ptr, _ = routes_for(topology, ORIGINAL, np.random.default_rng(0))
    for pair, hops in record["routes"].items():
        source, target = map(int, pair.split("-"))
        at = source * n + target
        assert route_ptr[at + 1] - route_ptr[at] == max(len(hops) - 1, 0)


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
def test_rounding_gives_rings_no_more_interfaces_than_there_are(degree):
    """All traffic is rings', and degree * volume / volume rounds up to a little more than the degree."""
    rng = np.random.default_rng(0)
    for volume in rng.uniform(1e9, 1e10, 50):
        build(14, degree, {14: volume, 7: volume / 3}, semantics=CORRECTED)
    build(14, degree, {14: 4581298449.934321, 8: 4581298447.934321}, semantics=CORRECTED)
