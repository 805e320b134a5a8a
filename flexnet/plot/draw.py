"""Figures as papers draw them: lines with spread, cumulative distributions, bars of speed-ups, a frontier of costs."""

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from flexnet.plot.series import HISTOGRAMS, Panel, frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["FORMATS", "KINDS", "draw"]

FORMATS = (".svg", ".pdf", ".png")

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444")
"""Okabe and Ito's, told apart by colour-blind readers."""

_MARKERS = "os^Dvp*"
LETTERS_PER_INCH = 12.0  # of the legend
HANDLE_LETTERS = 7  # what the sample before a label takes, and the gap behind it
MOST_LETTERS = 36  # of names below an axis, before they are tilted
HEADROOM = 1.05  # above the highest point, whose marker is not to be cut
LEAST_GAP = 0.1  # of the length of an axis, between two ticks
DECADE = 10.0  # a logarithmic axis that is narrower has as few ticks as any other

_DASHES = ("-", "--", ":", "-.")

_WORDS = {
    "bandwidth": "bandwidth of an interface (Gbps)",
    "bandwidth_tax": "bandwidth tax",
    "degree": "interfaces of a server",
    "dollar_seconds": "time x dollars ($ s)",
    "dollars": "dollars of the network",
    "gap": "time over the bound",
    "iteration_ms": "iteration time (ms)",
    "lower_bound_ms": "bound (ms)",
    "mean_hops": "mean hops",
    "pairs_by_hops": "hops between two servers",
    "server_gbps": "bandwidth of a server (Gbps)",
}


def draw(kind: str, panels: Sequence[Panel], x: str, y: str, *, title: str, log: bool, suffix: str) -> bytes:
    """Draw a figure.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    panels : sequence of Panel
    x, y : str
        Columns, for the axes.
    title : str
    log : bool
        Logarithmic axis of y; for ``frontier``, of x too.
    suffix : str
        One of `FORMATS`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    n_column = min(len(panels), 3)
    n_row = -(-len(panels) // n_column)
    settings: dict[Any, Any] = {"svg.hashsalt": "flexnet", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    settings |= {"axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "svg.fonttype": "none"}
    settings["text.parse_math"] = False  # names hold dollars
    with mpl.rc_context(settings):
        figure = Figure(figsize=(1.2 + 3.6 * n_column, 0.9 + 2.7 * n_row), layout="constrained")
        every = figure.subplots(n_row, n_column, squeeze=False).ravel()
        for axes, panel in zip(every, panels, strict=False):
            axes.set_title(panel.title)
            if log:
                axes.set_yscale("log")
                axes.set_xscale("log" if kind == "frontier" else "linear")
            KINDS[kind](axes, panel, x, y)
            if log:
                _plain_ticks(axes.yaxis)
            if kind == "frontier":
                _plain_ticks(axes.xaxis)
        for axes in every[len(panels) :]:
            axes.set_axis_off()
        labels = {text: line for axes in every for line, text in zip(*axes.get_legend_handles_labels(), strict=True)}
        if any(labels):
            room = int(LETTERS_PER_INCH * figure.get_figwidth())
            n_across = max(room // (max(map(len, labels)) + HANDLE_LETTERS), 1)
            figure.legend(
                labels.values(),
                labels.keys(),
                loc="outside lower center",
                ncols=min(n_across, len(labels)),
                frameon=False,
            )
        figure.suptitle(title)
        file = BytesIO()
        metadata = {"Date": None} if suffix == ".svg" else {"CreationDate": None} if suffix == ".pdf" else {}
        figure.savefig(file, format=suffix[1:], dpi=150, metadata=metadata)
    return file.getvalue()


def _plain_ticks(axis: "Axis") -> None:
    """Ticks in plain figures, whether an axis is logarithmic or not."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    least, most = axis.get_view_interval()
    wide = axis.get_scale() == "log" and most > DECADE * least
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)) if wide else MaxNLocator(4))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter("")


def _lines(axes: "Axes", panel: Panel, x: str, y: str) -> None:
    """Medians joined by lines, over a band from the least to the most where there are several."""
    for i, (label, points) in enumerate(panel.series.items()):
        colour, at = _COLOURS[i % len(_COLOURS)], list(points)
        line = [median(values) for values in points.values()]
        axes.plot(at, line, marker=_MARKERS[i % len(_MARKERS)], markersize=4, color=colour, label=label)
        if any(len(values) > 1 for values in points.values()):
            least, most = ([edge(values) for values in points.values()] for edge in (min, max))
            axes.fill_between(at, least, most, color=colour, alpha=0.15, linewidth=0)
        if _apart(at):
            axes.set_xticks(at, [f"{value:g}" for value in at])
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0, top=HEADROOM * axes.get_ylim()[1])
    axes.set_xlabel(_WORDS.get(x, x))
    axes.set_ylabel(_WORDS.get(y, y))


def _apart(at: list[Any]) -> bool:
    """Whether these are numbers whose figures would not touch each other below an axis.

    >>> _apart([40, 100, 200]), _apart([128, 432, 1024, 4394]), _apart(["vgg"])
    (True, False, False)
    """
    if not all(isinstance(value, int | float) for value in at):
        return False
    gaps = [after - before for before, after in pairwise(at)]
    return not gaps or min(gaps) > LEAST_GAP * (at[-1] - at[0])


def _cumulative(axes: "Axes", panel: Panel, x: str, y: str) -> None:
    """Share of values at most as large."""
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    for i, (label, points) in enumerate(panel.series.items()):
        values = np.sort(np.array([value for values in points.values() for value in values]))
        share = np.arange(1, len(values) + 1) / len(values)
        edges, last = np.unique(values, return_index=True)
        upto = np.append(last[1:], len(values)) - 1
        axes.step(
            np.concatenate([edges[:1], edges]),
            np.concatenate([[0.0], share[upto]]),
            where="post",
            color=_COLOURS[i % len(_COLOURS)],
            linestyle=_DASHES[i % len(_DASHES)],
            label=label,
        )
    if y in HISTOGRAMS:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(_WORDS.get(y, y))
    axes.set_ylabel("share")


def _bars(axes: "Axes", panel: Panel, x: str, y: str) -> None:
    """Groups of bars, a group for every x."""
    groups = list(dict.fromkeys(group for points in panel.series.values() for group in points))
    width = 0.8 / max(len(panel.series), 1)
    for i, (label, points) in enumerate(panel.series.items()):
        at = [groups.index(group) - 0.4 + width * (i + 0.5) for group in points]
        heights = [median(values) for values in points.values()]
        bars = axes.bar(at, heights, width * 0.92, color=_COLOURS[i % len(_COLOURS)], label=label)
        axes.bar_label(bars, fmt="%.3g", fontsize=7, padding=1)
    names = [f"{group:g}" if isinstance(group, float) else str(group) for group in groups]
    axes.set_xticks(range(len(groups)), names)
    if sum(map(len, names)) > MOST_LETTERS:
        for tick in axes.get_xticklabels():
            tick.set(rotation=25, horizontalalignment="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(_WORDS.get(x, x))
    axes.set_ylabel(_WORDS.get(y, y))


def _speedups(axes: "Axes", panel: Panel, x: str, y: str) -> None:
    """Bars, with a line at 1."""
    _bars(axes, panel, x, y)
    axes.axhline(1.0, color="#444444", linewidth=0.8)
    axes.set_ylabel("times faster")


def _frontier(axes: "Axes", panel: Panel, x: str, y: str) -> None:
    """Points, and a line along those than which none is better in both."""
    import numpy as np

    for i, (label, points) in enumerate(panel.series.items()):
        pairs = np.array([(at, value) for at, values in points.items() for value in values])
        style, colour = _MARKERS[i % len(_MARKERS)], _COLOURS[i % len(_COLOURS)]
        axes.plot(pairs[:, 0], pairs[:, 1], style, markersize=5, alpha=0.8, color=colour, label=label)
    best = np.array(frontier(panel))
    axes.step(best[:, 0], best[:, 1], where="post", color="#444444", linewidth=0.8, linestyle="--")
    axes.set_xlabel(_WORDS.get(x, x))
    axes.set_ylabel(_WORDS.get(y, y))


KINDS: dict[str, Callable[["Axes", Panel, str, str], None]] = {
    "line": _lines,
    "cdf": _cumulative,
    "bar": _bars,
    "speedup": _speedups,
    "frontier": _frontier,
}
"""What a figure may be."""
