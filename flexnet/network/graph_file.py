"""Networks someone has drawn, as files: GraphML, or networkx's node-link JSON; attributes as in `network.graphs`."""

import io
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

import orjson

from flexnet.errors import FlexNetError, one_of
from flexnet.files import read_regular
from flexnet.network.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["SUFFIXES", "read_topology"]

SUFFIXES = (".graphml", ".json")


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
    if suffix not in SUFFIXES:
        raise FlexNetError(f"{path} is no drawing of a network; its name must end in {one_of(SUFFIXES)}")
    try:
        data = read_regular(path)
    except (OSError, ValueError) as error:
        raise FlexNetError(f"cannot read the network {path}: {getattr(error, 'strerror', None) or error}") from None
    graph = _graphml(data, path) if suffix == ".graphml" else _node_link(data, path)
    return Topology.from_networkx(graph, path.name, speeds=True)


def _graphml(data: bytes, path: Path) -> "nx.Graph":
    import networkx as nx

    try:
        return nx.read_graphml(io.BytesIO(data))
    except (ParseError, nx.NetworkXException, KeyError, LookupError, TypeError, ValueError, StopIteration) as error:
        raise FlexNetError(f"{path} is not a GraphML file: {_one_line(error)}") from None


def _node_link(data: bytes, path: Path) -> "nx.Graph":
    import networkx as nx

    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FlexNetError(f"{path} is not valid JSON: {error}") from None
    edges = "edges" if isinstance(document, dict) and "edges" in document else "links"
    if not isinstance(document, dict) or "nodes" not in document or edges not in document:
        raise FlexNetError(f"{path} is no node-link JSON as networkx writes it: an object with nodes and edges")
    try:
        return nx.node_link_graph(document, edges=edges)
    except (nx.NetworkXException, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FlexNetError(f"{path} is no node-link JSON, as networkx writes it: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return text or type(error).__name__
