"""The rate solver against progressive filling, and what max-min fairness means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import max_min_rates

from flexnet.simulate.kernels.fair_state import Classes, Links
from flexnet.simulate.kernels.flow_classes import SAME_TIME
from flexnet.simulate.kernels.heap import Heap
from flexnet.simulate.kernels.maxmin import fill_at_once, fill_in_order


def at_once(bandwidth, classes, links):
    fill_at_once(bandwidth, SAME_TIME, classes, links)


def solve(fill, paths, weights, counts, bandwidth):
    """Rate of a flow of every class, of classes numbered by their place in ``paths`` and listed backwards."""
    n, n_link = len(paths), len(bandwidth)
    ends = np.cumsum([len(path) for path in paths])
    integers = {name: np.zeros(n, np.int64) for name in ("begin", "end", "hops", "n_flow", "head", "active", "open")}
    floats = {
        name: np.zeros(n)
        for name in ("extra_latency", "weight", "rate", "served", "since", "next_end", "finish", "narrowest")
    }
    classes = Classes(
        n=np.array([n]),
        link=np.array([link for path in paths for link in path], np.int32),
        n_active=np.array([n]),
        listed=np.ones(n, np.bool_),
        owner=np.zeros(ends[-1], np.int32),
        after=np.zeros(ends[-1], np.int32),
        length=np.full(n, -1),
        of_path=np.zeros(0, np.int32),
        **integers,
        **floats,
    )
    classes.begin[1:], classes.end[:] = ends[:-1], ends
    classes.weight[:], classes.n_flow[:], classes.active[:] = weights, counts, range(n)[::-1]
    names = ("bytes", "users", "unfrozen", "left", "share", "least")
    links = Links(
        peak=np.zeros(0),
        carried=np.zeros(0),
        touched=np.zeros(n_link, np.int64),
        by_share=Heap(np.zeros(n_link), np.zeros(n_link, np.int64), np.zeros(1, np.int64)),
        head=np.zeros(n_link, np.int32),
        **{name: np.zeros(n_link) for name in names},
    )
    for path, weight, count in zip(paths, weights, counts, strict=True):
        for link in path:
            links.users[link] += weight * count
    fill(bandwidth, classes, links)
    return classes.rate


@st.composite
def cases(draw):
    n_link = draw(st.integers(1, 8))
    link = st.integers(0, n_link - 1)
    paths = draw(st.lists(st.lists(link, min_size=1, max_size=6), min_size=1, max_size=12))  # rings repeat links
    weights = [float(draw(st.sampled_from([1, 2]))) for _ in paths]
    counts = [draw(st.integers(1, 3)) for _ in paths]
    bandwidth = np.array([float(draw(st.integers(1, 5))) for _ in range(n_link)])
    return paths, weights, counts, bandwidth


@pytest.mark.parametrize("fill", [at_once, fill_in_order])
@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_rates_are_those_of_progressive_filling(fill, case):
    paths, weights, counts, bandwidth = case
    flows = [path for path, count in zip(paths, counts, strict=True) for _ in range(count)]
    each = [weight for weight, count in zip(weights, counts, strict=True) for _ in range(count)]
    expected = max_min_rates(flows, each, bandwidth)
    rates = np.repeat(solve(fill, *case), counts)
    assert rates == pytest.approx([expected[f] for f in range(len(flows))], rel=1e-9)


@pytest.mark.parametrize("fill", [at_once, fill_in_order])
@given(case=cases())
@settings(max_examples=200, deadline=None)
def test_everyone_has_a_full_link_on_which_nobody_has_more_for_his_weight(fill, case):
    paths, weights, counts, bandwidth = case
    per_weight = solve(fill, *case) / weights
    used = np.zeros(len(bandwidth))
    most = np.zeros(len(bandwidth))
    for path, weight, count, rate in zip(paths, weights, counts, per_weight, strict=True):
        for link in path:
            used[link] += count * weight * rate
            most[link] = max(most[link], rate)
    assert (used <= bandwidth * (1 + 1e-9)).all()
    full = used >= bandwidth * (1 - 1e-9)
    for path, rate in zip(paths, per_weight, strict=True):
        assert any(full[link] and rate >= most[link] * (1 - 1e-9) for link in path)
