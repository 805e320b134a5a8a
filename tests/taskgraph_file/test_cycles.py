"""All-reduces over cycles as all-reduces of their own: the same time, bytes and order of tasks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fbuf_samples import circulant, task_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.network.network import Network
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.report.link_use import link_use
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.protocol import FLUID, PACKET, TCP
from flexnet.simulate.replay import replay
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.cycles import along_cycles, put_together
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import decode
from flexnet.taskgraph_file.write import taskgraph_and_origin

N = 6
FLAT = circulant(N, (1, 3))


def with_random_cycles(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, N + 1, int(rng.integers(0, 9)))
    return FLAT.with_cycles(tuple(tuple(rng.permutation(N)[:size].tolist()) for size in sizes))


def large(graph):
    """The graph with all-reduces so large that a byte more or less does not matter, and one task in a file each."""
    more = np.minimum(graph.bytes + 50_000_000, 2**32 - 1)
    return replace(graph, bytes=np.where(graph.kind == ALLREDUCE, more, graph.bytes))


@given(graph=task_graphs(N), seed=st.integers(0, 999), protocol=st.sampled_from([FLUID, TCP]))
@settings(deadline=None, max_examples=80)
def test_parts_along_routes_take_as_long_as_the_whole_over_cycles(graph, seed, protocol):
    graph, network = large(graph), with_random_cycles(seed)
    parts, origin = along_cycles(graph, network, protocol.ring_packets)
    parts.check()
    links = FairLinks(protocol=protocol)
    over_cycles = links.timeline(graph.arrays(), network_arrays(network))
    along_routes = links.timeline(parts.arrays(), network_arrays(FLAT))
    assert along_routes.seconds == pytest.approx(over_cycles.seconds, rel=1e-6)
    assert (np.diff(origin) >= 0).all()
    assert np.bincount(origin, parts.bytes, graph.n_task) == pytest.approx(graph.bytes)
    assert (parts.seconds == graph.seconds[origin]).all()
    assert (parts.op == graph.op[origin]).all()


@given(graph=task_graphs(N), seed=st.integers(0, 999), alike=st.booleans())
@settings(deadline=None, max_examples=80)
def test_parts_are_put_together_again(graph, seed, alike):
    """Before a file runs on another network, which divides its all-reduces over rings of its own."""
    size = np.where(graph.kind == ALLREDUCE, 50_000_000 if alike else graph.bytes + 50_000_000, graph.bytes)
    graph = ascending(replace(graph, bytes=size))  # alike: as scale and shift of a norm
    rng = np.random.default_rng(seed)
    groups = {tuple(sorted(graph.members(task))) for task in np.flatnonzero(graph.kind == ALLREDUCE)}
    drawn = {tuple(rng.permutation(group).tolist()) for group in groups for _ in range(rng.integers(0, 5))}
    cycles = tuple(sorted(cycle for cycle in drawn if len(cycle) > 1))
    parts, _ = along_cycles(graph, FLAT.with_cycles(cycles))
    whole = put_together(parts)
    whole.check()
    for name in ("kind", "seconds", "bytes", "succ_ptr", "succ", "op"):
        assert getattr(whole, name).tolist() == getattr(graph, name).tolist(), name
    for task in range(graph.n_task):
        if graph.kind[task] == ALLREDUCE:
            assert whole.members(task).tolist() == graph.members(task).tolist()
        else:
            assert whole.place[task] == graph.place[task]
    assert put_together(graph) is graph


def ascending(graph):
    """The graph with members in order, as all-reduces of other networks have them."""
    ptr = graph.group_ptr.tolist()
    groups = [sorted(graph.group[begin:end].tolist()) for begin, end in pairwise(ptr)]
    return replace(graph, group=np.array([server for group in groups for server in group], np.int32))


@given(graph=task_graphs(N), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=80)
def test_small_parts_take_the_short_cut_of_the_packet_simulator(graph, seed):
    """Up to 18 kB times servers less one an all-reduce has a single round: as a whole, or each of its parts."""
    equal = graph.bytes % 200 * 2520  # of up to ten parts
    graph = replace(graph, bytes=np.where(graph.kind == ALLREDUCE, equal, graph.bytes % 1_000_000))
    rng = np.random.default_rng(seed)
    groups = {tuple(graph.members(task)) for task in np.flatnonzero(graph.kind == ALLREDUCE)}
    cycles = [rng.permutation(group).tolist() for group in sorted(groups) for _ in range(rng.integers(0, 5))]
    network = FLAT.with_cycles(tuple(tuple(cycle) for cycle in cycles if len(cycle) > 1))
    parts, _ = along_cycles(graph, network)
    for links in (FairLinks(), FollowedPackets(PACKET._replace(rings_by_index=False))):
        over_cycles = links.seconds(graph.arrays(), network_arrays(network))
        assert links.seconds(parts.arrays(), network_arrays(FLAT)) == pytest.approx(over_cycles, rel=1e-6)
    n_link = len(network_arrays(network).bandwidth)
    uses = link_use(graph, network_arrays(network), PACKET), link_use(parts, network_arrays(FLAT), PACKET)
    of_whole, of_parts = (np.bincount(use.link, use.bytes, n_link) for use in uses)
    assert of_whole == pytest.approx(of_parts)
    rings_off = PACKET._replace(rings_by_index=False)
    assert replay(parts, FLAT, protocol=rings_off).demand == pytest.approx(
        replay(graph, network, protocol=rings_off).demand
    )


@given(graph=task_graphs(N), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=40)
def test_the_file_takes_as_long_as_the_plan(graph, seed):
    graph, network = large(graph), with_random_cycles(seed)
    file, _, origin = taskgraph_and_origin(
        graph, network, operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9
    )
    file = decode(encode(file), "again")
    assert not file.has_rings
    back = to_network(file, network.link_bandwidth, network.latency)
    rank = np.argsort(np.argsort(graph.arrays().rank, kind="stable"))  # no ties, of whose order a file says nothing
    ours = FairLinks().seconds(replace(graph, rank=rank.astype(np.int32)).arrays(), network_arrays(network))
    read = replace(to_task_graph(file), rank=rank[origin].astype(np.int32))
    theirs = FairLinks().seconds(read.arrays(), network_arrays(back))
    assert theirs == pytest.approx(ours, rel=5e-3)


def test_a_cycle_is_an_all_reduce_of_its_own():
    graph = single_reduce()
    network = FLAT.with_cycles(((0, 1, 4, 3), (0, 3, 4, 1), (1, 2)))
    parts, origin = along_cycles(graph, network)
    assert origin.tolist() == [0, 1, 1]
    assert parts.bytes.tolist() == [0, 51, 50]
    assert [parts.members(task).tolist() for task in (1, 2)] == [[0, 1, 4, 3], [0, 3, 4, 1]]
    assert parts.successors(0).tolist() == [1, 2]


def test_without_cycles_for_it_a_graph_stays_what_it_is():
    graph = single_reduce()
    for network in (FLAT, FLAT.with_cycles(((0, 1, 2),))):
        assert along_cycles(graph, network)[0] is graph


def test_regular_rings_beside_cycles_are_told_as_members():
    graph = single_reduce()
    two = replace(
        graph,
        kind=np.array([0, ALLREDUCE, ALLREDUCE], np.int8),
        place=np.array([0, 0, 1], np.int32),
        seconds=np.zeros(3),
        bytes=np.array([0, 101, 90], np.int64),
        succ_ptr=np.array([0, 2, 2, 2], np.int32),
        succ=np.array([1, 2], np.int32),
        group_ptr=np.array([0, 4, 7], np.int32),
        group=np.array([0, 1, 3, 4, 1, 3, 5], np.int32),
        op=np.zeros(3, np.int32),
    )
    topology = replace(FLAT.topology, rings={3: ((1, 1), (5, 5))}, cycles=((0, 1, 4, 3),))
    network = replace(FLAT, topology=topology)
    parts, origin = along_cycles(two, network)
    assert origin.tolist() == [0, 1, 2, 2]
    assert [parts.members(task).tolist() for task in (1, 2, 3)] == [[0, 1, 4, 3], [1, 3, 5], [1, 5, 3]]


def single_reduce() -> TaskGraph:
    """One forward task, then an all-reduce of 101 bytes over servers 0, 1, 3 and 4."""
    return TaskGraph(
        N,
        np.array([0, ALLREDUCE], np.int8),
        np.zeros(2, np.int32),
        np.array([1e-3, 0.0]),
        np.array([0, 101], np.int64),
        np.array([0, 1, 1], np.int32),
        np.array([1], np.int32),
        np.array([0, 4], np.int32),
        np.array([0, 1, 3, 4], np.int32),
        np.zeros(2, np.int32),
    )
