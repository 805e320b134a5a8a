import numpy as np
import pytest

from flexnet.errors import FlexNetError
from flexnet.network.routes import all_shortest_paths, routes_by_target, routes_for
from flexnet.network.topologies.kary import kary_fat_tree, kary_ports
from flexnet.network.topologies.leafspine import LeafSpine, leaf_spine
from flexnet.plan.semantics import CORRECTED, ORIGINAL


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 128])
def test_a_fat_tree_has_no_more_links_than_ports(n):
    topology, k = kary_fat_tree(n), kary_ports(n)
    topology.check(1)
    used = topology.links.sum(axis=1)
    assert used[n:].max() <= k
    assert topology.n_switch == 5 * k * k // 4


def test_paths_of_a_fat_tree():
    topology = kary_fat_tree(128)
    for target, n_path, hops in ((1, 1, 2), (4, 4, 4), (127, 16, 6)):
        paths = all_shortest_paths(topology, 0, target)
        assert len(paths) == n_path and {len(path) - 1 for path, _ in paths} == {hops}


@pytest.mark.parametrize(
    ("n", "leaf", "ratio", "switches"), [(8, 4, 1.0, 6), (8, 4, 4.0, 3), (9, 4, 2.0, 5), (3, 4, 1, 1)]
)
def test_a_leaf_spine_has_its_ratio(n, leaf, ratio, switches):
    topology = leaf_spine(n, leaf, ratio)
    topology.check(1)
    assert topology.n_switch == switches
    up = topology.links[n, n:].sum()
    assert up == (leaf / ratio if n > leaf else 0)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: kary_fat_tree(17, 4), "4-port switches for 17 servers; ports must be even and at least 6"),
        (lambda: kary_fat_tree(4, 5), "ports must be even"),
        (lambda: kary_fat_tree(0), "at least 1"),
        (lambda: leaf_spine(8, 4, 3.0), "leaves 1.33333 links up; it must be a whole number"),
        (lambda: leaf_spine(8, 4, 8.0), "leaves 0.5 links up"),
        (lambda: leaf_spine(0, 4, 1.0), "both must be at least 1"),
        (lambda: leaf_spine(4, 4, float("inf")), "whole number"),
    ],
)
def test_impossible_tiers(build, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        build()


def test_oversubscription_is_felt():
    """Cut through the spine: half the links, half the bandwidth."""
    cuts = [leaf_spine(16, 4, ratio).links[16:20, 20:].sum() for ratio in (1.0, 2.0, 4.0)]
    assert cuts == [16, 8, 4]
    assert isinstance(np.sum(cuts), np.integer)


@pytest.mark.parametrize(
    "topology", [kary_fat_tree(16), kary_fat_tree(54), leaf_spine(32, 8, 1.0), leaf_spine(9, 3, 1.0)]
)
def test_servers_that_send_as_many_places_on_share_no_link(topology):
    n = topology.n_server
    ptr, route = routes_by_target(topology)
    for shift in range(1, n):
        pairs = [source * n + (source + shift) % n for source in range(n)]
        used = np.concatenate([route[ptr[pair] : ptr[pair + 1]] for pair in pairs])
        assert len(set(used.tolist())) == len(used)


def test_routes_by_target_are_shortest_paths():
    topology = leaf_spine(10, 4, 2.0)
    ptr, _ = routes_by_target(topology)
    for source, target in np.ndindex(10, 10):
        hops = 0 if source == target else len(all_shortest_paths(topology, source, target)[0][0]) - 1
        assert ptr[source * 10 + target + 1] - ptr[source * 10 + target] == hops
    drawn, by_target = (
        routes_for(topology, semantics, np.random.default_rng(0))[1].tolist() for semantics in (ORIGINAL, CORRECTED)
    )
    assert by_target == routes_by_target(topology)[1].tolist() != drawn


def test_few_servers_need_no_spine_whatever_the_ratio():
    assert leaf_spine(2, 4, 4.0).n_switch == LeafSpine(4, 4.0).build(2, None, np.random.default_rng(0)).n_switch == 1
