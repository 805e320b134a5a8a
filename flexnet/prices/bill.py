"""A bill: so many of these components, and what they come to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from flexnet.prices.table import PARTS, PriceTable

__all__ = ["Bill"]


@dataclass(frozen=True, slots=True)
class Bill:
    """Components of a network.

    Parameters
    ----------
    counts : Mapping[(str, float), int]
        How many of a component, one of `flexnet.prices.table.PARTS`, at a speed in Gbps; fibres, not their metres.

    Examples
    --------
    >>> from flexnet.prices.table import read_prices
    >>> two = Bill({("nic", 100.0): 2, ("fiber_per_m", 100.0): 1})
    >>> two.dollars(read_prices())
    1468.0
    """

    counts: Mapping[tuple[str, float], int]

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(Counter(self.counts) + Counter(other.counts))

    def times(self, n: int) -> "Bill":
        """The bill of ``n`` such networks."""
        return Bill({part: count * n for part, count in self.counts.items()})

    def dollars(self, prices: PriceTable) -> float:
        """USD of all components.

        Raises
        ------
        FlexNetError
            If a speed has no prices.
        """
        return sum(_sum(prices, part, gbps, count) for (part, gbps), count in self.counts.items())

    def watts(self, prices: PriceTable) -> float | None:
        """Watts of all components; None where the price file tells none."""
        if not prices.watts:
            return None
        for _, gbps in self.counts:
            prices.check(gbps)
        return sum(prices.watts[gbps][part] * count for (part, gbps), count in self.counts.items())

    def to_dict(self, prices: PriceTable) -> list[dict[str, object]]:
        """Every component as JSON can hold it; ``dollars`` add up to `dollars`."""
        return [
            {"part": part, "gbps": gbps, "count": count, "dollars": _sum(prices, part, gbps, count)}
            for (part, gbps), count in self.counts.items()
        ]

    def lines(self, prices: PriceTable) -> list[str]:
        """Every component with its count, price and sum; they add up to `dollars`."""
        lines = []
        for (part, gbps), count in self.counts.items():
            each = prices.price(part, gbps)
            at = f"{prices.fiber_m:g} m at ${each:g}" if part == "fiber_per_m" else f"${each:,.0f}"
            name = "fibre" if part == "fiber_per_m" else PARTS[part]
            name += "" if count == 1 else "s"
            dollars = f"${_sum(prices, part, gbps, count):,.0f}"
            lines.append(f"{count:>10,} {name:<18} {gbps:>5g} Gbps x {at:<16} {dollars:>13}")
        return lines


def _sum(prices: PriceTable, part: str, gbps: float, count: int) -> float:
    return prices.price(part, gbps) * (prices.fiber_m if part == "fiber_per_m" else 1.0) * count
