"""Networks someone has drawn, from the command line: searched on, replayed on, resumed, refused."""

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import orjson
import pytest
from command_lines import errors_of, run_json, search_words

from flexnet.__main__ import main
from flexnet.taskgraph_file.read import read_taskgraph


def search(*more: str) -> int:
    return main(["search", "dlrm", "--batch-size", "64", *more])


def two_leaves(path: Path, *, uplink: float = 25e9, latency: float = 2e-6) -> Path:
    """Four servers under two leaves, which are linked."""
    graph = nx.Graph()
    graph.add_nodes_from(["leaf0", "leaf1"], kind="switch")
    graph.add_edge("leaf0", "leaf1", bandwidth=uplink, latency=latency)
    for server in range(4):
        graph.add_edge(f"leaf{server // 2}", f"server{server}", bandwidth=12.5e9, latency=1e-6)
    nx.write_graphml(graph, path)
    return path


def test_it_is_searched_on_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = two_leaves(tmp_path / "mine.graphml"), tmp_path / "run"
    chain = ("--method", "mcmc", "--search-budget", "40")  # of plans that are not yet on one leaf alone
    assert search("--topology", str(path), *chain, "-o", str(out)) == 0
    printed = capsys.readouterr()
    assert errors_of(printed.err) == []
    assert "warning: links have latencies of 1 to 2 us; the file holds none" in printed.err
    assert "topology   mine.graphml: 5 links, 4 servers and 2 switches" in printed.out.splitlines()
    document = run_json(out)
    assert document["topology"] == "mine.graphml"
    assert [link[2] for link in document["links"]] == [1] * 5  # type: ignore[attr-defined]
    file = read_taskgraph(out / "taskgraph.fbuf")
    assert (file.n_server, file.n_switch) == (4, 2)
    assert file.link_bytes_per_ms == 12.5e6
    assert sorted(file.links[:, 2].tolist()) == [1, 1, 1, 1, 2]
    assert main(["simulate", str(out / "taskgraph.fbuf"), "--topology", str(path)]) == 0
    printed = capsys.readouterr()
    assert f"network    {path}: 5 links of 100 to 200 Gbps, 2 switches, 1 to 2 us a hop; packet" in printed.out
    slow = two_leaves(tmp_path / "slow.graphml", uplink=1e6, latency=1e-3)
    times = []
    for drawing in (path, slow):
        assert main(["simulate", str(out / "taskgraph.fbuf"), "--topology", str(drawing), "--json"]) == 0
        times.append(orjson.loads(capsys.readouterr().out)["iteration_ms"])
    assert times[1] > times[0] + 2


def circulant(path: Path) -> Path:
    """Eight servers, whose rings are drawn too."""
    graph = nx.circulant_graph(8, [1, 3])
    graph.graph["rings"] = '{"8": [[1], [3]]}'
    return with_speeds(graph, path)


def ring_with_a_double_link(path: Path) -> Path:
    graph = nx.cycle_graph(6)
    with_speeds(graph, path)
    graph.edges[0, 1].update(links=2, bandwidth=25e9)
    nx.write_graphml(graph, path)
    return path


def uneven(path: Path) -> Path:
    """Four servers in a ring, whose speeds are no multiples of each other."""
    graph = nx.cycle_graph(4)
    with_speeds(graph, path)
    graph.edges[0, 1]["bandwidth"] = 17.125e9
    nx.write_graphml(graph, path)
    return path


def with_speeds(graph: nx.Graph, path: Path) -> Path:
    nx.set_edge_attributes(graph, 12.5e9, "bandwidth")
    nx.set_edge_attributes(graph, 1e-6, "latency")
    nx.write_graphml(graph, path)
    return path


@pytest.mark.parametrize("draw", [two_leaves, circulant, ring_with_a_double_link, uneven])
def test_a_replay_on_the_drawing_tells_what_was_searched(
    draw: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over the routes and rings of the file, and with the latencies that it does not hold."""
    path, out = draw(tmp_path / "mine.graphml"), tmp_path / "run"
    words = ("search", "alexnet", "--batch-size", "192", "--topology", str(path), "--search-budget", "60")
    assert main([*words, "-o", str(out)]) == 0
    capsys.readouterr()
    assert main(["simulate", str(out / "taskgraph.fbuf"), "--topology", str(path), "--json"]) == 0
    assert orjson.loads(capsys.readouterr().out)["iteration_ms"] == run_json(out)["best_ms"]


def test_a_slower_link_makes_the_same_plan_slower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = []
    for uplink, latency in ((25e9, 2e-6), (25e9, 5e-4), (1e6, 2e-6)):
        out = tmp_path / f"{uplink}-{latency}"
        path = two_leaves(tmp_path / "mine.graphml", uplink=uplink, latency=latency)
        assert search("--topology", str(path), "--search-budget", "0", "-o", str(out)) == 0
        times.append(run_json(out)["initial_ms"])
    capsys.readouterr()
    assert times[1] > times[0] + 0.5  # type: ignore[operator]
    assert times[2] > times[0]  # type: ignore[operator]


def test_a_stopped_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = two_leaves(tmp_path / "mine.graphml")
    flags = ("--topology", str(path), "--seed", "5")
    assert search(*flags, "--search-budget", "30", "-o", str(tmp_path / "two")) == 0
    assert main(["search", "--resume", str(tmp_path / "two"), "--search-budget", "90"]) == 0
    assert search(*flags, "--search-budget", "90", "-o", str(tmp_path / "one")) == 0
    capsys.readouterr()
    for name in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    two_leaves(path, uplink=1e9)
    assert main(["search", "--resume", str(tmp_path / "two"), "--search-budget", "120"]) == 2
    assert "--topology" in capsys.readouterr().err
    moved = two_leaves(tmp_path / "elsewhere.graphml")
    path.unlink()
    words = ["search", "--resume", str(tmp_path / "two"), "--search-budget", "120", "--topology", str(moved)]
    assert main(words) == 0


def test_one_server_needs_no_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"nodes": [{"id": "alone"}], "edges": []}')
    assert search("--topology", str(path), "--search-budget", "5", "-o", str(tmp_path / "run")) == 0
    assert "topology   one.json: 0 links, 1 server" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--nsimnode", "8"), " has 4 servers; --nsimnode is 8"),
        (("--node-degree", "2"), "--node-degree has no meaning for the network in "),
        (("--interface-bandwidth", "100"), "--interface-bandwidth has no meaning for the network in "),
        (("--network-latency", "1"), "--network-latency has no meaning for the network in "),
        (("--batch-size", "63"), "--batch-size 63 does not divide evenly over 4 servers"),
    ],
)
def test_what_contradicts_a_drawing_is_refused(
    flags: tuple[str, str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = two_leaves(tmp_path / "mine.graphml")
    assert main(["search", "dlrm", "--topology", str(path), *flags]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert sentence in line


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"nodes": [', " is not valid JSON: "),
        ('{"nodes": [{"id": 0}, {"id": 1}], "edges": []}', "server 1 cannot be reached from server 0"),
        ('{"nodes": [{"id": 0, "kind": "switch"}], "edges": []}', " has no servers"),
        ('{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 0}]}', "node 0 is linked to itself"),
        ('{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}', "has no bandwidth"),
    ],
)
@pytest.mark.parametrize("command", ["search", "simulate"])
def test_a_bad_file_is_one_sentence(
    command: str, content: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, graph = tmp_path / "bad.json", tmp_path / "plan.fbuf"
    path.write_text(content)
    if command == "simulate":
        assert main(search_words("--search-budget", "0", "--taskgraph", str(graph))) == 0
        capsys.readouterr()
    words = ["search", "dlrm"] if command == "search" else ["simulate", str(graph)]
    assert main([*words, "--topology", str(path)]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert sentence in line


@pytest.mark.parametrize("flag", ["--interface-bandwidth", "--network-latency", "--node-degree"])
def test_a_replay_refuses_speeds_beside_a_drawing(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, graph = two_leaves(tmp_path / "mine.graphml"), tmp_path / "plan.fbuf"
    assert main(search_words("--search-budget", "0", "--taskgraph", str(graph))) == 0
    capsys.readouterr()
    assert main(["simulate", str(graph), "--topology", str(path), flag, "2"]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert f"{flag} has no meaning for the network in " in line


def test_a_name_that_is_no_topology_and_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(search_words("--topology", "fatree")) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert line.endswith("or the name of a .graphml or .json file")
    assert "did you mean fattree?" in line


def test_more_servers_than_routes_have_room_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "big.json"
    nodes = [{"id": node, "kind": "server" if node else "switch"} for node in range(4098)]
    links = [{"source": 0, "target": node, "bandwidth": 1e9, "latency": 0.0} for node in range(1, 4098)]
    path.write_bytes(orjson.dumps({"nodes": nodes, "edges": links}))
    assert search("--topology", str(path)) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert line.endswith("big.json has 4097 servers; at most 4096 can be searched")
