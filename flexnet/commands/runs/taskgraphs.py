"""Task graph files as commands replay them: their tasks, and their network at a speed and latency."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.graphs import MAX_NODES
from flexnet.network.topology import Topology
from flexnet.plan.cluster import HOP_LATENCY
from flexnet.plan.task_graph import TaskGraph
from flexnet.simulate.fabric import Fabric
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.convert import to_network, to_paths, to_task_graph, with_speeds
from flexnet.taskgraph_file.read import read_taskgraph

__all__ = ["fabric_of", "link_speed", "on_drawing", "read_tasks"]


def read_tasks(path: Path, *, network: bool = True) -> tuple[TaskGraphFile, TaskGraph]:
    """A task graph file and its tasks; ``network``: whether its links, routes and rings are wanted too.

    Raises
    ------
    FlexNetError
        If it cannot be read or simulated, or holds no tasks.
    """
    file = read_taskgraph(path, network=network)
    if not len(file.tasks.kind):
        raise FlexNetError(f"{file.source}: there are no tasks; a task graph has at least one")
    return file, to_task_graph(file)


def link_speed(file: TaskGraphFile, bandwidth: float | None, latency: float | None) -> tuple[float, float]:
    """Bytes/s of a link and seconds of a hop: those asked for, or the file's and, as it has none, `HOP_LATENCY`.

    Raises
    ------
    FlexNetError
        If the file has no bandwidth, or too many nodes.
    """
    if bandwidth is None:
        bandwidth = file.link_bytes_per_ms * 1e3
    if not bandwidth > 0:
        raise FlexNetError(f"{file.source} has link bandwidth {bandwidth:g}; give --interface-bandwidth")
    if file.n_server + file.n_switch > MAX_NODES:
        raise FlexNetError(
            f"{file.source} has {file.n_server} servers and {file.n_switch} switches; at most {MAX_NODES} nodes can "
            "be replayed"
        )
    return bandwidth, HOP_LATENCY if latency is None else latency


def fabric_of(file: TaskGraphFile, bandwidth: float | None, latency: float | None) -> Fabric:
    """The file's own network; arguments as of `link_speed`."""
    network = to_network(file, *link_speed(file, bandwidth, latency))
    return Fabric(network, to_paths(file, network))


def on_drawing(path: Path, drawing: Topology) -> Fabric | None:
    """A file's network with the speeds of a drawing, if that has the same links; None if it is another network.

    Routes and rings are the file's: those that were searched.
    """
    if drawing.speeds is None:
        return None
    try:
        fabric = fabric_of(read_tasks(path)[0], None, None)
    except FlexNetError:  # of the file's own network, which need not make sense
        return None
    links = fabric.network.topology.links
    if links.shape != drawing.links.shape or fabric.network.topology.n_server != drawing.n_server:
        return None
    if not np.array_equal(links > 0, drawing.links > 0):
        return None
    return replace(fabric, network=with_speeds(fabric.network, drawing))
