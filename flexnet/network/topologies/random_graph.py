"""A random connected graph of bounded degree."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.cycles import cycles_for
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.routes import mean_hops
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED, Semantics

__all__ = ["RandomGraph", "random_graph"]

N_GRAPH = 8
"""Graphs of which the best is taken."""


@dataclass(frozen=True, slots=True)
class RandomGraph(TopologyFamily):
    """A random connected graph; see `random_graph`.

    Where ``semantics.pack_cycles`` is set, it is the best of `N_GRAPH` such graphs: most cycles through all servers
    that share no link, then fewest hops on the mean; and it has those cycles.  A random graph is what other networks
    are compared with, and many leave a server with free interfaces, so that a ring less goes through all: what the
    degree allows is to be compared, not luck.

    Parameters
    ----------
    degree : int
        Interfaces of a server.
    semantics : Semantics
        ``pack_cycles`` is heeded.
    """

    name: ClassVar[str] = "random"
    random: ClassVar[bool] = True

    degree: int = 4
    semantics: Semantics = CORRECTED

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers at random."""
        if not self.semantics.pack_cycles:
            return random_graph(n_server, self.degree, rng)
        every = tuple(range(n_server))
        graphs = [random_graph(n_server, self.degree, rng) for _ in range(N_GRAPH)]
        packed = [replace(graph, cycles=cycles_for(graph, {every: 1.0}, rng)) for graph in graphs]
        return min(packed, key=lambda graph: (-_n_along_links(graph), mean_hops(graph)))

    def interfaces(self, n_server: int) -> int:
        """All."""
        return self.degree

    def neighbours(self, n_server: int) -> int:
        """One for every interface."""
        return self.degree

    def route_bandwidth(self, cluster: Cluster) -> float:
        """One link, as parallel ones are rare."""
        return cluster.link_bandwidth


def random_graph(n_server: int, degree: int, rng: np.random.Generator) -> Topology:
    """A random Hamiltonian path from server 0, then links between random servers with free interfaces.

    Parallel links may occur, and at most one server keeps free interfaces (network.cc:471).

    Parameters
    ----------
    n_server : int
    degree : int
        Interfaces per server.
    rng : numpy.random.Generator

    Returns
    -------
    Topology

    Raises
    ------
    FlexNetError
        If there is no server, or the degree is too low to connect all of them.
    """
    if n_server < 1:
        raise FlexNetError(f"a random graph of {n_server} servers; it needs at least 1")
    needed = min(n_server - 1, 2)  # network.cc:471 accepts degree 1 and gives the servers on the path 2 links
    if degree < needed:
        raise FlexNetError(f"degree {degree} cannot connect {n_server} servers; a random graph needs at least {needed}")
    links = np.zeros((n_server, n_server), np.int64)
    path = np.concatenate([[0], 1 + rng.permutation(n_server - 1)])
    links[path[:-1], path[1:]] = links[path[1:], path[:-1]] = 1
    free = (degree - links.sum(axis=1)).tolist()
    pool = [server for server in range(n_server) if free[server] > 0]
    while len(pool) > 1:
        i = int(rng.integers(len(pool)))
        j = int(rng.integers(len(pool) - 1))
        j += j >= i
        a, b = pool[i], pool[j]
        links[a, b] += 1
        links[b, a] += 1
        for server in (a, b):
            free[server] -= 1
            if free[server] == 0:
                pool.remove(server)
    return Topology("random graph", n_server, 0, links, {})


def _n_along_links(graph: Topology) -> int:
    """Cycles of a graph whose edges are all links."""
    return sum(bool(graph.links[list(cycle), [*cycle[1:], cycle[0]]].all()) for cycle in graph.cycles)
