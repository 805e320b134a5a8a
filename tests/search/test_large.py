"""Searches on networks that hold only the routes that are needed; here every network counts as such a large one."""

import numpy as np
import pytest
from random_models import mlp, problem_of, tower

from flexnet.model.builder import GraphBuilder
from flexnet.network import implied
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.search.find import find_plan
from flexnet.search.plan import price
from flexnet.search.prepare import prepare
from flexnet.search.pricing import Price, Pricer
from flexnet.search.settings import Settings
from flexnet.search.starts import layers as layers_start
from flexnet.simulate.protocol import TCP
from flexnet.simulate.replay import replay
from flexnet.simulate.routed import routed
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph


@pytest.fixture(autouse=True)
def every_network_is_large(monkeypatch):
    monkeypatch.setattr(implied, "MOST_ROUTED", 0)


def problem(semantics=CORRECTED, graph=None):
    cluster = Cluster(8, 0, link_bandwidth=2e6, latency=1e-6, degree=4)
    return problem_of(graph or tower(), cluster, semantics)


@pytest.mark.parametrize(
    ("semantics", "topology", "method"),
    [(CORRECTED, "topoopt", "portfolio"), (CORRECTED, "random", "portfolio"), (ORIGINAL, "topoopt", "mcmc")],
)
def test_a_plan_is_priced_as_if_every_pair_had_its_route(semantics, topology, method):
    wanted = problem(semantics)
    found = find_plan(wanted, Settings(topology, 120, seed=1, method=method))
    assert found.seconds <= found.start_seconds
    plan = found.plan
    every = plan.network.routing(np.arange(64))
    again = price(wanted, plan.strategy, every, directions=plan.directions)
    assert again.seconds == plan.seconds
    if semantics is CORRECTED:
        assert np.count_nonzero(np.diff(plan.network.route_ptr)) < 56


def test_the_file_has_the_routes_that_are_needed(tmp_path):
    found = find_plan(problem(), Settings("topoopt", 60))
    found.plan.write_taskgraph(tmp_path / "plan.fbuf")
    file = read_taskgraph(tmp_path / "plan.fbuf")
    network = to_network(file, file.link_bytes_per_ms * 1e3, 1e-6)
    assert replay(to_task_graph(file), network).seconds == pytest.approx(found.seconds, rel=1e-6)


def test_only_what_is_sent_gets_a_route():
    wanted = problem(graph=mlp())
    found = find_plan(wanted, Settings("random", 5, start="data"))
    pricer, strategy, network = Pricer(wanted), found.start.strategy, found.start.network
    again = pricer.routed(strategy, network)
    assert pricer.routed(strategy, again) is again
    plain = network.with_cycles(())
    tasks = found.start.task_graph().arrays()
    members = range(8)
    ring = {a * 8 + (a + 1) % 8 for a in members}
    along = routed(tasks, plain.with_routes(implied.no_routes(8)), TCP._replace(by_server=False))
    assert set(np.flatnonzero(np.diff(along.route_ptr)).tolist()) == ring
    star = {a * 8 for a in members} | set(members)
    to_one = routed(tasks, plain.with_routes(implied.no_routes(8)), TCP._replace(by_server=True))
    assert set(np.flatnonzero(np.diff(to_one.route_ptr)).tolist()) == star - {0}


def test_of_many_servers_hopeless_starts_are_tried_on_random_networks_alone(monkeypatch):
    """Those that take more than a quarter longer on one that all have in common on no other."""
    priced, both = [], {"wired", "topoopt"}
    for most, priced_as, names in [(128, 2.0, both), (7, 2.0, {"wired"}), (7, 1.2, {"wired"}), (7, 0.5, both)]:
        with monkeypatch.context() as patched:
            patched.setattr("flexnet.search.rebuild.MANY_SERVERS", most)
            ready = prepare(problem(), Settings("topoopt", 0, start="data"))
            found = Price(priced_as, True, None)
            patched.setattr(Pricer, "price", lambda *args, found=found: priced.append(args[3]) or found)
            priced.clear()
            state, rng = ready.state, np.random.default_rng(0)
            plan = ready.search.trials.on_all_kinds(rng, state.best.strategy, state.network, 1.0, "")
        assert plan.seconds == priced_as
        assert {network.topology.name for network in priced} == names
        assert (len(priced) == 1) == (most == 7 and priced_as == 2.0)
        assert (len(priced) <= 3) == (names != both)


def test_tables_are_no_layers(monkeypatch):
    """A model of hundreds of tables has all starts; one of hundreds of layers those that take seconds."""
    monkeypatch.setattr(layers_start, "MANY_LAYERED", 8)
    b = GraphBuilder("tables", 64)
    b.dense(b.concat([b.softmax(b.dense(b.input(4), 4)) for _ in range(6)], axis=1), 4)
    tables = b.build()
    b = GraphBuilder("layers", 64)
    x = b.input(4)
    for _ in range(6):
        x = b.softmax(b.dense(x, 4))
    layers = b.build()
    assert [[block.count for block in graph.blocks] for graph in (tables, layers)] == [[6], [5]]
    kinds = [set(prepare(problem(graph=g), Settings("topoopt", 0)).state.schedule.origins) for g in (tables, layers)]
    assert "groups" in kinds[0]
    assert kinds[1] == {"stages", "layer-cuts"}
