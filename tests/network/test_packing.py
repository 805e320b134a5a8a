"""Cycles through all servers that share no link."""

from itertools import pairwise
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flexnet.network import hamiltonian, packing
from flexnet.network.cubic import has_half
from flexnet.network.hamiltonian import MOST_STEPS, REVERSED, hamiltonian_cycle, neighbors_of
from flexnet.network.kernels.cycles import MANY, two_cycles
from flexnet.network.packing import both_ways, interfaces_of, pack_cycles, walecki


def links_used(cycles, n):
    used = np.zeros((n, n), np.int64)
    for cycle in cycles:
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            used[a, b] += 1
            used[b, a] += 1
    return used


def regular(n, degree, seed):
    graph = nx.random_regular_graph(degree, n, seed=seed)
    return nx.to_numpy_array(graph, nodelist=range(n)).astype(np.int64)


@pytest.mark.parametrize("n", range(3, 30))
def test_walecki_uses_every_link_of_a_full_mesh_but_a_matching(n):
    cycles = walecki(n)
    assert len(cycles) == len(set(cycles)) == (n - 1) // 2
    assert all(sorted(cycle) == list(range(n)) for cycle in cycles)
    unused = 1 - np.eye(n, dtype=np.int64) - links_used(cycles, n)
    assert unused.min() == 0
    assert (unused.sum(axis=1) == (n + 1) % 2).all()


@given(st.sampled_from([16, 24, 32, 64, 128]), st.sampled_from([4, 6, 8]), st.integers(0, 99))
@settings(deadline=None, max_examples=25)
def test_random_regular_graphs_decompose(n, degree, seed):
    links = regular(n, degree, seed)
    before = links.copy()
    cycles = pack_cycles(links, Random(seed))
    assert (links == before).all()
    assert (links_used(cycles, n) == links).all()
    assert pack_cycles(links, Random(seed)) == cycles


@given(st.integers(1, 12), st.integers(0, 999))
@example(4, 716)  # five links a server, that are two rings and a half
@settings(deadline=None, max_examples=150)
def test_cycles_share_no_link_on_any_graph(n, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(0, 3, (n, n)) * (rng.random((n, n)) < 0.7), 1)
    links = upper + upper.T
    cycles = pack_cycles(links, Random(seed))
    assert all(sorted(cycle) == list(range(n)) and cycle[0] == 0 for cycle in cycles)
    assert (links_used(cycles, n)[links == 0] == 0).all()
    if n > 2:
        each = 1 + has_half(cycles)  # cycles that share a link
        assert (links_used(cycles, n) <= links * each).all()
        assert 2 * len(cycles) <= links.sum(axis=1).min() * each


@pytest.mark.compiled
@given(st.sampled_from([6, 8, 10, 16, 32, 64, 128]), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_three_links_a_server_are_a_ring_and_a_half(n, seed):
    """Of graphs where there is none, as where nodes are in two sets of 4, only rings are told."""
    links = regular(n, 3, seed)
    before = links.copy()
    cycles = pack_cycles(links, Random(seed))
    assert (links == before).all()
    assert pack_cycles(links, Random(seed)) == cycles
    assert len(pack_cycles(links, Random(seed), halves=False)) <= 1
    if len(cycles) > 1:
        assert has_half(cycles)
        assert (links_used(cycles, n) == 2 * links).all()
        assert interfaces_of(both_ways(cycles)) == 3


@pytest.mark.compiled
@given(st.sampled_from([(8, 5), (16, 5), (16, 7), (32, 5), (64, 7), (128, 9)]), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_an_odd_number_of_links_a_server_are_rings_and_a_half(size, seed):
    n, degree = size
    links = regular(n, degree, seed)
    before = links.copy()
    cycles = pack_cycles(links, Random(seed))
    assert (links == before).all()
    assert pack_cycles(links, Random(seed)) == cycles
    if len(cycles) > degree // 2:
        assert has_half(cycles)
        assert (links_used(cycles, n) == 2 * links).all()
        assert interfaces_of(both_ways(cycles)) == degree
        assert all(one != other for one, other in pairwise(cycles))
    whole = pack_cycles(links, Random(seed), halves=False)
    assert (links_used(whole, n) <= links).all()


def test_most_graphs_with_five_links_a_server_are_two_rings_and_a_half():
    assert sum(len(pack_cycles(regular(32, 5, seed), Random(seed))) == 5 for seed in range(10)) >= 8


def test_every_second_cubic_graph_is_a_ring_and_a_half():
    assert sum(len(pack_cycles(regular(32, 3, seed), Random(seed))) == 3 for seed in range(20)) >= 10
    sides = np.add.outer(np.arange(6), np.arange(6)) % 2  # three and three, each linked to all others
    assert len(pack_cycles(sides, Random(0))) == 3
    cube = np.array([[bin(a ^ b).count("1") == 1 for b in range(8)] for a in range(8)]).astype(np.int64)
    assert len(pack_cycles(cube, Random(0))) == 1  # it has rings, but no such three: a parity forbids them


def test_parallel_links_count():
    mesh = 1 - np.eye(5, dtype=np.int64)
    assert len(pack_cycles(2 * mesh, Random(0))) == 4
    ring = np.roll(np.eye(6, dtype=np.int64), 1, axis=1)
    assert pack_cycles(3 * (ring + ring.T), Random(0)) == ((0, 1, 2, 3, 4, 5),) * 3
    assert pack_cycles(np.array([[0, 4], [4, 0]]), Random(0)) == ((0, 1),)
    assert pack_cycles(np.zeros((2, 2), np.int64), Random(0)) == ()


def test_graphs_without_a_cycle_have_none():
    star = np.zeros((5, 5), np.int64)
    star[0, 1:] = star[1:, 0] = 2
    assert pack_cycles(star, Random(0)) == ()
    two = np.kron(np.eye(2, dtype=np.int64), 1 - np.eye(4, dtype=np.int64))
    assert pack_cycles(two, Random(0)) == ()
    triangles = np.kron(np.eye(2, dtype=np.int64), 1 - np.eye(3, dtype=np.int64))
    assert hamiltonian_cycle(triangles, Random(0)) is None
    petersen = nx.to_numpy_array(nx.petersen_graph(), dtype=np.int64)
    assert hamiltonian_cycle(petersen, Random(0)) is None


def test_both_ways_of_a_cycle_use_its_links_both_ways():
    assert both_ways([(0, 2, 3, 1)]) == ((0, 2, 3, 1), (0, 1, 3, 2))
    assert both_ways([(0, 1)]) == ((0, 1),)
    assert both_ways([]) == ()


def test_networks_of_many_servers_may_have_no_cycle(monkeypatch):
    n, halves = MANY + 8, [np.kron(np.eye(2, dtype=np.int64), regular((MANY + 8) // 2, degree, 0)) for degree in (3, 4)]
    assert len(pack_cycles(regular(n, 3, 0), Random(0), halves=False)) == 1
    for module in (hamiltonian, packing):
        monkeypatch.setattr(module, "MOST_STEPS", 4)
    for links in halves:
        assert pack_cycles(links, Random(0), halves=False) == ()
    ptr, neighbor = neighbors_of(halves[1])
    ends = np.repeat(neighbor, halves[1][halves[1] > 0]).reshape(-1, 4)
    assert two_cycles(ptr, neighbor, ends, 4 * n, REVERSED, 1, 15).shape == (0, n)


def test_networks_of_many_servers_decompose_by_cycles_from_one_another():
    n, found = MANY + 8, []
    for seed in range(3):
        links = regular(n, 4, seed)
        ptr, neighbor = neighbors_of(links)
        ends = np.repeat(neighbor, links[links > 0]).reshape(-1, 4)
        cycles = two_cycles(ptr, neighbor, ends, MOST_STEPS * n, REVERSED, seed + 1, 15).tolist()
        assert all(sorted(cycle) == list(range(n)) for cycle in cycles)
        assert (links_used(cycles, n) <= links).all()
        found.append(len(cycles))
    assert max(found) == 2
