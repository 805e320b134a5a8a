"""Figures of sweeps: their numbers, their formats, and what is told when they cannot be drawn."""

import re

import pytest

from flexnet.errors import FlexNetError
from flexnet.plot.draw import KINDS, draw
from flexnet.plot.series import Panel, check_positive, frontier, panels_of, selected, speedups

ROWS = [
    {"model": "vgg", "topology": name, "bandwidth": gbps, "seed": seed, "iteration_ms": ms / gbps + seed, "hops": None}
    for name, ms in (("topoopt", 100.0), ("fattree", 300.0))
    for gbps in (40.0, 10.0)
    for seed in (0, 2, 1)
]


def test_series_keep_every_value_and_ascend() -> None:
    (panel,) = panels_of(ROWS, "bandwidth", "iteration_ms", ["topology"], None)
    assert panel.series["topoopt"] == {10.0: [10.0, 12.0, 11.0], 40.0: [2.5, 4.5, 3.5]}
    assert list(panel.series["fattree"]) == [10.0, 40.0]
    several = panels_of(ROWS, "bandwidth", "iteration_ms", ["topology", "seed"], "model")
    assert [one.title for one in several] == ["vgg"]
    assert list(several[0].series)[:2] == ["topoopt, seed 0", "topoopt, seed 2"]


def test_speedups_compare_medians() -> None:
    (panel,) = panels_of(ROWS, "bandwidth", "iteration_ms", ["topology"], None)
    assert speedups(panel, "fattree").series == {"topoopt": {10.0: [31 / 11], 40.0: [8.5 / 3.5]}}
    with pytest.raises(FlexNetError, match=r"--base is 'fat', which is no series; there are topoopt, fattree"):
        speedups(panel, "fat")


def test_counts_become_values() -> None:
    rows = [{"x": 1, "by": "a", "pairs_by_hops": [0, 2, 1]}]
    (panel,) = panels_of(rows, "x", "pairs_by_hops", ["by"], None)
    assert panel.series == {"a": {1: [1.0, 1.0, 2.0]}}


def test_the_frontier_is_better_than_all_others_in_one_way() -> None:
    panel = Panel("", {"a": {5.0: [9.0], 1.0: [10.0]}, "b": {2.0: [12.0, 8.0], 4.0: [7.0]}})
    assert frontier(panel) == [(1.0, 10.0), (2.0, 8.0), (4.0, 7.0)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("bandwidht", "iteration_ms", ["topology"], None), r"no column 'bandwidht'; did you mean bandwidth\?"),
        (("bandwidth", "model", ["topology"], None), "--y model holds 'vgg'; it must be a column of numbers"),
        (("bandwidth", "hops", ["topology"], None), "no row has both bandwidth and hops"),
    ],
)
def test_columns_that_cannot_be_drawn(words, sentence) -> None:
    with pytest.raises(FlexNetError, match=sentence):
        panels_of(ROWS, *words)


def test_an_axis_of_what_is_no_number_or_name() -> None:
    rows = [{"x": [0, 2], "name": "a", "y": 1.0}]
    with pytest.raises(FlexNetError, match=r"--x x holds \[0, 2\]; it must be a column of numbers or names"):
        panels_of(rows, "x", "y", ["name"], None)
    with pytest.raises(FlexNetError, match="--x name holds 'a'; it must be a column of numbers"):
        panels_of(rows, "name", "y", ["name"], None, numbers=True)


def test_rows_are_selected_as_they_are_printed() -> None:
    assert len(selected(ROWS, {"bandwidth": "40", "topology": "topoopt"})) == 3
    with pytest.raises(FlexNetError, match="no row has bandwidth=4: bandwidth is 10, 40"):
        selected(ROWS, {"bandwidth": "4"})
    assert len(selected(ROWS, {"bandwidth": "40.0", "topology": "topoopt"})) == 3
    assert selected([{"gbps": 1200 / 11}], {"gbps": "109.090909"})


def test_a_logarithmic_axis_shows_what_is_above_0() -> None:
    check_positive([Panel("", {"a": {0.0: [1.0]}})], of_x=False)
    for panel, of_x in ((Panel("", {"a": {1.0: [2.0, 0.0]}}), False), (Panel("", {"a": {0.0: [1.0]}}), True)):
        with pytest.raises(FlexNetError, match="--log shows numbers above 0, and 0 is among them"):
            check_positive([panel], of_x=of_x)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_the_same_again(kind) -> None:
    panels = panels_of(ROWS, "bandwidth", "iteration_ms", ["topology"], "model")
    pictures = {
        draw(kind, panels, "bandwidth", "iteration_ms", title="A & <b> $x$", log=False, suffix=".svg") for _ in range(2)
    }
    (picture,) = pictures
    text = picture.decode()
    assert text.startswith("<?xml") and text.rstrip().endswith("</svg>")
    told = set(re.findall(r">([^<>]+)</text>", text))
    assert {"topoopt", "fattree", "vgg", "A &amp; &lt;b&gt; $x$"} <= told


@pytest.mark.parametrize("kind", ["line", "frontier"])
def test_ticks_are_plain_figures(kind) -> None:
    rows = [{"dollars": 10.0**i, "topology": "t", "iteration_ms": 4.0 * 10**i} for i in range(3, 7)]
    panels = panels_of(rows, "dollars", "iteration_ms", ["topology"], None, numbers=True)
    text = draw(kind, panels, "dollars", "iteration_ms", title="", log=True, suffix=".svg").decode()
    told = set(re.findall(r">([^<>]+)</text>", text))
    assert "1,000,000" in told and not any("$" in one or "e+" in one for one in told - {"dollars of the network"})


@pytest.mark.parametrize(("suffix", "begins"), [(".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_other_formats(suffix, begins) -> None:
    panels = panels_of(ROWS, "bandwidth", "iteration_ms", ["topology"], None)
    assert draw("line", panels, "x", "y", title="", log=True, suffix=suffix).startswith(begins)
