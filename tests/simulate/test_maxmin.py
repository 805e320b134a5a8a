"""The rate solver against progressive filling, what max-min fairness means, and changes against a fresh start."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import max_min_rates

from flexnet.simulate.fair_work import make_classes, make_links
from flexnet.simulate.kernels.flow_classes import SAME_TIME
from flexnet.simulate.kernels.maxmin import fill_at_once, fill_in_order, settle_lonely
from flexnet.simulate.kernels.reach import delist, enlist, mark, open_all, open_reached, weigh
from flexnet.simulate.kernels.windows import LENGTHS


def at_once(classes, links, n_open, n_touched):
    fill_at_once(SAME_TIME, classes, links, n_open, n_touched, 0.0)


def in_order(classes, links, n_open, n_touched):
    fill_in_order(classes, links, n_open, n_touched, 0.0)


class Shared:
    """Classes of flows over links, as a simulation has them; numbered by their place in ``paths``."""

    def __init__(self, paths, weights, bandwidth, lengths=None):
        n, ends = len(paths), np.cumsum([len(path) for path in paths])
        self.bandwidth, self.paths = bandwidth, paths
        self.classes, self.links = make_classes(n, int(ends[-1]), 0), make_links(len(bandwidth))
        self.classes.begin[1:], self.classes.end[:] = ends[:-1], ends
        self.classes.link[:] = [link for path in paths for link in path]
        self.classes.owner[:] = [c for c, path in enumerate(paths) for _ in path]
        self.classes.weight[:] = weights
        self.classes.length[:] = -1 if lengths is None else lengths

    def change(self, c, count):
        """Let class ``c`` have so many flows."""
        more = count - int(self.classes.n_flow[c])
        if more == 0:
            return
        if not self.classes.listed[c]:
            enlist(self.classes, self.links, c)
        mark(self.classes, c)
        self.classes.n_flow[c] = count
        for link in self.paths[c]:
            self.links.flows[link] += more
            self.links.users[link] += more * self.classes.weight[c]

    def all_rates(self, fill):
        """Rates, all solved anew."""
        self.classes.n_active[0] = 0
        for c in np.flatnonzero(self.classes.n_flow > 0):
            self.classes.active[self.classes.n_active[0]] = c
            self.classes.n_active[0] += 1
        fill(self.classes, self.links, *open_all(self.bandwidth, self.classes, self.links, fill is in_order, 0.0))
        return np.where(self.classes.n_flow > 0, self.classes.rate, 0.0)

    def rates(self, fill):
        """Rate of a flow of every class, 0 without flows; those that changes since the last time can reach are."""
        classes, kept = self.classes, 0
        for c in classes.active[: classes.n_active[0]].tolist():
            if classes.n_flow[c] > 0:
                classes.active[kept] = c
                kept += 1
            else:
                classes.listed[c] = False
                if c % 2:  # others stay in the lists
                    delist(classes, self.links, c)
        classes.n_active[0] = kept
        weigh(classes, self.links)
        settle_lonely(self.bandwidth, classes, self.links, 0.0)
        fill(classes, self.links, *open_reached(self.bandwidth, classes, self.links, 0.0))
        return np.where(classes.n_flow > 0, classes.rate, 0.0)


def solve(fill, paths, weights, counts, bandwidth):
    shared = Shared(paths, weights, bandwidth)
    for c in reversed(range(len(paths))):
        shared.change(c, counts[c])
    return shared.rates(fill)


@st.composite
def cases(draw):
    n_link = draw(st.integers(1, 8))
    link = st.integers(0, n_link - 1)
    paths = draw(st.lists(st.lists(link, min_size=1, max_size=6), min_size=1, max_size=12))  # rings repeat links
    weights = [float(draw(st.sampled_from([1, 2]))) for _ in paths]
    counts = [draw(st.integers(1, 3)) for _ in paths]
    bandwidth = np.array([float(draw(st.integers(1, 5))) for _ in range(n_link)])
    return paths, weights, counts, bandwidth


@pytest.mark.parametrize("fill", [at_once, in_order])
@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_rates_are_those_of_progressive_filling(fill, case):
    paths, weights, counts, bandwidth = case
    flows = [path for path, count in zip(paths, counts, strict=True) for _ in range(count)]
    each = [weight for weight, count in zip(weights, counts, strict=True) for _ in range(count)]
    expected = max_min_rates(flows, each, bandwidth)
    rates = np.repeat(solve(fill, *case), counts)
    assert rates == pytest.approx([expected[f] for f in range(len(flows))], rel=1e-9)


@pytest.mark.parametrize("fill", [at_once, in_order])
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


@pytest.mark.parametrize("fill", [at_once, in_order])
@given(case=cases(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_after_changes_rates_are_those_of_a_fresh_start(fill, case, data):
    paths, weights, counts, bandwidth = case
    lengths = [data.draw(st.integers(-1, LENGTHS - 1)) for _ in paths]
    shared = Shared(paths, weights, bandwidth, lengths)
    some = st.dictionaries(st.integers(0, len(paths) - 1), st.integers(0, 3), min_size=1, max_size=3)
    for step in [dict(enumerate(counts)), *data.draw(st.lists(some, max_size=6))]:
        for c, count in step.items():
            shared.change(c, count)
        rates = shared.rates(fill)
        fresh = Shared(paths, weights, bandwidth, lengths)
        for c, count in enumerate(shared.classes.n_flow.tolist()):
            fresh.change(c, count)
        assert rates == pytest.approx(fresh.all_rates(fill), rel=1e-9)
        assert shared.links.users == pytest.approx(fresh.links.users, rel=1e-9, abs=1e-9)
