"""Prices: limits, directions of rings, memory."""

import numpy as np
import pytest
from random_models import cost_table, mlp, own_keys, problem_of, tower

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.network.demand import demand_of
from flexnet.network.network import connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, PRESETS
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.search import pricing, resolution
from flexnet.search.pricing import Pricer
from flexnet.search.written import written_timeline
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.protocol import PACKET


def star(n_server, semantics=CORRECTED, bandwidth=1e6):
    topology = fat_tree(n_server)
    routes = routes_for(topology, semantics, np.random.default_rng(0))
    return connect(topology, bandwidth, 1e-6, routes)


def tower_strategy(problem):
    spread = Config((1, 4), (0, 1, 2, 3))
    order = Config((1, 4), (1, 0, 3, 2))
    return make_strategy(problem, [spread, Config((1, 1), (2,)), order, spread, spread])


def test_prices_are_as_fine_as_the_fastest_of_typical_plans(monkeypatch):
    """And suit what sends most, of those that take less than twice as long."""
    problem, network = problem_of(tower(), Cluster(4), CORRECTED), star(4)
    fast, slow = (make_strategy(problem, [Config((1, len(at)), at)] * 5) for at in ((1,), (0, 1, 2, 3)))
    sends = tower_strategy(problem)
    pricer, told = Pricer(problem), []
    monkeypatch.setattr(
        pricing, "resolution_for", lambda rough, tasks, *others: told.append((len(tasks.kind), others[-1]))
    )
    times = {id(plan): pricer.rough(plan, network, None).seconds for plan in (fast, slow, sends)}
    assert times[id(slow)] > 2 * times[id(fast)]
    pricer.set_resolution([(slow, network), (fast, network), (slow, star(4))])
    pricer.set_resolution([(sends, network), (slow, network)])
    sizes = {id(plan): len(pricer.tasks(plan).kind) for plan in (fast, slow, sends)}
    assert [size for size, _ in told] == [sizes[id(fast)], sizes[id(sends)]]
    assert [seconds for _, seconds in told] == pytest.approx(
        [times[id(fast)], min(times[id(sends)], times[id(slow)])], rel=0.1
    )


@pytest.mark.parametrize("segment", [0, 100_000])
@pytest.mark.parametrize("semantics", PRESETS)
def test_a_price_is_the_simulated_time_of_the_built_graph(semantics, segment):
    problem = problem_of(tower(), Cluster(4), PRESETS[semantics])
    strategy, network = tower_strategy(problem), star(4)
    pricer = Pricer(problem, segment)
    price = pricer.price(np.random.default_rng(0), strategy, network)
    at_once = problem.with_transfers_at_once()
    tasks = build(at_once, strategy)
    if semantics == "corrected":
        expected = FairLinks().seconds(tasks.arrays(), network_arrays(network))
        assert price.directions is None
    else:
        assert price.directions is not None
        links = FifoLinks(ORIGINAL, segment)
        expected = links.seconds(tasks.arrays(), network_arrays(network), directions=price.directions)
    assert (price.seconds, price.exact) == (expected, True)
    timeline = pricer.exact(strategy, network, price.directions)
    if semantics == "corrected":  # of the file it would be written to, every packet followed
        ways = [(one, written_timeline(one, build(one, strategy), network, PACKET)) for one in (at_once, problem)]
        expected = min(times.seconds for _, times in ways)
        faster = pricer.sent_as(strategy, network, timeline)
        sent_so = next(times for one, times in ways if one.semantics == faster.semantics)
        assert sent_so.seconds == expected
        assert Pricer(problem, segment).sent_as(strategy, network, timeline).semantics == faster.semantics  # worked out
        assert pricer.fastest(strategy, network, None, n_thread=2)[1].seconds == expected
    assert timeline.seconds == expected
    assert len(timeline.end) == tasks.n_task
    assert pricer.tasks(strategy).kind.tolist() == tasks.kind.tolist()
    demand = pricer.demand(strategy)
    assert (demand.model_parallel == demand_of(tasks.arrays(), 4).model_parallel).all()


@pytest.mark.parametrize("semantics", PRESETS)
def test_above_the_limit_a_price_is_not_exact(semantics):
    problem = problem_of(tower(), Cluster(4), PRESETS[semantics])
    strategy, network = tower_strategy(problem), star(4)
    pricer = Pricer(problem)
    exact = pricer.price(np.random.default_rng(0), strategy, network)
    again = pricer.price(np.random.default_rng(0), strategy, network, exact.seconds)
    assert (again.seconds, again.exact) == (exact.seconds, True)
    given_up = pricer.price(np.random.default_rng(0), strategy, network, exact.seconds * 0.9)
    assert not given_up.exact
    assert given_up.seconds > exact.seconds * 0.9


def test_ring_directions_are_fair_coins():
    """Only in the original, and only where rings follow routes (simulator.cc:1241)."""
    problem = problem_of(mlp(3), Cluster(4), ORIGINAL)
    spread = Config((1, 4), (0, 1, 2, 3))
    strategy, network = make_strategy(problem, [spread] * 3), star(4)
    pricer, rng = Pricer(problem), np.random.default_rng(0)
    draws = np.array([pricer.price(rng, strategy, network).directions for _ in range(500)])
    assert draws.shape == (500, 6)
    assert set(draws.ravel().tolist()) == {-1, 1}
    assert (abs(draws.mean(axis=0)) < 4.5 / np.sqrt(500)).all()


def placed(big_gpu=0, n_server=4):
    """An embedding of 1000 bytes a part, a Linear of 1000 (whole) or 3000 (in two)."""
    b = GraphBuilder("pair", 8)
    b.dense(b.embedding(b.input(1, dtype="int64"), 10, 4), 4)
    graph = own_keys(b.build())
    table = cost_table(graph, n_server, [[(1, 1), (1, 2)], [(1, 1), (1, 4), (1, 2)]])
    return make_problem(graph, table, Cluster(n_server, big_gpu), CORRECTED)


@pytest.mark.parametrize(
    ("big_gpu", "configs", "needed"),
    [
        (0, [Config((1, 1), (0,)), Config((1, 1), (1,))], 1000),
        (0, [Config((1, 1), (1,)), Config((1, 1), (1,))], 2000),
        (0, [Config((1, 2), (1, 3)), Config((1, 2), (2, 3))], 2000 + 3000),
        (0, [Config((1, 2), (1, 3)), Config((1, 4), (3, 0, 1, 2))], 2 * 2000),
        (4, [Config((1, 1), (0,)), Config((1, 1), (1,))], 4 * 1000),  # a part of the Linear on each of four GPUs
        (4, [Config((1, 2), (0, 1)), Config((1, 2), (1, 2))], 2000 + 4 * 3000),  # a part of an embedding is on one
    ],
)
def test_memory_of_the_fullest_server(big_gpu, configs, needed):
    problem = placed(big_gpu)
    strategy = make_strategy(problem, configs)
    assert Pricer(problem).memory_needed(strategy) == needed
    roomy, tight = Pricer(problem, memory_limit=needed), Pricer(problem, memory_limit=needed - 1)
    rng = np.random.default_rng(0)
    price = roomy.price(rng, strategy, star(4))
    assert price.exact
    assert np.isfinite(price.seconds)
    roomy.require_memory(strategy)
    price = tight.price(rng, strategy, star(4))
    assert (price.seconds, price.exact) == (np.inf, False)
    with pytest.raises(FlexNetError, match=r"the starting strategy needs \S+ GB on one server and a server has \S+ GB"):
        tight.require_memory(strategy)
    Pricer(problem).require_memory(strategy)


@pytest.mark.parametrize(
    ("bandwidth", "as_near", "bundled"), [(1e6, -1.0, True), (1e4, 0.02, True), (1e4, -1.0, False)]
)
def test_plans_of_many_transfers_are_priced_by_what_tasks_send(monkeypatch, bandwidth, as_near, bundled):
    """Where timers may go off, of which that knows nothing, only if it is as near to fine prices."""
    monkeypatch.setattr(resolution, "AS_NEAR", as_near)
    problem = problem_of(mlp(), Cluster(4, 0, link_bandwidth=bandwidth, latency=1e-6), CORRECTED)
    n_op, spread = len(problem.graph.operators), Config((1, 4), (0, 1, 2, 3))
    strategy = make_strategy(problem, [Config((1, 1), (0,)), *[spread] * (n_op - 1)])
    seconds = []
    for most in (1.0, np.inf):
        monkeypatch.setattr(resolution, "BUNDLED_HOPS", most)
        pricer = Pricer(problem)
        pricer.set_resolution([(strategy, star(4, bandwidth=bandwidth))])
        seconds.append(pricer.price(np.random.default_rng(0), strategy, star(4, bandwidth=bandwidth)).seconds)
    assert seconds[0] == pytest.approx(seconds[1], rel=0.05)
    assert (seconds[0] != seconds[1]) == bundled
