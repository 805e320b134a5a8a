"""The simulate command: a task graph file and a network in, one replayed iteration out."""

from typing import Any

import numpy as np
import orjson

from flexnet.errors import FlexNetError
from flexnet.export.convert import to_network, to_paths, to_task_graph
from flexnet.export.file import TaskGraphFile
from flexnet.export.reader import read_taskgraph
from flexnet.progress import say
from flexnet.provenance import printable
from flexnet.replay import Fabric, Replay, replay, unrouted
from flexnet.replay_config import ReplayConfig
from flexnet.semantics import CORRECTED
from flexnet.taskgraph import ALLREDUCE, NOMINAL_COMM, TaskGraph
from flexnet.topology import (
    Network,
    Paths,
    Topology,
    build_topoopt,
    connect,
    fat_tree,
    full_mesh,
    kary_fat_tree,
    leaf_spine,
    random_graph,
    routes_for,
)
from flexnet.traffic import demand_of
from flexnet.units import s_to_ms

__all__ = ["run_replay"]

MAX_NODES = 8192  # the matrix of links is held in memory
SHOWN_LINKS = 5


def run_replay(config: ReplayConfig) -> int:
    """Replay a task graph as the command line does: print, and return the exit status, 0.

    Raises
    ------
    FlexNetError
        If the file is damaged or means nothing, or there is no such network.
    """
    file = read_taskgraph(config.path, network=config.topology == "file")
    if not len(file.tasks.kind):
        raise FlexNetError(f"{file.source}: there are no tasks; a task graph has at least one")
    graph = to_task_graph(file)
    fabric = _fabric(config, file, graph)
    seeds = [config.seed + i for i in range(config.draws if fabric.several else 1)]
    segment = config.segment_bytes if config.fifo else None
    found = sorted(
        replay(graph, fabric, seeds, protocol=config.protocol, fifo_segment=segment), key=lambda one: one.seconds
    )
    median = found[(len(found) - 1) // 2]
    if config.json:
        document = _document(config, graph, fabric, median, [one.seconds for one in found])
        say(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
        return 0
    for line in _lines(config, graph, fabric, median, [one.seconds for one in found]):
        say(line)
    return 0


def _fabric(config: ReplayConfig, file: TaskGraphFile, graph: TaskGraph) -> Fabric:
    """The network that was asked for."""
    bandwidth = file.link_bytes_per_ms * 1e3 if config.link_bandwidth is None else config.link_bandwidth
    if not bandwidth > 0:
        raise FlexNetError(f"{file.source} has link bandwidth {bandwidth:g}; give --interface-bandwidth")
    if file.n_server + file.n_switch > MAX_NODES:
        raise FlexNetError(
            f"{file.source} has {file.n_server} servers and {file.n_switch} switches; at most {MAX_NODES} nodes can "
            "be replayed"
        )
    rng = np.random.default_rng(config.seed)
    if config.topology == "file":
        network = to_network(file, bandwidth, config.latency)
        return Fabric(network, to_paths(file, network))
    topology = _topology(config, graph, rng)
    if topology.n_switch:
        return unrouted(topology, bandwidth, config.latency)
    network = connect(topology, bandwidth, config.latency, routes_for(topology, CORRECTED, rng))
    return Fabric(network, _only_routes(network))


def _topology(config: ReplayConfig, graph: TaskGraph, rng: np.random.Generator) -> Topology:
    n = graph.n_server
    if config.topology in ("random", "topoopt") and config.degree > n:
        raise FlexNetError(
            f"--node-degree is {config.degree} and there are {n} servers; a {config.topology} network needs at least "
            "as many servers as interfaces of a server"
        )
    if config.topology == "leafspine":
        return leaf_spine(n, min(config.servers_per_leaf, n), config.oversubscription)
    if config.topology == "kary":
        return kary_fat_tree(n, config.ports)
    if config.topology == "fc":
        return full_mesh(n)
    if config.topology == "random":
        return random_graph(n, config.degree, rng)
    if config.topology == "topoopt":
        return build_topoopt(demand_of(graph.arrays(), n), config.degree, CORRECTED, rng)
    return fat_tree(n)


def _only_routes(network: Network) -> Paths:
    """The one route of every pair of servers as paths without alternatives."""
    n = network.topology.n_server
    counts = np.diff(network.route_ptr)
    hop_ptr = np.concatenate([[0], network.route_ptr[1:][counts > 0]]).astype(np.int64)
    pair_ptr = np.concatenate([[0], np.cumsum(counts > 0)]).astype(np.int64)
    return Paths(n, pair_ptr, np.ones(len(hop_ptr) - 1), hop_ptr, network.route)


def _document(
    config: ReplayConfig, graph: TaskGraph, fabric: Fabric, found: Replay, draws: list[float]
) -> dict[str, Any]:
    """What ``--json`` prints."""
    network = fabric.network
    return {
        "iteration_ms": s_to_ms(found.seconds),
        "compute_ms": s_to_ms(found.compute),
        "exposed_communication_ms": s_to_ms(found.exposed),
        "bandwidth_tax": found.bandwidth_tax,
        "phases": [
            {
                "name": phase.name,
                "ms": s_to_ms(phase.seconds),
                "compute_ms": s_to_ms(phase.compute),
                "exposed_communication_ms": s_to_ms(phase.exposed),
            }
            for phase in found.phases
        ],
        "bytes_demanded": found.demand,
        "bytes_sent_by_servers": found.sent,
        "bytes_on_links": float(found.link_bytes.sum()),
        "links": [
            {
                "from": int(network.link_from[link]),
                "to": int(network.link_to[link]),
                "gbps": float(network.bandwidth[link]) * 8e-9,
                "bytes": float(found.link_bytes[link]),
                "utilisation": _utilisation(network, found)[link],
            }
            for link in _busiest(network, found).tolist()
        ],
        "draws_ms": [s_to_ms(seconds) for seconds in draws],
        "file": printable(str(config.path)),
        "servers": graph.n_server,
        "tasks": graph.n_task,
        "topology": config.topology,
        "network": "fifo" if config.fifo else "fair",
        "interface_bandwidth_gbps": network.link_bandwidth * 8e-9,
        "network_latency_us": network.latency * 1e6,
        "protocol": config.protocol._asdict(),
        "seed": config.seed,
    }


def _lines(config: ReplayConfig, graph: TaskGraph, fabric: Fabric, found: Replay, draws: list[float]) -> list[str]:
    """What a person reads."""
    network, topology = fabric.network, fabric.network.topology
    n_transfer = int(np.count_nonzero(graph.kind == NOMINAL_COMM))
    n_reduce = int(np.count_nonzero(graph.kind == ALLREDUCE))
    name = "the file's network" if config.topology == "file" else config.topology
    lines = [
        f"tasks      {graph.n_task - n_transfer - n_reduce} compute, {n_transfer} transfers, {n_reduce} all-reduces on "
        f"{graph.n_server} servers",
        f"network    {name}: {int(np.triu(topology.links).sum())} links of {network.link_bandwidth * 8e-9:g} Gbps, "
        f"{topology.n_switch} switches, {network.latency * 1e6:g} us a hop"
        f"{'' if config.latency_given else ' (not in the file; see --network-latency)'}; "
        f"{'fifo' if config.fifo else 'fair'}",
        f"{'phase':<12}{'ms':>12}{'compute':>12}{'exposed':>12}",
    ]
    for phase in found.phases:
        lines.append(f"{phase.name:<12}{_ms(phase.seconds):>12}{_ms(phase.compute):>12}{_ms(phase.exposed):>12}")
    if draws[-1] > draws[0]:
        lines.append(f"paths      {len(draws)} draws: {_ms(draws[0])} to {_ms(draws[-1])} ms; shown is the median")
    share = _utilisation(network, found)
    for link in _busiest(network, found)[:SHOWN_LINKS].tolist():
        ends = f"{_node(topology, network.link_from[link])} -> {_node(topology, network.link_to[link])}"
        lines.append(f"link       {ends:<26}{found.link_bytes[link] / 1e6:>12.2f} MB{share[link]:>8.1%} busy")
    lines += [
        f"traffic    {found.demand / 1e6:.2f} MB to send, {found.sent / 1e6:.2f} MB sent with what is forwarded; "
        f"bandwidth tax {found.bandwidth_tax:.3f}",
        f"iteration  {_ms(found.seconds)} ms: {_ms(found.compute)} compute, {_ms(found.exposed)} exposed communication",
    ]
    return lines


def _busiest(network: Network, found: Replay) -> Any:
    """Links that carry something, busiest first, ties by id."""
    share = _utilisation(network, found)
    order = np.argsort(-np.array(share), kind="stable")
    return order[found.link_bytes[order] > 0]


def _utilisation(network: Network, found: Replay) -> list[float]:
    """Share of the iteration every link needs for its bytes."""
    if not found.seconds > 0:
        return [0.0] * len(network.bandwidth)
    share: list[float] = (found.link_bytes / network.bandwidth / found.seconds).tolist()
    return share


def _node(topology: Topology, node: int) -> str:
    return f"server {node}" if node < topology.n_server else f"switch {node - topology.n_server}"


def _ms(seconds: float) -> str:
    return f"{s_to_ms(seconds):.3f}"
