"""Draws a network: servers on a circle where they are linked to each other, in tiers where switches join them."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from flexnet.report.drawing import COLOURS, SMALL, new_figure, svg_of
from flexnet.report.network_values import NetworkValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_LINES", "draw_network", "drawn_block"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_LINES = 1200  # of a drawing; servers are drawn as blocks of neighbours until there are no more
NAMED = 64  # servers that have their number beside them
NAMED_BLOCKS = 16  # the same of blocks, whose names are longer
SIDE = 500  # CSS pixels
WIDEST = 5.0  # points, of the line of the busiest link


def drawn_block(network: NetworkValues) -> int:
    """How many servers are drawn as one dot."""
    block = 1
    while block < network.n_server:
        if len(_lines(network, block)[0]) <= MOST_LINES and network.n_server / block <= 256:
            break
        block *= 2
    return block


def draw_network(network: NetworkValues, name: str, description: str) -> str:
    """SVG of a network: rings in colours, other links grey, width by load.

    Parameters
    ----------
    network : NetworkValues
    name : str
        Unique on the page.
    description : str
        What a screen reader says of it.
    """
    figure = new_figure(SIDE, SIDE if not network.n_switch else SIDE * 0.62)
    axes = figure.subplots()
    axes.set_axis_off()
    block = drawn_block(network)
    place, order = _on_circle(network, block) if not network.n_switch else (_in_tiers(network, block), None)
    _draw_lines(axes, network, block, place, curved=not network.n_switch)
    n_dot = -(-network.n_server // block)
    dots = place[:n_dot]
    size = float(np.clip(2600 / max(n_dot, 1), 6, 90))
    axes.scatter(dots[:, 0], dots[:, 1], s=size, color=COLOURS["ink"], zorder=3, linewidths=0)
    if network.n_switch:
        axes.scatter(
            place[n_dot:, 0], place[n_dot:, 1], s=130, marker="s", color=COLOURS["soft"], zorder=3, linewidths=0
        )
    if n_dot <= NAMED:
        _name_dots(axes, dots, block, around=order is not None)
    axes.set_aspect("equal" if not network.n_switch else "auto")
    axes.margins(0.08 if not network.n_switch else 0.05)
    return svg_of(figure, name, "The network", description)


def _node(network: NetworkValues, block: int, nodes: Ints) -> Ints:
    """The dot of every node: blocks of servers, then switches."""
    n_dot = -(-network.n_server // block)
    return np.where(nodes < network.n_server, nodes // block, nodes - network.n_server + n_dot)


def _lines(network: NetworkValues, block: int) -> tuple[Ints, Floats]:
    """Linked dots, the smaller first, and the highest load of the links between them."""
    ends = np.sort(_node(network, block, network.ends), axis=1)
    apart = ends[:, 0] != ends[:, 1]
    pairs, which = np.unique(ends[apart], axis=0, return_inverse=True)
    load = np.zeros(len(pairs))
    np.maximum.at(load, which.ravel(), network.load[apart])
    return pairs, load


def _draw_lines(axes: "Axes", network: NetworkValues, block: int, place: Floats, *, curved: bool) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    pairs, load = _lines(network, block)
    if not len(pairs):
        return
    ring = _ring_of(network, block, pairs)
    width = 0.5 + (WIDEST - 0.5) * load / max(float(load.max()), 1e-12)
    width *= float(np.clip(np.sqrt(60 / len(pairs)), 0.2, 1.0))
    step = 2 * np.pi / -(-network.n_server // block)
    for number in range(-1, len(network.rings)):
        mine = np.flatnonzero(ring == number)
        begin, end = place[pairs[mine, 0]], place[pairs[mine, 1]]
        middle = _bent(begin, end, step) if curved else (begin + end) / 2
        codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3]
        paths = [Path(np.array(points), codes) for points in zip(begin, middle, end, strict=True)]
        colour = COLOURS["link" if number < 0 else f"ring{number}"]
        lines = PathCollection(paths, facecolors="none", edgecolors=colour, linewidths=width[mine], capstyle="round")
        lines.set_zorder(1 if number < 0 else 2)
        axes.add_collection(lines)
    axes.update_datalim(place)
    axes.autoscale_view()


def _bent(begin: Floats, end: Floats, step: float) -> Floats:
    """Where chords of the circle bend to: the nearer the centre, the farther their ends lie apart.

    Those of neighbours, ``step`` radians from each other, run along the circle.
    """
    apart = np.arccos(np.clip((begin * end).sum(axis=1), -1, 1))
    radius = 1 - np.sqrt(np.clip((apart - step) / max(np.pi - step, 1e-9), 0, 1))
    middle = (begin + end) / 2
    length = np.linalg.norm(middle, axis=1)
    bent: Floats = middle * (radius / np.maximum(length, 1e-9))[:, None]
    return bent


def _ring_of(network: NetworkValues, block: int, pairs: Ints) -> Ints:
    """Number of the first ring that runs over every line, -1 if none does, int64 (n_line,)."""
    found = np.full(len(pairs), -1, np.int64)
    n_node = int(pairs.max()) + 1
    keys = pairs[:, 0] * n_node + pairs[:, 1]
    for number in range(len(network.rings) - 1, -1, -1):
        dots = _node(network, block, network.rings[number])
        steps = np.sort(np.stack([dots, np.roll(dots, -1)], axis=1), axis=1)
        found[np.isin(keys, steps[:, 0] * n_node + steps[:, 1])] = number
    return found


def _on_circle(network: NetworkValues, block: int) -> tuple[Floats, Ints]:
    """Places of dots on a circle, clockwise from the top: along the first ring if that joins all servers."""
    n_dot = -(-network.n_server // block)
    order = np.arange(n_dot)
    if block == 1 and network.rings and len(network.rings[0]) == network.n_server:
        order = network.rings[0]
    at = np.zeros(n_dot, np.int64)
    at[order] = np.arange(n_dot)
    angle = np.pi / 2 - 2 * np.pi * at / n_dot
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), order


def _in_tiers(network: NetworkValues, block: int) -> Floats:
    """Places of dots in rows: servers below, switches as many rows above as they are links away from a server."""
    n_dot = -(-network.n_server // block)
    pairs, _ = _lines(network, block)
    tier = np.where(np.arange(n_dot + network.n_switch) < n_dot, 0, -1)
    row = 0
    while (tier < 0).any() and (tier == row).any():
        for a, b in ((0, 1), (1, 0)):
            near = pairs[tier[pairs[:, a]] == row, b]
            tier[near[tier[near] < 0]] = row + 1
        row += 1
    place = np.zeros((len(tier), 2))
    for level in np.unique(tier):
        mine = np.flatnonzero(tier == level)
        place[mine, 0] = (np.arange(len(mine)) + 0.5) / len(mine)
        place[mine, 1] = level
    return place


def _name_dots(axes: "Axes", dots: Floats, block: int, *, around: bool) -> None:
    """Numbers beside dots, as many as there is room for."""
    step = 1 if block == 1 else -(-len(dots) // NAMED_BLOCKS)
    along = np.arctan2(dots[:, 0], dots[:, 1]) % (2 * np.pi) if around else np.arange(len(dots))
    for number in np.argsort(along.round(9), kind="stable")[::step].tolist():
        (x, y), first = dots[number].tolist(), number * block
        text = str(first) if block == 1 else f"{first}-{first + block - 1}"
        where = (x * 1.06, y * 1.06) if around else (x, y - 0.09)
        side = "center" if not around or abs(x) < 0.1 else "left" if x > 0 else "right"
        axes.text(*where, text, ha=side, va="center", fontsize=SMALL * (1 if len(dots) <= 32 else 0.8))
