"""Several networks in one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexnet.compare.measure import Measured
from flexnet.prices.fabrics import Interfaces
from flexnet.units import TOLD_RATIO, ms_text, s_to_ms

__all__ = ["COLUMNS", "Contest", "Standing"]

COLUMNS = {
    "network": "network",
    "interfaces": "of a server",
    "time": "time ms",
    "spread": "spread ms",
    "gap": "gap",
    "bytes": "GB sent",
    "tax": "tax",
    "hops": "hops",
    "dollars": "dollars",
    "watts": "watts",
    "time_dollars": "$ x s",
}
"""Columns of the table and their headings; ``watts`` only where they are known."""


_LEFT = ("network", "interfaces")


@dataclass(frozen=True, slots=True)
class Standing:
    """How one network does.

    Parameters
    ----------
    name : str
    interfaces : Interfaces or None
        Of a server; None where it cannot be had.
    measured : tuple of Measured
        One for every draw, all searched equally hard; none where it cannot be had.
    dollars, watts : float or None
        Of the whole network, if they are known.
    remark : str
        What is to be known of it, or why it cannot be had.
    arguments : tuple of str
        Of the ``flexnet search`` that found the median.
    """

    name: str
    interfaces: Interfaces | None
    measured: tuple[Measured, ...] = ()
    dollars: float | None = None
    watts: float | None = None
    remark: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def median(self) -> Measured:
        """The draw whose time is the median (the slower of the two in the middle); there must be one."""
        return sorted(self.measured, key=lambda one: one.seconds)[len(self.measured) // 2]

    @property
    def spread(self) -> tuple[float, float] | None:
        """Seconds of the fastest draw and the slowest; None of a single one."""
        times = [one.seconds for one in self.measured]
        return (min(times), max(times)) if len(times) > 1 else None

    @property
    def dollar_seconds(self) -> float | None:
        """Iteration time times dollars: what an iteration keeps busy."""
        return None if self.dollars is None or not self.measured else self.median.seconds * self.dollars

    def cells(self) -> dict[str, str]:
        """What the table says, by the names of `COLUMNS`; nothing where there is nothing to say."""
        told = {"network": self.name, "interfaces": "" if self.interfaces is None else str(self.interfaces)}
        told["dollars"] = "" if self.dollars is None else f"{self.dollars:,.0f}"
        told["watts"] = "" if self.watts is None else f"{self.watts:,.0f}"
        if not self.measured:
            return told
        one, spread, product = self.median, self.spread, self.dollar_seconds
        told["time"] = _figure(s_to_ms(one.seconds))
        told["spread"] = "" if spread is None else "-".join(_figure(s_to_ms(seconds)) for seconds in spread)
        told["gap"] = "" if one.bound is None else f"{one.seconds / one.bound:.2f}x"
        told["bytes"] = _figure(sum(one.found.plan.traffic) / 1e9)
        told["tax"] = f"{one.bandwidth_tax:.2f}"
        told["hops"] = f"{one.mean_hops:.2f}"
        told["time_dollars"] = "" if product is None else _product(product)
        return told

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them; times in ms."""
        begun: dict[str, Any] = {"topology": self.name, "remark": self.remark}
        if self.interfaces is not None:
            begun |= {"interfaces": self.interfaces.count, "interface_gbps": self.interfaces.gbps}
        if not self.measured:
            return begun
        return {
            **begun,
            **self.median.figures(),
            "draws_ms": [s_to_ms(one.seconds) for one in self.measured],
            "dollars": self.dollars,
            "watts": self.watts,
            "dollar_seconds": self.dollar_seconds,
            "search": list(self.arguments),
        }


@dataclass(frozen=True, slots=True)
class Contest:
    """All networks of a comparison.

    Parameters
    ----------
    title : str
        Model, batch and servers.
    terms : tuple of str
        What they have in common, how hard they were searched, and where prices are from, in sentences.
    standings : tuple of Standing
    """

    title: str
    terms: tuple[str, ...]
    standings: tuple[Standing, ...]

    @property
    def running(self) -> list[Standing]:
        """Those that can be had, the fastest first."""
        return sorted((one for one in self.standings if one.measured), key=lambda one: one.median.seconds)

    @property
    def columns(self) -> Mapping[str, str]:
        """Those in which something is said, with their headings."""
        cells = [one.cells() for one in self.standings]
        return {name: head for name, head in COLUMNS.items() if any(told.get(name) for told in cells)}

    def lines(self) -> list[str]:
        """The table as text, what is to be known of single networks, and the verdict."""
        columns = self.columns
        cells = [dict(columns), *(one.cells() for one in self.standings)]
        widths = {name: max(len(told.get(name, "")) for told in cells) for name in columns}
        rows = [_padded(told, widths) for told in cells]
        remarks = [f"{one.name}: {one.remark}" for one in self.standings if one.remark]
        return [self.title, *self.terms, "", *rows, "", *remarks, *self.verdict()]

    def verdict(self) -> list[str]:
        """Which network is fastest, and which gives most for its money."""
        running = self.running
        if not running:
            return ["none of these networks was searched to the end"]
        told = [f"fastest {running[0].name}, {ms_text(running[0].median.seconds)}" + _ahead(running)]
        priced = [(one.dollar_seconds, one) for one in running if one.dollar_seconds is not None]
        if len(priced) > 1:
            product, best = min(priced, key=lambda pair: pair[0])
            told.append(f"least time x dollars {best.name}, {_product(product)} $ x s")
        return told

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON can hold them."""
        return {
            "title": self.title,
            "terms": list(self.terms),
            "networks": [one.to_dict() for one in self.standings],
            "verdict": self.verdict(),
        }


def _figure(number: float) -> str:
    """Two decimals, or three digits of what is less than 1."""
    return f"{number:.2f}" if number >= 1 or not number else f"{number:#.3g}"


def _product(dollar_seconds: float) -> str:
    """Whole ones, or three digits of what is less than 100."""
    return f"{dollar_seconds:,.0f}" if dollar_seconds >= 100 else f"{dollar_seconds:#.3g}"


def _ahead(running: Sequence[Standing]) -> str:
    if len(running) < 2:
        return ""
    ratio, name = running[1].median.seconds / running[0].median.seconds, running[1].name
    return f", {ratio:.2f}x faster than {name}" if ratio >= TOLD_RATIO else f", and {name} as fast"


def _padded(told: Mapping[str, str], widths: Mapping[str, int]) -> str:
    cells = [
        f"{told.get(name, ''):<{width}}" if name in _LEFT else f"{told.get(name, ''):>{width}}"
        for name, width in widths.items()
    ]
    return "  ".join(cells).rstrip()
