"""The order in which a task's transfers leave: the same ones, and all senders busy with different receivers."""

from collections.abc import Sequence

import numpy as np
import pytest
from fbuf_samples import task_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet import Cluster, build_network, replay
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import FORWARD, NOMINAL_COMM
from flexnet.plan.transfer_order import spread_transfers
from flexnet.simulate.packets import FollowedPackets


def all_to_all(n: int, senders: Sequence[int], receivers: Sequence[int], size: int) -> TaskGraph:
    """A task on every sender whose output goes to all receivers."""
    pairs = [(s, r) for s in senders for r in receivers if s != r]
    m = len(senders)
    counts = [sum(s == sender for s, _ in pairs) for sender in senders]
    return TaskGraph(
        n_server=n,
        kind=np.array([FORWARD] * m + [NOMINAL_COMM] * len(pairs), np.int8),
        place=np.array([*senders, *(s * n + r for s, r in pairs)], np.int32),
        seconds=np.zeros(m + len(pairs)),
        bytes=np.array([0] * m + [size] * len(pairs)),
        succ_ptr=np.concatenate([[0], np.cumsum(counts), [len(pairs)] * len(pairs)]).astype(np.int32),
        succ=np.arange(m, m + len(pairs), dtype=np.int32),
        group_ptr=np.zeros(1, np.int32),
        group=np.zeros(0, np.int32),
        op=np.zeros(m + len(pairs), np.int32),
    )


@given(graph=task_graphs(6))
@settings(deadline=None, max_examples=60)
def test_every_task_keeps_its_successors(graph: TaskGraph) -> None:
    spread = spread_transfers(graph)
    spread.check()
    for task in range(graph.n_task):
        before, after = graph.successors(task), spread.successors(task)
        assert sorted(before) == sorted(after)
        other = graph.kind[before] != NOMINAL_COMM
        assert (before[other] == after[other]).all()  # transfers change places with transfers alone
        assert (np.diff(spread.op[after[~other]]) >= 0).all()  # one consumer after the other


@pytest.mark.parametrize(
    ("senders", "receivers"),
    [
        (range(16), range(16)),
        (range(8, 16), range(8)),
        (range(0, 16, 2), range(1, 16, 2)),
        (range(4, 8), range(12, 16)),
    ],
)
def test_no_receiver_is_sent_to_twice_at_a_time(senders: range, receivers: range) -> None:
    graph = spread_transfers(all_to_all(16, senders, receivers, 1))
    orders = [(graph.place[graph.successors(task)] % 16).tolist() for task in range(len(senders))]
    for step in range(min(map(len, orders))):
        at_once = [order[step] for order in orders]
        assert len(set(at_once)) == len(at_once)


@given(n=st.integers(4, 24), m=st.integers(2, 24), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_uneven_numbers_are_nearly_even(n: int, m: int, seed: int) -> None:
    """Of senders, receivers, and which servers these are: in the order of their numbers, all would send to one."""
    rng = np.random.default_rng(seed)
    senders, receivers = (sorted(rng.choice(48, k, replace=False).tolist()) for k in (n, m))
    graph = spread_transfers(all_to_all(48, senders, receivers, 1))
    orders = [(graph.place[graph.successors(task)] % 48).tolist() for task in range(n)]
    steps = min(map(len, orders))
    most = [np.bincount([order[step] for order in orders]).max() for step in range(steps)]
    assert not steps or np.mean(most) <= 3 * -(-n // m) + 1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 12])
def test_an_exchange_takes_what_links_need(n: int) -> None:
    """On an ideal switch, by packets; in the order of their numbers, all wait for the link of one receiver."""
    network = build_network("star", Cluster(n, link_bandwidth=12.5e9, latency=1e-6))
    size = 50 * 8936
    graph = all_to_all(n, range(n), range(n), size)
    least = (n - 1) * size / 12.5e9
    links = FollowedPackets()
    before, after = (replay(one, network, links=links).seconds for one in (graph, spread_transfers(graph)))
    assert after <= before * (1 + 1e-9)
    if n in (4, 8):
        assert after == pytest.approx(least, rel=0.05)
    if n == 8:
        assert before > 1.3 * least
