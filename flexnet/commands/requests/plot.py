"""What ``flexnet plot`` is asked to do: its flags, and what they become, once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.commands.requests.flags import Flag, switch
from flexnet.commands.requests.types import FilePath, Name
from flexnet.errors import FlexNetError, one_of
from flexnet.plot.draw import FORMATS, KINDS

__all__ = ["PLOT_FLAGS", "PlotRequest", "plot_request"]

_X = {"frontier": "dollars"}

PLOT_FLAGS = [
    Flag(
        ["kind", "--kind"],
        type=Name(KINDS),
        default="line",
        metavar="NAME",
        help="line: medians over the spread (default); cdf: shares of rows, or of server pairs by hops; bar; speedup: "
        "times faster than --base; frontier: none is better in both",
    ),
    Flag(["x", "--x"], metavar="COLUMN", help="default bandwidth; of a frontier, dollars"),
    Flag(["y", "--y"], default="iteration_ms", metavar="COLUMN", help="default iteration_ms"),
    Flag(["by", "--by"], default="topology", metavar="COLUMN,..", help="what tells series apart (default topology)"),
    Flag(["panels", "--panels"], metavar="COLUMN", help="a panel for every value of it"),
    Flag(["where", "--where"], metavar="COLUMN=VALUE,..", help="only rows with these values"),
    Flag(["base", "--base"], metavar="SERIES", help="of --kind speedup: what the others are faster than"),
    Flag(["title", "--title"], default="", metavar="TEXT", help="above the figure"),
    switch("log", "--log", "a logarithmic axis of y; of a frontier, of x too"),
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(),
        metavar="FILE",
        help=f"the figure, {one_of(FORMATS)} (default figure.svg)",
    ),
]


@dataclass(frozen=True, slots=True)
class PlotRequest:
    """A figure to draw.

    Parameters
    ----------
    results : Path
        Directory of a sweep, or a file of its results.
    kind, x, y : str
    by : tuple of str
    panels : str or None
    where : Mapping[str, str]
    base : str
        Empty, but for speed-ups.
    title : str
    log : bool
    output : Path
    """

    results: Path
    kind: str
    x: str
    y: str
    by: tuple[str, ...]
    panels: str | None
    where: Mapping[str, str]
    base: str
    title: str
    log: bool
    output: Path


def plot_request(words: Sequence[str], values: dict[str, Any]) -> PlotRequest:
    """Make a request of what was asked.

    Raises
    ------
    FlexNetError
        If there is not one directory or file, or flags contradict each other.
    """
    if len(words) != 1:
        what = f"unexpected argument {words[1]!r}" if words else "no results given"
        raise FlexNetError(f"{what}; use flexnet plot DIR, with the directory of a sweep")
    if (values["kind"] == "speedup") != (values["base"] is not None):
        raise FlexNetError("--base is what --kind speedup compares with; give both or neither")
    output = values["output"] or Path("figure.svg")
    if output.suffix.lower() not in FORMATS:
        raise FlexNetError(f"-o is {output}; its name must end in {one_of(FORMATS)}")
    return PlotRequest(
        results=Path(words[0]),
        kind=values["kind"],
        x=values["x"] or _X.get(values["kind"], "bandwidth"),
        y=values["y"],
        by=tuple(name for name in values["by"].split(",") if name),
        panels=values["panels"],
        where=_where(values["where"] or ""),
        base=values["base"] or "",
        title=values["title"],
        log=values["log"],
        output=output,
    )


def _where(text: str) -> dict[str, str]:
    found = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise FlexNetError(f"--where is {text!r}; it must be COLUMN=VALUE, several with commas")
        found[name.strip()] = value.strip()
    return found
