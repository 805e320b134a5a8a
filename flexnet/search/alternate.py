"""Co-optimisation of strategy and network: `CoSearch.init` and `CoSearch.step`, both pure.

Strategy moves are Metropolis steps (model.cc:2413); between them the network is built anew from the traffic
of the strategy.  Two rules for when:

* original (network.cc:2289): after every accepted or best proposal, and when a second Metropolis test of the
  topology's own says so, even for rejected proposals.  The time of the current strategy is not updated.
* corrected: after every accepted proposal a network is built for it; the better of the two networks is kept, and the
  current time is the one on the kept network.  A rejected proposal changes nothing.  A third to half of the proposals
  draw what is there already: these are not priced again, and get a network, which differs in rings and routes that are
  drawn, only until `PATIENCE` of them have been in vain since the best plan was found.
"""

from dataclasses import dataclass, replace

import numpy as np

from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate, with_candidate
from flexnet.search.moves.mix import MoveMix
from flexnet.search.pricing import Price, Pricer
from flexnet.search.rebuild import Rebuild
from flexnet.search.state import Info, State

__all__ = ["CoSearch"]

TOPOLOGY_ALPHA = 0.5e3  # per second; network.cc:2289 has 0.5 per ms
TOPOLOGY_PATIENCE = 50
PATIENCE = 50


@dataclass(frozen=True, slots=True)
class CoSearch:
    """A search over strategies and networks.

    Parameters
    ----------
    moves : MoveMix
    pricer : Pricer
    rebuild : callable or None
        Builds a network for a demand; None if the network is given and stays.
    alpha : float
        Inverse temperature, per ms of iteration time (``--alpha``).
    span : int
        Proposals between two resets of the current plan to the best.
    """

    moves: MoveMix
    pricer: Pricer
    rebuild: Rebuild | None
    alpha: float
    span: int

    def init(self, rng: np.random.Generator, strategy: Strategy, network: Network) -> State:
        """Price the starting strategy on the first network."""
        price = self.pricer.price(rng, strategy, network)
        plan = Candidate(strategy, network, price.seconds, price.directions)
        state = State(0, 0, plan, plan, network)
        if self.rebuild is not None and not self.pricer.problem.semantics.restore_topology:
            state, _ = self._reconsider(rng, state, plan, 0.0, force=False)
        return state

    def over(self, state: State) -> bool:
        """Never: only a budget ends this search."""
        return False

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """One proposal."""
        if state.iteration - state.last_reset >= self.span:
            state = replace(state, last_reset=state.iteration, current=state.best, network=state.best.network)
        draw = 1.0 - rng.random()
        threshold = state.current.seconds + self._slack(draw, self.alpha * 1e3)
        topology_slack = 0.0
        limit = threshold
        drifting = self.rebuild is not None and not self.pricer.problem.semantics.restore_topology
        if drifting:
            topology_slack = self._slack(1.0 - rng.random(), TOPOLOGY_ALPHA)
            limit = max(limit, state.topology_current + topology_slack, state.topology_best)
        move = self.moves.pick(rng)
        changed = move.propose(rng, state.current.strategy)
        drawn = changed is not None
        if changed is not None and self.pricer.alike(changed, state.current.strategy):
            changed = None
        plan, price = state.current, Price(state.current.seconds, True, state.current.directions)
        if changed is not None or state.network is not plan.network:
            strategy = plan.strategy if changed is None else changed
            price = self.pricer.price(rng, strategy, state.network, limit)
            plan = Candidate(strategy, state.network, price.seconds, price.directions, plan.origin)
        improved = price.exact and price.seconds < state.best.seconds
        accepted = price.exact and (price.seconds < state.current.seconds or price.seconds < threshold)
        rebuilt = False
        best, elite, in_vain = state.best, state.elite, state.topology_unchanged
        if price.exact and self.pricer.second_look:
            elite = with_candidate(elite, plan)
        if improved:
            best = plan
        if accepted and not drifting:
            in_vain = 0 if improved else in_vain
            if self.rebuild is not None and (changed is not None or (drawn and in_vain < PATIENCE)):
                in_vain += int(changed is None)
                plan = self._better_network(rng, plan)
                rebuilt = plan.network is not state.network
                if self.pricer.second_look:
                    elite = with_candidate(elite, plan)
            if plan.seconds < best.seconds:
                best, in_vain = plan, 0
        state = replace(
            state,
            iteration=state.iteration + 1,
            current=plan if accepted else state.current,
            network=plan.network if accepted and not drifting else state.network,
            best=best,
            elite=elite,
            topology_unchanged=in_vain,
        )
        if drifting:
            state, rebuilt = self._reconsider(rng, state, plan, topology_slack, force=accepted)
        return state, Info(price.seconds, price.exact, accepted, improved, rebuilt, move.name)

    def _slack(self, draw: float, alpha: float) -> float:
        """How much slower a proposal may be and still pass ``draw < exp(-alpha * slower)``; draw in (0, 1]."""
        return float(-np.log(draw) / alpha) if alpha > 0 else np.inf

    def _better_network(self, rng: np.random.Generator, plan: Candidate) -> Candidate:
        """The plan on a network built for it, if that is faster than the one it was priced on."""
        assert self.rebuild is not None
        network = self.rebuild(rng, self.pricer.demand(plan.strategy))
        price = self.pricer.price(rng, plan.strategy, network, plan.seconds)
        if price.exact and price.seconds < plan.seconds:
            return Candidate(plan.strategy, network, price.seconds, price.directions, plan.origin)
        return plan

    def _reconsider(
        self, rng: np.random.Generator, state: State, plan: Candidate, slack: float, *, force: bool
    ) -> tuple[State, bool]:
        """The original's topology step, with the traffic of the strategy simulated last (network.cc:2289)."""
        seconds = plan.seconds
        change = seconds < state.topology_current or (
            seconds != state.topology_current and seconds < state.topology_current + slack
        )
        best = state.topology_best
        if seconds < best:
            change = True
            best = seconds
        if change:
            state = replace(state, topology_current=seconds, topology_best=best)
        unchanged = state.topology_unchanged + (not change)
        if not (force or change or unchanged >= TOPOLOGY_PATIENCE):
            return replace(state, topology_unchanged=unchanged), False
        assert self.rebuild is not None
        network = self.rebuild(rng, self.pricer.demand(plan.strategy))
        return replace(state, network=network, topology_unchanged=0), True
