"""The contract of a topology family: one way to wire servers."""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from flexnet.network.demand import Demand
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster

__all__ = ["TopologyFamily"]


class TopologyFamily(ABC):
    """One way to wire servers.

    A family is a frozen dataclass whose fields are its parameters, all with defaults: those that are also flags
    (``degree``, ``servers_per_leaf``, ``oversubscription``, ``ports``) and ``semantics`` are set from them.  A new
    family is a subclass in a file of its own and a line in `flexnet.network.topologies.TOPOLOGIES`.

    Attributes
    ----------
    name : str
        As it is printed, and as ``--topology`` takes it.
    follows_demand : bool
        Whether it is wired for what a strategy asks of it: a search then builds it anew again and again.  Otherwise
        `build` is called once before a search, with no demand.
    random : bool
        Whether another seed gives another network.
    any_links : bool
        Whether a search may also wire the servers as it likes, with no more links than `interfaces`.
    """

    name: ClassVar[str]
    follows_demand: ClassVar[bool] = False
    random: ClassVar[bool] = False
    any_links: ClassVar[bool] = False

    @abstractmethod
    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers.

        Parameters
        ----------
        n_server : int
        demand : Demand or None
            What is to be carried; None only if the family does not follow demand.
        rng : numpy.random.Generator
            The only source of chance.

        Returns
        -------
        Topology
            One that `Topology.check` accepts: all servers connected, with rings only along links that are there.

        Raises
        ------
        FlexNetError
            If these servers cannot be wired so.
        """

    @abstractmethod
    def interfaces(self, n_server: int) -> int:
        """Interfaces that a server uses at most."""

    def server_bandwidth(self, cluster: Cluster) -> float:
        """Bytes/s that a server can send at most, on the mean over all servers: the search's bound divides by it."""
        return self.interfaces(cluster.n_server) * cluster.link_bandwidth

    def widest_server(self, cluster: Cluster) -> float:
        """Bytes/s that any one server can send, and receive, at most; the mean unless servers differ."""
        return self.server_bandwidth(cluster)

    def route_bandwidth(self, cluster: Cluster) -> float:
        """Bytes/s that all a server sends to another can share as a rule, for it goes along one route."""
        return self.widest_server(cluster)

    def neighbours(self, n_server: int) -> int | None:
        """Servers that a server can be linked to at most, where servers forward for others; None if none does."""
        return None

    def forwards(self, n_server: int) -> bool:
        """Whether a server may lie on the way between others, to which it may hand on what they get as well."""
        return self.neighbours(n_server) is not None

    @classmethod
    def parameters(cls) -> frozenset[str]:
        """Names of its parameters."""
        return frozenset(field.name for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def make(cls, **values: Any) -> "TopologyFamily":
        """The family with those of ``values`` that are its parameters."""
        return cls(**{name: value for name, value in values.items() if name in cls.parameters()})
