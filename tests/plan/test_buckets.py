"""Gradients put together in buckets: what is reduced, by whom and after what stays the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, problem_of, random_configs, random_problem, waiting

from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE


def reduced(graph: TaskGraph) -> list[tuple[list[int], int, float, frozenset[int]]]:
    """Servers, bytes and seconds inside servers of every all-reduce, and the tasks that it waits for."""
    before: dict[int, set[int]] = {}
    for task in range(graph.n_task):
        for later in graph.successors(task).tolist():
            before.setdefault(later, set()).add(task)
    return [
        (graph.members(t).tolist(), int(graph.bytes[t]), float(graph.seconds[t]), frozenset(before[t]))
        for t in np.flatnonzero(graph.kind == ALLREDUCE).tolist()
    ]


def turned(group: list[int]) -> tuple[int, ...]:
    """The same ring, from its first server on."""
    at = group.index(min(group))
    return (*group[at:], *group[:at])


def put_together(graph: TaskGraph, after: np.ndarray, size: int) -> list[tuple[tuple[int, ...], int, float, frozenset]]:
    """What buckets hold, weight by weight."""
    alone, ops = reduced(graph), graph.op[graph.kind == ALLREDUCE].tolist()
    buckets: list[list] = []
    latest: dict[tuple, list] = {}
    for k in sorted(range(len(alone)), key=lambda k: (-ops[k], k)):
        group, sent, seconds, before = alone[k]
        ring = (turned(group), int(after[ops[k]]))
        bucket = latest.get(ring)
        if bucket is None or len(group) == 1 or bucket[1] + sent > size:
            latest[ring] = bucket = [turned(group), 0, 0.0, frozenset()]
            buckets.append(bucket)
        bucket[1:] = bucket[1] + sent, bucket[2] + seconds, bucket[3] | before
    return [tuple(bucket) for bucket in buckets]


@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1, 300, 2_000, 20_000, 10**9]))
@settings(deadline=None, max_examples=80)
def test_buckets_hold_what_was_reduced_alone(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED).with_transfers_at_once()
    strategy = make_strategy(problem, waiting(rng, problem, random_configs(rng, problem)))
    alone, together = build(problem, strategy), build(problem.with_buckets(size), strategy)
    together.check()
    told = [(turned(group), sent, seconds, before) for group, sent, seconds, before in reduced(together)]
    expected = put_together(alone, strategy.after, size)
    assert [one[:2] for one in told] == [one[:2] for one in expected]
    assert [one[2] for one in told] == pytest.approx([one[2] for one in expected])
    assert [one[3] for one in told] == [one[3] for one in expected]  # all-reduces come behind compute, which stays
    others = alone.kind != ALLREDUCE, together.kind != ALLREDUCE
    for name in ("kind", "place", "seconds", "bytes", "op"):
        assert np.array_equal(getattr(alone, name)[others[0]], getattr(together, name)[others[1]])


def test_a_bucket_takes_what_it_has_room_for() -> None:
    problem = problem_of(mlp(4, width=8), Cluster(4), CORRECTED)
    strategy = make_strategy(problem, [Config((1, 4), (0, 1, 2, 3))] * 4)
    sizes = [one[1] for one in reduced(build(problem, strategy))]
    assert len(sizes) == 8
    layer = sum(sizes[:2])
    assert [one[1] for one in reduced(build(problem.with_buckets(2 * layer), strategy))] == [2 * layer] * 2
    assert [one[1] for one in reduced(build(problem.with_buckets(1e9), strategy))] == [4 * layer]
    assert sorted(one[1] for one in reduced(build(problem.with_buckets(1), strategy))) == sorted(sizes)
    same = build(problem.with_buckets(1e9).with_buckets(0), strategy)
    assert np.array_equal(same.bytes, build(problem, strategy).bytes)


@pytest.mark.parametrize("size", [-1, float("inf"), float("nan")])
def test_a_bucket_has_a_size(size: float) -> None:
    problem = problem_of(mlp(1), Cluster(2), CORRECTED)
    with pytest.raises(FlexNetError, match=r"^a bucket has \S+ bytes; it must be a finite number, 0 or more$"):
        problem.with_buckets(size)
