"""The simulation kernels against their plain-Python references, and what their models promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_cases import random_graph, random_network, random_routes
from reference import fair, fifo, link_bytes
from task_graphs import permuted

from flexnet.network.demand import Demand
from flexnet.network.network import connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.topoopt import build_topoopt
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, FORWARD, NOMINAL_COMM
from flexnet.simulate.arrays import NetworkArrays, network_arrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import AS_MEANT, FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.kernels.windows import LENGTHS, OLD, PACKETS, YOUNG, YOUTH, length_of, share_of
from flexnet.simulate.protocol import FLUID, PACKET

seeds = st.integers(0, 2**32 - 1)


def case(seed: int) -> tuple[np.random.Generator, NetworkArrays, TaskGraph]:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    graph = random_graph(rng, network.n_server)
    graph.check()
    return rng, network, graph


@given(seeds, st.sampled_from([0, 1_000_000, 3_000_000]))
@settings(max_examples=150, deadline=None)
def test_fifo_equals_its_reference_bit_for_bit(seed, segment):
    rng, network, graph = case(seed)
    directions = rng.choice(np.array([-1, 1], np.int8), len(graph.group_ptr) - 1)
    for semantics in (ORIGINAL, CORRECTED):
        ours = FifoLinks(semantics, segment).seconds(graph.arrays(), network, directions=directions)
        assert ours == fifo(graph, network, directions, segment, semantics.intra_server_factor_exact)


@given(seeds, st.sampled_from([FLUID, PACKET, PACKET._replace(small_packet_bytes=400_000.0)]))
@example(581, FLUID)  # a transfer and a computation end at once, and each lets the same server go on
@settings(max_examples=200, deadline=None)
def test_fair_sharing_equals_its_reference(seed, protocol):
    _, network, graph = case(seed)
    timeline = FairLinks(protocol=protocol).timeline(graph.arrays(), network)
    seconds, ends = fair(graph, network, protocol)
    assert timeline.seconds == pytest.approx(seconds, rel=1e-9)
    assert timeline.end == pytest.approx([ends[t] for t in range(graph.n_task)], rel=1e-9)


BY_INDEX = PACKET._replace(rings_by_index=True)
BY_SERVER = PACKET._replace(by_server=True)


@given(seeds, st.sampled_from([FLUID, PACKET, BY_INDEX, BY_SERVER]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_other_protocols_and_drawn_paths_equal_the_reference(seed, protocol, drawn):
    rng, network, graph = case(seed)
    if protocol.by_server:
        network = network._replace(ring_ptr=np.zeros_like(network.ring_ptr))
    routes = None
    if drawn:
        network, routes = random_routes(rng, network, graph, protocol)
    timeline = FairLinks(protocol=protocol).timeline(graph.arrays(), network, routes=routes)
    seconds, ends = fair(graph, network, protocol, routes)
    assert timeline.seconds == pytest.approx(seconds, rel=1e-9)
    assert timeline.end == pytest.approx([ends[t] for t in range(graph.n_task)], rel=1e-9)


@given(seeds, st.sampled_from([FLUID, PACKET, BY_SERVER]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_links_carry_what_flows_ask_for_and_never_more_than_they_can(seed, protocol, drawn):
    rng, network, graph = case(seed)
    if protocol.by_server:
        network = network._replace(ring_ptr=np.zeros_like(network.ring_ptr))
    routes = None
    if drawn:
        network, routes = random_routes(rng, network, graph, protocol)
    simulator = FairLinks(protocol=protocol, watch=True)
    simulator.seconds(graph.arrays(), network, routes=routes)
    loads = simulator.link_loads(len(network.bandwidth))
    asked = np.array(link_bytes(graph, network, protocol, routes))
    assert loads.bytes == pytest.approx(asked, rel=1e-9)
    packets = link_bytes(graph, network, protocol, routes, packets=True)
    assert loads.carried == pytest.approx(packets, rel=1e-9, abs=1e-3)
    assert (loads.peak <= network.bandwidth * (1 + 1e-9)).all()
    assert ((loads.peak > 0) == (asked > 0)).all()


@given(seeds, st.sampled_from([FLUID, AS_MEANT]))
@settings(max_examples=100, deadline=None)
def test_fair_sharing_does_not_depend_on_task_ids(seed, protocol):
    """But for which rings carry a packet more: all-reduces take turns in the order of theirs."""
    rng, network, graph = case(seed)
    order = rng.permutation(graph.n_task)
    if protocol.packet_bytes:
        at = graph.kind[order] == ALLREDUCE
        order[at] = np.sort(order[at])
    renamed = permuted(graph, order)
    renamed.check()
    links = FairLinks(protocol=protocol)
    seconds = links.seconds(graph.arrays(), network)
    assert links.seconds(renamed.arrays(), network) == pytest.approx(seconds, rel=1e-9)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_coarser_rates_change_little(seed):
    """A window of 1 % of the time and a tolerance of 1 % stay within a few windows of the exact time."""
    _, network, graph = case(seed)
    exact = FairLinks().seconds(graph.arrays(), network)
    coarse = FairLinks(window=exact / 100, tolerance=0.01).seconds(graph.arrays(), network)
    assert abs(coarse - exact) <= 0.02 * exact


@pytest.mark.compiled
@given(seeds, st.one_of(st.just(1.0), st.floats(0.1, 1.5), st.floats(0.95, 1.0)))
@settings(max_examples=300, deadline=None)
def test_a_limit_never_hides_a_faster_time(seed, share):
    _, network, graph = case(seed)
    fair_ones = [FairLinks(protocol=protocol) for protocol in (FLUID, PACKET, BY_INDEX, BY_SERVER)]
    window = fair_ones[1].seconds(graph.arrays(), network) / 50
    coarse_ones = [FairLinks(window, 0.02, protocol) for protocol in (FLUID, PACKET)]
    for simulator in (*fair_ones, *coarse_ones, FifoLinks(ORIGINAL), FifoLinks(ORIGINAL, 300_000)):
        exact = simulator.seconds(graph.arrays(), network)
        limited = simulator.seconds(graph.arrays(), network, limit=exact * share)
        assert limited == exact if share >= 1 or exact == 0 else limited > exact * share


def star(n: int, bandwidth: float, latency: float) -> NetworkArrays:
    """Servers on one ideal switch: links 2i up, 2i+1 down."""
    route_ptr, route = [0], []
    for a in range(n):
        for b in range(n):
            route += [2 * a, 2 * b + 1] if a != b else []
            route_ptr.append(len(route))
    empty = [np.zeros(n + 2, np.int32), np.zeros(1, np.int32), np.zeros(0, np.int32)]
    return NetworkArrays(
        n,
        latency,
        np.full(2 * n, bandwidth),
        np.zeros(0),
        np.array(route_ptr, np.int32),
        np.array(route, np.int32),
        *empty,
    )


def one_transfer(n: int, pairs: list[tuple[int, int]], size: int, *, in_turn: bool = False) -> TaskGraph:
    """A zero-time task on every source, then its transfer, then a zero-time task on the target; all at once or not."""
    kind, place, succ = [], [], []
    for src, dst in pairs:
        at = len(kind)
        if in_turn and at > 0:
            succ[-1] = [at]
        kind += [FORWARD, NOMINAL_COMM, FORWARD]
        place += [src, src * n + dst, dst]
        succ += [[at + 1], [at + 2], []]
    return TaskGraph(
        n,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.zeros(len(kind)),
        np.array([size if k == NOMINAL_COMM else 0 for k in kind], np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in succ])]).astype(np.int32),
        np.array([t for s in succ for t in s], np.int32),
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.arange(len(kind), dtype=np.int32),
    )


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_timers_go_off_as_in_the_reference(seed):
    """Dozens of transfers between a few servers at 10 Gbps, nearly at once or later, of up to three windows."""
    rng = np.random.default_rng(seed)
    n, pairs = 4, [(0, 1), (0, 2), (1, 2), (3, 2)]
    chosen = [pairs[i] for i in rng.integers(len(pairs), size=int(rng.integers(20, 50)))]
    graph = one_transfer(n, chosen, 1)
    sizes = rng.choice([20, 99, 130, 240, 300], graph.n_task) * 8936
    begins = rng.choice([0.0, 0.0, 0.0, 2e-3], graph.n_task) + rng.uniform(0.0, 1e-6, graph.n_task)
    graph = replace(
        graph,
        bytes=np.where(graph.kind == NOMINAL_COMM, sizes, 0),
        seconds=np.where((graph.kind == FORWARD) & (np.arange(graph.n_task) % 3 == 0), begins, 0.0),
    )
    network = star(n, 1.25e9, 1e-6)
    expected, ends = fair(graph, network, PACKET)
    simulator = FairLinks(protocol=PACKET)
    timeline = simulator.timeline(graph.arrays(), network)
    assert timeline.end.max() == pytest.approx(expected, rel=1e-9)
    assert timeline.end == pytest.approx([ends[t] for t in range(graph.n_task)], rel=1e-9)
    assert simulator.seconds(graph.arrays(), network) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("windows", [2, 5])
def test_flows_that_end_within_a_window_share_their_link_too(windows):
    """Thirty to one server, one starting a little after the other: the link to it is not used twice."""
    n, size, bandwidth = 32, 1_000_000, 1e9
    graph = one_transfer(n, [(server, 0) for server in range(1, n)], size)
    started = np.where(graph.kind == FORWARD, graph.place * 1e-9, 0.0)
    started[graph.place == 0] = 0.0
    graph = replace(graph, seconds=started)
    alone = size / bandwidth
    coarse = FairLinks(window=windows * alone, protocol=FLUID).seconds(graph.arrays(), star(n, bandwidth, 0.0))
    least = (n - 1) * alone
    assert FairLinks(protocol=FLUID).seconds(graph.arrays(), star(n, bandwidth, 0.0)) == pytest.approx(least, rel=1e-5)
    most_at_once = 1 + np.log(n - 1)  # shares of a link for one, two, three... flows, until rates are solved
    assert coarse >= least - most_at_once * windows * alone


@pytest.mark.parametrize("packets", [40, 3000])
@pytest.mark.parametrize("protocol", [FLUID, PACKET])
@pytest.mark.parametrize("model", [FairLinks, BundledLinks])
def test_who_follows_another_over_a_link_within_a_window_has_all_of_it(model, protocol, packets):
    """One server sends to two others by turns; nobody else sends."""
    network, size = star(3, 1.25e9, 1e-6), packets * 8936
    graph = one_transfer(3, [(0, 1), (0, 2), (0, 2), (0, 1)] * 3, size, in_turn=True)
    exact = model(protocol=protocol).seconds(graph.arrays(), network)
    assert exact >= 12 * size / 1.25e9
    for window in (1e-4, 1e-2, 1e2):
        assert model(window, 0.02, protocol).seconds(graph.arrays(), network) == pytest.approx(exact, rel=1e-9)


def test_worked_example_of_an_idle_transfer():
    """Reference section 4.5: fat tree, 100 Gbps, 1 us, 2 097 152 B: 0.169772 ms."""
    network = star(2, 12.5e9, 1e-6)
    graph = one_transfer(2, [(0, 1)], 2_097_152)
    assert FifoLinks(ORIGINAL).seconds(graph.arrays(), network) == pytest.approx(0.16977216e-3, rel=1e-9)
    assert FairLinks(protocol=FLUID).seconds(graph.arrays(), network) == pytest.approx(0.16977216e-3, rel=1e-9)


def test_latency_delays_but_does_not_occupy_links_when_sharing_fairly():
    """Two transfers into one server: first in first out holds the link through both latencies, sharing does not."""
    size, latency = 12_500_000, 1e-3
    network = star(3, 12.5e9, latency)
    graph = one_transfer(3, [(0, 2), (1, 2)], size)
    once = size / 12.5e9
    assert FairLinks(protocol=FLUID).seconds(graph.arrays(), network) == pytest.approx(2 * once + 2 * latency)
    assert FifoLinks(ORIGINAL).seconds(graph.arrays(), network) == pytest.approx(2 * once + 3 * latency)


def test_a_ring_takes_its_bytes_and_a_latency_each_round():
    n, size, latency = 4, 10**8, 1e-6
    network = star(n, 12.5e9, latency)
    graph = TaskGraph(
        n,
        np.array([0, 0, 0, 0, ALLREDUCE], np.int8),
        np.array([0, 1, 2, 3, 0], np.int32),
        np.array([0, 0, 0, 0, 2e-3]),
        np.array([0, 0, 0, 0, size]),
        np.array([0, 1, 2, 3, 4, 4], np.int32),
        np.array([4, 4, 4, 4], np.int32),
        np.array([0, 4], np.int32),
        np.array([0, 1, 2, 3], np.int32),
        np.arange(5, dtype=np.int32),
    )
    expected = 2e-3 + 2 * 3 / 4 * size / 12.5e9 + 2 * 3 * 2 * latency
    assert FairLinks(protocol=FLUID).seconds(graph.arrays(), network) == pytest.approx(expected, rel=1e-12)


def test_a_group_of_one_keeps_its_intra_server_time_only_when_corrected():
    network = star(2, 12.5e9, 0.0)
    graph = TaskGraph(
        2,
        np.array([FORWARD, ALLREDUCE], np.int8),
        np.array([0, 0], np.int32),
        np.array([1e-3, 2e-3]),
        np.array([0, 100]),
        np.array([0, 1, 1], np.int32),
        np.array([1], np.int32),
        np.array([0, 1], np.int32),
        np.array([0], np.int32),
        np.zeros(2, np.int32),
    )
    assert FifoLinks(ORIGINAL).seconds(graph.arrays(), network) == 1e-3
    assert FifoLinks(CORRECTED).seconds(graph.arrays(), network) == 3e-3
    assert FairLinks().seconds(graph.arrays(), network) == 3e-3


def test_an_all_reduce_within_one_server_never_hangs():
    """Parts of an operator may share a server: their ring has no links."""
    graph = TaskGraph(
        2,
        np.array([FORWARD, ALLREDUCE], np.int8),
        np.array([1, 0], np.int32),
        np.array([1e-3, 2e-3]),
        np.array([0, 10**6]),
        np.array([0, 1, 1], np.int32),
        np.array([1], np.int32),
        np.array([0, 2], np.int32),
        np.array([1, 1], np.int32),
        np.zeros(2, np.int32),
    )
    for protocol in (FLUID, PACKET, BY_SERVER):
        assert FairLinks(protocol=protocol).seconds(graph.arrays(), star(2, 12.5e9, 1e-6)) == 3e-3
        assert fair(graph, star(2, 12.5e9, 1e-6), protocol)[0] == 3e-3


def test_golden_times_of_the_packet_simulator():
    """Measured there: 1 MB over 2 hops takes 84.7816 us, a 10 MB ring of 16 1561.25 us."""
    graph = one_transfer(2, [(0, 1)], 10**6)
    assert FairLinks().seconds(graph.arrays(), star(2, 12.5e9, 1e-6)) == pytest.approx(84.7816e-6, rel=1e-3)
    n = 16
    links = {"bandwidth": np.full(n, 12.5e9), "route": np.arange(n, dtype=np.int32)}
    route_ptr = np.zeros(n * n + 1, np.int32)
    route_ptr[1:] = np.cumsum([b == (a + 1) % n for a in range(n) for b in range(n)])
    ring = star(n, 12.5e9, 1e-6)._replace(route_ptr=route_ptr, **links)
    graph = TaskGraph(
        n,
        np.array([FORWARD] * n + [ALLREDUCE], np.int8),
        np.array([*range(n), 0], np.int32),
        np.zeros(n + 1),
        np.array([0] * n + [10**7]),
        np.array([*range(n + 1), n], np.int32),
        np.full(n, n, np.int32),
        np.array([0, n], np.int32),
        np.arange(n, dtype=np.int32),
        np.arange(n + 1, dtype=np.int32),
    )
    assert FairLinks().seconds(graph.arrays(), ring) == pytest.approx(1561.2504e-6, rel=1e-3)


def reductions(n: int) -> TaskGraph:
    """``n`` all-reduces of two servers after one task."""
    return TaskGraph(
        2,
        np.array([FORWARD] + [ALLREDUCE] * n, np.int8),
        np.array([0, *range(n)], np.int32),
        np.zeros(n + 1),
        np.array([0] + [1000] * n),
        np.array([0] + [n] * (n + 1), np.int32),
        np.arange(1, n + 1, dtype=np.int32),
        np.arange(0, 2 * n + 1, 2, dtype=np.int32),
        np.array([0, 1] * n, np.int32),
        np.arange(n + 1, dtype=np.int32),
    )


def test_a_simulator_used_again_has_room_for_larger_graphs():
    """Graphs that grow slowly, one by one: without JIT an index past the end of its memory is an error."""
    network = star(2, 1e9, 0.0)
    fair_again, fifo_again = FairLinks(), FifoLinks(CORRECTED)
    for n in (*range(1, 40), 3):
        tasks = reductions(n).arrays()
        assert fair_again.seconds(tasks, network) == FairLinks().seconds(tasks, network)
        assert fifo_again.seconds(tasks, network) == FifoLinks(CORRECTED).seconds(tasks, network)


@pytest.mark.parametrize("members", [(0, 1, 2, 3), (0, 4, 8, 12), (1, 5, 9, 13)])
def test_an_allreduce_uses_links_that_join_its_members(members):
    """Rings of a size join the groups start + i N/g only; other groups run along routes between their members."""
    n = 16
    rng = np.random.default_rng(0)
    demand = Demand(n, np.zeros((n, n)), {16: 1e9, 4: 1e9})
    topology = build_topoopt(demand, 4, CORRECTED, rng)
    network = connect(topology, 12.5e9, 1e-6, routes_for(topology, CORRECTED, rng))
    graph = TaskGraph(
        n,
        np.array([FORWARD, ALLREDUCE], np.int8),
        np.array([0, 0], np.int32),
        np.array([1e-3, 0.0]),
        np.array([0, 10**9]),
        np.array([0, 1, 1], np.int32),
        np.array([1], np.int32),
        np.array([0, 4], np.int32),
        np.array(members, np.int32),
        np.zeros(2, np.int32),
    )
    simulator = FairLinks()
    simulator.seconds(graph.arrays(), network_arrays(network))
    used = np.flatnonzero(simulator.link_loads(len(network.bandwidth)).bytes)
    out = {int(a) for a in network.link_from[used]}
    into = {int(b) for b in network.link_to[used]}
    assert set(members) <= out and set(members) <= into


def test_lengths_begin_at_so_many_packets():
    for length, packets in enumerate(PACKETS, 1):
        size = packets * PACKET.packet_bytes
        assert (length_of(size - 1, PACKET), length_of(size, PACKET), length_of(size, FLUID)) == (length - 1, length, 0)
    assert len(PACKETS) + 1 == LENGTHS


def test_longer_flows_and_those_that_are_marked_on_more_links_have_less():
    alone = [share_of(length, 1) for length in range(LENGTHS)]
    assert alone == sorted(alone, reverse=True)
    assert [share_of(length, 0) for length in range(LENGTHS)] == alone
    assert share_of(YOUNG, 3) == alone[0]  # not marked yet
    assert share_of(OLD, 3) == pytest.approx(alone[-1] / 9)


def test_a_young_transfer_goes_ahead_of_an_old_one():
    """0 and 1 send to 2; the second begins when the first is old, and has 12 of 13 of the link at first."""
    packet, bandwidth = int(PACKET.packet_bytes), 12.5e9
    graph = one_transfer(3, [(0, 2), (1, 2)], 3000 * packet)
    seconds = graph.seconds.copy()
    seconds[3] = 1000 * packet / bandwidth
    end = FairLinks(protocol=PACKET).timeline(replace(graph, seconds=seconds).arrays(), star(3, bandwidth, 0.0)).end
    first, second = end[graph.kind == NOMINAL_COMM] * bandwidth / packet
    waited = YOUTH / 12  # packets of the first one while the second is young
    assert first == pytest.approx(1000 + YOUTH + waited + 2 * (2000 - waited), rel=1e-3)
    assert second == pytest.approx(6000, rel=1e-3)


@pytest.mark.parametrize("packets", [400, 1000, 2000, 5000])
def test_a_transfer_over_two_shared_links_waits_for_those_over_one(packets):
    """0 to 1 shares the link of 0 with 0 to 2, that to 1 with 3 to 1; when these are through, it has both alone."""
    young = min(packets, YOUTH)  # as long as all are, they share alike; then it weighs 2^-2 on each link
    size = packets * int(PACKET.packet_bytes)
    graph = one_transfer(4, [(0, 1), (0, 2), (3, 1)], size)
    end = FairLinks(protocol=PACKET).timeline(graph.arrays(), star(4, 12.5e9, 0.0)).end
    both, first, second = end[graph.kind == NOMINAL_COMM]
    once = size / 12.5e9
    alone = (2 * young + 1.25 * (packets - young)) / packets
    assert (first, second) == pytest.approx([once * alone] * 2, rel=1e-2)
    assert both == pytest.approx(2 * once, rel=1e-2)


def test_a_link_that_a_transfer_has_for_itself_does_not_count():
    """Of 0 to 2 and 1 to 2 each has its own way to the switch: one shared link each, so equal shares."""
    graph = one_transfer(3, [(0, 2), (1, 2)], 10**8)
    end = FairLinks(protocol=PACKET).timeline(graph.arrays(), star(3, 12.5e9, 0.0)).end
    assert end[graph.kind == NOMINAL_COMM] == pytest.approx(np.full(2, 2 * 10**8 / 12.5e9), rel=1e-3)


@pytest.mark.parametrize("window", [0.0, 1e-4])
@pytest.mark.parametrize("packets", [1, 24, 100])
def test_windows_over_one_link_are_served_in_order(window, packets):
    """Each starts before the one before is through; the i-th ends when so many windows have been, as by packets."""
    n, bandwidth, latency = 6, 1.25e9, 1e-6
    size = packets * int(PACKET.packet_bytes)
    empty = [np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(0, np.int32)]
    routes = np.array([0, 0, 1, 2, 2], np.int32), np.array([0, 1], np.int32)
    pair = NetworkArrays(2, latency, np.full(2, bandwidth), np.zeros(0), *routes, *empty)
    graph = one_transfer(2, [(0, 1)] * n, size)
    seconds = np.where(np.arange(graph.n_task) % 3 == 0, size / bandwidth / 4, 0.0)
    graph = replace(graph, seconds=seconds)
    links = FairLinks(window, protocol=PACKET, watch=window == 0.0)
    end = links.timeline(graph.arrays(), pair).end[graph.kind == NOMINAL_COMM]
    first = size / bandwidth / 4
    assert np.sort(end) == pytest.approx(first + size / bandwidth * np.arange(1, n + 1) + 2 * latency, rel=1e-6)
    if window == 0.0:
        assert links.link_loads(2).carried == pytest.approx([n * size, 0.0])
