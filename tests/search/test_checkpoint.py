"""A restored search goes on as if it had never stopped; a damaged checkpoint is refused."""

import contextlib
from dataclasses import replace
from functools import cache

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_models import own_keys, problem_of, tower

from flexnet.errors import FlexNetError
from flexnet.model.zoo import MODELS
from flexnet.network.build import build_topology
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import PRESETS
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.search.checkpoint import checkpoint_json, restore
from flexnet.search.driver import drive
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks


def prepared(semantics="corrected", topology="topoopt", protocol="flexnetpacket"):
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, degree=2), PRESETS[semantics])
    return prepare(problem, Settings(topology, 60, seed=5, propagation=True, protocol=protocol))


@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random", "fc"])
@pytest.mark.parametrize("semantics", PRESETS)
def test_stopped_and_restored_is_uninterrupted(semantics, topology, tmp_path):
    whole = prepared(semantics, topology)
    at_once = drive(whole.search, whole.rng, whole.state, 60)
    first = prepared(semantics, topology)
    half = drive(first.search, first.rng, first.state, 29).state
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(half, first.rng))
    again = prepared(semantics, topology)
    state = restore(path, again.rng)
    assert checkpoint_json(state, again.rng) == path.read_bytes()
    assert state.current.network is state.network or semantics == "original"
    resumed = drive(again.search, again.rng, state, 60)
    assert checkpoint_json(resumed.state, again.rng) == checkpoint_json(at_once.state, whole.rng)


@pytest.fixture(scope="module")
def uninterrupted():
    """The checkpoint of a search of 900 proposals on a topology, which is made once."""

    @cache
    def made(topology):
        whole = prepared(topology=topology)
        return checkpoint_json(drive(whole.search, whole.rng, whole.state, 900).state, whole.rng)

    return made


@pytest.mark.parametrize(
    "stage",
    [None, *(pytest.param(s, marks=pytest.mark.compiled) for s in [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)])],
)
@pytest.mark.parametrize("topology", [pytest.param("topoopt", marks=pytest.mark.compiled), "fattree", "random"])
def test_a_portfolio_stopped_anywhere_and_restored_is_uninterrupted(
    topology, stage, tmp_path, monkeypatch, uninterrupted
):
    """Among the starts, and within a slot of each stage of rounds of every kind."""
    monkeypatch.setattr("flexnet.search.portfolio.FIRST_SLOT", 7)
    first = prepared(topology=topology)
    left = len(first.state.schedule.pending) - 2
    outcome = drive(first.search, first.rng, first.state, 10)
    while not _stands(outcome.state.schedule, stage, left):
        outcome = drive(first.search, first.rng, outcome.state, outcome.state.iteration)
    stopped = outcome.state.schedule
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(outcome.state, first.rng))
    again = prepared(topology=topology)
    state = restore(path, again.rng)
    assert checkpoint_json(state, again.rng) == path.read_bytes()
    assert state.network is state.current.network
    for name in (
        "round",
        "stage",
        "slot",
        "at",
        "stale",
        "held",
        "recut_round",
        "left_out",
        "before",
        "credit",
        "gains",
        "origins",
        "unlaid",
    ):
        assert getattr(state.schedule, name) == getattr(stopped, name)
    for name in ("pending", "pool", "starts", "entrants", "results"):
        assert len(getattr(state.schedule, name)) == len(getattr(stopped, name))
    resumed = drive(again.search, again.rng, state, 900).state
    assert resumed.schedule.round > 2
    assert checkpoint_json(resumed, again.rng) == uninterrupted(topology)


@pytest.mark.parametrize("n_laid", [0, 1, 3])
def test_starts_that_are_not_laid_out_yet_are_kept(n_laid, tmp_path, monkeypatch):
    monkeypatch.setattr("flexnet.search.prepare.LATER_TASKS", 0)
    whole, first, again = (prepared(topology="fattree") for _ in range(3))
    at_once = drive(whole.search, whole.rng, whole.state, 300)
    unlaid = first.state.schedule.unlaid
    state = first.state
    while len(state.schedule.unlaid) > len(unlaid) - n_laid:  # there may be none of the next kind
        state = drive(first.search, first.rng, state, state.iteration).state
    left = state.schedule.unlaid
    assert 0 < len(left) <= len(unlaid) - n_laid and left == unlaid[-len(left) :]
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(state, first.rng))
    state = restore(path, again.rng)
    assert state.schedule.unlaid == left
    resumed = drive(again.search, again.rng, state, 300)
    assert checkpoint_json(resumed.state, again.rng) == checkpoint_json(at_once.state, whole.rng)
    spoilt = orjson.loads(path.read_bytes())
    spoilt["schedule"]["unlaid"][0] = "nonsense"
    path.write_bytes(orjson.dumps(spoilt))
    refused(path, "is damaged: 'nonsense' is no kind of start")


def _stands(schedule, stage, pending):
    """Whether a search is in the middle of a slot of this round and stage, or among the starts."""
    if stage is None:
        return schedule.round == 0 and 0 < len(schedule.pending) <= pending
    return not schedule.pending and (schedule.round, schedule.stage) == stage and schedule.at > 2


def test_speeds_of_links_are_kept(tmp_path):
    topology = build_topology("fattree", 4)
    graph = topology.to_networkx(bandwidth=2e6, latency=1e-6)
    graph[0][4]["bandwidth"] = 3e6
    graph[1][4]["latency"] = 1e-3
    ready = prepared(topology=Topology.from_networkx(graph), protocol="fluid")  # by one link model, compiled or not
    assert ready.start.seconds > prepared(topology="fattree", protocol="fluid").start.seconds
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(ready.state, ready.rng))
    network = restore(path, np.random.default_rng(0)).current.network
    assert network.bandwidth.tolist() == ready.start.network.bandwidth.tolist()
    assert network.extra_latency.tolist() == ready.start.network.extra_latency.tolist()
    assert set(network.extra_latency.tolist()) == {0.0, 1e-3 - 1e-6}
    for damage in ([], [[2e6, -1.0]] * 4, [[0.0, 0.0]] * 4, [["fast", 0.0]] * 4):
        document = orjson.loads(checkpoint_json(ready.state, ready.rng))
        document["networks"][0]["speeds"] = damage
        path.write_bytes(orjson.dumps(document))
        with pytest.raises(FlexNetError, match=r"checkpoint .* is damaged"):
            restore(path, np.random.default_rng(0))


def test_cycles_are_kept(tmp_path):
    mesh = replace(build_topology("fc", 4), cycles=((0, 1, 2, 3), (3, 2, 1, 0), (0, 2)))
    ready = prepared(topology=mesh)
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(ready.state, ready.rng))
    network = restore(path, np.random.default_rng(0)).current.network
    assert network.topology.cycles == mesh.cycles
    for name in ("cycle_ptr", "cycle_member", "cycle_edge", "cycle_hops", "cycle_links"):
        assert (getattr(network, name) == getattr(ready.start.network, name)).all()
    for damage in ([[0]], [[0, 4]], [[0, True]], [[0, 1.0]], ["ab"], [3], 3):
        document = orjson.loads(checkpoint_json(ready.state, ready.rng))
        document["networks"][0]["cycles"] = damage
        path.write_bytes(orjson.dumps(document))
        with pytest.raises(FlexNetError, match=r"checkpoint .* is damaged"):
            restore(path, np.random.default_rng(0))


def test_arrays_and_times_are_the_same_to_the_bit(tmp_path):
    ready = prepared("original", "random")
    state = drive(ready.search, ready.rng, ready.state, 20).state
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(state, ready.rng))
    restored = restore(path, np.random.default_rng(0))
    for ours, theirs in ((restored.current, state.current), (restored.best, state.best)):
        assert ours.seconds == theirs.seconds
        assert ours.strategy.choice.dtype == theirs.strategy.choice.dtype
        assert (ours.strategy.choice == theirs.strategy.choice).all()
        assert (ours.strategy.devices == theirs.strategy.devices).all()
        assert (ours.directions == theirs.directions).all()
        for name in ("bandwidth", "route_ptr", "route", "ring_ptr", "ring_hops", "ring_links", "link_id"):
            a, b = getattr(ours.network, name), getattr(theirs.network, name)
            assert a.dtype == b.dtype
            assert (a == b).all()
        assert (ours.network.topology.links == theirs.network.topology.links).all()
    assert (restored.topology_current, restored.topology_best) == (np.inf, np.inf)


def test_every_count_and_time_comes_back(tmp_path):
    ready = prepared()
    numbers = {
        "iteration": 11,
        "last_reset": 7,
        "topology_current": 0.25,
        "topology_best": 0.125,
        "topology_unchanged": 3,
    }
    path = tmp_path / "checkpoint.json"
    path.write_bytes(checkpoint_json(replace(ready.state, **numbers), ready.rng))
    restored = restore(path, np.random.default_rng(0))
    assert {name: getattr(restored, name) for name in numbers} == numbers


@pytest.fixture(scope="module")
def document() -> dict:
    ready = prepared()
    state = drive(ready.search, ready.rng, ready.state, 10).state
    return orjson.loads(checkpoint_json(state, ready.rng))


def refused(path, sentence) -> None:
    with pytest.raises(FlexNetError, match=sentence):
        restore(path, np.random.default_rng(0))


def test_a_missing_or_unreadable_file_is_refused(tmp_path):
    refused(tmp_path / "none.json", r"cannot read checkpoint .*none\.json: No such file")
    refused(tmp_path, "cannot read checkpoint .*: Is a directory")


@pytest.mark.parametrize("content", [b"{}", b'{"version": 1}', b'{"version": null}'])
def test_another_version_is_refused(content, tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_bytes(content)
    refused(path, r"is not one of this version of flexnet \(version 12\)")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, document, tmp_path):
    whole = orjson.dumps(document)
    path = tmp_path / "checkpoint.json"
    path.write_bytes(whole[: int(len(whole) * share)])
    refused(path, r"checkpoint .*checkpoint\.json is not valid JSON: ")


@pytest.mark.parametrize("content", [b"[]", b"3"])
def test_another_kind_of_file_is_refused(content, tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_bytes(content)
    refused(path, r"checkpoint .*checkpoint\.json must be a JSON object")


def places(value: object, here: tuple = ()) -> list[tuple]:
    """Where values are in a JSON document; of a list only the first."""
    found = [here] if here else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*here, key))
    elif isinstance(value, list) and value:
        found += places(value[0], (*here, 0))
    return found


def changed(document: dict, place: tuple, value: object) -> dict:
    copy = orjson.loads(orjson.dumps(document))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copy


def test_every_missing_part_is_noticed(document, tmp_path):
    path = tmp_path / "checkpoint.json"
    for place in places(document):
        if place[-1] == 0 or place == ("version",):
            continue
        path.write_bytes(orjson.dumps(changed(document, place, None)))
        refused(path, "is damaged: ")


@given(data=st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_anything_anywhere_is_refused_or_read(data, document, tmp_path_factory):
    """No other exception, and never a hang, whatever value stands where; what is read can be simulated."""
    place = data.draw(st.sampled_from(places(document)))
    value = data.draw(
        st.one_of(
            st.sampled_from([[], {}, "", "x", True, -1, 0, 10**9, 2**63, 1.5, [1], [[1]], [[1, 2, 3]], {"a": 1}]),
            st.integers(-(2**63), 2**64 - 1),
            st.text(max_size=3),
        )
    )
    path = tmp_path_factory.getbasetemp() / "changed.json"
    path.write_bytes(orjson.dumps(changed(document, place, value)))
    with contextlib.suppress(FlexNetError):
        state = restore(path, np.random.default_rng(0))
        FairLinks().seconds(graph_on(4).arrays(), network_arrays(state.best.network))


def graph_on(n_server: int) -> TaskGraph:
    """Every server sends to every other, and all reduce."""
    graph = own_keys(MODELS["dlrm"].build({}, 4 * n_server))
    problem = problem_of(graph, Cluster(n_server))
    order = [tuple((i + shift) % n_server for i in range(n_server)) for shift in range(4)]
    return build(problem, make_strategy(problem, [Config((1, n_server), devices) for devices in order]))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("current", "seconds"), "soon"),
        (("topology_best",), "never"),
        (("rng",), []),
        (("rng", "state"), []),
        (("networks", 0, "n_server"), 10**6),
        (("networks", 0, "n_switch"), 10**6),
        (("networks", 0, "route_ptr", 3), 10**6),
        (("networks", 0, "route_ptr", 0), 1),
        (("networks", 0, "route", 0), 10**6),
        (("networks", 0, "links", 0), [0, 0, 1]),
        (("networks", 0, "rings"), [[4, [[2]]]]),
        (("networks", 0, "link_bandwidth"), 0.0),
        (("current", "network"), 10**6),
        (("schedule", "at"), -1),
        (("schedule", "round"), 0.5),
        (("schedule", "round"), 2**40),
        (("schedule", "stage"), 3),
        (("schedule", "slot"), 4),
        (("schedule", "pool"), []),
        (("schedule", "starts"), []),
        (("schedule", "at"), 1),
        (("schedule", "credit"), ["much"]),
        (("schedule", "gains"), [0.1]),
        (("schedule", "gains"), [0.1, -0.1]),
        (("schedule", "pool", 0, "network"), 10**6),
        (("best", "directions"), [3]),
    ],
)
def test_what_would_lead_kernels_astray_is_refused(place, value, document, tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_bytes(orjson.dumps(changed(document, place, value)))
    refused(path, r"checkpoint .*checkpoint\.json is damaged: ")
