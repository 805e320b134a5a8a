"""A topology family of one's own, a torus, beside others.

The command line knows it too: ``flexnet.__main__.main(["search", "alexnet", "--topology", "torus", ...])``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexnet import (
    CORRECTED,
    MODELS,
    TOPOLOGIES,
    Cluster,
    Demand,
    FlexNetError,
    Settings,
    Topology,
    TopologyFamily,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    roofline_table,
    us_to_s,
)


@dataclass(frozen=True)
class Torus(TopologyFamily):
    """Servers in rows of `width`, each linked to its four neighbours; rows and columns close to rings."""

    name: ClassVar[str] = "torus"
    width: int = 4

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        """Wire the servers; neither demand nor chance is asked."""
        if n_server % self.width or n_server < 3 * self.width or self.width < 3:
            raise FlexNetError(f"a torus has rows of {self.width} servers, and three of them; {n_server} are no such")
        links = np.zeros((n_server, n_server), np.int64)
        for server in range(n_server):
            row, column = divmod(server, self.width)
            for neighbour in (row * self.width + (column + 1) % self.width, (server + self.width) % n_server):
                links[server, neighbour] = links[neighbour, server] = 1
        return Topology(self.name, n_server, 0, links, {})  # no rings: they are found along the links

    def interfaces(self, n_server: int) -> int:
        """Four, whatever the size."""
        return 4


TOPOLOGIES["torus"] = Torus

graph = MODELS["alexnet"].build({}, batch_size=2048)
table = roofline_table(graph, "a100", n_server=16)
cluster = Cluster(16, link_bandwidth=gbps_to_bytes_per_s(25), latency=us_to_s(1), degree=4)
problem = make_problem(graph, table, cluster, CORRECTED)
for name in ("torus", "random", "fattree", "topoopt"):
    found = find_plan(problem, Settings(name, budget=300, seed=0))
    n_link = found.topology.links.sum() // 2
    print(f"{name:<8} {n_link} links, {found.start_seconds * 1e3:.1f} ms became {found.seconds * 1e3:.1f} ms")
