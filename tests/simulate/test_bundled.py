"""What a task sends as one coflow, beside flows that each have a rate of their own."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import random_graph, random_network
from random_models import mlp, problem_of

from flexnet.network.build import build_network
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.simulate import priced_links
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.priced_links import packet_hops
from flexnet.simulate.protocol import FLUID, PACKET, ROCE, TCP


def case(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    return network, random_graph(rng, network.n_server)


def with_lone_transfers(graph):
    """The graph without all transfers of a task but the first."""
    sender = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    sent = np.flatnonzero(graph.kind[graph.succ] == NOMINAL_COMM)
    _, first = np.unique(sender[sent], return_index=True)
    kept = graph.kind != NOMINAL_COMM
    kept[graph.succ[sent[first]]] = True
    number = np.cumsum(kept) - 1
    edges = kept[sender] & kept[graph.succ]
    counts = np.bincount(sender[edges], minlength=graph.n_task)[kept]
    return TaskGraph(
        graph.n_server,
        graph.kind[kept],
        graph.place[kept],
        graph.seconds[kept],
        graph.bytes[kept],
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        number[graph.succ[edges]].astype(np.int32),
        graph.group_ptr,
        graph.group,
        graph.op[kept],
    )


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000), protocol=st.sampled_from([FLUID, ROCE]))
def test_bundles_of_one_transfer_are_flows(seed, protocol):
    network, graph = case(seed)
    graph = with_lone_transfers(graph)
    fair = FairLinks(protocol=protocol).timeline(graph.arrays(), network)
    bundled = BundledLinks(protocol=protocol).timeline(graph.arrays(), network)
    assert bundled.seconds == pytest.approx(fair.seconds, rel=1e-9)
    assert bundled.start == pytest.approx(fair.start, rel=1e-9, abs=1e-12)
    assert bundled.end == pytest.approx(fair.end, rel=1e-9, abs=1e-12)


def with_shared_transfers(rng, graph):
    """The graph with transfers that wait for later tasks too."""
    before = [set() for _ in range(graph.n_task)]  # what every task follows
    sender = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr)).tolist()
    succ = [graph.successors(task).tolist() for task in range(graph.n_task)]
    for _ in range(graph.n_task):
        for a, b in zip(sender, graph.succ.tolist(), strict=True):
            before[b] |= {a} | before[a]
    for transfer in np.flatnonzero(graph.kind == NOMINAL_COMM).tolist():
        owner = next(task for task, following in enumerate(succ) if transfer in following)
        for task in range(owner + 1, graph.n_task):
            if graph.kind[task] <= BACKWARD and transfer not in before[task] | {task} and rng.random() < 0.3:
                succ[task].append(transfer)
                for other in range(graph.n_task):
                    if other == transfer or transfer in before[other]:
                        before[other] |= {task} | before[task]
    ptr = np.cumsum([0, *map(len, succ)]).astype(np.int32)
    return replace(graph, succ_ptr=ptr, succ=np.array(list(chain.from_iterable(succ)), np.int32))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000), protocol=st.sampled_from([FLUID, ROCE]))
def test_a_bundle_begins_when_all_have_ended_that_it_waits_for(seed, protocol):
    network, graph = case(seed)
    graph = with_shared_transfers(np.random.default_rng(seed), with_lone_transfers(graph))
    graph.check()
    fair = FairLinks(protocol=protocol).timeline(graph.arrays(), network)
    bundled = BundledLinks(protocol=protocol).timeline(graph.arrays(), network)
    assert bundled.seconds == pytest.approx(fair.seconds, rel=1e-9)
    assert bundled.start == pytest.approx(fair.start, rel=1e-9, abs=1e-12)
    assert bundled.end == pytest.approx(fair.end, rel=1e-9, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000), protocol=st.sampled_from([FLUID, PACKET, TCP]), window=st.sampled_from([0.0, 1e-3]))
def test_what_a_task_sends_ends_together_and_before_what_follows(seed, protocol, window):
    network, graph = case(seed)
    model = BundledLinks(window, 0.0, protocol)
    times = model.timeline(graph.arrays(), network)
    assert times.seconds == times.end.max()
    assert model.seconds(graph.arrays(), network) == times.seconds
    for task in range(graph.n_task):
        sent = [t for t in graph.successors(task).tolist() if graph.kind[t] == NOMINAL_COMM]
        assert len({times.end[t] for t in sent}) <= 1
        assert all(times.start[t] == times.end[task] for t in sent)
        assert all(times.start[t] >= times.end[task] - 1e-12 for t in graph.successors(task).tolist())


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.3, 0.7, 0.95, 1.0, 1.5]))
def test_limits(seed, share):
    network, graph = case(seed)
    model = BundledLinks(protocol=FLUID)
    exact = model.seconds(graph.arrays(), network)
    limited = model.seconds(graph.arrays(), network, limit=exact * share)
    assert limited == exact if share >= 1 or exact == 0 else limited > exact * share
    fair = FairLinks(protocol=FLUID)
    assert model.seconds(graph.arrays(), network, limit=0.0) == pytest.approx(
        fair.seconds(graph.arrays(), network, limit=0.0), rel=1e-6
    )


def all_to_all(n):
    """Every server computes, sends to all others, and computes again when it has got what they send."""
    sends = [(a, b) for a in range(n) for b in range(n) if a != b]
    kind = [FORWARD] * n + [BACKWARD] * n + [NOMINAL_COMM] * len(sends)
    succ = [[2 * n + i for i, (a, _) in enumerate(sends) if a == server] for server in range(n)]
    succ += [[] for _ in range(n)] + [[n + b] for _, b in sends]
    return TaskGraph(
        n,
        np.array(kind, np.int8),
        np.array([*range(n), *range(n), *(a * n + b for a, b in sends)], np.int32),
        np.array([1e-3] * n + [2e-3] * n + [0.0] * len(sends)),
        np.array([0] * 2 * n + [10**7] * len(sends), np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in succ])]).astype(np.int32),
        np.array([t for s in succ for t in s], np.int32),
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.array([0] * n + [1] * n + [1] * len(sends), np.int32),
    )


@pytest.mark.parametrize("topology", ["fattree", "fc"])
def test_where_all_send_alike_nothing_differs(topology):
    network = network_arrays(build_network(topology, Cluster(9, link_bandwidth=1e9, latency=1e-6, degree=8)))
    tasks = all_to_all(9).arrays()
    for protocol in (FLUID, TCP):
        fair, bundled = (model(protocol=protocol).seconds(tasks, network) for model in (FairLinks, BundledLinks))
        assert bundled == pytest.approx(fair, rel=1e-9)


def test_the_busiest_link_is_never_idle_for_longer():
    """Over routes of several lengths, what all send to all takes what the busiest link takes, and latencies."""
    cluster = Cluster(16, link_bandwidth=1e9, latency=0.0, degree=4)
    network = network_arrays(build_network("random", cluster, semantics=CORRECTED))
    tasks = all_to_all(16).arrays()
    model = BundledLinks(protocol=FLUID)
    least = model.seconds(tasks, network, limit=0.0)
    assert least + 3e-3 <= model.seconds(tasks, network) * (1 + 1e-9)
    assert model.seconds(tasks, network) == pytest.approx(least + 3e-3, rel=1e-6)
    assert FairLinks(protocol=FLUID).seconds(tasks, network) == pytest.approx(least + 3e-3, rel=0.02)


def test_room_grows_and_is_used_again():
    problem = problem_of(mlp(), Cluster(8, link_bandwidth=1e8, latency=1e-6, degree=2), CORRECTED)
    network = network_arrays(build_network("random", problem.cluster, semantics=CORRECTED))
    graphs = []
    for n in (1, 2, 8, 4):
        config = Config((1, n), tuple(range(n)))
        other = Config((1, 1), (7,))
        n_op = len(problem.graph.operators)
        graphs.append(build(problem, make_strategy(problem, [config if i % 2 else other for i in range(n_op)])))
    model = BundledLinks()
    once = [model.seconds(graph.arrays(), network) for graph in graphs]
    again = [BundledLinks().seconds(graph.arrays(), network) for graph in graphs]
    assert once == again
    assert any((graph.kind == ALLREDUCE).any() for graph in graphs)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), protocol=st.sampled_from([FLUID, ROCE, TCP, PACKET]))
def test_millions_of_transfers_are_asked_for_together_and_as_many(seed, protocol):
    network, graph = case(seed)
    told = packet_hops(graph.arrays(), network, protocol)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priced_links, "MOST_FLOWS", 0)
        assert packet_hops(graph.arrays(), network, protocol) == pytest.approx(told, rel=1e-9)
