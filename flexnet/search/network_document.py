"""Networks as documents: what checkpoints and plan files keep of links, speeds, rings and routes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexnet.network.link_speeds import LinkSpeeds
from flexnet.network.network import Network, connect
from flexnet.network.topology import Topology

__all__ = ["network_document", "read_network"]


def network_document(network: Network) -> dict[str, Any]:
    """A network with its routes, as JSON and NumPy arrays."""
    topology = network.topology
    return {
        "name": topology.name,
        "n_server": topology.n_server,
        "n_switch": topology.n_switch,
        "links": topology.link_counts,
        **({} if topology.speeds is None else {"speeds": _speeds_document(topology, topology.speeds)}),
        "rings": [[g, [list(ring) for ring in rings]] for g, rings in topology.rings.items()],
        "cycles": topology.cycles,
        "link_bandwidth": network.link_bandwidth,
        "latency": network.latency,
        "route_ptr": network.route_ptr,
        "route": network.route,
    }


def _speeds_document(topology: Topology, speeds: LinkSpeeds) -> list[list[float]]:
    """Bandwidth and latency of every link, in the order of the links."""
    return [[float(speeds.bandwidth[a, b]), float(speeds.latency[a, b])] for a, b, _ in topology.link_counts]


def read_network(document: Mapping[str, Any]) -> Network:
    """The network that `network_document` wrote, believing nothing.

    Raises
    ------
    FlexNetError
        If it is no legal network.
    KeyError, TypeError, ValueError, IndexError
        If it is no document of one.
    """
    n_node = document["n_server"] + document["n_switch"]
    n_pair = document["n_server"] ** 2
    if (
        len(document["route_ptr"]) != n_pair + 1 or len(document["links"]) < n_node - 1
    ):  # keeps the matrix in proportion
        raise ValueError(f"too few routes or links for {document['n_server']} servers")
    links = np.zeros((n_node, n_node), np.int64)
    for a, b, count in document["links"]:
        links[a, b] = links[b, a] = count
    rings = {g: tuple(tuple(ring) for ring in rings) for g, rings in document["rings"]}
    speeds = _speeds(document, n_node) if "speeds" in document else None
    cycles = tuple(tuple(map(_server, cycle)) for cycle in document["cycles"])
    topology = Topology(document["name"], document["n_server"], document["n_switch"], links, rings, speeds, cycles)
    topology.check(None)
    routes = (np.array(document["route_ptr"], np.int32), np.array(document["route"], np.int32))
    if routes[0][0] != 0 or (np.diff(routes[0]) < 0).any():
        raise ValueError("routes that do not follow each other")
    return connect(topology, document["link_bandwidth"], document["latency"], routes)


def _server(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a server")
    return value


def _speeds(document: Mapping[str, Any], n_node: int) -> LinkSpeeds:
    speeds = LinkSpeeds(np.zeros((n_node, n_node)), np.zeros((n_node, n_node)))
    for (a, b, _), (bandwidth, latency) in zip(document["links"], document["speeds"], strict=True):
        if not (0 < bandwidth < np.inf and 0 <= latency < np.inf):
            raise ValueError(f"a link of {bandwidth} bytes/s and {latency} s")
        speeds.bandwidth[a, b] = speeds.bandwidth[b, a] = bandwidth
        speeds.latency[a, b] = speeds.latency[b, a] = latency
    return speeds
