"""The servers and the network of a search, as flags or a drawing have them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.commands.requests.flags import Given
from flexnet.commands.requests.limits import MAX_SERVERS, check_degree, check_drawing, check_parameters, degree_of
from flexnet.commands.requests.shared_flags import OF_SWITCHES
from flexnet.errors import FlexNetError, one_of
from flexnet.network.topologies import DRAWINGS, TOPOLOGIES
from flexnet.plan.cluster import HOP_LATENCY, Cluster
from flexnet.plan.semantics import PRESETS
from flexnet.units import gbps_to_bytes_per_s, us_to_s

if TYPE_CHECKING:
    from flexnet.network.topology import Topology

__all__ = ["drawn_network", "named_network"]


def named_network(values: dict[str, Any], given: Given) -> tuple[str, dict[str, Any], Cluster]:
    """The name of a family, those of its parameters that are not the cluster's, and the servers it joins.

    Parameters
    ----------
    values : dict
        Of the flags, by name, defaults included.
    given : Given
        The flags that were given.

    Raises
    ------
    FlexNetError
        If no topology is named, a flag is not of this one, or it needs more servers.
    """
    name: str | None = values["topology"]
    if name is None:
        raise FlexNetError(
            f"--topology is missing; choose {one_of(tuple(TOPOLOGIES))}, or name a {one_of(DRAWINGS)} file"
        )
    check_parameters(name, given)
    n_server = values["nsimnode"] or 1
    cluster = Cluster(
        n_server=n_server,
        big_gpu=values["big_gpu"],
        latency=_latency(values),
        degree=degree_of(values, given, n_server),
        **_bytes_per_s(values, "interface_bandwidth", "inter_gpu_bandwidth"),
    )
    has = TOPOLOGIES[name].parameters()
    if "degree" in has:
        check_degree(name, cluster.degree, n_server, f"--nsimnode is {n_server}")
    own = {flag.name: values[flag.name] for flag in OF_SWITCHES if flag.name in has}
    return name, own, cluster


def drawn_network(values: dict[str, Any], given: Given) -> "tuple[Topology, Cluster]":
    """The topology in a file, and its servers, with links no slower than its narrowest.

    Raises
    ------
    FlexNetError
        If it cannot be read, or a flag contradicts it.
    """
    from flexnet.network.graph_file import read_topology

    path: Path = values["topology"]
    check_drawing(path, given)
    topology = read_topology(path)
    if topology.n_server > MAX_SERVERS:
        raise FlexNetError(f"{path} has {topology.n_server} servers; at most {MAX_SERVERS} can be searched")
    if values["nsimnode"] not in (None, topology.n_server):
        raise FlexNetError(f"{path} has {topology.n_server} servers; --nsimnode is {values['nsimnode']}")
    n_server, linked, speeds = topology.n_server, topology.links > 0, _bytes_per_s(values, "inter_gpu_bandwidth")
    if topology.speeds is not None:  # None: one server, without links
        each = topology.speeds.bandwidth[linked] / topology.links[linked]
        speeds |= {"link_bandwidth": float(each.min()), "latency": float(topology.speeds.latency[linked].min())}
    degree = max(int(topology.links[:n_server].sum(axis=1).max()), 1)
    return topology, Cluster(n_server, values["big_gpu"], degree=degree, **speeds)


def _latency(values: dict[str, Any]) -> float:
    """Seconds of a hop: what was asked for, or what `flexnet simulate` takes, or none as in the original."""
    if values["network_latency"] is not None:
        return us_to_s(values["network_latency"])
    return HOP_LATENCY if PRESETS[values["semantics"]].fair_links else 0.0


def _bytes_per_s(values: dict[str, Any], *flags: str) -> dict[str, float]:
    """Those bandwidths that were given, by the field of a cluster."""
    given = {flag.replace("interface", "link"): values[flag] for flag in flags if values[flag] is not None}
    return {name: gbps_to_bytes_per_s(gbps) for name, gbps in given.items()}
