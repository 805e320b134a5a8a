"""The order in which a task's transfers leave: the same ones, and all senders busy with different receivers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from fbuf_samples import task_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet import Cluster, build_network, replay
from flexnet.plan import transfer_order
from flexnet.plan.kernels.steps import are_matchings, find_steps
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
    assert after <= 1.05 * least + 6e-6  # two hops of latency, there and back
    if n == 8:
        assert before > 1.3 * least


def test_groups_that_straddle_powers_of_two_take_what_links_need() -> None:
    """Servers 1 to 8 and 9 to 16 exchange among themselves: counted among all, 8 and 16 would come last for all."""
    n, size = 18, 50 * 8936
    graphs = [all_to_all(n, group, group, size) for group in (range(1, 9), range(9, 17))]
    first, second = (np.asarray(graph.succ) for graph in graphs)
    n_task = graphs[0].n_task
    both = replace(
        graphs[0],
        **{
            name: np.concatenate([getattr(g, name) for g in graphs])
            for name in ("kind", "place", "seconds", "bytes", "op")
        },
        succ_ptr=np.concatenate([graphs[0].succ_ptr, graphs[1].succ_ptr[1:] + len(first)]).astype(np.int32),
        succ=np.concatenate([first, second + n_task]).astype(np.int32),
    )
    network = build_network("star", Cluster(n, link_bandwidth=12.5e9, latency=1e-6))
    before, after = (replay(one, network, links=FollowedPackets()).seconds for one in (both, spread_transfers(both)))
    assert after == pytest.approx(7 * size / 12.5e9, rel=0.05)
    assert before > 1.3 * after


@given(n=st.integers(1, 12), pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60))
@settings(deadline=None, max_examples=100)
def test_steps_are_matchings_and_as_few_as_can_be(n: int, pairs: list[tuple[int, int]]) -> None:
    sender, receiver = (np.array([pair[side] % n for pair in pairs], np.int64) for side in (0, 1))
    most = max([*np.bincount(sender, minlength=1), *np.bincount(receiver, minlength=1)])
    step = np.full(len(pairs), -1, np.int64)
    find_steps(sender, receiver, np.full((2, n, most), -1, np.int64), step)
    assert all(0 <= k < most for k in step)
    for side in (sender, receiver):
        assert len(set(zip(side.tolist(), step.tolist(), strict=True))) == len(pairs)


def test_servers_with_less_to_send_end_early() -> None:
    """16 of 32 servers send to 16 others, the rest to 15: free steps come last, but for a few."""
    at = np.random.default_rng(1).permutation(32)
    pairs = [(i, at[i % 2 * 16 + j]) for i in range(32) for j in range(16) if at[i % 2 * 16 + j] != i]
    sender, receiver = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    most = max(np.bincount(sender).max(), np.bincount(receiver).max())
    step = np.full(len(pairs), -1, np.int64)
    find_steps(sender, receiver, np.full((2, 32, most), -1, np.int64), step)
    last = [
        (step[side == server].max() + 1, (side == server).sum()) for side in (sender, receiver) for server in range(32)
    ]
    assert sum(end > n for end, n in last) <= 12


@given(
    n=st.integers(1, 6),
    exchanges=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=12),
        max_size=5,
    ),
)
@settings(deadline=None, max_examples=100)
def test_matchings_that_are_few_are_told(n: int, exchanges: list[list[tuple[int, int, int]]]) -> None:
    """Steps here tell different partners of a server apart, as those of `spread_transfers` do."""
    told = [[(s % n, r % n, (s % n) * n + r % n if k < 8 else (s + r) % n) for s, r, k in one] for one in exchanges]
    sender, receiver, step = (np.array([row[i] for one in told for row in one], np.int64) for i in range(3))
    begin = np.concatenate([[0], np.cumsum([len(one) for one in told])]).astype(np.int64)
    found = np.zeros(len(told), np.bool_)
    room = np.empty((2, n), np.int64), np.full(n * n + n, -1, np.int32), np.full(n * n, -1, np.int32)
    are_matchings(sender, receiver, step, begin, *room, found)
    for one, is_found in zip(told, found, strict=True):
        most = max(sum(row[side] == server for row in one) for side in (0, 1) for server in range(n))
        pairs = {row[:2] for row in one}
        assert is_found == (len(pairs) == len(one) and len({row[2] for row in one}) == most)


def test_exchanges_of_millions_keep_the_order_that_is_soon_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six servers to six: by exclusive or eight steps, of which each server waits in two."""
    graph = all_to_all(12, range(6), range(6, 12), 1)
    few = spread_transfers(graph)
    monkeypatch.setattr(transfer_order, "MOST_COLORED", 35)
    many = spread_transfers(graph)
    assert (few.succ != many.succ).any()
    for place in range(6):
        receivers = (many.place[many.successors(place)] % 12 - 6).tolist()
        assert receivers == sorted(range(6), key=lambda receiver: receiver ^ place)
