"""A network that is given: drawn in a file, or in a program."""

from dataclasses import dataclass

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster

__all__ = ["Drawn"]


@dataclass(frozen=True, slots=True)
class Drawn(TopologyFamily):
    """Just this topology.

    Parameters
    ----------
    topology : Topology
    """

    topology: Topology

    @property
    def name(self) -> str:  # type: ignore[override]
        """Of the topology."""
        return self.topology.name

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """The topology itself.

        Raises
        ------
        FlexNetError
            If it has another number of servers.
        """
        if n_server != self.topology.n_server:
            raise FlexNetError(f"{self.name} has {self.topology.n_server} servers; {n_server} are to be wired")
        return self.topology

    def interfaces(self, n_server: int) -> int:
        """Links of the server that has most."""
        return int(self.topology.links[:n_server].sum(axis=1).max())

    def server_bandwidth(self, cluster: Cluster) -> float:
        """Bytes/s of the links of a server, on the mean."""
        if self.topology.speeds is None:
            per_server = self.topology.links[: cluster.n_server].sum(axis=1) * cluster.link_bandwidth
        else:
            per_server = self.topology.speeds.bandwidth[: cluster.n_server].sum(axis=1)
        return float(per_server.mean()) or cluster.link_bandwidth

    def widest_server(self, cluster: Cluster) -> float:
        """Bytes/s of the links of the server that has most."""
        speeds, n = self.topology.speeds, cluster.n_server
        if speeds is None:
            return self.interfaces(n) * cluster.link_bandwidth or cluster.link_bandwidth
        widest = max(speeds.bandwidth[:n].sum(axis=1).max(), speeds.bandwidth[:, :n].sum(axis=0).max())
        return float(widest) or cluster.link_bandwidth

    def route_bandwidth(self, cluster: Cluster) -> float:
        """Bytes/s of the widest link of a server, parallel ones together."""
        speeds, n = self.topology.speeds, cluster.n_server
        widths = self.topology.links * cluster.link_bandwidth if speeds is None else speeds.bandwidth
        return float(max(widths[:n].max(), widths[:, :n].max())) or cluster.link_bandwidth

    def forwards(self, n_server: int) -> bool:
        """Whether servers are linked to one another."""
        return bool(self.topology.links[:n_server, :n_server].any())
