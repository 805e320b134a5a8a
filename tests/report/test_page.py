import re
from pathlib import Path

import pytest
from browser import check_page, chromium

from flexnet.errors import FlexNetError
from flexnet.report import extra
from flexnet.report.drawing import COLOURS, new_figure, styled, svg_of
from flexnet.report.page import (
    Bar,
    BarChart,
    Code,
    Columns,
    Fact,
    Figure,
    Page,
    Part,
    Row,
    Section,
    Table,
    Text,
    render_page,
)

HOSTILE = '<script>alert("x")</script> & "quotes"'


def figure() -> Figure:
    drawing = new_figure(500, 200)
    axes = styled(drawing.subplots(), grid="y")
    axes.plot([1, 2, 3], color=COLOURS["compute"])
    axes.set_xlabel("seconds")
    return Figure(f"drawn {HOSTILE}", svg_of(drawing, "drawn", HOSTILE, HOSTILE), (("compute", HOSTILE),), 480, 600)


def page() -> Page:
    table = Table(HOSTILE, (HOSTILE, "n"), (Row((HOSTILE, "1"), HOSTILE), Row(("b", "2"))), (1,))
    bars = BarChart(HOSTILE, (Bar(HOSTILE, "1 ms", (Part(0.5, "compute"), Part(0.25, "idle")), HOSTILE),))
    folded = Table(f"folded {HOSTILE}", ("a" * 60, "n"), (Row(("word " * 60, "1")),), folded=True)
    blocks = (Text(HOSTILE), Columns(((figure(),), (table, bars))), folded, Code(f"code {HOSTILE}", HOSTILE))
    return Page(
        HOSTILE, HOSTILE, HOSTILE, (Fact("a", "1"),), (Section("one", f"one {HOSTILE}", HOSTILE, blocks),), HOSTILE
    )


def test_text_is_escaped_and_nothing_is_fetched_or_run() -> None:
    html = render_page(page())
    assert "<script" not in html
    assert html.count("alert(") > 20
    assert not re.search(r'(?:src|href)="(?!#|data:,)', html.replace("xlink:href", "href"))
    assert "url(http" not in html and "@import" not in html


def test_colours_of_drawings_are_those_of_the_page() -> None:
    svg = figure().svg
    style = Path(extra.__file__).with_name("templates").joinpath("style.css").read_text()
    assert "var(--compute)" in svg and "var(--soft)" in svg
    assert not any(stand_in in svg for stand_in in COLOURS.values())
    assert "font-family" not in svg
    light, dark = style.split("@media (prefers-color-scheme: dark)")[:2]
    for name in COLOURS:
        assert f"--{name}:" in light and f"--{name}:" in dark
    for name in re.findall(r'id="([^"]+)"', svg):
        assert name.startswith("drawn-")


@pytest.mark.compiled
def test_a_page_works_for_everyone(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page(page()))
    with chromium() as browser:
        check_page(browser, path, ["one"])


def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(FlexNetError, match=r"reports need matplotlib and jinja2, .* pip install 'flexnet\[report\]'"):
        render_page(page())
