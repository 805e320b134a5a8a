"""Draws how a search went, what servers send each other, and what they hold."""

import numpy as np
import numpy.typing as npt

from flexnet.report.drawing import COLOURS, SMALL, ink_map, new_figure, styled, svg_of
from flexnet.search.history import History

__all__ = ["FAMILY_COLOURS", "draw_demand", "draw_history", "draw_memory", "family_of_move"]

Floats = npt.NDArray[np.float64]

FAMILY_COLOURS = {"starts": "soft", "network": "gain", "blocks": "allreduce", "single operators": "transfer"}
"""Colours of what gave an improvement, by family."""

_FAMILIES = {
    "start": "starts",
    "heavy-recut": "starts",
    "rewire": "network",
    "reconfigure": "single operators",
    "propagate": "single operators",
}
_PICTURE_COLOURS = {"allreduce": "#d9772b", "transfer": "#8a4fc4"}  # of pictures, which cannot follow the page
WIDE, HIGH = 940, 330
SHOWN_ABOVE = 1.25  # times the start: what is slower was only tried


def family_of_move(tried: str) -> str:
    """The family of what was tried: ``starts``, ``network``, ``single operators``, or ``blocks`` of them."""
    return _FAMILIES.get(tried, "blocks")


def draw_history(history: History, bound: float | None, description: str) -> str:
    """SVG of best and current times over the seconds of a search."""
    figure = new_figure(WIDE, HIGH)
    axes = styled(figure.subplots(), grid="y")
    at = np.array([point.elapsed for point in history.points])
    current = np.array([point.current for point in history.points]) * 1e3
    best = np.array([point.best for point in history.points]) * 1e3
    axes.plot(at, current, color=COLOURS["idle"], linewidth=0.9, zorder=1)
    axes.step(at, best, where="post", color=COLOURS["compute"], linewidth=2.2, zorder=3)
    for family, colour in FAMILY_COLOURS.items():
        mine = [i for i, point in enumerate(history.points) if point.tried and family_of_move(point.tried) == family]
        axes.scatter(at[mine], best[mine], s=26, color=COLOURS[colour], zorder=4, linewidths=0)
    highest, lowest = float(best.max()) * SHOWN_ABOVE, float(best.min())
    if bound is not None:
        axes.axhline(bound * 1e3, color=COLOURS["bound"], linewidth=1.3, linestyle=(0, (5, 4)), zorder=2)
        lowest = min(lowest, bound * 1e3)
        note = f"bound {bound * 1e3:.4g} ms"
        told = axes.annotate(
            note, (1, bound * 1e3), (-4, 5), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
            fontsize=SMALL, color=COLOURS["soft"],
        )  # fmt: skip
        told.set_in_layout(False)
    room = max(highest - lowest, highest * 0.02)
    axes.set_ylim(max(lowest - 0.08 * room, 0), highest + 0.08 * room)
    axes.set_xlim(0, max(float(at[-1]), 1e-3) * 1.01)
    axes.set_xlabel("seconds of search")
    axes.set_ylabel("iteration, ms")
    return svg_of(figure, "history", "How the search went", description)


def draw_demand(matrix: Floats, block: int, colour: str, name: str, description: str) -> str:
    """SVG of a heat map of bytes between servers, or between blocks of so many.

    Parameters
    ----------
    matrix : float64 (n_cell, n_cell)
        From rows to columns.
    block : int
        Servers in a cell.
    colour : {"allreduce", "transfer"}
    name : str
        Unique on the page.
    description : str
        What a screen reader says of it.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(450, 400)
    axes = styled(figure.subplots())
    scale, unit = _unit(float(matrix.max()))
    extent = (-0.5 * block, (len(matrix) - 0.5) * block, (len(matrix) - 0.5) * block, -0.5 * block)
    picture = axes.imshow(
        matrix / scale, cmap=ink_map(_PICTURE_COLOURS[colour]), interpolation="nearest", vmin=0.0, extent=extent
    )
    axes.set_xlabel("to server")
    axes.set_ylabel("from server")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    for side in axes.spines.values():
        side.set_visible(True)
    bar = figure.colorbar(picture, ax=axes, shrink=0.75, aspect=18, pad=0.03)
    bar.outline.set_visible(False)
    styled(bar.ax)
    bar.set_label(unit, color=COLOURS["soft"], fontsize=SMALL)
    return svg_of(figure, name, "Bytes between servers", description)


def draw_memory(memory: Floats, limit: float | None, description: str) -> str:
    """SVG of the bytes that every server holds, in order of the servers, with the limit if there is one."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(WIDE, 230)
    axes = styled(figure.subplots(), grid="y")
    scale, unit = _unit(max(float(memory.max()), limit or 0.0))
    at = np.arange(len(memory))
    axes.fill_between(
        np.append(at, len(memory)) - 0.5, np.append(memory, memory[-1]) / scale, step="post", color=COLOURS["compute"],
        linewidth=0,
    )  # fmt: skip
    if limit is not None:
        axes.axhline(limit / scale, color=COLOURS["allreduce"], linewidth=1.5, linestyle=(0, (5, 4)))
        axes.annotate(
            "limit", (1, limit / scale), (-4, -4), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="right", va="top", fontsize=SMALL, color=COLOURS["soft"],
        )  # fmt: skip
    axes.set_xlim(-0.5, len(memory) - 0.5)
    axes.set_ylim(0, max(float(memory.max()), limit or 0.0) / scale * 1.1 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("server")
    axes.set_ylabel(unit)
    return svg_of(figure, "memory-by-server", "Memory of every server", description)


def _unit(most: float) -> tuple[float, str]:
    """What to divide bytes by so that they are told as small numbers, and the name of the unit."""
    return next(((scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if most >= scale), (1.0, "B"))
