"""Networks that are wired anew during a search."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from random_models import mlp, problem_of

from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.link_speeds import LinkSpeeds
from flexnet.network.topologies.full_mesh import full_mesh
from flexnet.network.topology import Topology
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED
from flexnet.search.networks import rebuilder


@dataclass(frozen=True)
class Drifting(TopologyFamily):
    """A full mesh whose links are as fast as there is demand."""

    name: ClassVar[str] = "drifting"
    follows_demand: ClassVar[bool] = True

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        assert demand is not None
        mesh = full_mesh(n_server)
        speed = np.where(mesh.links > 0, demand.allreduce[4], 0.0)
        return replace(mesh, speeds=LinkSpeeds(speed, np.zeros_like(speed)))

    def interfaces(self, n_server: int) -> int:
        return n_server - 1


def test_links_alike_of_other_speeds_are_another_network():
    rebuild = rebuilder(problem_of(mlp(), Cluster(4), CORRECTED), Drifting())
    rng = np.random.default_rng(0)
    speeds = [1e9, 2e9, 1e9]
    networks = [rebuild(rng, Demand(4, np.zeros((4, 4)), {4: speed})) for speed in speeds]
    assert [network.link_bandwidth for network in networks] == speeds
    assert networks[0].topology is networks[2].topology
