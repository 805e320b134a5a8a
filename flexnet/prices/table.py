"""Prices of network components by interface speed, from a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.errors import FlexNetError, one_of
from flexnet.files import read_object

__all__ = ["PARTS", "PriceTable", "read_prices"]

PARTS = {
    "nic": "NIC",
    "transceiver": "transceiver",
    "electrical_port": "switch port",
    "patch_panel_port": "patch-panel port",
    "ocs_port": "OCS port",
    "fiber_per_m": "metre of fibre",
}
"""Components by their names in price files, and in words."""

_MOST_DOLLARS = 1e9  # of a part: what thousands of servers cost is still a number that can be told exactly
_STANDARD = Path(__file__).parent / "prices.json"


@dataclass(frozen=True, slots=True)
class PriceTable:
    """What components cost, by interface speed.

    Parameters
    ----------
    dollars : Mapping[float, Mapping[str, float]]
        Gbps -> component, one of `PARTS` -> USD apiece.
    watts : Mapping[float, Mapping[str, float]]
        The same for watts; empty where the file has none.
    fiber_m : float
        Metres of a fibre.
    source : str
        Where prices come from.
    name : str
        Of the file, for messages.
    """

    dollars: Mapping[float, Mapping[str, float]]
    watts: Mapping[float, Mapping[str, float]]
    fiber_m: float
    source: str
    name: str

    @property
    def speeds(self) -> tuple[float, ...]:
        """Gbps there are prices for, ascending."""
        return tuple(sorted(self.dollars))

    def check(self, gbps: float) -> None:
        """Refuse a speed that has no prices: none are made up between those that are there.

        Raises
        ------
        FlexNetError
            With the speeds there are.
        """
        if gbps not in self.dollars:
            known = one_of([f"{speed:g}" for speed in self.speeds])
            raise FlexNetError(
                f"{self.name} has no prices of {gbps:g} Gbps, and none are interpolated; use {known} Gbps, a file "
                "that has them (--prices), or compare without (--no-prices, in a sweep priced = false)"
            )

    def price(self, part: str, gbps: float) -> float:
        """USD of one component at a speed.

        Raises
        ------
        FlexNetError
            If there are no prices of this speed.
        """
        self.check(gbps)
        return self.dollars[gbps][part]


def read_prices(path: str | Path | None = None) -> PriceTable:
    """Read a price file; the one that comes with flexnet if None.

    It is a JSON object: ``prices_by_gbps`` maps speeds to the USD of every component in `PARTS`, ``fiber_m`` is the
    length of a fibre, ``source`` says where they come from; ``watts_by_gbps`` may tell watts in the same way.

    Raises
    ------
    FlexNetError
        If it cannot be read, or a speed or component is missing or malformed.

    >>> read_prices().price("nic", 100)
    659.0
    """
    where = _STANDARD if path is None else Path(path)
    name = f"price file {path}" if path is not None else "the price table"
    found = read_object(where, "price file")
    dollars = _by_speed(found.get("prices_by_gbps"), name, "prices_by_gbps")
    if not dollars:
        raise FlexNetError(f"{name} has no prices_by_gbps; it must map speeds in Gbps to the prices of components")
    watts = _by_speed(found.get("watts_by_gbps", {}), name, "watts_by_gbps")
    missing = next((speed for speed in dollars if watts and speed not in watts), None)
    if missing is not None:
        raise FlexNetError(f"{name} tells watts, but not of {missing:g} Gbps; watts_by_gbps must have every speed")
    return PriceTable(
        dollars, watts, _number(found.get("fiber_m"), f"fiber_m of {name}"), str(found.get("source", "")), name
    )


def _by_speed(found: Any, name: str, key: str) -> dict[float, dict[str, float]]:
    if not isinstance(found, dict):
        raise FlexNetError(f"{key} of {name} must be an object: speeds in Gbps to components")
    return dict(_of_speed(speed, parts, name, key) for speed, parts in found.items())


def _of_speed(speed: str, parts: Any, name: str, key: str) -> tuple[float, dict[str, float]]:
    try:
        gbps = float(speed)
    except ValueError:
        gbps = 0.0
    if not 0 < gbps < float("inf"):
        raise FlexNetError(f"{key} of {name} has the speed {speed!r}; speeds are numbers above 0, in Gbps")
    if not isinstance(parts, dict):
        raise FlexNetError(f"{key} of {name} must have an object of components for {speed} Gbps")
    for part in PARTS:
        if part not in parts:
            raise FlexNetError(f"{name} has no {part} for {speed} Gbps in {key}; every speed needs {', '.join(PARTS)}")
    return gbps, {part: _number(parts[part], f"{part} for {speed} Gbps in {key} of {name}") for part in PARTS}


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise FlexNetError(f"{what} is {value!r}; it must be a number, 0 or more")
    if value > _MOST_DOLLARS:
        raise FlexNetError(f"{what} is {value!r}; it must be at most {_MOST_DOLLARS:.0e}")
    return float(value)
