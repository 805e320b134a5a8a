"""Strategies priced on networks: the one there is, those that are built for them, and ones that differ a little."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexnet.network.cycles import add_cycles
from flexnet.network.network import Network
from flexnet.network.wiring.balance import crowding
from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate, with_candidate
from flexnet.search.floor import pipeline_seconds
from flexnet.search.networks import Networks, fitted
from flexnet.search.pricing import Pricer

__all__ = ["CROWDED", "Trials"]

CROWDED = 0.5  # a network on which transfers crowd twice as much may take 0.7 times as long as another

HOPEFUL = 0.8  # of the limit: what takes longer on networks for its groups does so on random ones, or nearly so
ROUGH = 1.25  # a random network may take so many times as long as one whose routes and rings are fitted


@dataclass(frozen=True, slots=True)
class Trials:
    """Prices strategies on networks that suit them.

    What takes longer than a ``limit`` in seconds has some time above it.  Every plan says of which start it descends.

    Parameters
    ----------
    pricer : Pricer
    networks : Networks or None
        Builds and changes networks; None if the network is given and stays.
    """

    pricer: Pricer
    networks: Networks | None

    def priced(
        self, rng: np.random.Generator, strategy: Strategy, network: Network, limit: float, origin: str
    ) -> Candidate:
        """The strategy on a network, which gets routes for it if it lacks some."""
        network = self.pricer.routed(strategy, network)
        price = self.pricer.price(rng, strategy, network, limit)
        return Candidate(strategy, network, price.seconds, price.directions, origin)

    def here(
        self, rng: np.random.Generator, strategy: Strategy, network: Network, limit: float, origin: str
    ) -> Candidate:
        """The strategy on a network, to which cycles are added for groups that have none where it has cycles."""
        if self.networks is not None and network.topology.cycles:
            network = add_cycles(network, self.pricer.demand(strategy).groups, rng)
        return self.priced(rng, strategy, network, limit, origin)

    def on_all_kinds(
        self, rng: np.random.Generator, strategy: Strategy, network: Network, limit: float, origin: str
    ) -> Candidate:
        """The strategy on the fastest of the networks of all kinds that are built for it; on ``network`` if none is.

        Random ones are built where others come near the limit.  Of many servers it is priced on the random one that all
        have in common, which suits none badly; with routes and rings that are fitted, which takes several times as
        long, if that may be within the limit, and if it is, on the family's.
        """
        if self.networks is None:
            return self.priced(rng, strategy, network, limit, origin)
        demand, of = self.pricer.demand(strategy), self.networks
        if of.degree is None:
            return self._fastest(rng, strategy, of.of_family(rng, demand), limit, origin)
        if of.common is not None:
            plan = self.here(rng, strategy, of.common, ROUGH * limit, origin)
            if plan.seconds > ROUGH * limit:
                return plan
            plan = self._fastest(rng, strategy, fitted(rng, plan.network, demand), limit, origin)
            if plan.seconds > limit:
                return plan
            own = self._fastest(rng, strategy, of.of_family(rng, demand), plan.seconds, origin)
            return own if own.seconds < plan.seconds else plan
        plan = self._fastest(rng, strategy, of.of_groups(rng, demand), limit, origin)
        if plan.seconds > HOPEFUL * limit:
            return plan
        own = self._fastest(rng, strategy, of.several_at_random(rng, demand), min(limit, plan.seconds), origin)
        return own if own.seconds < plan.seconds else plan

    def on_built(self, rng: np.random.Generator, strategy: Strategy, limit: float, origin: str) -> Candidate:
        """The strategy on a network of some kind that is built for it, with its own rings or more, as is faster."""
        assert self.networks is not None
        networks = self.networks.built(rng, self.pricer.demand(strategy))
        return self._fastest(rng, strategy, networks, limit, origin)

    def can_win(self, strategy: Strategy, limit: float) -> bool:
        """Whether it fits into memory, and some network might do by a bound that takes next to nothing.

        On networks whose links are not dealt out that is compute alone, and of micro-batches.
        """
        problem, degree = self.pricer.problem, None if self.networks is None else self.networks.degree
        if not self.pricer.fits(strategy):
            return False
        if degree is None:
            return problem.micro_batches == 1 or pipeline_seconds(problem, strategy) <= limit
        return self.pricer.floor(strategy, degree) <= limit

    def can_rewire(self, network: Network) -> bool:
        """Whether `rewired` has anything to change."""
        return self.networks is not None and self.networks.can_change(network)

    def rewired(self, rng: np.random.Generator, current: Candidate, limit: float) -> tuple[Candidate, float]:
        """The current strategy on a network that differs a little, and what it may take; the current plan if none does.

        That is less than the limit where transfers crowd more on few links than they do now, and more where they crowd
        less: while some link is as busy as the busiest, all such networks take as long, and no price tells which of
        them comes nearer to having none.
        """
        assert self.networks is not None
        demand = self.pricer.demand(current.strategy)
        network = self.networks.changed(rng, current.network, demand)
        if network is current.network:
            return current, limit
        before, after = self.pricer.crowding(current), crowding(network, demand)
        if before > 0.0 < after:
            limit *= (before / after) ** CROWDED
        return self.priced(rng, current.strategy, network, limit, current.origin), limit

    def with_elite(self, elite: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
        """The elite after a plan was priced; none where prices need no second look."""
        return with_candidate(elite, plan) if self.pricer.second_look else elite

    def _fastest(
        self, rng: np.random.Generator, strategy: Strategy, networks: Sequence[Network], limit: float, origin: str
    ) -> Candidate:
        """The strategy on the network on which it is fastest, if that is within the limit; else on any of them."""
        best = self.priced(rng, strategy, networks[0], limit, origin)
        for network in networks[1:]:
            plan = self.priced(rng, strategy, network, min(limit, best.seconds), origin)
            best = plan if plan.seconds < best.seconds else best
        return best
