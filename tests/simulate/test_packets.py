"""Replays that follow every packet: against closed forms, golden times of FlexNetPacket, and its experiments."""

import threading

import numpy as np
import pytest
from task_graphs import permuted

from flexnet.interrupts import GivenUp, give_up, undisturbed
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topology import Topology
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, FORWARD, NOMINAL_COMM
from flexnet.published.experiments import compared, micro_experiments, replayed
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.priced_links import flow_hops, packet_hops, replayed_links
from flexnet.simulate.protocol import FLUID, PACKET, PROTOCOLS, ROCE

BANDWIDTH = 1.25e10  # 80 ps a byte
LATENCY = 1e-6
PACKET_S = 8936 * 80e-12
BYTE_S = 80e-12


def ring(n: int) -> Network:
    """A cycle of servers, all routes clockwise."""
    links = np.zeros((n, n), np.int64)
    for i in range(n):
        links[i, (i + 1) % n] = links[(i + 1) % n, i] = 1
    topology = Topology("ring", n, 0, links, {})
    network = connect(topology, BANDWIDTH, LATENCY, routes_for(topology, CORRECTED, np.random.default_rng(0)))
    pairs = [(a, (b - a) % n) for a in range(n) for b in range(n)]
    hops = [[int(network.link_id[(a + h) % n, (a + h + 1) % n]) for h in range(length)] for a, length in pairs]
    ptr = np.concatenate([[0], np.cumsum([len(path) for path in hops])])
    routes = ptr.astype(np.int32), np.array([link for path in hops for link in path], np.int32)
    return connect(topology, BANDWIDTH, LATENCY, routes)


def after_start(n: int, tasks: list[tuple[int, int, int]], groups: tuple[tuple[int, ...], ...] = ()) -> TaskGraph:
    """A compute task of 1 ms on server 0, then everything else: kind, place, bytes."""
    m = len(tasks)
    return TaskGraph(
        n,
        np.array([FORWARD, *(kind for kind, _, _ in tasks)], np.int8),
        np.array([0, *(place for _, place, _ in tasks)], np.int32),
        np.array([1e-3, *[0.0] * m]),
        np.array([0, *(size for _, _, size in tasks)]),
        np.array([0, *[m] * (m + 1)], np.int32),
        np.arange(1, m + 1, dtype=np.int32),
        np.array([0, *np.cumsum([len(group) for group in groups])], np.int32),
        np.array([server for group in groups for server in group], np.int32),
        np.arange(m + 1, dtype=np.int32),
    )


def ends(graph: TaskGraph, network: Network, protocol=PACKET) -> list[float]:
    """Seconds from the end of the compute task to that of every other one."""
    end = FollowedPackets(protocol).timeline(graph.arrays(), network_arrays(network)).end
    return (end[1:] - end[0]).tolist()


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 2, 8937, 8938, 1_000_000])
def test_a_flow_alone_takes_what_the_closed_form_says(hops, size):
    """t = h (L + s) + h (L + P s) + (packets - 1) P s, to the picosecond; 1 MB over two hops is 84.7816 us."""
    (seconds,) = ends(after_start(5, [(NOMINAL_COMM, hops, size)]), ring(5))
    packets = max(1, -(-(size - 1) // 8936))
    expected = hops * (LATENCY + BYTE_S) + hops * (LATENCY + PACKET_S) + (packets - 1) * PACKET_S
    assert seconds == pytest.approx(expected, abs=2e-12)
    if (hops, size) == (2, 1_000_000):
        assert seconds == pytest.approx(84.7816e-6, abs=2e-12)


@pytest.mark.compiled
def test_a_ring_alone_takes_its_rounds():
    """10 MB on a ring of 16 at 100 Gbps: 1561.2504 us, golden."""
    graph = after_start(16, [(ALLREDUCE, 0, 10_000_000)], (tuple(range(16)),))
    (seconds,) = ends(graph, ring(16))
    assert seconds == pytest.approx(1561.2504e-6, abs=2e-12)


def test_small_all_reduces_run_one_round():
    members = (tuple(range(4)),)
    for size, packets in ((35_999, 2), (36_000, 2), (54_000, 2)):
        (seconds,) = ends(after_start(4, [(ALLREDUCE, 0, size)], members), ring(4))
        sent = 2 * 3 * size // 4 // 4 if size < 36_000 else size // 4
        assert -(-(sent - 1) // 8936) == packets
        assert seconds == pytest.approx(2 * LATENCY + BYTE_S + packets * PACKET_S, abs=2e-12)
    (rounds,) = ends(after_start(4, [(ALLREDUCE, 0, 54_001)], members), ring(4))
    assert rounds == pytest.approx(6 * (2 * LATENCY + BYTE_S + 2 * PACKET_S), abs=2e-12)
    (whole,) = ends(after_start(4, [(ALLREDUCE, 0, 36_000)], members), ring(4), PROTOCOLS["dctcp"])
    assert whole == pytest.approx(6 * (2 * LATENCY + BYTE_S + 2 * PACKET_S), abs=2e-12)


def test_short_flows_go_first_in_first_out():
    """Those of up to 100 packets do not share: the i-th ends i times its packets later."""
    graph = after_start(3, [(NOMINAL_COMM, 1, 10 * 8936) for _ in range(5)])
    expected = [2 * LATENCY + BYTE_S + i * 10 * PACKET_S for i in range(1, 6)]
    assert ends(graph, ring(3)) == pytest.approx(expected, abs=2e-12)


def test_timers_go_off_where_windows_wait_too_long():
    """At 1 Gbps, the third of three windows of 100 packets waits 14.3 ms."""
    slow = ring(3)
    arrays = network_arrays(slow)._replace(bandwidth=np.full_like(slow.bandwidth, 1.25e8))
    graph = after_start(3, [(NOMINAL_COMM, 1, 150 * 8936) for _ in range(3)]).arrays()
    links = FollowedPackets()
    links.seconds(graph, arrays)
    assert links.timeouts > 0
    patient = FollowedPackets(PACKET._replace(first_patience=10.0, least_patience=10.0))
    patient.seconds(graph, arrays)
    assert patient.timeouts == 0


@pytest.mark.parametrize(
    ("gbps", "flows", "packets", "dearer"),
    [(10, 20, 224, True), (10, 30, 117, True), (25, 50, 400, True), (10, 14, 560, False), (10, 40, 90, False)],
)
def test_prices_know_what_timers_cost(gbps, flows, packets, dearer):
    """Windows that wait more than 10 ms are sent twice; not known to prices, that made up to a third of a transfer."""
    network = network_arrays(ring(3))
    network = network._replace(bandwidth=np.full_like(network.bandwidth, gbps / 8 * 1e9))
    graph = after_start(3, [(NOMINAL_COMM, 1, packets * 8936) for _ in range(flows)]).arrays()
    patient = PACKET._replace(first_patience=10.0, least_patience=10.0)
    needed, taken = FollowedPackets(patient).seconds(graph, network), FollowedPackets().seconds(graph, network)
    assert (taken > 1.1 * needed) == dearer
    for protocol, packet_by_packet in ((patient, needed), (PACKET, taken)):
        for window in (0.0, 1e-4):
            price = FairLinks(window, protocol=protocol).seconds(graph, network)
            assert price == pytest.approx(packet_by_packet, rel=0.06 if dearer else 2e-3)


def test_the_numbers_of_tasks_and_the_room_there_is_change_nothing():
    graph = after_start(4, [(NOMINAL_COMM, 1, 400_000), (NOMINAL_COMM, 6, 90_000)])
    arrays = network_arrays(ring(4))
    links = FollowedPackets()
    seconds = links.seconds(graph.arrays(), arrays)
    again = FollowedPackets(_room=0.01)
    assert again.seconds(graph.arrays(), arrays) == seconds
    assert again._room > 0.01
    assert links.seconds(graph.arrays(), arrays, limit=1e-4) > 1e-4
    order = np.array([0, 2, 1])
    assert links.seconds(permuted(graph, order).arrays(), arrays) == pytest.approx(seconds, rel=0.05)


def test_packets_are_followed_where_the_protocol_has_them_and_they_are_not_too_many(monkeypatch):
    graph, arrays = after_start(3, [(NOMINAL_COMM, 2, 8936 * 50)]).arrays(), network_arrays(ring(3))
    assert packet_hops(graph, arrays, PACKET) == pytest.approx(101)
    assert replayed_links(graph, arrays, PACKET).name == "packet"
    assert replayed_links(graph, arrays, FLUID).name == replayed_links(graph, arrays, ROCE).name == "fair"
    monkeypatch.setattr("flexnet.simulate.priced_links.MOST_HOPS", 100)
    fair = replayed_links(graph, arrays, PACKET)
    assert isinstance(fair, FairLinks)
    hops = flow_hops(graph, arrays)
    monkeypatch.setattr("flexnet.simulate.priced_links.COARSE_HOPS", hops / 4)  # of the flows: rates are solved seldom
    coarser = replayed_links(graph, arrays, PACKET)
    assert isinstance(coarser, FairLinks)
    assert coarser.window == pytest.approx(4 * fair.window)


@pytest.mark.compiled
def test_a_replay_under_way_is_given_up():
    graph, arrays = after_start(3, [(NOMINAL_COMM, 2, 8936 * 5_000_000)]).arrays(), network_arrays(ring(3))
    threading.Timer(0.05, give_up).start()  # it takes a second or more
    try:
        with pytest.raises(GivenUp):
            FollowedPackets().seconds(graph, arrays)
    finally:
        with undisturbed():
            pass


def test_a_switch_passes_packets_on():
    network = connect(fat_tree(4), BANDWIDTH, LATENCY, routes_for(fat_tree(4), CORRECTED, np.random.default_rng(0)))
    (seconds,) = ends(after_start(4, [(NOMINAL_COMM, 3, 3 * 8936 + 1)]), network)
    assert seconds == pytest.approx(4 * LATENCY + 2 * BYTE_S + 4 * PACKET_S, abs=2e-12)


@pytest.mark.compiled
def test_experiments_of_the_packet_simulator_come_out(shared_data):
    """Every third one: to 1e-7 where no timer goes off, the ends of all tasks to what was printed of them."""
    n = 0
    for one in list(micro_experiments(shared_data))[::3]:
        links = FollowedPackets()
        error, of_tasks = compared(one, replayed(one, links=links))
        n += 1
        assert abs(error) < (5e-3 if links.timeouts else 1e-7), one.name
        if not links.timeouts:
            assert np.percentile(np.abs(of_tasks), 90) < 1e-5, one.name
    assert n == 0 or n > 100
