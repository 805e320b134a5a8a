"""Networks someone has drawn, as files: GraphML, or networkx's node-link JSON; attributes as in `network.graphs`."""

import io
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import orjson

from flexnet.errors import FlexNetError, one_of
from flexnet.files import read_regular
from flexnet.network.topologies import DRAWINGS
from flexnet.network.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["read_topology"]


def read_topology(path: str | Path) -> Topology:
    """Read a network from a ``.graphml`` or node-link ``.json`` file, as networkx writes them.

    Parameters
    ----------
    path : str or Path
        Every link must have a bandwidth and a latency.

    Returns
    -------
    Topology
        With the speeds of its links; its name is that of the file.

    Raises
    ------
    FlexNetError
        If the file cannot be read, is of neither format, or draws no network (see `flexnet.network.graphs`).
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in DRAWINGS:
        raise FlexNetError(f"{path} is no drawing of a network; its name must end in {one_of(DRAWINGS)}")
    try:
        data = read_regular(path)
    except (OSError, ValueError) as error:
        raise FlexNetError(f"cannot read the network {path}: {getattr(error, 'strerror', None) or error}") from None
    graph = _graphml(data, path) if suffix == ".graphml" else _node_link(data, path)
    return Topology.from_networkx(graph, path.name, speeds=True)


def _graphml(data: bytes, path: Path) -> "nx.Graph":
    import networkx as nx

    try:
        with warnings.catch_warnings():  # of what it does not know: ports, attributes without a type
            warnings.simplefilter("ignore")
            graph = nx.read_graphml(io.BytesIO(data))
        elements = list(ElementTree.fromstring(data).iter())
    except (ElementTree.ParseError, nx.NetworkXException, LookupError, TypeError, ValueError, StopIteration) as error:
        raise FlexNetError(f"{path} is not a GraphML file: {_one_line(error)}") from None
    of_kind: dict[str, list[Any]] = {"graph": [], "node": [], "edge": []}
    for element in elements:
        of_kind.setdefault(element.tag.rpartition("}")[2], []).append(element)
    if len(of_kind["graph"]) != 1:
        raise FlexNetError(f"{path} holds {len(of_kind['graph'])} graphs; a network is one")
    ends = [edge.get(end) for edge in of_kind["edge"] for end in ("source", "target")]
    _check_nodes([node.get("id") for node in of_kind["node"]], ends, path)
    return graph


def _node_link(data: bytes, path: Path) -> "nx.Graph":
    import networkx as nx

    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FlexNetError(f"{path} is not valid JSON: {error}") from None
    edges = "edges" if isinstance(document, dict) and "edges" in document else "links"
    if not isinstance(document, dict) or "nodes" not in document or edges not in document:
        raise FlexNetError(f"{path} is no node-link JSON as networkx writes it: an object with nodes and edges")
    if not isinstance(document.get("graph", {}), dict):
        raise FlexNetError(f"{path} is no node-link JSON as networkx writes it: its graph is not an object")
    try:
        nodes = [orjson.dumps(node["id"]).decode() for node in document["nodes"]]
        ends = [orjson.dumps(edge[end]).decode() for edge in document[edges] for end in ("source", "target")]
    except (LookupError, TypeError) as error:
        raise FlexNetError(f"{path} is no node-link JSON, as networkx writes it: {_one_line(error)}") from None
    _check_nodes(nodes, ends, path)
    try:
        return nx.node_link_graph(document, edges=edges)
    except (nx.NetworkXException, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FlexNetError(f"{path} is no node-link JSON, as networkx writes it: {_one_line(error)}") from None


def _check_nodes(nodes: list[str], ends: list[str], path: Path) -> None:
    """Refuse what networkx makes something else of: two nodes of a name become one, an unknown end a server."""
    twice = next((node for node, n in Counter(nodes).items() if n > 1), None)
    if twice is not None:
        raise FlexNetError(f"{path} has two nodes {twice}; every node has an id of its own")
    known = set(nodes)
    unknown = next((end for end in ends if end not in known), None)
    if unknown is not None:
        raise FlexNetError(f"{path} has a link to {unknown}, which is none of its nodes")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return text or type(error).__name__
