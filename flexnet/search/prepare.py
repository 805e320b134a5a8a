"""Lays out a search: moves, prices, the first network and the start; and prices what it found at full resolution."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.exact.terms import measured_terms
from flexnet.network.build import family_of
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, Configs, Strategy, make_strategy
from flexnet.search.alternate import CoSearch
from flexnet.search.candidates import Candidate, choose
from flexnet.search.driver import Outcome, reset_span
from flexnet.search.found import Found
from flexnet.search.moves.mix import PROPAGATING, RECONFIGURING, block_shares, make_mix
from flexnet.search.moves.space import MoveSpace, make_space
from flexnet.search.networks import (
    Networks,
    Rebuild,
    cycle_follower,
    fixed_network,
    follows_groups,
    other_draw,
    rebuilder,
)
from flexnet.search.plan import Plan
from flexnet.search.portfolio import Portfolio, first_slot
from flexnet.search.pricing import EXACT_TASKS, Pricer
from flexnet.search.settings import ALL_STARTS, Settings, method_of
from flexnet.search.starts import STARTS
from flexnet.search.starts.data_parallel import data_parallel, not_data_parallel
from flexnet.search.starts.start import Bound, StartPoints, bound_of
from flexnet.search.state import State
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.protocol import PROTOCOLS

__all__ = ["Prepared", "prepare"]

# Networks for the same traffic differ by random routes (on dlrm16 by 5 % in time); the best start of dynamic
# programming is tried on as many as have this many tasks together.
PRICED_TASKS = 300_000
MOST_NETWORKS = 100
OTHER_DRAWS = 4  # of a random network, that the strategy found is priced on
FITTING = "first that fits"  # a start that is none of those asked for, which all need too much memory

# Hops of packets followed to choose among the best plans, beyond those of the best by the search's prices; and so that
# a checkpoint tells a plan's time: some seconds, and less than one.
FINAL_HOPS = 30_000_000
GLANCED_HOPS = 5_000_000

# Operators of repeated blocks for which dynamic programming takes minutes; it is then only asked by name.
MANY_LAYERED = 400


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to run.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    search : CoSearch or Portfolio
    rng : numpy.random.Generator
        Where it is after the start.
    state : State
        Of the start.
    start : Plan
        The start, at full resolution.
    start_name : str
        What kind of start it is.
    family : TopologyFamily
        The networks that are searched.
    """

    problem: Problem
    settings: Settings
    search: CoSearch | Portfolio
    rng: np.random.Generator
    state: State
    start: Plan
    start_name: str
    family: TopologyFamily

    def timeline(self, candidate: Candidate) -> Timeline:
        """A candidate's times at full resolution."""
        return self.search.pricer.exact(candidate.strategy, candidate.network, candidate.directions)

    def choose(self, state: State) -> tuple[Candidate, Timeline]:
        """The fastest candidate at full resolution, of the best one and the elite, as far as `FINAL_HOPS` go."""
        best, pricer = state.best, self.search.pricer
        candidates = [(best, self.timeline(best))]
        hops = pricer.exact_work(best.strategy, best.network)
        for candidate in state.elite:
            if candidate.strategy is not best.strategy or candidate.network is not best.network:
                hops += pricer.exact_work(candidate.strategy, candidate.network)
                if hops > FINAL_HOPS:
                    break
                candidates.append((candidate, self.timeline(candidate)))
        return choose(candidates)

    def glanced(self, candidate: Candidate) -> float:
        """A candidate's seconds for a checkpoint: at full resolution where that is soon done."""
        if self.search.pricer.exact_work(candidate.strategy, candidate.network) > GLANCED_HOPS:
            return candidate.seconds
        return self.timeline(candidate).seconds

    def found(self, outcome: Outcome, earlier_s: float = 0.0, bound: Bound | None = None) -> Found:
        """Price the best plans at full resolution, and keep the fastest if it is faster than the start.

        Parameters
        ----------
        outcome : Outcome
            How the search ended.
        earlier_s : float
            Seconds spent proposing before it was resumed.
        bound : Bound, optional
            What is proven already; None to prove it, if nobody waits for the end.
        """
        first = self.state.current
        best, timeline = choose([(first, self.start.timeline), self.choose(outcome.state)])
        plan = Plan(self.problem, best.strategy, best.network, timeline, best.directions)
        return Found(
            settings=self.settings,
            plan=plan,
            start=self.start,
            start_name=self.start_name,
            searched_seconds=best.seconds,
            start_searched_seconds=first.seconds,
            changed=not_data_parallel(plan.strategy, self.search.moves.space),
            iterations=outcome.state.iteration,
            improved_at=outcome.improved_at,
            search_s=earlier_s + outcome.elapsed,
            interrupted=outcome.interrupted,
            bound=bound or (None if outcome.interrupted else self.bound()),
            draws=() if outcome.interrupted else self._other_draws(plan),
        )

    def bound(self) -> Bound | None:
        """What no plan can beat, unless the original's semantics do not tell."""
        of_dp = self.settings.start == "dp"
        if not (of_dp or self.problem.semantics.fair_links):
            return None
        terms = measured_terms(self.problem, strided=self.settings.strided) if of_dp else None
        return bound_of(self.problem, self.family, terms=terms)

    def _other_draws(self, plan: Plan) -> tuple[float, ...]:
        """What the plan's strategy takes on other draws of a network that is random, seconds, ascending."""
        if not self.family.random:
            return ()
        pricer, seeds = self.search.pricer, [[self.settings.seed, draw] for draw in range(1, OTHER_DRAWS + 1)]
        networks = [other_draw(self.problem, self.family, pricer.demand(plan.strategy), seed) for seed in seeds]
        return tuple(sorted(pricer.exact(plan.strategy, one, plan.directions).seconds for one in networks))


def prepare(problem: Problem, settings: Settings, start: Configs | None = None) -> Prepared:
    """Lay out moves and prices, build the first network, and price the starting strategy.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    start : sequence of Config, or mapping, optional
        The starting strategy, in model order or by operator name; None for what the settings say.

    Raises
    ------
    FlexNetError
        If the topology cannot be built for this cluster, the starting strategy does not fit, or the method is not one
        for these semantics.
    """
    rng = np.random.default_rng(settings.seed)
    space = make_space(problem, strided=settings.strided, parameter_parallel=settings.parameter_parallel)
    pricer = _pricer(problem, settings)
    family = _family(problem, settings)
    first = make_strategy(problem, start if start is not None else data_parallel(rng, space))
    laid_out = _Layout(problem, settings, space, pricer, family, rng, first)
    return laid_out.chain(start is not None) if _is_mcmc(problem, settings) else laid_out.portfolio(start is not None)


def _is_mcmc(problem: Problem, settings: Settings) -> bool:
    """Whether strategies are searched by the original's chain.

    Raises
    ------
    FlexNetError
        If a portfolio is asked for under the original's semantics, whose networks drift.
    """
    method = method_of(settings.method, problem.semantics)
    if method == "portfolio" and not problem.semantics.restore_topology:
        raise FlexNetError(
            f"method portfolio is not for {problem.semantics.name} semantics; use mcmc, or corrected semantics"
        )
    return method == "mcmc"


@dataclass(frozen=True, slots=True)
class _Layout:
    """A problem laid out for either method."""

    problem: Problem
    settings: Settings
    space: MoveSpace
    pricer: Pricer
    family: TopologyFamily
    rng: np.random.Generator
    first: Strategy

    def chain(self, imported: bool) -> Prepared:
        """The original's method: it begins with the fastest of all strategies of the start."""
        settings, pricer, rng = self.settings, self.pricer, self.rng
        if settings.budget is None and settings.time is None:
            raise FlexNetError("method mcmc never ends by itself; give it a budget or a time")
        mix = make_mix(self.space, settings.moves or (PROPAGATING if settings.propagation else RECONFIGURING))
        name = "data" if settings.start == ALL_STARTS else settings.start
        strategies = [self.first] if imported else [self.first, *map(self._strategy, self._points(name).strategies)]
        fitting = self._fitting(strategies, may_look_further=not imported)
        fixed, rebuild = self._networks()
        search = CoSearch(mix, pricer, rebuild, settings.alpha, reset_span(settings.budget))

        def begun(strategy: Strategy) -> State:
            network = fixed if rebuild is None else rebuild(rng, pricer.demand(strategy))
            assert network is not None
            if not pricer.resolved:
                pricer.set_resolution(strategy, network)
            return search.init(rng, strategy, network)

        state = min(map(begun, fitting), key=_seconds)
        best = state.best.strategy
        if len(strategies) > 1 and self.family.follows_demand and pricer.demand(best).model_parallel.any():
            n_network = min(PRICED_TASKS // len(pricer.tasks(best).kind), MOST_NETWORKS)
            state = min([state, *(begun(best) for _ in range(n_network))], key=_seconds)
        return self._prepared(search, state, "imported" if imported else STARTS[name].name)

    def portfolio(self, imported: bool) -> Prepared:
        """All starts, or an imported one alone, annealed in rounds."""
        pricer, rng = self.pricer, self.rng
        mix = make_mix(self.space, self.settings.moves or block_shares(self.space))
        names = self._starts() if self.settings.start == ALL_STARTS else (self.settings.start,)
        named = [] if imported else [(name, given) for name in names for given in self._points(name).strategies]
        strategies = [self.first, *(self._strategy(given) for _, given in named)]
        kinds = ["imported" if imported else STARTS["data"].name, *(STARTS[name].name for name, _ in named)]
        kind_by_id = {id(strategy): kind for strategy, kind in zip(strategies, kinds, strict=True)}
        first, *fitting = self._fitting(strategies, may_look_further=not imported and self.settings.start != ALL_STARTS)
        fixed, rebuild = self._networks()
        network = fixed if rebuild is None else rebuild(rng, pricer.demand(first))
        assert network is not None
        pricer.every_exact |= len(pricer.tasks(first).kind) <= EXACT_TASKS  # coarse prices would save next to nothing
        pricer.set_resolution(first, network)
        degree = self.family.interfaces(self.problem.cluster.n_server) if self.family.any_links else None
        networks = None if rebuild is None else Networks(self.problem, rebuild, degree)
        search = Portfolio(mix, pricer, networks, first_slot(pricer.tasks(first), network))
        origins = tuple(kind_by_id.get(id(strategy), FITTING) for strategy in (first, *fitting))
        state = search.init(rng, first, network, tuple(fitting), origins)
        return self._prepared(search, state, origins[0] if first is self.first else FITTING)

    def _networks(self) -> tuple[Network | None, Rebuild | None]:
        """The network if its links stay, and what builds one for a demand or gives it rings for one."""
        if self.family.follows_demand:
            return None, rebuilder(self.problem, self.family)
        fixed = fixed_network(self.problem, self.family, self.rng)
        return fixed, cycle_follower(fixed) if follows_groups(self.problem, fixed) else None

    def _starts(self) -> Iterable[str]:
        """All, but for a model of many layers only those that take seconds."""
        repeated = sum(block.length * block.count for block in self.problem.graph.blocks)
        return STARTS if repeated < MANY_LAYERED else ("data", "layers")

    def _points(self, name: str) -> StartPoints:
        return STARTS[name]().points(self.space, self.family, self.pricer.memory_limit, self.rng)

    def _strategy(self, given: Strategy | tuple[Config, ...]) -> Strategy:
        return given if isinstance(given, Strategy) else make_strategy(self.problem, given)

    def _fitting(self, strategies: list[Strategy], *, may_look_further: bool) -> list[Strategy]:
        """Those that fit into memory, or those of all starts that do, unless these are all; there must be one."""
        fitting, others = [strategy for strategy in strategies if self.pricer.fits(strategy)], list[Strategy]()
        if not fitting and may_look_further:
            others = [self._strategy(given) for name in STARTS for given in self._points(name).strategies]
            fitting = [strategy for strategy in others if self.pricer.fits(strategy)]
        if not fitting:
            self.pricer.require_memory(min((*strategies, *others), key=self.pricer.memory_needed))
        return fitting

    def _prepared(self, search: CoSearch | Portfolio, state: State, name: str) -> Prepared:
        at = state.current
        timeline = self.pricer.exact(at.strategy, at.network, at.directions)
        begin = Plan(self.problem, at.strategy, at.network, timeline, at.directions)
        return Prepared(self.problem, self.settings, search, self.rng, state, begin, name, self.family)


def _family(problem: Problem, settings: Settings) -> TopologyFamily:
    family = family_of(settings.topology, degree=problem.cluster.degree, semantics=problem.semantics)
    if family.spreads_flows:
        raise FlexNetError(
            f"topology {family.name} spreads flows over equal paths, and a search prices one route a pair; replay it"
        )
    return family


def _pricer(problem: Problem, settings: Settings) -> Pricer:
    semantics = problem.semantics
    if settings.network == "fair" and not semantics.fair_links:
        raise FlexNetError(
            f"network model fair is not for {semantics.name} semantics, whose links are first in, first out; use "
            "corrected semantics"
        )
    limited = semantics.limit_memory and settings.gpu_memory is not None
    memory_limit = (settings.gpu_memory or 0.0) * problem.cluster.gpus if limited else None
    protocol = PROTOCOLS[settings.protocol]
    return Pricer(problem, settings.segment_bytes, memory_limit, settings.network == "fair", protocol)


def _seconds(state: State) -> float:
    return state.best.seconds
