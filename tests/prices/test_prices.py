"""Prices reproduce the published calculator's totals; what is missing is refused, never made up."""

import json

import numpy as np
import pytest

from flexnet.errors import FlexNetError
from flexnet.network.topologies.leafspine import leaf_spine
from flexnet.prices.equal import equal_interfaces
from flexnet.prices.fabrics import Fabric, Interfaces, NotToBeHadError, bill_of_topology, direct
from flexnet.prices.table import PARTS, read_prices

PRICES = read_prices()

# The calculator named in the price table, at 128 servers of 8 interfaces.
TOTALS = {
    100: {"fattree": 3070976, "rail_optimized": 3070976, "topoopt": 1032192, "rail_only": 2331648},
    200: {"fattree": 5653504, "rail_optimized": 5653504, "topoopt": 1605632, "rail_only": 4244480},
    400: {"fattree": 13493248, "rail_optimized": 13493248, "topoopt": 2465792, "rail_only": 9757696},
    800: {"fattree": 21469184, "rail_optimized": 21469184, "topoopt": 3990528, "rail_only": 15583232},
}


@pytest.mark.parametrize(("gbps", "name"), [(gbps, name) for gbps in TOTALS for name in TOTALS[gbps]])
def test_published_totals(gbps: int, name: str) -> None:
    bill = Fabric(name, 128).bill(Interfaces(8, gbps))
    assert bill.dollars(PRICES) == TOTALS[gbps][name]
    told = sum(int(line.split("$")[-1].replace(",", "")) for line in bill.lines(PRICES))
    assert told == TOTALS[gbps][name]


def test_an_optical_switch_costs_420_dollars_a_port_more() -> None:
    panel, ocs = direct(64, 100.0), direct(64, 100.0, "ocs")
    assert ocs.dollars(PRICES) - panel.dollars(PRICES) == 64 * 420


def test_a_topology_is_counted_link_by_link() -> None:
    bill = bill_of_topology(leaf_spine(4, 2, 2.0), 100.0)  # 4 links to servers, 2 leaves linked to one spine
    counts = {part: count for (part, _), count in bill.counts.items()}
    assert counts == {"nic": 4, "transceiver": 12, "electrical_port": 8, "fiber_per_m": 6}


def test_oversubscription_saves_money() -> None:
    def dollars(ratio: float) -> float:
        fabric = Fabric("leafspine", 32, {"servers_per_leaf": 8, "oversubscription": ratio})
        return fabric.bill(Interfaces(2, 100.0)).dollars(PRICES)

    assert dollars(4.0) < dollars(2.0) < dollars(1.0) < Fabric("fattree", 32).bill(Interfaces(2, 100.0)).dollars(PRICES)


def test_same_money_buys_no_more_than_there_is() -> None:
    asked = Interfaces(4, 100.0)
    money = Fabric("topoopt", 16).bill(asked).dollars(PRICES)
    for name in ("topoopt", "random"):
        assert equal_interfaces(Fabric(name, 16), asked, "cost", PRICES, money) == asked
    for name in ("fattree", "leafspine"):
        fabric = Fabric(name, 16)
        chosen = equal_interfaces(fabric, asked, "cost", PRICES, money)
        assert fabric.bill(chosen).dollars(PRICES) <= money
        dearer = [Interfaces(n, gbps) for gbps in PRICES.speeds for n in range(1, 12)]
        better = [one for one in dearer if one.total_gbps > chosen.total_gbps]
        assert better and all(fabric.bill(one).dollars(PRICES) > money for one in better)
    with pytest.raises(NotToBeHadError, match=r"^costs at least \$154,320 for 16 servers; there are \$64,512"):
        equal_interfaces(Fabric("fc", 16), asked, "cost", PRICES, money)
    # Three times the degree makes a full mesh affordable, and fast links with it.
    rich = equal_interfaces(Fabric("fc", 16), asked, "cost", PRICES, 4 * money)
    assert rich == Interfaces(15, 100.0)


def test_the_same_bandwidth_is_bought_the_cheapest_way() -> None:
    asked = Interfaces(4, 100.0)
    assert equal_interfaces(Fabric("topoopt", 16), asked, "bandwidth", PRICES) == asked
    fat_tree = Fabric("fattree", 16)
    chosen = equal_interfaces(fat_tree, asked, "bandwidth", PRICES)
    assert chosen.total_gbps == 400
    options = [Interfaces(10, 40.0), asked, Interfaces(2, 200.0), Interfaces(1, 400.0)]
    assert fat_tree.bill(chosen).dollars(PRICES) == min(fat_tree.bill(one).dollars(PRICES) for one in options)
    mesh = equal_interfaces(Fabric("fc", 5), asked, "bandwidth", PRICES)
    assert mesh == Interfaces(4, 100.0)


def test_the_same_interfaces_are_refused_where_a_network_has_others() -> None:
    with pytest.raises(FlexNetError, match="fc of 16 servers has 15 interfaces a server, not 4"):
        equal_interfaces(Fabric("fc", 16), Interfaces(4, 100.0), "degree", PRICES)
    with pytest.raises(FlexNetError, match="random of 16 servers needs 2 to 16 interfaces a server, not 1"):
        equal_interfaces(Fabric("random", 16), Interfaces(1, 100.0), "degree", PRICES)


def test_missing_speeds_are_refused() -> None:
    with pytest.raises(FlexNetError, match="no prices of 50 Gbps, and none are interpolated; use 40, 100, 200, 400 or"):
        Fabric("fattree", 4).bill(Interfaces(1, 50.0)).dollars(PRICES)


def small(**changes: object) -> dict[str, object]:
    parts = dict.fromkeys(PARTS, 10)
    return {"prices_by_gbps": {"100": parts}, "fiber_m": 2, "source": "nobody", **changes}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"fiber_m": 1}, "prices_by_gbps of price file .* must be an object"),
        (small(prices_by_gbps={}), "has no prices_by_gbps"),
        (small(prices_by_gbps={"fast": {}}), "the speed 'fast'; speeds are numbers above 0"),
        (small(prices_by_gbps={"100": 7}), "an object of components for 100 Gbps"),
        (small(prices_by_gbps={"100": {"nic": 1}}), "has no transceiver for 100 Gbps"),
        (small(prices_by_gbps={"100": dict.fromkeys(PARTS, "1")}), "is '1'; it must be a number, 0 or more"),
        (small(prices_by_gbps={"100": dict.fromkeys(PARTS, 1e308)}), r"is 1e\+308; it must be at most 1e\+09"),
        (small(fiber_m=-1), "fiber_m of .* is -1; it must be a number"),
        (small(watts_by_gbps={"200": dict.fromkeys(PARTS, 1)}), "tells watts, but not of 100 Gbps"),
    ],
)
def test_wrong_price_files(tmp_path, content, sentence) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FlexNetError, match=sentence):
        read_prices(path)


def test_watts_are_told_where_they_are_known(tmp_path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(small(watts_by_gbps={"100": dict.fromkeys(PARTS, 1.5)})))
    bill = Fabric("random", 4).bill(Interfaces(2, 100.0))
    assert bill.watts(read_prices(str(path))) == pytest.approx(1.5 * 4 * 8)
    assert bill.watts(PRICES) is None
    assert np.isclose(bill.dollars(read_prices(str(path))), 8 * (10 + 10 + 10 + 10 * 2))
