"""Lays out a search: moves, prices, the first network and the start; and prices what it found at full resolution."""

from dataclasses import dataclass

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator
from flexnet.network.build import family_of
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, Configs, Strategy, configs_of, make_strategy
from flexnet.search.alternate import CoSearch, State
from flexnet.search.candidates import Candidate, choose
from flexnet.search.driver import Outcome, reset_span
from flexnet.search.found import Found
from flexnet.search.moves.mix import PROPAGATING, RECONFIGURING, make_mix
from flexnet.search.moves.space import MoveSpace, make_space
from flexnet.search.networks import cycle_follower, fixed_network, follows_groups, rebuilder
from flexnet.search.plan import Plan
from flexnet.search.pricing import Pricer
from flexnet.search.settings import Settings
from flexnet.search.starts import STARTS
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.start import Bound
from flexnet.simulate.link_model import Timeline

__all__ = ["Prepared", "prepare"]

# Networks for the same traffic differ by random routes (on dlrm16 by 5 % in time); the best start of dynamic
# programming is tried on as many as have this many tasks together.
PRICED_TASKS = 300_000
MOST_NETWORKS = 100


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to run.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    search : CoSearch
    rng : numpy.random.Generator
        Where it is after the start.
    state : State
        Of the start.
    start : Plan
        The start, at full resolution.
    start_name : str
        What kind of start it is.
    bound : Bound or None
        What the start proved.
    """

    problem: Problem
    settings: Settings
    search: CoSearch
    rng: np.random.Generator
    state: State
    start: Plan
    start_name: str
    bound: Bound | None = None

    def timeline(self, candidate: Candidate) -> Timeline:
        """A candidate's times at full resolution."""
        return self.search.pricer.exact(candidate.strategy, candidate.network, candidate.directions)

    def choose(self, state: State) -> tuple[Candidate, Timeline]:
        """The fastest candidate at full resolution, of the best one and all of the elite."""
        best = state.best
        candidates = [(best, self.timeline(best))]
        for candidate in state.elite:
            if candidate.strategy is not best.strategy or candidate.network is not best.network:
                candidates.append((candidate, self.timeline(candidate)))
        return choose(candidates)

    def found(self, outcome: Outcome, earlier_s: float = 0.0) -> Found:
        """Price the best plans at full resolution, and keep the fastest if it is faster than the start.

        Parameters
        ----------
        outcome : Outcome
            How the search ended.
        earlier_s : float
            Seconds spent proposing before it was resumed.
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
            changed=_changed(plan, self.search.moves.space),
            iterations=outcome.state.iteration,
            improved_at=outcome.improved_at,
            search_s=earlier_s + outcome.elapsed,
            interrupted=outcome.interrupted,
            bound=self.bound,
        )


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
        If the topology cannot be built for this cluster, or the starting strategy does not fit.
    """
    rng = np.random.default_rng(settings.seed)
    space = make_space(problem, strided=settings.strided, parameter_parallel=settings.parameter_parallel)
    mix = make_mix(space, settings.moves or (PROPAGATING if settings.propagation else RECONFIGURING))
    first = start if start is not None else data_parallel(rng, space)
    pricer = _pricer(problem, settings)
    family = _family(problem, settings)
    kind, bound = STARTS[settings.start], None
    strategies = [make_strategy(problem, first)]
    if start is None:
        points = kind().points(space, family, pricer.memory_limit, rng)
        strategies += [make_strategy(problem, configs) for configs in points.strategies]
        bound = points.bound
    fitting = [strategy for strategy in strategies if pricer.fits(strategy)]
    if not fitting:
        pricer.require_memory(strategies[0])
    rebuild = rebuilder(problem, family) if family.follows_demand else None
    fixed = None if rebuild is not None else fixed_network(problem, family, rng)
    if fixed is not None and follows_groups(problem, fixed):
        rebuild = cycle_follower(fixed)
    search = CoSearch(mix, pricer, rebuild, settings.alpha, reset_span(settings.budget))

    def begun(strategy: Strategy) -> State:
        network = fixed if rebuild is None else rebuild(rng, pricer.demand(strategy))
        assert network is not None
        if not pricer.resolved:
            pricer.set_resolution(strategy, network)
        return search.init(rng, strategy, network)

    state = min(map(begun, fitting), key=_seconds)
    if bound is not None and family.follows_demand and pricer.demand(state.best.strategy).model_parallel.any():
        n_network = min(PRICED_TASKS // len(pricer.tasks(state.best.strategy).kind), MOST_NETWORKS)
        state = min([state, *(begun(state.best.strategy) for _ in range(n_network))], key=_seconds)
    at = state.current
    timeline = pricer.exact(at.strategy, at.network, at.directions)
    begin = Plan(problem, at.strategy, at.network, timeline, at.directions)
    name = "imported" if start is not None else kind.name
    return Prepared(problem, settings, search, rng, state, begin, name, bound)


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
    return Pricer(problem, settings.segment_bytes, memory_limit, settings.network == "fair")


def _changed(plan: Plan, space: MoveSpace) -> tuple[tuple[Operator, Config], ...]:
    """Operators that are not as in data parallelism with embeddings dealt round the servers, and their configs."""
    problem = plan.problem
    # Which generator does not matter: an embedding's only degree is 1, and its server is set.
    parallel = data_parallel(np.random.default_rng(0), space)
    configs = configs_of(problem, plan.strategy)
    return tuple(
        (op, config)
        for op, config, other in zip(problem.graph.operators, configs, parallel, strict=True)
        if config != other
    )


def _seconds(state: State) -> float:
    return state.best.seconds
