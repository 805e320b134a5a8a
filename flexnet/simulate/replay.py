"""Replays a task graph on a network and says where the time went."""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.network import Network
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.edge_bytes import bytes_of_edges
from flexnet.simulate.fabric import Fabric, draw_routes
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.link_model import LinkModel
from flexnet.simulate.phases import phases_of
from flexnet.simulate.priced_links import replayed_links
from flexnet.simulate.protocol import PACKET, Protocol, protocol_called
from flexnet.simulate.replay_report import Replay
from flexnet.simulate.routed import routed

__all__ = ["replay", "replays"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def replay(
    graph: TaskGraph,
    network: Network | Fabric,
    *,
    links: LinkModel | None = None,
    protocol: Protocol | str = PACKET,
    seed: int = 0,
) -> Replay:
    """Replay one iteration.

    Parameters
    ----------
    graph : TaskGraph
    network : Network or Fabric
        Flows take the routes of a network; where they are to choose among the shortest paths, see
        `flexnet.simulate.fabric.unrouted`.
    links : LinkModel, optional
        What `flexnet.simulate.priced_links.replayed_links` chooses for this protocol if None.
    protocol : Protocol or str
        What the transport adds, and by which bytes are counted; a name is that of a preset (`PROTOCOLS`).
    seed : int
        Of the draw of paths, where there are several.

    Raises
    ------
    FlexNetError
        If the network is of another number of servers, or no protocol is called so.

    Examples
    --------
    >>> from flexnet import CORRECTED, MODELS, Cluster, Settings, build_network, find_plan, make_problem, roofline_table
    >>> graph, cluster = MODELS["alexnet"].build({}, batch_size=64), Cluster(4, link_bandwidth=1.25e9)
    >>> problem = make_problem(graph, roofline_table(graph, "a100", n_server=4), cluster, CORRECTED)
    >>> plan = find_plan(problem, Settings("topoopt", budget=10)).plan
    >>> elsewhere = replay(plan.task_graph(), build_network("fattree", cluster))
    >>> elsewhere.seconds > plan.seconds  # one interface of a server in place of four
    True
    """
    (found,) = replays(graph, network, [seed], links=links, protocol=protocol)
    return found


def replays(
    graph: TaskGraph,
    network: Network | Fabric,
    seeds: Iterable[int],
    *,
    links: LinkModel | None = None,
    protocol: Protocol | str = PACKET,
) -> Iterator[Replay]:
    """Replay one iteration for every seed that paths are drawn with; arguments as in `replay`."""
    n_server = (network if isinstance(network, Network) else network.network).topology.n_server
    if n_server != graph.n_server:
        raise FlexNetError(f"the task graph is of {graph.n_server} servers and the network of {n_server}")
    tasks = graph.arrays()
    if not isinstance(protocol, Protocol):
        protocol = protocol_called(protocol)
    fabric = Fabric.of(routed(tasks, network, protocol)) if isinstance(network, Network) else network
    if fabric.paths is None and fabric.network.topology.n_switch > 1:
        protocol = protocol._replace(host_marks=False)  # FlexNetPacket's fat-tree has priority queues at hosts
    fair = FairLinks(protocol=protocol)
    asked = links
    counts, place = _edge_counts(graph, protocol), graph.place[graph.kind == ALLREDUCE]
    transferred = float(graph.bytes[graph.kind == NOMINAL_COMM].sum())
    from_server = fabric.network.link_from < graph.n_server
    for seed in seeds:
        rng = np.random.default_rng(seed)
        by_pair = asked is not None and not asked.routes_by_flow
        arrays, routes = draw_routes(graph, fabric, protocol, rng, by_pair=by_pair)
        links = asked or replayed_links(tasks, arrays, protocol, routes)
        carried = bytes_of_edges(tasks, arrays, protocol).sum(axis=1)
        demand = transferred + float(np.sum(counts * carried[place]))
        timeline = links.timeline(tasks, arrays, routes=routes if links.routes_by_flow else None)
        fair.seconds(tasks, arrays, limit=0.0, routes=routes)  # adds up loads only
        link_bytes = fair.link_loads(len(arrays.bandwidth)).bytes
        sent = float(link_bytes[from_server].sum())
        yield Replay(graph, fabric.network, timeline, phases_of(graph, timeline), demand, sent, link_bytes, links.name)


def _edge_counts(graph: TaskGraph, protocol: Protocol) -> Ints:
    """Edges of every all-reduce task: of a ring, or from and to a parameter server."""
    n = np.diff(graph.group_ptr)[graph.place[graph.kind == ALLREDUCE]].astype(np.int64)
    edges: Ints = np.where(n > 1, 2 * (n - 1) if protocol.by_server else n, 0)
    return edges
