"""Rings of which one edge is followed for all: the same as following each, to the picosecond."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topology import Topology
from flexnet.network.totient import ring_links_matrix
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, FORWARD, NOMINAL_COMM
from flexnet.simulate import packets
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.lockstep import find_lockstep
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.priced_links import packet_hops
from flexnet.simulate.protocol import PACKET, TCP, Protocol

N = 8
GROUPS = (tuple(range(N)), (0, 2, 4, 6), (1, 3, 5, 7), (0, 4), (0, 1, 2), (3, 7, 5, 1), tuple(range(N))[::-1])


def network_of(kind: str, gbps: float = 100.0) -> Network:
    """Eight servers: on a switch, in a full mesh, or in rings by jumps of 1 and 3 both ways."""
    if kind == "rings":
        rings = {N: ((1,), (7,), (3,), (5,)), 4: ((1, 1), (5, 5)), 2: ((1, 3),)}
        topology = Topology("topoopt", N, 0, ring_links_matrix(N, (1, 3)), rings)
    elif kind == "cycles":
        both = tuple(tuple(i * jump % N for i in range(N)) for jump in (1, 7, 3, 5))
        topology = Topology("wired", N, 0, ring_links_matrix(N, (1, 3)), {}, None, both)
    else:
        topology = fat_tree(N) if kind == "switch" else full_mesh(N)
    routes = routes_for(topology, CORRECTED, np.random.default_rng(0))
    return connect(topology, gbps * 1.25e8, 1e-6, routes)


def staggered(flows: list[tuple[int, int, int, float]]) -> TaskGraph:
    """A compute task on a server each, then what follows it: kind, place, bytes, and milliseconds of the task."""
    n = len(flows)
    kinds = [FORWARD] * n + [kind for kind, *_ in flows]
    return TaskGraph(
        N,
        np.array(kinds, np.int8),
        np.array([*(i % N for i in range(n)), *(place for _, place, *_ in flows)], np.int32),
        np.array([*(ms * 1e-3 for *_, ms in flows), *[0.0] * n]),
        np.array([*[0] * n, *(size for _, _, size, _ in flows)]),
        np.array([*range(n + 1), *[n] * n], np.int32),
        np.arange(n, 2 * n, dtype=np.int32),
        np.cumsum([0, *map(len, GROUPS)]).astype(np.int32),
        np.concatenate(GROUPS).astype(np.int32),
        np.arange(2 * n, dtype=np.int32),
    )


def both_ways(graph: TaskGraph, network: Network, protocol: Protocol, monkeypatch: pytest.MonkeyPatch):
    """Ends of all tasks, timers that went off, and events: rings followed together, and every edge by itself."""

    def by_itself(*args):
        lockstep = find_lockstep(*args)
        lockstep.track[:] = -1
        return lockstep

    told = []
    for find in (find_lockstep, by_itself):
        monkeypatch.setattr(packets, "find_lockstep", find)
        links = FollowedPackets(protocol)
        work = links._run(graph.arrays(), network_arrays(network), np.inf, None)[1]
        told.append((work.end.copy(), links.timeouts, int(work.events.made[0])))
    return told


@pytest.mark.parametrize("kind", ["rings", "cycles", "switch", "mesh"])
def test_rings_alone_are_followed_along_one_lane(kind, monkeypatch):
    graph = staggered([(ALLREDUCE, 0, 4_000_000, 0.1), (ALLREDUCE, 0, 2_000_000, 0.1), (ALLREDUCE, 0, 300_000, 0.2)])
    (ends, _, few), (other, _, many) = both_ways(graph, network_of(kind), PACKET, monkeypatch)
    assert ends.tolist() == other.tolist()
    assert many > 0.9 * N * few


def test_rings_go_together_again_when_their_links_are_empty(monkeypatch):
    """A transfer parts the first all-reduce; the second one, long after, goes together."""
    parted = [(ALLREDUCE, 0, 800_000, 0.1), (NOMINAL_COMM, 1, 500_000, 0.12)]
    later = (ALLREDUCE, 0, 8_000_000, 5.0)
    (ends, _, few), (other, _, many) = both_ways(staggered([*parted, later]), network_of("rings"), PACKET, monkeypatch)
    _, (_, _, of_parted) = both_ways(staggered(parted), network_of("rings"), PACKET, monkeypatch)
    assert ends.tolist() == other.tolist()
    assert few - of_parted < 0.3 * (many - of_parted)


flow = st.one_of(
    st.tuples(st.just(ALLREDUCE), st.integers(0, len(GROUPS) - 1), st.integers(1, 3_000_000), st.floats(0.0, 0.4)),
    st.tuples(
        st.just(NOMINAL_COMM),
        st.tuples(st.integers(0, N - 1), st.integers(1, N - 1)).map(lambda p: p[0] * N + (p[0] + p[1]) % N),
        st.integers(1, 3_000_000),
        st.floats(0.0, 0.4),
    ),
)


@pytest.mark.compiled
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    flows=st.lists(flow, min_size=1, max_size=8),
    kind=st.sampled_from(["rings", "cycles", "switch", "mesh"]),
    protocol=st.sampled_from([PACKET, TCP, PACKET._replace(rings_by_index=False), PACKET._replace(by_server=True)]),
)
def test_the_same_as_following_every_edge(flows, kind, protocol, monkeypatch):
    (ends, timeouts, few), (other, others, many) = both_ways(staggered(flows), network_of(kind), protocol, monkeypatch)
    assert ends.tolist() == other.tolist()
    assert timeouts == others
    assert few <= many


@pytest.mark.compiled
def test_timers_go_off_for_every_lane(monkeypatch):
    """At 1 Gbps the first windows of forty all-reduces wait longer than a timer does."""
    graph = staggered([(ALLREDUCE, 0, 8_000_000, 0.1)] * 40)
    together, apart = both_ways(graph, network_of("rings", gbps=1.0), PACKET, monkeypatch)
    assert together[1] == apart[1] > 0
    assert together[0].tolist() == apart[0].tolist()


@pytest.mark.parametrize("kind", ["rings", "cycles", "switch", "mesh"])
def test_what_stays_together_is_told_once(kind):
    """Of a ring of 8 servers an eighth is followed; a transfer over links of one may part the lanes of that one."""
    reduce = (ALLREDUCE, 0, 4_000_000, 0.1)
    network = network_arrays(network_of(kind))
    every = PACKET._replace(by_packet=False)  # of which nothing is told once
    few = packet_hops(staggered([reduce]).arrays(), network, PACKET)
    assert few == pytest.approx(packet_hops(staggered([reduce]).arrays(), network, every) / N)
    met = staggered([reduce, (NOMINAL_COMM, 1, 2, 0.1)]).arrays()
    n_ring = {"rings": 4, "cycles": 4, "switch": 1, "mesh": 1}[kind]
    parted = packet_hops(met, network, every) / n_ring
    assert 0.9 * parted < packet_hops(met, network, PACKET) < 1.1 * parted + few + 2 * N * N
