"""flexnet compare from end to end, and the flags it refuses."""

import json
import re
import subprocess
import sys

import networkx as nx
import orjson
import pytest
from command_lines import environment, flexnet_interrupted

from flexnet.__main__ import main
from flexnet.network.topologies import TOPOLOGIES
from flexnet.prices.table import PARTS

SMALL = ("alexnet", "--batch-size", "64", "--nsimnode", "4", "--node-degree", "2", "--search-budget", "2")


def compare(capsys, *words):
    status = main(["compare", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_components_add_up_to_the_published_totals(capsys) -> None:
    for gbps, totals in {"100": ("3,070,976", "1,032,192"), "200": ("5,653,504", "1,605,632")}.items():
        words = ("--nsimnode", "128", "--node-degree", "8", "--interface-bandwidth", gbps, "--same", "degree")
        status, out, err = compare(capsys, "--explain", "--topology", "fattree,topoopt", *words)
        assert (status, err) == (0, "")
        heads = [line for line in out.splitlines() if " servers with " in line]
        assert heads == [
            f"{name}: 128 servers with 8 x {gbps} Gbps each, ${total}"
            for name, total in zip(("fattree", "topoopt"), totals, strict=True)
        ]
        sums = [int(line.split("$")[-1].strip().replace(",", "")) for line in out.splitlines() if " Gbps x " in line]
        assert [sum(sums[:4]), sum(sums[4:])] == [int(total.replace(",", "")) for total in totals]


@pytest.mark.compiled
def test_the_same_money_for_every_network(capsys, tmp_path) -> None:
    names = "topoopt,random,fc,fattree,leafspine"
    status, out, err = compare(capsys, *SMALL, "--topology", names, "--draws", "2", "-o", str(tmp_path / "c"))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "same cost: $8,064, that of topoopt" in lines and any(
        line.startswith("each searched for 3 proposals") for line in lines
    )
    document = orjson.loads((tmp_path / "c" / "compare.json").read_bytes())
    found = {one["topology"]: one for one in document["networks"]}
    assert list(found) == names.split(",")
    assert all(one["dollars"] <= 8064 for one in found.values() if "dollars" in one)
    assert found["fc"]["remark"].startswith("costs at least") or found["fc"]["interfaces"] == 3
    assert len(found["random"]["draws_ms"]) == 2 and len(found["topoopt"]["draws_ms"]) == 1
    assert "shortest paths" not in found["leafspine"]["remark"]  # all servers are on one leaf
    html = (tmp_path / "c" / "report.html").read_text()
    assert all(f">{name}<" in html for name in found)
    # What is said to find the plan again does.
    words = found["topoopt"]["search"]
    again = main(["search", *words, "-o", str(tmp_path / "again")])
    capsys.readouterr()
    assert again == 0
    run = orjson.loads((tmp_path / "again" / "run.json").read_bytes())
    assert run["best_ms"] == pytest.approx(found["topoopt"]["iteration_ms"], rel=1e-12)


def test_what_small_all_reduces_hide_is_told(capsys) -> None:
    """Matrices of 102 kB over eight servers, which FlexNetPacket reduces in one round in place of 14."""
    layers = "-".join(["160"] * 21)
    words = ["dlrm", "--arch-mlp-bot", "160-160", "--arch-mlp-top", layers, "--arch-sparse-feature-size", "160"]
    words += ["--arch-embedding-size", "100", "--batch-size", "1024", "--nsimnode", "8", "--search-budget", "0"]
    status, out, err = compare(capsys, *words, "--topology", "topoopt,fattree", "--interface-bandwidth", "40")
    assert (status, err) == (0, "")
    assert "times as long with all rounds of small all-reduces" in out


def test_a_drawing_among_others(capsys, tmp_path) -> None:
    drawing = tmp_path / "ring.graphml"
    graph = nx.cycle_graph(4)
    nx.set_edge_attributes(graph, 5e9, "bandwidth")
    nx.set_edge_attributes(graph, 1e-6, "latency")
    nx.write_graphml(graph, drawing)
    status, out, err = compare(
        capsys, *SMALL, "--same", "degree", "--topology", f"topoopt,{drawing}", "--network-latency", "1", "--json"
    )
    assert (status, err) == (0, "")
    mine = orjson.loads(out)["networks"][1]
    assert mine["remark"] == (
        "taken as it is drawn, whatever the others have; 1.02 times as long with all rounds of small all-reduces, "
        "which FlexNetPacket cuts short"
    )
    assert (mine["interfaces"], mine["interface_gbps"], mine["dollars"]) == (2, 40.0, 4 * 2 * 643)
    # Its price may be the money of the others.
    status, out, _ = compare(capsys, "--explain", "--topology", f"{drawing},topoopt")
    assert status == 0
    assert [line.split(": ")[1] for line in out.splitlines() if " servers with " in line] == [
        "4 servers with 2 x 40 Gbps each, $5,144"
    ]
    assert "topoopt: costs at least $8,064 for 4 servers; there are $5,144" in out


@pytest.mark.compiled
def test_every_topology_there_is_can_be_compared(capsys) -> None:
    words = ("--same", "bandwidth", "--topology", ",".join(set(TOPOLOGIES) - {"fc"}), "--draws", "1", "--json")
    status, out, err = compare(capsys, *SMALL, *words, "--servers-per-leaf", "2", "--oversubscription", "2")
    assert (status, err) == (0, "")
    found = {one["topology"]: one for one in orjson.loads(out)["networks"]}
    assert found.keys() == set(TOPOLOGIES) - {"fc"}
    assert {one["interfaces"] * one["interface_gbps"] for one in found.values()} == {200.0}
    assert found["star"]["iteration_ms"] == found["fattree"]["iteration_ms"] <= found["leafspine"]["iteration_ms"]


@pytest.mark.compiled
def test_stopped_it_tells_what_was_searched_to_the_end(tmp_path) -> None:
    words = (*SMALL[:-2], "--time", "1", "--topology", "fattree,topoopt,random", "--same", "degree")
    status, out, _ = flexnet_interrupted("compare", *words, cwd=tmp_path, after="1 of 5: fattree searched")
    assert status == 130
    lines = out.splitlines()
    assert any(line.startswith("fattree") and "$" not in line for line in lines)
    assert "random: stopped after 0 of 3 searches" in lines
    assert lines[-1].startswith("fastest fattree, ")


def test_prices_as_json(capsys) -> None:
    status, out, _ = compare(capsys, "--explain", "--json", "--nsimnode", "4", "--topology", "fattree")
    parts = orjson.loads(out)["components"]["fattree"]
    assert status == 0
    assert [part["count"] for part in parts] == [16, 112, 96, 56]
    assert sum(part["dollars"] for part in parts) == 16 * 659 + 112 * 99 + 96 * 187 + 56 * 150


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no model given; use flexnet compare MODEL, or --explain to see prices alone"),
        ((*SMALL, "--topology", "topoopt,fatree"), "unknown topology 'fatree'; did you mean fattree?"),
        ((*SMALL, "--topology", "fc,fc"), "--topology is 'fc,fc'; it must name networks, each once, with commas"),
        ((*SMALL, "--dollars", "5", "--same", "degree"), "--dollars is for --same cost; it is --same degree"),
        ((*SMALL, "--no-prices"), "--no-prices needs --same bandwidth or degree, and neither --prices nor --explain"),
        (
            (*SMALL, "--interface-bandwidth", "50"),
            "the price table has no prices of 50 Gbps, and none are interpolated; use 40, 100, 200, 400 or 800 Gbps, "
            "a file that has them (--prices), or compare without (--no-prices, in a sweep priced = false)",
        ),
        ((*SMALL, "--same", "money"), '--same is "money"; it must be cost, bandwidth or degree'),
        ((*SMALL, "--topology", "nothing.json"), "nothing.json"),
        ((*SMALL, "--topology", "topoopt,fc", "--dollars", "1"), "; fc: costs at least $"),
    ],
)
def test_what_is_refused(capsys, words, sentence) -> None:
    status, out, err = compare(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("flexnet: error: ") and sentence in err and err.count("\n") == 1


def test_the_report_of_a_search_is_not_replaced(capsys, tmp_path) -> None:
    (tmp_path / "run.json").touch()
    status, _, err = compare(capsys, *SMALL, "-o", str(tmp_path))
    assert status == 2
    assert f"{tmp_path} holds a search, whose report.html stays; name another directory" in err


def test_a_price_file_without_a_speed_is_refused(capsys, tmp_path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"prices_by_gbps": {"40": dict.fromkeys(PARTS, 1)}, "fiber_m": 1, "source": "me"}))
    status, _, err = compare(capsys, *SMALL, "--prices", str(path))
    assert status == 2
    assert f"price file {path} has no prices of 100 Gbps, and none are interpolated; use 40 Gbps" in err


@pytest.mark.parametrize("command", ["compare", "sweep", "plot"])
def test_help_loads_nothing_heavy(command, tmp_path) -> None:
    script = (
        "import sys\nfrom flexnet.__main__ import main\n"
        f"status = main([{command!r}, '--help'])\n"
        "heavy = {'numba', 'numpy', 'networkx', 'matplotlib', 'pydantic', 'pyarrow', 'distributed', 'orjson'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: flexnet {command} [flags]")


def test_few_servers_have_few_interfaces(capsys) -> None:
    for words in (("--nsimnode", "3", "--explain"), ("--explain",)):
        status, _, err = compare(capsys, *words, "--topology", "topoopt,random")
        assert (status, err) == (0, "")
    assert compare(capsys, "--explain", "--nsimnode", "3", "--node-degree", "4", "--topology", "topoopt")[0] == 2


def test_what_flows_take_that_choose_their_paths_is_remarked_on(capsys) -> None:
    words = ("vgg", "--batch-size", "64", "--nsimnode", "8", "--topology", "leafspine", "--servers-per-leaf", "4")
    words += ("--same", "degree", "--no-prices", "--search-budget", "2", "--json")
    status, out, _ = compare(capsys, *words)
    assert status == 0
    (found,) = orjson.loads(out)["networks"]
    assert re.search(r"ms to .* ms in 4 draws where every flow takes any of the shortest paths", found["remark"])
