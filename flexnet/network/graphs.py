"""Topologies as networkx graphs, both ways: what people draw, and what other programs compute with.

A node is a server or a switch: its attribute ``kind`` is ``"server"`` (also where it is missing) or ``"switch"``.
Servers are numbered in the order of the graph's nodes, switches behind them.  An edge is full duplex, with

* ``bandwidth``: bytes/s each way (100 Gbps is 12.5e9), above 0,
* ``latency``: seconds, 0 or more,
* ``links``: of how many parallel links it is the sum (1 where it is missing).

The graph's attribute ``rings`` is JSON of the rings of all-reduces by group size, as in `flexnet.network.topology`, and
``cycles`` JSON of the rings that are told as the numbers of the servers they visit.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import orjson

from flexnet.errors import FlexNetError, did_you_mean
from flexnet.network.link_speeds import LinkSpeeds

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["read_graph", "to_graph"]

KINDS = ("server", "switch")
MISSPELT = 0.8  # how far an attribute resembles one that is known; width resembles bandwidth less
MAX_NODES = 8192  # the matrix of links is held in memory
MAX_LINKS = 10**6
# Wide enough for any link there is, narrow enough to find Gbps and microseconds out.
LIMITS = {
    "bandwidth": (1e6, 125e12, "bytes/s (100 Gbps is 12.5e9)"),
    "latency": (0.0, 0.5, "seconds (1 us is 1e-6)"),
}


def to_graph(
    name: str,
    n_server: int,
    links: npt.NDArray[np.int64],
    rings: Mapping[int, Sequence[Sequence[int]]],
    speeds: LinkSpeeds | None,
    cycles: Sequence[Sequence[int]] = (),
) -> "nx.Graph":
    """A topology as a graph whose nodes are the ids of servers and switches; arguments as of `Topology`."""
    import networkx as nx

    graph = nx.Graph(name=name)
    if rings:
        graph.graph["rings"] = orjson.dumps({str(size): found for size, found in rings.items()}).decode()
    if cycles:
        graph.graph["cycles"] = orjson.dumps(cycles).decode()
    graph.add_nodes_from((node, {"kind": KINDS[node >= n_server]}) for node in range(len(links)))
    for a, b in np.argwhere(np.triu(links) > 0).tolist():
        edge: dict[str, float] = {"links": int(links[a, b])}
        if speeds is not None:
            edge |= {"bandwidth": float(speeds.bandwidth[a, b]), "latency": float(speeds.latency[a, b])}
        graph.add_edge(a, b, **edge)
    return graph


def read_graph(
    graph: "nx.Graph", name: str, *, speeds: bool
) -> tuple[
    int,
    int,
    npt.NDArray[np.int64],
    dict[int, tuple[tuple[int, ...], ...]],
    LinkSpeeds | None,
    tuple[tuple[int, ...], ...],
]:
    """Servers, switches, links, rings, speeds and cycles that a graph draws; see `Topology.from_networkx`.

    Parameters
    ----------
    graph : networkx.Graph
        Of any kind: edges of a directed graph must go both ways alike, parallel edges add up.
    name : str
        For messages.
    speeds : bool
        Whether links must have a bandwidth and a latency.

    Raises
    ------
    FlexNetError
        If it draws no network.
    """
    _check_spelling(graph.graph, ("rings", "cycles"), name)
    numbers, n_server = _numbers(graph, name)
    n_node = len(numbers)
    links = np.zeros((n_node, n_node), np.int64)
    bandwidth, latency = np.zeros((n_node, n_node)), np.zeros((n_node, n_node))
    n_with = 0
    for one, other, edge in graph.edges(data=True):
        where = f"{name}: the link {one} - {other}"
        if one == other:
            raise FlexNetError(f"{name}: node {one} is linked to itself; a link joins two nodes")
        _check_spelling(edge, (*LIMITS, "links"), where)
        count, speed = _count(edge, where), _speeds(edge, where, required=speeds)
        n_with += speed is not None
        for a, b in ((one, other),) if graph.is_directed() else ((one, other), (other, one)):
            place = numbers[a], numbers[b]
            if speed is not None:
                if links[place] and latency[place] != speed[1]:
                    raise FlexNetError(f"{where} is drawn with two latencies; parallel links must have the same")
                bandwidth[place] += speed[0]
                latency[place] = speed[1]
            links[place] += count
    if 0 < n_with < graph.number_of_edges():
        raise FlexNetError(f"{name}: some links have a bandwidth and a latency and others none; all must, or none")
    for matrix in (links, bandwidth, latency):
        _check_both_ways(matrix, list(numbers), name)
    found = LinkSpeeds(bandwidth, latency) if n_with else None
    return n_server, n_node - n_server, links, _rings(graph, name), found, _cycles(graph, name)


def _numbers(graph: "nx.Graph", name: str) -> tuple[dict[Hashable, int], int]:
    """Number of every node, servers first, and how many servers there are."""
    of_kind: dict[str, list[Hashable]] = {kind: [] for kind in KINDS}
    for node, attributes in graph.nodes(data=True):
        _check_spelling(attributes, ("kind",), f"{name}: node {node}")
        kind = attributes.get("kind", KINDS[0])
        if kind not in KINDS:
            raise FlexNetError(f"{name}: node {node} is of kind {kind!r}; it must be server or switch")
        of_kind[kind].append(node)
    if not of_kind["server"]:
        raise FlexNetError(f"{name} has no servers; nodes are servers unless their kind is switch")
    if len(graph) > MAX_NODES:
        raise FlexNetError(f"{name} has {len(graph)} nodes; at most {MAX_NODES} can be searched or replayed")
    ordered = [*of_kind["server"], *of_kind["switch"]]
    return {node: number for number, node in enumerate(ordered)}, len(of_kind["server"])


def _check_spelling(attributes: Iterable[Hashable], known: Sequence[str], where: str) -> None:
    """Refuse attributes that look like one of these; any others are somebody else's."""
    for attribute in attributes:
        if attribute not in known and (hint := did_you_mean(str(attribute), known, MISSPELT)):
            raise FlexNetError(f"{where} has the attribute {attribute!r}; {hint}")


def _count(edge: Mapping[str, object], where: str) -> int:
    """How many parallel links an edge is."""
    count = edge.get("links", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_LINKS:
        raise FlexNetError(f"{where} has links {str(count)[:60]!r}; it must be a whole number from 1 to {MAX_LINKS}")
    return count


def _speeds(edge: Mapping[str, object], where: str, *, required: bool) -> tuple[float, float] | None:
    """Bandwidth and latency of an edge, None if it may have neither and has neither."""
    if not required and not any(attribute in edge for attribute in LIMITS):
        return None
    found = []
    for attribute, (least, most, unit) in LIMITS.items():
        if attribute not in edge:
            raise FlexNetError(f"{where} has no {attribute}; it must have one, in {unit}")
        value = edge[attribute]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            shown = repr(str(value)[:60]) + (", which is text" if isinstance(value, str) else "")
            raise FlexNetError(f"{where} has {attribute} {shown}; it must be from {least:g} to {most:g}, in {unit}")
        found.append(float(value))
    return found[0], found[1]


def _check_both_ways(matrix: npt.NDArray[np.generic], nodes: list[Hashable], name: str) -> None:
    if (matrix != matrix.T).any():
        a, b = np.argwhere(matrix != matrix.T)[0]
        raise FlexNetError(
            f"{name}: the link from {nodes[a]} to {nodes[b]} is not the same as that back; links are full duplex, so "
            "draw both alike, or an undirected graph"
        )


def _rings(graph: "nx.Graph", name: str) -> dict[int, tuple[tuple[int, ...], ...]]:
    text = graph.graph.get("rings")
    if text is None:
        return {}
    try:
        document = orjson.loads(text)
        found = {int(size): tuple(tuple(ring) for ring in rings) for size, rings in document.items()}
        if not all(type(hop) is int for rings in found.values() for ring in rings for hop in ring):
            raise TypeError("jumps are whole numbers")
        return found
    except (AttributeError, TypeError, ValueError) as error:
        raise FlexNetError(
            f'{name}: the attribute rings is {str(text)[:60]!r}; it must be JSON such as {{"4": [[1], [3]]}} ({error})'
        ) from None


def _cycles(graph: "nx.Graph", name: str) -> tuple[tuple[int, ...], ...]:
    text = graph.graph.get("cycles")
    if text is None:
        return ()
    try:
        found = tuple(tuple(cycle) for cycle in orjson.loads(text))
        if not all(type(server) is int for cycle in found for server in cycle):
            raise TypeError("servers are whole numbers")
        return found
    except (TypeError, ValueError) as error:
        raise FlexNetError(
            f"{name}: the attribute cycles is {str(text)[:60]!r}; it must be JSON such as [[0, 1, 3, 2]] ({error})"
        ) from None
