"""``flexnet plot RESULTS``: figures of what a sweep found."""

from typing import Any

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command
from flexnet.commands.requests.plot import PLOT_FLAGS, plot_request
from flexnet.errors import counted

__all__ = ["plot"]

ESTIMATED = "\ntimes are estimated, not measured"
_OF_TIMES = ("gap", "dollar_seconds")


def _plot(words: tuple[str, ...], **values: Any) -> int:
    """Draws what a sweep found: time against bandwidth, degree or servers, distributions, speed-ups, costs.

    RESULTS is the directory of a sweep, or a Parquet or CSV file of its results; their columns can be drawn.
    """
    request = plot_request(words, values)

    from flexnet.files import check_writable, write_atomically
    from flexnet.plot.draw import draw
    from flexnet.plot.series import check_positive, panels_of, selected, speedups
    from flexnet.report.extra import check_extra
    from flexnet.sweep.store import read_rows

    check_extra()
    check_writable(request.output)
    rows = selected(read_rows(request.results), request.where)
    numbers = request.kind == "frontier"
    panels = panels_of(rows, request.x, request.y, request.by, request.panels, numbers=numbers)
    if request.base:
        panels = [speedups(panel, request.base) for panel in panels]
    if request.log and request.kind != "cdf":
        check_positive(panels, of_x=numbers)
    suffix = request.output.suffix.lower()
    of_times = any(axis.endswith("_ms") or axis in _OF_TIMES for axis in (request.x, request.y))
    estimated = of_times and any(row.get("times") == "estimated" for row in rows)
    title = f"{request.title}{ESTIMATED if estimated else ''}"
    picture = draw(request.kind, panels, request.x, request.y, title=title, log=request.log, suffix=suffix)
    write_atomically(request.output, picture)
    say(f"wrote {request.output}: {counted(len(rows), 'row')} in {counted(len(panels), 'panel')}")
    return 0


plot = Command(
    "plot",
    params=[click.Argument(["words"], nargs=-1, metavar="RESULTS", required=False, type=click.Path()), *PLOT_FLAGS],
    callback=_plot,
    help=_plot.__doc__,
)
