"""Rows become the numbers of a figure: panels of series of points."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from flexnet.errors import FlexNetError, did_you_mean

__all__ = ["HISTOGRAMS", "Panel", "check_positive", "frontier", "panels_of", "selected", "speedups"]

Row = Mapping[str, Any]

ROUNDED = 1e-6  # share by which a number may differ from one that is asked for

HISTOGRAMS = ("pairs_by_hops",)
"""Columns that hold counts of 0, 1, 2 and so on."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn on one pair of axes.

    Parameters
    ----------
    title : str
    series : dict of str to dict
        Label -> x -> all y of that x, in the order of rows; x ascending if they are numbers.
    """

    title: str
    series: dict[str, dict[Any, list[float]]] = field(default_factory=dict)


def selected(rows: Sequence[Row], where: Mapping[str, str]) -> list[Row]:
    """Rows whose columns have these values: as they are printed, or numbers that are as large.

    Raises
    ------
    FlexNetError
        If there is no such column, or no such row.

    >>> selected([{"model": "vgg", "degree": 4}, {"model": "vgg", "degree": 8}], {"degree": "4"})
    [{'model': 'vgg', 'degree': 4}]
    """
    for name in where:
        _check_column(rows, name)
    found = [row for row in rows if all(_is(row.get(name), value) for name, value in where.items())]
    if not found:
        wanted = ", ".join(f"{name}={value}" for name, value in where.items())
        has = "; ".join(f"{name} is {', '.join(sorted({_text(row.get(name)) for row in rows})[:8])}" for name in where)
        raise FlexNetError(f"no row has {wanted}: {has}")
    return found


def panels_of(
    rows: Sequence[Row], x: str, y: str, by: Sequence[str], panels: str | None, *, numbers: bool = False
) -> list[Panel]:
    """Panels of series of rows that have both ``x`` and ``y``.

    Parameters
    ----------
    rows : sequence of mapping
    x, y : str
        Columns; ``y`` holds numbers, or counts (`HISTOGRAMS`), which give 0, 1, 2 as often as they say.
    by : sequence of str
        Columns whose values tell series apart.
    panels : str or None
        Column of which every value has a panel of its own.
    numbers : bool
        Whether ``x`` must hold numbers, too.

    Raises
    ------
    FlexNetError
        If there is no such column, no row has both, or one holds what cannot be drawn.
    """
    for name in (x, y, *by, *([panels] if panels else [])):
        _check_column(rows, name)
    found: dict[str, Panel] = {}
    for row in rows:
        if row.get(x) is None or row.get(y) is None:
            continue
        if isinstance(row[x], list) or (numbers and not isinstance(row[x], int | float)):
            kind = "numbers" if numbers else "numbers or names"
            raise FlexNetError(f"--x {x} holds {row[x]!r}; it must be a column of {kind}")
        title = _label(panels, row.get(panels)) if panels else ""
        panel = found.setdefault(title, Panel(title))
        label = ", ".join(_label(name, row.get(name)) for name in by)
        panel.series.setdefault(label, {}).setdefault(row[x], []).extend(_numbers(y, row[y]))
    if not found:
        raise FlexNetError(f"no row has both {x} and {y}")
    return [
        Panel(one.title, {label: _ascending(points) for label, points in one.series.items()}) for one in found.values()
    ]


def speedups(panel: Panel, base: str) -> Panel:
    """How many times faster than the series ``base`` each other is at the same x, by medians.

    Raises
    ------
    FlexNetError
        If there is no such series.
    """
    if base not in panel.series:
        hint = did_you_mean(base, panel.series) or f"there are {', '.join(panel.series)}"
        raise FlexNetError(f"--base is {base!r}, which is no series; {hint}")
    slow = {x: median(values) for x, values in panel.series[base].items()}
    others = {label: points for label, points in panel.series.items() if label != base}
    return Panel(
        panel.title,
        {
            label: {x: [slow[x] / median(values)] for x, values in points.items() if x in slow}
            for label, points in others.items()
        },
    )


def check_positive(panels: Sequence[Panel], *, of_x: bool) -> None:
    """Refuse what a logarithmic axis cannot show; that of x too with ``of_x``.

    Raises
    ------
    FlexNetError
        If a value is 0 or less.
    """
    for points in (points for panel in panels for points in panel.series.values()):
        least = min((value for values in points.values() for value in values), default=1.0)
        least = min([least, *(points if of_x else ())])
        if least <= 0:
            raise FlexNetError(f"--log shows numbers above 0, and {least:g} is among them; leave it out")


def frontier(panel: Panel) -> list[tuple[float, float]]:
    """Points than which none is better in both x and y, ascending in x.

    >>> frontier(Panel("", {"a": {1: [5.0], 2: [6.0]}, "b": {3: [4.0, 9.0]}}))
    [(1, 5.0), (3, 4.0)]
    """
    points = sorted((x, y) for points in panel.series.values() for x, values in points.items() for y in values)
    best: list[tuple[float, float]] = []
    for x, y in points:
        if not best or y < best[-1][1]:
            best.append((x, y))
    return best


def _numbers(name: str, value: Any) -> list[float]:
    if name in HISTOGRAMS and isinstance(value, list):
        return [float(i) for i, count in enumerate(value) for _ in range(count)]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FlexNetError(f"--y {name} holds {value!r}; it must be a column of numbers")
    return [float(value)]


def _ascending(points: dict[Any, list[float]]) -> dict[Any, list[float]]:
    if all(isinstance(x, int | float) for x in points):
        return dict(sorted(points.items()))
    return points


def _check_column(rows: Sequence[Row], name: str) -> None:
    known = list(dict.fromkeys(column for row in rows for column in row))
    if name not in known:
        hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
        raise FlexNetError(f"the results have no column {name!r}; {hint}")


def _is(value: Any, wanted: str) -> bool:
    if _text(value) == wanted or not isinstance(value, int | float):
        return _text(value) == wanted
    try:
        return math.isclose(value, float(wanted), rel_tol=ROUNDED)
    except ValueError:
        return False


def _label(name: str, value: Any) -> str:
    """A value of a series: a name alone, a number with what it is of."""
    return f"{name} {_text(value)}" if isinstance(value, int | float) else _text(value)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
