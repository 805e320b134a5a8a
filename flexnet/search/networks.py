"""Networks during a search: one that stays, or one wired anew for the demand of every strategy that is taken."""

from collections.abc import Callable

import numpy as np

from flexnet.network.build import build_network
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.plan.problem import Problem

__all__ = ["Rebuild", "fixed_network", "rebuilder"]

Rebuild = Callable[[np.random.Generator, Demand], Network]

KNOWN_TOPOLOGIES = 256


def fixed_network(problem: Problem, family: TopologyFamily, rng: np.random.Generator) -> Network:
    """A network of a family that does not follow demand."""
    return build_network(family, problem.cluster, semantics=problem.semantics, rng=rng)


def rebuilder(problem: Problem, family: TopologyFamily) -> Rebuild:
    """Builds networks of a family for demands, and remembers topologies, of which the same few come again and again."""
    cluster = problem.cluster
    known: dict[tuple[object, ...], Network] = {}

    def rebuild(rng: np.random.Generator, demand: Demand) -> Network:
        topology = family.build(cluster.n_server, demand, rng)
        routes = routes_for(topology, problem.semantics, rng)
        speeds = topology.speeds
        key = (
            topology.links.tobytes(),
            tuple(sorted(topology.rings.items())),
            topology.cycles,
            None if speeds is None else (speeds.bandwidth.tobytes(), speeds.latency.tobytes()),
        )
        if key not in known:  # only their routes differ
            if len(known) == KNOWN_TOPOLOGIES:
                known.pop(next(iter(known)))
            known[key] = connect(topology, cluster.link_bandwidth, cluster.latency, routes)
        return known[key].with_routes(routes)

    return rebuild
