"""Networks of a family for every demand, as a search asks for them again and again: given links, or links for it.

Those that are remembered leave nothing to chance, so that a search that was stopped and goes on gets the same.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from flexnet.network.build import build_network
from flexnet.network.cycles import add_cycles
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for, server_hops
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topology import Topology, digest_of
from flexnet.network.totient import group_sizes
from flexnet.plan.problem import Problem

__all__ = [
    "DRAWS",
    "MANY_SERVERS",
    "Rebuild",
    "common_network",
    "cycle_follower",
    "drawn",
    "fixed_network",
    "follows_groups",
    "later_draws",
    "random_links",
    "rebuilder",
]

Rebuild = Callable[[np.random.Generator, Demand], Network]

MANY_SERVERS = 128
"""With more, networks take tens of times what a change of the strategy takes."""

KNOWN_TOPOLOGIES = 256
KNOWN_PAIRS = 2**24  # of servers, of all of them together: links and routes take tens of bytes a pair
ROUTED_PAIRS = 2**22  # of servers of a network that is kept with all its routes
DRAWS = 8  # of a random family, where servers are few, are tried: the first, and the nearest of
MOST_LOOKED_AT = 256  # others
LOOKED_AT_SERVERS = 8192  # or as many as have so many servers together


def fixed_network(problem: Problem, family: TopologyFamily, rng: np.random.Generator) -> Network:
    """A network of a family that does not follow demand; where cycles are packed, with some for every strided group."""
    network = build_network(family, problem.cluster, semantics=problem.semantics, rng=rng)
    if not follows_groups(problem, network):
        return network
    n = problem.cluster.n_server
    strides = [n // size for size in group_sizes(n)]
    strided = {tuple(range(first, n, stride)): 1.0 for stride in strides for first in range(stride)}
    return add_cycles(network, strided, np.random.default_rng(0))


def follows_groups(problem: Problem, network: Network) -> bool:
    """Whether rings on a network whose links stay follow the groups that a strategy has."""
    topology = network.topology
    return problem.semantics.pack_cycles and not topology.rings and not topology.n_switch


def cycle_follower(network: Network) -> Rebuild:
    """Gives a network cycles for the groups of every demand, beside those it has; links and routes stay.

    Nothing is left to chance, and every answer is a network of its own, so that a search that was stopped and goes on
    answers as one that was not.
    """
    known: dict[frozenset[tuple[int, ...]], Network] = {}
    most_known = _most_known(network.topology.n_server)

    def follow(rng: np.random.Generator, demand: Demand) -> Network:
        key = frozenset(demand.groups)
        if key not in known:
            if len(known) == most_known:
                known.pop(next(iter(known)))
            known[key] = add_cycles(network, dict(sorted(demand.groups.items())), np.random.default_rng(0))
        return replace(known[key])

    return follow


def later_draws(problem: Problem, family: TopologyFamily, seed: int) -> tuple[Rebuild, ...]:
    """Other networks of a random family, with rings for every demand; they are drawn once one is asked for.

    Of many draws they are those whose farthest server is nearest to all others, then those with fewest hops on the
    mean: what goes from all to all is there when that server has it.  One whose links go twice to some other server is
    such a server.
    """
    ranked = cache(lambda: _nearest_draws(problem.cluster.n_server, family, seed))

    def nearest(at: int) -> Rebuild:
        built = cache(lambda: drawn(problem, family, np.random.default_rng(ranked()[at])))
        return lambda rng, demand: built()(rng, demand)

    return tuple(map(nearest, range(DRAWS - 1)))


def _nearest_draws(n_server: int, family: TopologyFamily, seed: int) -> list[tuple[int, int, int]]:
    """Seeds of the draws that are tried, nearest servers first."""

    def farness(seeds: tuple[int, int, int]) -> tuple[int, int]:
        hops = server_hops(family.build(n_server, None, np.random.default_rng(seeds)))
        return int(hops.max()), int(hops.sum())

    n_draw = max(min(MOST_LOOKED_AT, LOOKED_AT_SERVERS // n_server), DRAWS)
    return sorted(((seed, 0, k) for k in range(1, n_draw + 1)), key=farness)[: DRAWS - 1]


def drawn(problem: Problem, family: TopologyFamily, rng: np.random.Generator) -> Rebuild:
    """A draw of a random family, with rings for every demand."""
    network = fixed_network(problem, family, rng)
    return cycle_follower(network) if follows_groups(problem, network) else lambda rng, demand: network


def rebuilder(problem: Problem, family: TopologyFamily) -> Rebuild:
    """Builds networks of a family for demands, and remembers topologies, of which the same few come again and again."""
    cluster = problem.cluster
    known: dict[tuple[object, ...], Network] = {}
    most_known = _most_known(cluster.n_server)

    def rebuild(rng: np.random.Generator, demand: Demand) -> Network:
        topology = family.build(cluster.n_server, demand, rng)
        if problem.semantics.pack_cycles and cluster.n_server > 2:  # cycles, as files have them, are of three or more
            topology = _with_all_as_cycles(topology)
        routes = routes_for(topology, problem.semantics, rng)
        speeds = topology.speeds
        key = (
            digest_of(topology.links),
            tuple(sorted(topology.rings.items())),
            topology.cycles,
            None if speeds is None else (speeds.bandwidth.tobytes(), speeds.latency.tobytes()),
        )
        if key not in known:  # only their routes differ
            if len(known) == most_known:
                known.pop(next(iter(known)))
            known[key] = connect(topology, cluster.link_bandwidth, cluster.latency, routes)
        return known[key].with_routes(routes)

    return rebuild


def _with_all_as_cycles(topology: Topology) -> Topology:
    """With the regular rings over all servers told as cycles too, whose parts may differ; and none over two servers."""
    rings = {size: rings for size, rings in topology.rings.items() if size > 2}
    everyone = tuple(range(topology.n_server))
    return replace(topology, rings=rings, cycles=topology.cycles + topology.rings_of(everyone))


def common_network(problem: Problem, degree: int | None) -> Network | None:
    """The random network that all strategies are looked at on, with all routes if they are not too many.

    None where links may not be any, or networks of their own do not take long.
    """
    n, rng = problem.cluster.n_server, np.random.default_rng(0)
    if degree is None or n <= MANY_SERVERS:
        return None
    network = build_network(random_links(n, degree, rng), problem.cluster, semantics=problem.semantics, rng=rng)
    return network.routing(np.arange(n * n)) if n * n <= ROUTED_PAIRS else network


def random_links(n_server: int, degree: int, rng: np.random.Generator) -> Topology:
    """Links that suit no strategy badly."""
    return replace(random_graph(n_server, degree, rng), name="wired")


def _most_known(n_server: int) -> int:
    """How many networks are remembered."""
    return max(min(KNOWN_TOPOLOGIES, KNOWN_PAIRS // n_server**2), 1)
