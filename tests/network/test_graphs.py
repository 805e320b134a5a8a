"""Topologies as networkx graphs, both ways, and as files."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import orjson
import pytest

from flexnet import FlexNetError, Topology, build_topology, read_topology
from flexnet.network.demand import Demand
from flexnet.network.network import connect, gbps_text, us_text
from flexnet.network.routes import shortest_routes


def drawn(n_leaf: int = 2, per_leaf: int = 3) -> nx.Graph:
    """Leaves of servers on one spine, all of speeds of their own; a switch comes before the servers."""
    graph = nx.Graph()
    graph.add_node("spine", kind="switch")
    for leaf in range(n_leaf):
        graph.add_node(f"leaf{leaf}", kind="switch")
        graph.add_edge("spine", f"leaf{leaf}", bandwidth=50e9, latency=2e-6, links=4)
        for server in range(per_leaf):
            graph.add_edge(f"leaf{leaf}", f"{leaf}.{server}", bandwidth=12.5e9 * (1 + leaf), latency=1e-6)
    return graph


def same(one: Topology, other: Topology) -> bool:
    speeds = [[] if t.speeds is None else [t.speeds.bandwidth, t.speeds.latency] for t in (one, other)]
    return (
        (one.n_server, one.n_switch, dict(one.rings)) == (other.n_server, other.n_switch, dict(other.rings))
        and np.array_equal(one.links, other.links)
        and len(speeds[0]) == len(speeds[1])
        and all(np.array_equal(a, b) for a, b in zip(*speeds, strict=True))
    )


def demand(n: int) -> Demand:
    return Demand(n, np.ones((n, n)), {n: 1e9})


@pytest.mark.parametrize("family", ["topoopt", "fattree", "random", "fc", "leafspine", "kary"])
def test_every_family_comes_back_as_it_was(family: str) -> None:
    asked = demand(8) if family == "topoopt" else None
    topology = build_topology(family, 8, demand=asked, **({"degree": 3} if family in ("topoopt", "random") else {}))
    assert bool(topology.rings) == (family == "topoopt")
    graph = topology.to_networkx()
    assert all(data["kind"] == ("server" if node < 8 else "switch") for node, data in graph.nodes(data=True))
    assert not any("bandwidth" in edge for _, _, edge in graph.edges(data=True))
    assert same(Topology.from_networkx(graph), topology)
    with pytest.raises(FlexNetError, match=r"^graph: the link 0 - \d+ has no bandwidth; it must have one, in bytes/s"):
        Topology.from_networkx(graph, speeds=True)
    fast = Topology.from_networkx(topology.to_networkx(bandwidth=12.5e9, latency=1e-6), speeds=True)
    assert same(Topology.from_networkx(fast.to_networkx()), fast)
    network, alike = (connect(t, 12.5e9, 1e-6, shortest_routes(t, np.random.default_rng(0))) for t in (fast, topology))
    assert np.array_equal(network.bandwidth, alike.bandwidth)
    assert (network.link_bandwidth, network.latency) == (12.5e9, 1e-6)
    assert not len(network.extra_latency)
    assert (gbps_text(network), us_text(network)) == (gbps_text(alike), us_text(alike))


def test_servers_come_first_in_their_own_order_and_speeds_add_up() -> None:
    topology = Topology.from_networkx(drawn())
    assert (topology.n_server, topology.n_switch) == (6, 3)
    assert topology.speeds is not None
    spine, first, second = 6, 7, 8
    assert topology.links[spine].tolist() == [0] * 7 + [4, 4]
    assert topology.speeds.bandwidth[spine, first] == 50e9
    assert topology.speeds.bandwidth[0, first] == 12.5e9
    assert topology.speeds.bandwidth[3, second] == 25e9
    network = connect(topology, 1.0, 0.0, shortest_routes(topology, np.random.default_rng(0)))
    assert network.link_bandwidth == 12.5e9
    assert network.latency == 1e-6
    assert set(network.extra_latency.tolist()) == {0.0, 1e-6}
    assert (gbps_text(network), us_text(network)) == ("100 to 200", "1 to 2")
    parallel = nx.MultiGraph([(0, 1, {"bandwidth": 1e9, "latency": 0.0}), (0, 1, {"bandwidth": 2e9, "latency": 0.0})])
    both = Topology.from_networkx(parallel)
    assert both.links.tolist() == [[0, 2], [2, 0]]
    assert both.speeds is not None
    assert both.speeds.bandwidth.tolist() == [[0, 3e9], [3e9, 0]]
    directed = Topology.from_networkx(drawn().to_directed())
    assert same(directed, topology)


def edited(**attributes: Any) -> nx.Graph:
    graph = drawn()
    graph["leaf0"]["0.1"].update(attributes)
    return graph


def without(attribute: str) -> nx.Graph:
    graph = drawn()
    del graph["leaf0"]["0.1"][attribute]
    return graph


def unequal_ways() -> nx.DiGraph:
    graph = drawn().to_directed()
    graph["leaf0"]["0.1"]["bandwidth"] = 1e9
    return graph


def with_edge(graph: nx.Graph, one: str, other: str, **attributes: Any) -> nx.Graph:
    graph.add_edge(one, other, **attributes)
    return graph


def with_node(node: str, **attributes: Any) -> nx.Graph:
    graph = drawn()
    graph.add_node(node, **attributes)
    return graph


def with_rings(text: object) -> nx.Graph:
    graph = drawn()
    graph.graph["rings"] = text
    return graph


LINK = r"^graph: the link leaf0 - 0\.1 "
SPEED = {"bandwidth": 1e9, "latency": 0.0}


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (nx.Graph(), "^graph has no servers; nodes are servers unless their kind is switch$"),
        (with_node("lone"), r"^graph: server lone cannot be reached from server 0\.0; all servers must be connected$"),
        (with_node("x", kind="router"), "^graph: node x is of kind 'router'; it must be server or switch$"),
        (with_node("x", Kind="switch"), "^graph: node x has the attribute 'Kind'; did you mean kind\\?$"),
        (edited(link=4), LINK + "has the attribute 'link'; did you mean links\\?$"),
        (with_edge(drawn(), "leaf0", "leaf0", **SPEED), "^graph: node leaf0 is linked to itself; a link joins two"),
        (without("bandwidth"), LINK + "has no bandwidth; it must have one, in bytes/s"),
        (without("latency"), LINK + "has no latency; it must have one, in seconds"),
        (edited(bandwidth=-1.0), LINK + "has bandwidth '-1.0'; it must be from 1e\\+06 to 1.25e\\+14, in bytes/s"),
        (edited(bandwidth=0), LINK + "has bandwidth '0'"),
        (edited(bandwidth=float("nan")), LINK + "has bandwidth 'nan'"),
        (edited(bandwidth="100 Gbps"), LINK + "has bandwidth '100 Gbps', which is text; it must be from"),
        (edited(bandwidth=True), LINK + "has bandwidth 'True'"),
        (edited(latency=-1e-6), LINK + "has latency '-1e-06'; it must be from 0 to 0.5, in seconds"),
        (edited(latency=float("inf")), LINK + "has latency 'inf'"),
        (edited(links=0), LINK + "has links '0'; it must be a whole number from 1 to 1000000$"),
        (edited(links=1.5), LINK + "has links '1.5'"),
        (unequal_ways(), "^graph: the link from .* is not the same as that back; links are full duplex"),
        (with_edge(drawn(), "0.0", "0.1"), "^graph: some links have a bandwidth and a latency and others none"),
        (with_rings("[["), "^graph: the attribute rings is '\\[\\['; it must be JSON such as"),
        (with_rings('{"6": [[1.9]]}'), "JSON such as .* \\(jumps are whole numbers\\)$"),
        (with_rings('{"6": [["3"]]}'), "jumps are whole numbers"),
        (with_rings('{"6": [[true]]}'), "jumps are whole numbers"),
        (with_rings('{"6": [3]}'), "the attribute rings is"),
        (with_rings('{"6": [[1]]}'), "ring \\[1\\] of group size 6 hops by 1 from server 0, where there is no link$"),
        (nx.empty_graph(9000), "^graph has 9000 nodes; at most 8192 can be searched or replayed$"),
    ],
)
def test_what_draws_no_network_is_said_in_a_sentence(graph: nx.Graph, sentence: str) -> None:
    with pytest.raises(FlexNetError, match=sentence):
        Topology.from_networkx(graph)


def test_attributes_of_others_do_not_matter() -> None:
    graph = drawn()
    for (_, node), (_, _, edge) in zip(graph.nodes(data=True), graph.edges(data=True), strict=False):
        node.update(label="a", x=1.0, colour="red")
        edge.update(label="b", width=2.0, weight=3.0, id="e")
    assert same(Topology.from_networkx(graph), Topology.from_networkx(drawn()))


def test_parallel_links_of_two_latencies_are_refused() -> None:
    edges = [(0, 1, {"bandwidth": 1e9, "latency": 0.0}), (0, 1, {"bandwidth": 1e9, "latency": 1e-6})]
    with pytest.raises(FlexNetError, match=r"^graph: the link 0 - 1 is drawn with two latencies; parallel links must"):
        Topology.from_networkx(nx.MultiGraph(edges))


@pytest.mark.parametrize("suffix", [".graphml", ".json"])
def test_files_of_networkx_are_read(suffix: str, tmp_path: Path) -> None:
    graph, path = drawn(), tmp_path / f"mine{suffix}"
    write(graph, path)
    topology = read_topology(path)
    assert topology.name == path.name
    assert same(topology, Topology.from_networkx(graph))


def write(graph: nx.Graph, path: Path) -> None:
    if path.suffix == ".graphml":
        nx.write_graphml(graph, path)
    else:
        path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


def links_of(nodes: str, source: int, target: int, graph: object = None) -> bytes:
    """Node-link JSON of one link."""
    about = b"" if graph is None else b'"graph": ' + orjson.dumps(graph) + b", "
    links = orjson.dumps([{"source": source, "target": target}])
    return b"{" + about + f'"nodes": [{nodes}], "links": '.encode() + links + b"}"


def graphml(nodes: str, source: str, target: str, n_graph: int = 1) -> bytes:
    """GraphML of one link."""
    graph = f"<graph edgedefault='undirected'>{nodes}<edge source='{source}' target='{target}'/></graph>"
    return f"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>{graph * n_graph}</graphml>".encode()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.graphml", b"", "a.graphml is not a GraphML file: no element found"),
        ("a.graphml", b"<graphml", "a.graphml is not a GraphML file: "),
        ("a.graphml", b"<html></html>", "a.graphml is not a GraphML file: "),
        ("a.graphml", b"\x00\xff\xfe", "a.graphml is not a GraphML file: "),
        ("a.json", b"", "a.json is not valid JSON: "),
        ("a.json", b"[1, 2]", "a.json is no node-link JSON as networkx writes it: an object with nodes and edges$"),
        ("a.json", b'{"nodes": []}', "a.json is no node-link JSON as networkx writes it"),
        ("a.json", b'{"nodes": [], "edges": []}', "a.json has no servers"),
        ("a.json", b'{"nodes": [1], "edges": []}', "a.json is no node-link JSON"),
        ("a.json", b'{"nodes": [{"id": 1}], "edges": [{"source": 1}]}', "a.json is no node-link JSON"),
        ("a.json", b'{"nodes": [{"id": 1}], "edges": 7}', "a.json is no node-link JSON"),
        ("a.json", b'{"nodes": [{"id": [{}]}], "edges": []}', "a.json is no node-link JSON"),
        ("a.json", links_of('{"id": 1}, {"id": 2}', 1, 2), "the link 1 - 2 has no bandwidth"),
        ("a.json", links_of('{"id": 1}', 1, 2), "a.json has a link to 2, which is none of its nodes$"),
        ("a.json", links_of('{"id": 1}, {"id": 1}', 1, 1), "a.json has two nodes 1; every node has an id of its own$"),
        (
            "a.json",
            links_of('{"id": 1}', 1, 1, graph="x"),
            "a.json is no node-link JSON .* its graph is not an object$",
        ),
        (
            "a.json",
            links_of('{"id": 1}', 1, 1, graph=[1]),
            "a.json is no node-link JSON .* its graph is not an object$",
        ),
        ("a.graphml", graphml("<node id='a'/>", "a", "b"), "a.graphml has a link to b, which is none of its nodes$"),
        ("a.graphml", graphml("<node id='a'/><node id='a'/>", "a", "a"), "a.graphml has two nodes a; every node has"),
        ("a.graphml", graphml("<node id='a'/>", "a", "a", n_graph=2), "a.graphml holds 2 graphs; a network is one$"),
        ("a.txt", b"", r"a.txt is no drawing of a network; its name must end in \.graphml or \.json$"),
    ],
)
def test_bad_files_are_said_in_a_sentence(name: str, content: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FlexNetError, match=sentence) as caught:
        read_topology(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FlexNetError, match=r"^cannot read the network .*none\.json: No such file or directory$"):
        read_topology(tmp_path / "none.json")


def test_what_networkx_warns_of_is_not_printed(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    keys = "<key id='d0' for='edge' attr.name='bandwidth'/>"
    nodes, edge = (
        "<node id='a'><port name='p'/></node><node id='b'/>",
        "<edge source='a' target='b'><data key='d0'>1e9</data></edge>",
    )
    text = f"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>{keys}<graph>{nodes}{edge}</graph></graphml>"
    path = tmp_path / "a.graphml"
    path.write_text(text)
    with pytest.raises(FlexNetError, match="has bandwidth '1e9', which is text; it must be from 1e"):
        read_topology(path)
    assert not recwarn.list
