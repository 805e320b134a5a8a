"""Different networks with the same money, the same bandwidth, or the same interfaces of a server."""

from flexnet.prices.fabrics import Fabric, Interfaces, NotToBeHadError
from flexnet.prices.table import PriceTable

__all__ = ["equal_interfaces"]


def equal_interfaces(
    fabric: Fabric, asked: Interfaces, same: str, prices: PriceTable | None, dollars: float = 0.0
) -> Interfaces:
    """The interfaces of a server on one network, so that it compares with others.

    Parameters
    ----------
    fabric : Fabric
    asked : Interfaces
        Of a server on a network that leaves them free.
    same : str
        ``degree``: these very interfaces.  ``bandwidth``: as many Gbps of a server; of switched networks, by the
        cheapest interfaces that have a price; where the network prescribes their number, divided equally over them.
        ``cost``: what the money buys: as many interfaces of the speed that was asked where servers are linked
        directly; elsewhere the most Gbps of a server that interfaces of some speed in the table give, the cheapest of
        equals.  This is the paper's cost-equivalent fat-tree, whose links are slower (TopoOpt section 5.2), but at
        speeds that are sold.
    prices : PriceTable or None
        None: without prices; not for ``cost``.
    dollars : float
        The money, for ``cost``.

    Raises
    ------
    NotToBeHadError
        If the money does not buy a network that joins the servers, or it has other interfaces.
    FlexNetError
        If a speed has no prices, or the network cannot have such interfaces.

    Examples
    --------
    >>> from flexnet.prices.table import read_prices
    >>> prices, asked = read_prices(), Interfaces(8, 100.0)
    >>> money = Fabric("topoopt", 128).bill(asked).dollars(prices)
    >>> print(equal_interfaces(Fabric("fattree", 128), asked, "cost", prices, money))
    1 x 200 Gbps
    """
    if fabric.drawing is not None:
        return fabric.drawn(asked.gbps)
    if same == "degree":
        chosen = asked
    elif same == "bandwidth":
        chosen = _same_bandwidth(fabric, asked, prices)
    else:
        assert prices is not None
        chosen = _same_cost(fabric, asked, prices, dollars)
    fabric.check(chosen)
    return chosen


def _same_bandwidth(fabric: Fabric, asked: Interfaces, prices: PriceTable | None) -> Interfaces:
    if fabric.fixed is not None:
        return Interfaces(fabric.fixed, asked.total_gbps / fabric.fixed)
    if not fabric.switched or prices is None:
        return asked
    counts = {speed: asked.total_gbps / speed for speed in prices.speeds}
    able = [Interfaces(int(count), speed) for speed, count in counts.items() if count >= 1 and count == int(count)]
    return min(able, key=lambda one: (fabric.bill(one).dollars(prices), one.count), default=asked)


def _same_cost(fabric: Fabric, asked: Interfaces, prices: PriceTable, dollars: float) -> Interfaces:
    speeds = prices.speeds if fabric.switched or fabric.fixed is not None else (asked.gbps,)
    able = [one for speed in speeds if (one := _most(fabric, speed, prices, dollars)) is not None]
    if not able:
        least = min(fabric.bill(Interfaces(_least(fabric), speed)).dollars(prices) for speed in speeds)
        raise NotToBeHadError(f"costs at least ${least:,.0f} for {fabric.n_server} servers; there are ${dollars:,.0f}")
    return min(able, key=lambda one: (-one.total_gbps, fabric.bill(one).dollars(prices), one.count))


def _least(fabric: Fabric) -> int:
    """The fewest interfaces of a server that join all."""
    return fabric.fixed or (1 if fabric.switched else max(min(2, fabric.n_server - 1), 1))


def _most(fabric: Fabric, gbps: float, prices: PriceTable, dollars: float) -> Interfaces | None:
    """As many interfaces of a speed as the money buys; None if they do not join the servers."""
    least = _least(fabric)
    each = fabric.bill(Interfaces(1, gbps)).dollars(prices) if fabric.fixed is None else 0.0
    most = least if fabric.fixed is not None or each == 0 else int(dollars / each * (1 + 1e-12))
    most = most if fabric.switched else min(most, fabric.n_server)
    while most >= least and fabric.bill(Interfaces(most, gbps)).dollars(prices) > dollars * (1 + 1e-12):
        most -= 1
    return Interfaces(most, gbps) if most >= least else None
