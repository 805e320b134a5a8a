"""Networks in one table: medians, spreads, dollars, and the page of them."""

import re
from dataclasses import replace

import pytest

from flexnet.compare.contest import Contest, Standing
from flexnet.compare.measure import Measured, measure
from flexnet.compare.page import contest_page
from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.network.routes import mean_hops
from flexnet.network.topologies.leafspine import LeafSpine
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.prices.fabrics import Fabric, Interfaces
from flexnet.prices.table import read_prices
from flexnet.report.page import render_page
from flexnet.search.settings import Settings
from flexnet.simulate.fabric import unrouted
from flexnet.simulate.replay import replays

PRICES = read_prices()


def search(topology: str | LeafSpine, budget: int = 2, n_server: int = 4, batch_size: int = 64) -> Measured:
    graph = MODELS["alexnet"].build({}, batch_size)
    table = roofline_table(graph, "a100", n_server=n_server)
    problem = make_problem(graph, table, Cluster(n_server, link_bandwidth=5e9, latency=1e-6, degree=2), CORRECTED)
    return measure(problem, Settings(topology, budget=budget))


@pytest.fixture(scope="module")
def ring() -> Measured:
    return search("topoopt")


@pytest.fixture(scope="module")
def switch() -> Measured:
    return search("fattree")


def test_figures_are_those_of_the_search(ring: Measured) -> None:
    figures = ring.figures()
    assert figures["iteration_ms"] == pytest.approx(ring.found.seconds * 1e3)
    assert figures["iteration_ms"] == pytest.approx(figures["compute_ms"] + figures["exposed_ms"])
    assert figures["gap"] == pytest.approx(figures["iteration_ms"] / figures["lower_bound_ms"]) and figures["gap"] >= 1
    assert figures["mean_hops"] == pytest.approx(mean_hops(ring.found.topology))
    assert sum(figures["pairs_by_hops"]) == 4 * 3
    assert figures["bandwidth_tax"] >= 1


def test_plans_are_searched_on_the_switches() -> None:
    """Four servers a leaf, one link up: what stays within a leaf is faster than what an ideal switch is best for."""
    spread = search(LeafSpine(servers_per_leaf=4, oversubscription=4.0), 60, n_server=8, batch_size=2048)
    assert sorted(set(spread.hops.tolist())) == [2, 4]  # by one leaf, and over a spine
    paths = unrouted(spread.found.topology, 5e9, 1e-6)
    switch = search("fattree", 60, n_server=8, batch_size=2048)
    ideal = next(replays(switch.found.plan.task_graph(), paths, range(1)))
    assert spread.seconds < ideal.seconds


def contest(ring: Measured, switch: Measured, name: str = "topoopt") -> Contest:
    slower = replace(ring, seconds=2 * ring.seconds)
    standings = (
        Standing(name, Interfaces(2, 40.0), (ring,), 4000.0, 120.0, "", ("alexnet",)),
        Standing("random", Interfaces(2, 40.0), (slower, ring, slower), 4000.0, 130.0),
        Standing("fattree", Interfaces(1, 40.0), (switch,), 8000.0, 300.0),
        Standing("fc", None, remark="costs too much"),
    )
    return Contest("alexnet on 4 servers", ("same cost: $4,000",), standings)


def test_the_median_draw_counts_and_the_spread_is_told(ring: Measured, switch: Measured) -> None:
    random = contest(ring, switch).standings[1]
    assert random.median.seconds == 2 * ring.seconds
    assert random.spread == (ring.seconds, 2 * ring.seconds)
    assert random.dollar_seconds == 4000.0 * 2 * ring.seconds
    assert random.to_dict()["draws_ms"] == pytest.approx([2e3 * ring.seconds, 1e3 * ring.seconds, 2e3 * ring.seconds])


def test_the_table_says_it_all(ring: Measured, switch: Measured) -> None:
    lines = contest(ring, switch).lines()
    head, topoopt, random, fattree, mesh = lines[3:8]
    assert head.split("  ")[0] == "network"
    assert [
        word for word in ("time ms", "spread ms", "gap", "tax", "hops", "dollars", "watts", "$ x s") if word not in head
    ] == []
    assert topoopt.startswith("topoopt  2 x 40 Gbps") and f"{ring.seconds * 1e3:.2f}" in topoopt
    assert f"{ring.seconds * 1e3:.2f}-{2e3 * ring.seconds:.2f}" in random
    assert "8,000" in fattree and mesh == "fc"
    assert "fc: costs too much" in lines
    assert lines[-2].startswith("fastest ") and lines[-1].startswith("least time x dollars topoopt")


def test_columns_without_anything_are_left_out(ring: Measured) -> None:
    alone = Contest("t", (), (Standing("topoopt", Interfaces(2, 40.0), (ring,)),))
    assert {"spread", "dollars", "watts", "time_dollars"}.isdisjoint(alone.columns)
    assert alone.verdict() == [f"fastest topoopt, {ring.seconds * 1e3:.2f} ms"]
    assert Contest("t", (), (Standing("fc", None, remark="dear"),)).verdict() == [
        "none of these networks was searched to the end"
    ]


def test_the_page_has_every_section_and_escapes_what_it_is_given(ring: Measured, switch: Measured) -> None:
    held = contest(ring, switch, name="<script>alert(1)</script>.json")
    bills = {"fattree": Fabric("fattree", 4).bill(Interfaces(1, 40.0))}
    html = render_page(contest_page(held, bills, PRICES))
    assert "<script" not in html and "&lt;script&gt;" in html
    assert re.findall(r'<section[^>]* id="(\w+)"', html) == ["table", "times", "money", "components", "again"]
    assert "switch ports" in html and "flexnet search alexnet" in html
    unpriced = render_page(contest_page(Contest("t", ("same degree",), (Standing("fc", None),)), {}, None))
    assert re.findall(r'<section[^>]* id="(\w+)"', unpriced) == ["table", "times", "again"]
