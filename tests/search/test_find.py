"""One call from a problem to a plan."""

import numpy as np
import pytest
from random_models import mlp, problem_of, tower

from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import PRESETS
from flexnet.plan.strategy import Config, configs_of
from flexnet.search.find import find_plan
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings

TOPOLOGIES = ("topoopt", "fattree", "random", "fc")
SLOW_LINKS = 2e6


def problem(semantics="corrected", n_server=4, degree=2, big_gpu=0):
    cluster = Cluster(n_server, big_gpu, link_bandwidth=SLOW_LINKS, latency=1e-6, degree=degree)
    return problem_of(tower(), cluster, PRESETS[semantics])


def bits(found):
    """All of a best plan that is reported or exported."""
    best = found.plan
    links = best.network.topology.links
    return (
        best.seconds,
        best.strategy.choice.tobytes(),
        best.strategy.devices.tobytes(),
        links.tobytes(),
        best.network.route.tobytes(),
        None if best.directions is None else best.directions.tobytes(),
    )


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("semantics", PRESETS)
def test_same_seed_same_bits_and_other_seeds_others(semantics, topology):
    flags = {"method": "mcmc", "strided": True, "propagation": True}
    settings = [Settings(topology, 40, seed=seed, **flags) for seed in (0, 0, 1, 2)]
    found = [bits(find_plan(problem(semantics), s)) for s in settings]
    assert found[0] == found[1]
    assert len(set(found)) > 1


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("semantics", PRESETS)
def test_every_topology_under_both_semantics(semantics, topology):
    """Slow links and a large table: model parallelism wins, and the network is one the cluster can have."""
    found = find_plan(problem(semantics), Settings(topology, 80))
    assert found.iterations == 81
    assert found.seconds < found.start_seconds
    network = found.plan.network
    network.topology.check(2 if topology in ("topoopt", "random") else None)
    assert found.topology is network.topology
    assert (network.link_bandwidth, network.latency) == (SLOW_LINKS, 1e-6)
    assert network.topology.n_switch == (topology == "fattree")
    rings, cycles = network.topology.rings, network.topology.cycles
    if semantics == "original":
        assert bool(rings) == (topology == "topoopt") and not cycles
    else:
        assert bool(rings or cycles) == (topology != "fattree")
    assert (found.plan.directions is not None) == (semantics == "original" and topology != "topoopt")
    assert found.searched_seconds == pytest.approx(found.seconds, rel=0.01 if semantics == "corrected" else 0)
    assert list(found.plan.configs.values()) == configs_of(found.plan.problem, found.plan.strategy)
    graph = found.plan.task_graph()
    graph.check()
    assert found.plan.timeline.end.shape == (graph.n_task,)


def test_without_a_faster_plan_the_start_is_found():
    """No proposal but the last operator's draw, which changes nothing."""
    found = find_plan(problem_of(mlp(1), Cluster(1)), Settings("fc", 3))
    assert found.seconds == found.start_seconds
    assert list(found.plan.configs.values()) == [Config((1, 1), (0,))]


def test_semantics_price_the_same_plan_differently():
    """Eight bytes an element, rings of 2/k inside servers, whole messages: the original's time is its own."""
    times = {name: prepare(problem(name, big_gpu=4), Settings("fattree", 0)).state.current.seconds for name in PRESETS}
    assert times["original"] != pytest.approx(times["corrected"], rel=1e-3)


def test_a_start_of_ones_own_is_priced_first():
    start = [Config((1, 1), (3,))] * 5
    ready = prepare(problem(), Settings("fattree", 0), start)
    assert configs_of(ready.problem, ready.state.current.strategy) == start
    assert list(ready.start.configs.values()) == start
    assert ready.start_name == "imported"


def test_what_follows_packets_may_wait_until_the_search_has_ended():
    """Before, the start is told as proposals are priced; what is found is the same."""
    found, told = [], []
    for later in (False, True):
        ready = prepare(problem(), Settings("topoopt", 30, seed=1), replays_later=later)
        told.append((ready.start.seconds, ready.glanced(ready.state.best)))
        found.append(ready.found(run(ready, ready.state)))
    (exact, _), (rough, glanced) = told
    assert rough == glanced == found[1].start_searched_seconds != exact
    first, second = found
    assert (first.seconds, first.start_seconds) == (second.seconds, second.start_seconds)
    assert first.start_seconds == exact


def test_a_search_that_is_stopped_before_packets_are_followed_tells_its_prices(monkeypatch):
    """Nobody who stops a first search waits until all is compiled."""
    monkeypatch.setattr("flexnet.search.prepared.is_kept", lambda _: False)
    ready = prepare(problem(), Settings("topoopt", 30), replays_later=True)
    stopped = ready.found(run(ready, ready.state, stop=lambda: True))
    assert stopped.as_searched
    assert stopped.seconds == stopped.searched_seconds == ready.state.best.seconds


def test_segments_reach_the_original_only():
    for semantics, differs in (("original", True), ("corrected", False)):
        times = [
            prepare(problem(semantics), Settings("fattree", 0, segment_bytes=size)).state.best.seconds
            for size in (0, 10_000)
        ]
        assert (times[0] != times[1]) == differs


def test_parameter_parallel_moves_cut_channels():
    cut = {}
    for flag in (False, True):
        settings = Settings("fc", 60, method="mcmc", alpha=0.0, parameter_parallel=flag)
        ready = prepare(problem_of(mlp(3), Cluster(4)), settings)
        state, placed = ready.state, []
        for _ in range(40):
            state, _ = ready.search.step(ready.rng, state)
            configs = configs_of(ready.problem, state.current.strategy)
            placed += [config for config in configs if config.degrees[0] > 1]
        cut[flag] = placed
    assert cut[True]
    assert all(config.devices[0] % config.degrees[0] == 0 for config in cut[True])


def test_memory_limits_the_corrected_search_alone():
    """Bytes per GPU times the GPUs of a server; tables of made-up sizes (1000 bytes for config 0 of an operator)."""
    with pytest.raises(
        FlexNetError, match="the starting strategy needs 3e-06 GB on one server and a server has 1e-07 GB"
    ):
        find_plan(problem(), Settings("fattree", 0, gpu_memory=100.0))
    find_plan(problem("original"), Settings("fattree", 0, gpu_memory=100.0))
    ready = prepare(problem(), Settings("fattree", 50, gpu_memory=14_000.0))
    needed = ready.search.pricer.memory_needed(ready.state.current.strategy)
    assert needed <= 14_000 == ready.search.pricer.memory_limit
    assert prepare(problem(big_gpu=4), Settings("fattree", 0, gpu_memory=1e6)).search.pricer.memory_limit == 4e6
    state = ready.state
    for _ in range(50):
        state, _ = ready.search.step(ready.rng, state)
        assert ready.search.pricer.memory_needed(state.current.strategy) <= 14_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topology": "torus"}, "unknown topology 'torus'; choose topoopt, fattree, .* or kary"),
        ({"budget": -1}, "the search budget is -1; it must be 0 or more"),
        ({"alpha": -0.1}, "alpha is -0.1; it must be a finite number, 0 or more"),
        ({"alpha": float("inf")}, "alpha is inf; .*"),
        ({"alpha": float("nan")}, "alpha is nan; .*"),
        ({"seed": -1}, "the seed is -1; it must be 0 or more"),
        ({"segment_bytes": -1}, r"the segment size is -1 bytes; use 0 \(whole transfers\) or more"),
        ({"gpu_memory": 0.0}, "the GPU memory is 0.0 bytes; it must be above 0"),
        ({"gpu_memory": float("nan")}, "the GPU memory is nan bytes; .*"),
    ],
)
def test_settings_out_of_range_are_refused(changes, sentence):
    with pytest.raises(FlexNetError, match=f"^{sentence}$"):
        Settings(**{"topology": "fc", **changes})


@pytest.mark.parametrize(
    ("semantics", "topology", "degree", "sentence"),
    [
        ("original", "topoopt", 3, "degree 3 of topology topoopt must be even"),
        ("corrected", "topoopt", 1, "degree 1 cannot connect 4 servers"),
        ("corrected", "random", 1, "degree 1 cannot connect 4 servers"),
    ],
)
def test_topologies_the_cluster_cannot_have_are_refused(semantics, topology, degree, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        prepare(problem(semantics, degree=degree), Settings(topology))


def test_one_server_needs_no_network():
    for topology in TOPOLOGIES:
        found = find_plan(problem(n_server=1), Settings(topology, 5))
        assert np.isfinite(found.seconds)
        assert {device for config in found.plan.configs.values() for device in config.devices} == {0}
