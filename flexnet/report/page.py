"""A page of sections: what any report is made of, and how it becomes one HTML file that needs no other."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from flexnet.report.extra import check_extra

__all__ = [
    "Bar",
    "BarChart",
    "Block",
    "Code",
    "Fact",
    "Figure",
    "Page",
    "Part",
    "Row",
    "Section",
    "Table",
    "Text",
    "render_page",
]


@dataclass(frozen=True, slots=True)
class Fact:
    """A number to be seen first: ``value`` with its ``label``, and a ``note`` below it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; a ``marked`` one stands out, and its ``mark`` says why in a word."""

    cells: tuple[str, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under headings.

    Parameters
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of Row
    numeric : tuple of int
        Columns that hold numbers, which are aligned to the right.
    folded : bool
        Whether it is shown only when its caption is clicked.
    """

    kind: ClassVar[str] = "table"

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    numeric: tuple[int, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a stacked bar: its ``share`` of the widest bar, 0 to 1, in the ``colour`` of a name in style.css."""

    share: float
    colour: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its ``label`` before and its ``value`` behind."""

    label: str
    value: str
    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars below each other; ``legend`` pairs colours with what they mean."""

    kind: ClassVar[str] = "bars"

    caption: str
    bars: tuple[Bar, ...]
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing.

    Parameters
    ----------
    caption : str
    svg : str
        From `flexnet.report.drawing`; the only text of a page that is taken as markup.
    legend : tuple of (str, str)
        Colours and what they mean.
    width : int
        Pixels below which it is not drawn but scrolled.
    """

    kind: ClassVar[str] = "figure"

    caption: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()
    width: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to be copied."""

    kind: ClassVar[str] = "code"

    caption: str
    text: str


Block = Text | Table | BarChart | Figure | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a heading, a first sentence and blocks; ``id`` is unique on the page."""

    id: str
    title: str
    lead: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """All of a report; ``kicker`` stands above the title, ``facts`` below it."""

    kicker: str
    title: str
    subtitle: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    footer: str = ""


def render_page(page: Page) -> str:
    """HTML of a page: one file, no scripts, nothing fetched; all text in it is escaped but the drawings.

    Raises
    ------
    FlexNetError
        If the extra ``report`` is not installed.
    """
    check_extra()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = Path(__file__).with_name("templates").joinpath("style.css").read_text()
    return environment.get_template("page.html.j2").render(page=page, style=Markup(style), drawn=Markup)  # noqa: S704
