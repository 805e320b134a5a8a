"""Networks that a search tries for a strategy: its family's, wired for it, circulant, random, and ones that differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexnet.network.build import build_network
from flexnet.network.cycles import add_cycles, more_cycles
from flexnet.network.demand import Demand
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network, connect
from flexnet.network.routes import circulant_coins, coin_change_routes, routes_for
from flexnet.network.topology import Topology
from flexnet.network.wiring.balance import balanced, crowding, detoured, with_demand
from flexnet.network.wiring.circulants import best_circulants
from flexnet.network.wiring.propose import ROUTES, propose_network
from flexnet.network.wiring.shares import sent_by_group
from flexnet.network.wiring.two_sided import two_sided
from flexnet.network.wiring.wire import wire
from flexnet.plan.problem import Problem
from flexnet.search.rebuild import MANY_SERVERS, Rebuild, drawn, random_links

__all__ = ["Networks", "fitted", "other_draw"]

FAMILY = 0.5  # of the networks that a portfolio builds are its family's own
AT_RANDOM = 0.15  # are random graphs, or have two sides; the others are wired for groups and pairs
TWO_SIDED = 0.05  # have two sides
CIRCULANT = 0.1  # are circulant graphs
CIRCULANT_SERVERS = 32  # of all of these together that a start is tried on, by what all-reduces count for, or one graph
HALVED = 5  # interfaces from which on several rings may have half a one more
RANDOM_SERVERS = 64  # of all random graphs together that a start is tried on, or one such graph
DRAWN_SERVERS = 128  # of all networks of two sides together of which the least crowded is taken, or one such network


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
            rebuild = (self.rebuild, *self.others)[int(how * (1 + len(self.others)))]
            return replace(self, rebuild=rebuild).of_family(rng, demand)
        if self.degree is None or how < FAMILY:
            return self.of_family(rng, demand)
        if how < FAMILY + AT_RANDOM:
            return (self.two_sided(rng, demand) if how < FAMILY + TWO_SIDED else []) or self.at_random(rng, demand)
        if how < FAMILY + AT_RANDOM + CIRCULANT and (circulants := self.circulants(rng, demand)):
            return circulants
        halves = self.degree < HALVED or rng.random() < 0.5
        return self.wired(rng, demand, regular=how < (1 + FAMILY + AT_RANDOM + CIRCULANT) / 2, halves=halves)

    def of_family(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """The family's network for a demand, in our semantics with routes and rings that suit it (`fitted`).

        Where links stay, with routes that are longer than need be, too, if these take load off the busiest.
        """
        network = self.rebuild(rng, demand)
        if network.topology.n_switch or not self.problem.semantics.pack_cycles:
            return [network]
        networks = fitted(rng, network, demand)
        if self.degree is None:
            detours = [detoured(each, demand, rng) for each in networks]
            networks += [each for each in detours if each is not None]
        return networks

    def wired(
        self, rng: np.random.Generator, demand: Demand, *, regular: bool = False, halves: bool = True
    ) -> list[Network]:
        """Networks wired for just the groups and pairs of a demand, where links may be any (`fitted`)."""
        assert self.degree is not None
        topology = wire(demand, self.degree, rng, regular=regular, halves=halves)
        network = build_network(topology, self.problem.cluster, semantics=self.problem.semantics, rng=rng)
        return fitted(rng, network, demand)

    def of_groups(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """The family's networks for a demand, those wired for its groups and pairs, and circulants: links may be any.

        Which suits a strategy only its price tells.
        """
        assert self.degree is not None
        networks = self.of_family(rng, demand)
        for regular in (False, True):
            networks += self.wired(rng, demand, regular=regular)
        if self.degree >= HALVED:
            networks += self.wired(rng, demand, halves=False)
        return networks + self.circulants(rng, demand)

    def several_at_random(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Random graphs, several where servers are few, and one of two sides, where links may be any."""
        networks = list[Network]()
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
        topology = random_links(self.problem.cluster.n_server, self.degree, rng)
        return self._with_round_trips(rng, self._connected(rng, topology), demand)

    def two_sided(self, rng: np.random.Generator, demand: Demand) -> list[Network]:
        """Networks whose links all join two sides, where links may be any (`fitted`), if pairs send more than rings.

        Servers that send to each other stand on the same side, so that idle ones forward for them.  Of some draws the
        one on which transfers crowd least.
        """
        assert self.degree is not None
        if demand.model_parallel.sum() <= sum(len(group) * sent for group, sent in sent_by_group(demand).items()):
            return []
        drawn = [two_sided(demand, self.degree, rng) for _ in range(max(DRAWN_SERVERS // demand.n_server, 1))]
        routed = [self._routed(rng, topology, demand) for topology in drawn if topology is not None]
        if not routed:
            return []
        return self._with_round_trips(rng, min(routed, key=lambda network: crowding(network, demand)), demand)

    def _routed(self, rng: np.random.Generator, topology: Topology, demand: Demand) -> Network:
        """Links with routes that share the load of a demand, and no rings."""
        return balanced(with_demand(self._connected(rng, topology), demand), demand, rng)

    def _connected(self, rng: np.random.Generator, topology: Topology) -> Network:
        """Links with routes, and no rings."""
        cluster, routes = self.problem.cluster, routes_for(topology, self.problem.semantics, rng)
        return connect(topology, cluster.link_bandwidth, cluster.latency, routes)

    def _with_round_trips(self, rng: np.random.Generator, network: Network, demand: Demand) -> list[Network]:
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


def other_draw(
    problem: Problem, family: TopologyFamily, demand: Demand, seed: Sequence[int], *, fitted: bool
) -> list[Network]:
    """Another network of a random family, as a search that began with this seed would have it for a demand.

    ``fitted``: as `Networks` has it for a demand, which may be with other rings too.
    """
    rng = np.random.default_rng(seed)
    follow = drawn(problem, family, rng)
    return Networks(problem, follow, None).of_family(rng, demand) if fitted else [follow(rng, demand)]
