"""Where time goes, and which links flows use: against counting by hand and the replay's own sums."""

import numpy as np
import pytest

from flexnet import (
    CORRECTED,
    MODELS,
    PACKET,
    TCP,
    Cluster,
    Plan,
    Settings,
    build_network,
    find_plan,
    make_problem,
    roofline_table,
)
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.report.attribution import COMPUTE, EXPOSED_ALLREDUCE, EXPOSED_TRANSFER, IDLE, attribute
from flexnet.report.link_use import link_use
from flexnet.report.values import server_classes
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fabric import Fabric, draw_routes, unrouted
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.link_model import Timeline


def start_on(topology: str, n_server: int = 8) -> Plan:
    graph = MODELS["dlrm"].build({}, batch_size=n_server * 16)
    cluster = Cluster(n_server, link_bandwidth=1.25e9, latency=1e-6)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=n_server), cluster, CORRECTED)
    return find_plan(problem, Settings(topology, budget=0, start="data")).start


def test_time_by_hand() -> None:
    """Server 0 computes, sends to 1, both reduce: what each waits for is known."""
    graph = TaskGraph(
        n_server=3,
        kind=np.array([FORWARD, NOMINAL_COMM, BACKWARD, ALLREDUCE], np.int8),
        place=np.array([0, 0 * 3 + 1, 1, 0], np.int32),
        seconds=np.array([2.0, 0.0, 3.0, 0.0]),
        bytes=np.array([0, 10, 0, 10]),
        succ_ptr=np.array([0, 1, 2, 3, 3], np.int32),
        succ=np.array([1, 2, 3], np.int32),
        group_ptr=np.array([0, 2], np.int32),
        group=np.array([0, 1], np.int32),
        op=np.full(4, -1, np.int32),
    )
    timeline = Timeline(10.0, np.array([0.0, 2.0, 5.0, 8.0]), np.array([2.0, 5.0, 8.0, 10.0]))
    seconds = attribute(graph, timeline).seconds
    assert seconds.tolist() == [
        [2.0, 2.0, 0.0, 6.0],  # computes, reduces in the end, and waits for server 1 in between
        [3.0, 2.0, 3.0, 2.0],  # waits for server 0, then for what that sends
        [0.0, 0.0, 0.0, 10.0],
    ]
    assert (COMPUTE, EXPOSED_ALLREDUCE, EXPOSED_TRANSFER, IDLE) == (0, 1, 2, 3)
    assert [found.servers for found in server_classes(seconds)] == [(0,), (1,), (2,)]


@pytest.mark.parametrize("topology", ["topoopt", "random", "fattree"])
def test_times_add_up_and_links_carry_what_the_replay_says(topology: str) -> None:
    plan = start_on(topology)
    graph = plan.task_graph()
    seconds = attribute(graph, plan.timeline).seconds
    assert seconds.sum(axis=1) == pytest.approx(np.full(8, plan.seconds), rel=1e-9)
    compute = graph.kind <= BACKWARD
    busy = np.bincount(graph.place[compute], weights=graph.seconds[compute], minlength=8)
    assert seconds[:, COMPUTE] == pytest.approx(busy, rel=1e-6)  # files have float32, replays picoseconds
    arrays = network_arrays(plan.network)
    links = FairLinks(protocol=TCP)
    links.seconds(graph.arrays(), arrays, limit=0.0)
    use = link_use(graph, arrays, TCP)
    carried = np.bincount(use.link, weights=use.bytes, minlength=len(arrays.bandwidth))
    assert carried == pytest.approx(links.link_loads(len(arrays.bandwidth)).bytes, rel=1e-9)


@pytest.mark.parametrize("by_server", [False, True])
def test_flows_with_routes_of_their_own_use_those(by_server: bool) -> None:
    graph = start_on("topoopt").task_graph()
    cluster = Cluster(8, link_bandwidth=1.25e9, latency=1e-6)
    fabric: Fabric = unrouted(build_network("leafspine", cluster).topology, 1.25e9, 1e-6)
    protocol = PACKET._replace(by_server=by_server)
    arrays, routes = draw_routes(graph, fabric, protocol, np.random.default_rng(1))
    links = FairLinks(protocol=protocol)
    links.seconds(graph.arrays(), arrays, limit=0.0, routes=routes)
    use = link_use(graph, arrays, protocol, routes)
    carried = np.bincount(use.link, weights=use.bytes, minlength=len(arrays.bandwidth))
    assert carried == pytest.approx(links.link_loads(len(arrays.bandwidth)).bytes, rel=1e-9)
