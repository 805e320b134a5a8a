"""Networks during a search: one that stays, or whose links do, or one wired anew for every strategy that is taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from flexnet.network.build import build_network
from flexnet.network.cycles import add_cycles, more_cycles
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network, connect
from flexnet.network.routes import circulant_coins, coin_change_routes, routes_for, server_hops
from flexnet.network.topologies.random_graph import random_graph
from flexnet.network.topology import Topology, digest_of
from flexnet.network.totient import group_sizes
from flexnet.network.wiring.balance import balanced, crowding, with_demand
from flexnet.network.wiring.circulants import best_circulants
from flexnet.network.wiring.propose import ROUTES, propose_network
from flexnet.network.wiring.shares import sent_by_group
from flexnet.network.wiring.two_sided import two_sided
from flexnet.network.wiring.wire import wire
from flexnet.plan.problem import Problem

__all__ = [
    "DRAWS",
    "MANY_SERVERS",
    "Networks",
    "Rebuild",
    "common_network",
    "cycle_follower",
    "fitted",
    "fixed_network",
    "follows_groups",
    "later_draws",
    "other_draw",
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
FAMILY = 0.5  # of the networks that a portfolio builds are its family's own
AT_RANDOM = 0.15  # are random graphs, or have two sides; the others are wired for groups and pairs
TWO_SIDED = 0.05  # have two sides
CIRCULANT = 0.1  # are circulant graphs
CIRCULANT_SERVERS = 32  # of all of these together that a start is tried on, by what all-reduces count for, or one graph
HALVED = 5  # interfaces from which on several rings may have half a one more
RANDOM_SERVERS = 64  # of all random graphs together that a start is tried on, or one such graph
DRAWN_SERVERS = 128  # of all networks of two sides together of which the least crowded is taken, or one such network


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


def other_draw(
    problem: Problem, family: TopologyFamily, demand: Demand, seed: Sequence[int], *, fitted: bool
) -> list[Network]:
    """Another network of a random family, as a search that began with this seed would have it for a demand.

    ``fitted``: as `Networks` has it for a demand, which may be with other rings too.
    """
    rng = np.random.default_rng(seed)
    follow = _drawn(problem, family, rng)
    return Networks(problem, follow, None).of_family(rng, demand) if fitted else [follow(rng, demand)]


def later_draws(problem: Problem, family: TopologyFamily, seed: int) -> tuple[Rebuild, ...]:
    """Other networks of a random family, with rings for every demand; they are drawn once one is asked for.

    Of many draws they are those whose farthest server is nearest to all others, then those with fewest hops on the
    mean: what goes from all to all is there when that server has it.  One whose links go twice to some other server is
    such a server.
    """
    ranked = cache(lambda: _nearest_draws(problem.cluster.n_server, family, seed))

    def nearest(at: int) -> Rebuild:
        drawn = cache(lambda: _drawn(problem, family, np.random.default_rng(ranked()[at])))
        return lambda rng, demand: drawn()(rng, demand)

    return tuple(map(nearest, range(DRAWS - 1)))


def _nearest_draws(n_server: int, family: TopologyFamily, seed: int) -> list[tuple[int, int, int]]:
    """Seeds of the draws that are tried, nearest servers first."""

    def farness(drawn: tuple[int, int, int]) -> tuple[int, int]:
        hops = server_hops(family.build(n_server, None, np.random.default_rng(drawn)))
        return int(hops.max()), int(hops.sum())

    n_draw = max(min(MOST_LOOKED_AT, LOOKED_AT_SERVERS // n_server), DRAWS)
    return sorted(((seed, 0, k) for k in range(1, n_draw + 1)), key=farness)[: DRAWS - 1]


def _drawn(problem: Problem, family: TopologyFamily, rng: np.random.Generator) -> Rebuild:
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
    network = build_network(_random_links(n, degree, rng), problem.cluster, semantics=problem.semantics, rng=rng)
    return network.routing(np.arange(n * n)) if n * n <= ROUTED_PAIRS else network


def _random_links(n_server: int, degree: int, rng: np.random.Generator) -> Topology:
    """Links that suit no strategy badly."""
    return replace(random_graph(n_server, degree, rng), name="wired")


def _most_known(n_server: int) -> int:
    """How many networks are remembered."""
    return max(min(KNOWN_TOPOLOGIES, KNOWN_PAIRS // n_server**2), 1)


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks that a portfolio tries for a strategy.

    Parameters
    ----------
    problem : Problem
    rebuild : callable
        What builds networks of the family for a demand, or gives one whose links stay rings for it.
    degree : int or None
        Interfaces of a server, if links may be any; None: they are the family's, and only routes and rings change.
    common : Network or None
        One that soon tells what a strategy takes (`common_network`); None: there is no hurry.
    others : tuple of callable
        As ``rebuild``, of other draws of a random family.
    """

    problem: Problem
    rebuild: Rebuild
    degree: int | None
    common: Network | None = None
    others: tuple[Rebuild, ...] = ()

    def built(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Networks for a demand: the family's, or at times those wired for its groups and pairs, or at random."""
        how = rng.random()
        if self.others:
            drawn = (self.rebuild, *self.others)[int(how * (1 + len(self.others)))]
            return replace(self, rebuild=drawn).of_family(rng, demand)
        if self.degree is None or how < FAMILY:
            return self.of_family(rng, demand)
        if how < FAMILY + AT_RANDOM:
            return (self.two_sided(rng, demand) if how < FAMILY + TWO_SIDED else []) or self.at_random(rng, demand)
        if how < FAMILY + AT_RANDOM + CIRCULANT and (circulants := self.circulants(rng, demand)):
            return circulants
        halves = self.degree < HALVED or rng.random() < 0.5
        return self.wired(rng, demand, regular=how < (1 + FAMILY + AT_RANDOM + CIRCULANT) / 2, halves=halves)

    def of_family(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """The family's network for a demand, in our semantics with routes and rings that suit it (`fitted`)."""
        network = self.rebuild(rng, demand)
        if network.topology.n_switch or not self.problem.semantics.pack_cycles:
            return [network]
        return fitted(rng, network, demand)

    def wired(
        self, rng: np.random.Generator, demand: Demand, *, regular: bool = False, halves: bool = True
    ) -> list[Network]:
        """Networks wired for just the groups and pairs of a demand, where links may be any (`fitted`)."""
        assert self.degree is not None
        topology = wire(demand, self.degree, rng, regular=regular, halves=halves)
        network = build_network(topology, self.problem.cluster, semantics=self.problem.semantics, rng=rng)
        return fitted(rng, network, demand)

    def of_all_kinds(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """One or more of every kind, where links may be any: which suits a strategy only its price tells."""
        assert self.degree is not None
        networks = self.of_family(rng, demand)
        for regular in (False, True):
            networks += self.wired(rng, demand, regular=regular)
        if self.degree >= HALVED:
            networks += self.wired(rng, demand, halves=False)
        networks += self.circulants(rng, demand)
        for _ in range(max(RANDOM_SERVERS // demand.n_server, 1)):
            networks += self.at_random(rng, demand)
        return networks + self.two_sided(rng, demand)

    def circulants(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Networks that look alike from every server, where links may be any, with routes that do, and `fitted` ones.

        None where servers are few, or so many that routes are held for those who send alone.
        """
        assert self.degree is not None
        cluster, networks = self.problem.cluster, list[Network]()
        if demand.n_server > MANY_SERVERS:
            return []
        for topology in best_circulants(demand, self.degree, max(CIRCULANT_SERVERS // demand.n_server, 1), rng):
            routes = coin_change_routes(topology, circulant_coins(topology), rng)
            network = connect(topology, cluster.link_bandwidth, cluster.latency, routes)
            network = add_cycles(network, demand.groups, rng)
            networks += [network, *fitted(rng, network, demand)]
        return networks

    def at_random(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Networks of random links, where links may be any, with round trips for the groups of a demand (`fitted`).

        Where many send to many, the best of a few may be better than what rings leave.
        """
        assert self.degree is not None
        topology = _random_links(self.problem.cluster.n_server, self.degree, rng)
        return self._with_round_trips(rng, topology, demand)

    def two_sided(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Networks whose links all join two sides, where links may be any (`fitted`), if pairs send more than rings.

        Servers that send to each other stand on the same side, so that idle ones forward for them.  Of some draws the
        one on which transfers crowd least.
        """
        assert self.degree is not None
        if demand.model_parallel.sum() <= sum(len(group) * sent for group, sent in sent_by_group(demand).items()):
            return []
        drawn = list[list[Network]]()
        for _ in range(max(DRAWN_SERVERS // demand.n_server, 1)):
            topology = two_sided(demand, self.degree, rng)
            if topology is not None:
                drawn.append(self._with_round_trips(rng, topology, demand))
        return min(drawn, key=lambda networks: min(crowding(each, demand) for each in networks), default=[])

    def _with_round_trips(self, rng: np.random.Generator, topology: Topology, demand: Demand) -> list[Network]:
        network = build_network(topology, self.problem.cluster, semantics=self.problem.semantics, rng=rng)
        return fitted(rng, add_cycles(network, demand.groups, rng), demand)

    def can_change(self, network: Network) -> bool:
        """Whether `changed` knows anything to change: not where there are switches, or links of several speeds."""
        return not network.topology.n_switch and network.topology.speeds is None

    def changed(self, rng: np.random.Generator, network: Network, demand: Demand) -> Network:
        """A network that differs a little; the same if no change was possible."""
        return propose_network(rng, network, demand, kinds=ROUTES if self.degree is None else None)


def fitted(rng: np.random.Generator, network: Network, demand: Demand) -> list[Network]:
    """With routes that share the load of a demand: rings over links of their own and, where there are more, over all.

    More rings wait for each other where several groups reduce at once, so that only prices tell which is better.
    """
    network, cycles = with_demand(network, demand), more_cycles(network.topology, demand.groups)
    networks = [network] if cycles is network.topology.cycles else [network.with_cycles(cycles), network]
    return [balanced(with_demand(each, demand), demand, rng) for each in networks]
