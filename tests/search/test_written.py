"""What is reported of a plan is what replaying its file says."""

import numpy as np
import pytest
from random_models import mlp, problem_of, tower

from flexnet.network.build import build_network
from flexnet.network.demand import demand_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.search.find import find_plan
from flexnet.search.plan import price
from flexnet.search.settings import Settings
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fabric import Fabric
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.protocol import PROTOCOLS
from flexnet.simulate.replay import replay
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph


def told_of_the_file(path, latency, protocol):
    """Seconds, as ``flexnet simulate`` tells them."""
    file = read_taskgraph(path)
    network = to_network(file, file.link_bytes_per_ms * 1e3, latency)
    return replay(to_task_graph(file), Fabric(network, to_paths(file, network)), protocol=protocol).seconds


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("topology", ["topoopt", "random", "fattree", "fc"])
def test_a_plan_takes_what_its_file_takes(topology, protocol, tmp_path):
    problem = problem_of(tower(), Cluster(4, link_bandwidth=1.25e9, degree=3), CORRECTED)
    found = find_plan(problem, Settings(topology, 30, seed=1, protocol=protocol))
    for plan in (found.plan, found.start):
        plan.write_taskgraph(tmp_path / "plan.fbuf")
        seconds = told_of_the_file(tmp_path / "plan.fbuf", problem.cluster.latency, PROTOCOLS[protocol])
        assert seconds == plan.seconds
        assert plan.timeline.end.max() == pytest.approx(seconds, rel=1e-12)
        assert (plan.timeline.start <= plan.timeline.end).all()
    assert found.seconds <= found.start_seconds


def test_original_plans_are_replayed_from_their_files_too(tmp_path):
    problem = problem_of(mlp(3), Cluster(4, link_bandwidth=1.25e9), ORIGINAL)
    plan = find_plan(problem, Settings("fattree", 5)).plan
    plan.write_taskgraph(tmp_path / "plan.fbuf")
    assert told_of_the_file(tmp_path / "plan.fbuf", problem.cluster.latency, PROTOCOLS["flexnetpacket"]) == (
        plan.replayed_seconds
    )


def test_roots_start_in_the_order_that_was_priced(tmp_path):
    problem = problem_of(mlp(3), Cluster(2), CORRECTED)
    plan = find_plan(problem, Settings("fattree", 0)).plan
    graph = plan.task_graph()
    plan.write_taskgraph(tmp_path / "plan.fbuf")
    read = to_task_graph(read_taskgraph(tmp_path / "plan.fbuf"))
    for one in (graph, read):
        assert one.n_task == graph.n_task

    def started(one):
        roots = np.flatnonzero(np.bincount(one.succ, minlength=one.n_task) == 0)
        roots = roots[np.argsort(one.arrays().rank[roots], kind="stable")]
        return [(int(one.place[task]), round(float(one.seconds[task]) * 1e9)) for task in roots]

    assert started(read) == started(graph)


def test_rings_of_some_servers_run_where_they_are_meant_to(tmp_path):
    problem = problem_of(mlp(2), Cluster(8, link_bandwidth=1.25e7, degree=4), CORRECTED)
    every_second = tuple(Config(degrees=(1, 4), devices=(1, 3, 5, 7)) for _ in problem.graph.operators)
    demand = demand_of(build(problem, make_strategy(problem, every_second)).arrays(), 8)
    network = build_network("topoopt", problem.cluster, demand=demand)
    assert 4 in network.topology.rings
    plan = price(problem, every_second, network)
    meant = FairLinks().seconds(plan.task_graph().arrays(), network_arrays(network))
    assert plan.seconds == pytest.approx(meant, rel=0.05)
    plan.write_taskgraph(tmp_path / "plan.fbuf")
    assert not read_taskgraph(tmp_path / "plan.fbuf").has_rings
