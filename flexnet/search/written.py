"""A plan as its task graph file is replayed: what is reported of it is what ``flexnet simulate`` says of the file.

Of a network that was drawn, what it says of the file on that drawing.
"""

from dataclasses import replace

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import demand_of
from flexnet.network.network import Network, connect
from flexnet.network.wiring.rewire import as_cycles
from flexnet.plan.problem import Problem
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.fabric import Fabric
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.protocol import Protocol
from flexnet.simulate.replay import replay
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph, with_speeds
from flexnet.taskgraph_file.cycles import along_cycles
from flexnet.taskgraph_file.write import taskgraph_and_origin

__all__ = ["as_written", "file_arguments", "file_network", "written_timeline"]


def file_arguments(problem: Problem) -> dict[str, object]:
    """What a task graph file says of a problem besides tasks and network."""
    return {
        "operators": [(op.name, int(op.kind)) for op in problem.graph.operators],
        "inter_gpu_bandwidth": problem.cluster.inter_gpu_bandwidth,
    }


def file_network(problem: Problem, graph: TaskGraph, network: Network) -> Network:
    """The network as the file of a plan tells it: the very same, or with its rings told as cycles.

    FlexNetPacket starts the rings of a group at the server whose id is a member's index, and so runs those of groups of
    fewer than all servers over links of others; it would wait forever where groups of some size have none.  All-reduces
    over cycles are written in the order of their members, and run where they are meant to.  Under the original's
    semantics files have rings as the original writes them.
    """
    topology, semantics = network.topology, problem.semantics
    sizes = set(np.diff(graph.group_ptr)[graph.place[graph.kind == ALLREDUCE]].tolist())
    some_servers = any(1 < size < topology.n_server for size in sizes)
    if not (topology.rings and some_servers and semantics.pack_cycles):
        return network
    return as_cycles(network, tuple(demand_of(graph.arrays(), topology.n_server).groups))


def as_written(problem: Problem, graph: TaskGraph, network: Network, protocol: Protocol) -> tuple[TaskGraph, Network]:
    """Task graph and network as the file of a plan tells them: an all-reduce of its own for each of several rings."""
    network = file_network(problem, graph, network)
    parts, _ = along_cycles(graph, network, protocol.ring_packets)
    if parts is graph:
        return graph, network
    topology = replace(network.topology, rings={}, cycles=())
    routes = network.route_ptr, network.route
    return parts, connect(topology, network.link_bandwidth, network.latency, routes)


def written_timeline(problem: Problem, graph: TaskGraph, network: Network, protocol: Protocol) -> Timeline:
    """Start and end of every task when the file that the plan is written to is replayed with a protocol.

    A file has times in float32, speeds as multiples of one, roots in another order, and an all-reduce for each of
    several rings; a task in parts starts with the first and ends with the last.  What cannot be written, because the
    packet simulator could not run it, is replayed as it is.
    """
    network = file_network(problem, graph, network)
    arguments: dict[str, object] = {**file_arguments(problem), "run_seconds": np.zeros(graph.n_task)}
    try:
        file, _, origin = taskgraph_and_origin(graph, network, packets=protocol.ring_packets, **arguments)  # type: ignore[arg-type]
    except FlexNetError:
        return replay(graph, network, protocol=protocol).timeline
    of_file = to_network(file, file.link_bytes_per_ms * 1e3, network.latency)
    if network.topology.speeds is not None:  # which a file rounds or lacks, but not the drawing it is replayed on
        of_file = with_speeds(of_file, network.topology)
    found = replay(to_task_graph(file), Fabric(of_file, to_paths(file, of_file)), protocol=protocol).timeline
    start, end = np.full(graph.n_task, np.inf), np.zeros(graph.n_task)
    np.minimum.at(start, origin, found.start)
    np.maximum.at(end, origin, found.end)
    return Timeline(found.seconds, start, end)
