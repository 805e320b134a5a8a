"""Lays out a search: moves, prices, the first network and the start; and prices what it found at full resolution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.family import TopologyFamily
from flexnet.network.network import Network
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Configs, Strategy, make_strategy
from flexnet.plan.task_graph_builder import count_tasks
from flexnet.search.alternate import CoSearch
from flexnet.search.buckets import are_open, set_best_buckets
from flexnet.search.candidates import Candidate
from flexnet.search.driver import reset_span
from flexnet.search.moves.heavy import one_holds_most
from flexnet.search.moves.mix import PROPAGATING, RECONFIGURING, block_shares, make_mix
from flexnet.search.moves.space import MoveSpace, make_space
from flexnet.search.networks import Networks
from flexnet.search.plan import Plan
from flexnet.search.portfolio import Portfolio, first_slot
from flexnet.search.prepared import Prepared, is_soon_exact
from flexnet.search.pricing import Pricer
from flexnet.search.rebuild import (
    MANY_SERVERS,
    Rebuild,
    common_network,
    cycle_follower,
    fixed_network,
    follows_groups,
    later_draws,
    rebuilder,
)
from flexnet.search.settings import ALL_STARTS, Settings, method_of
from flexnet.search.starts import STARTS
from flexnet.search.starts.data_parallel import data_parallel, servers_of
from flexnet.search.starts.kinds import MOST_PRICED, StartKinds
from flexnet.search.starts.layers import many_layered
from flexnet.search.state import State
from flexnet.search.trials import Trials
from flexnet.simulate.protocol import PROTOCOLS

__all__ = ["memory_limit", "prepare"]

# Networks for the same traffic differ by random routes (on dlrm16 by 5 % in time); the best start of dynamic
# programming is tried on as many as have this many tasks together.
PRICED_TASKS = 300_000
MOST_NETWORKS = 100
KNOWN = "known"  # a start that another search found
FITTING = "first fitting"  # a start that is none of those asked for, which all need too much memory

MOST_TYPICAL = 16  # starts that are looked at for how finely to price, where data parallelism does not fit

# Of a plan; with fewer, and weights spread over many operators, a search soon comes to what the start `heavy` begins
# with, and does better without it: DLRM on a fat-tree of 16 servers ends at 41.0 ms and not 41.6.
MANY_TASKS = 4000

# Of a plan; with more, starts are laid out when their turn comes: Inception's on 128 servers take two seconds.  Stages
# of so few servers take next to none, and come first; on 4096 they take as long as better starts.
LATER_TASKS = 5000
SOONEST = "stages"


def prepare(
    problem: Problem,
    settings: Settings,
    start: Configs | None = None,
    known: Sequence[Configs] = (),
    *,
    replays_later: bool = False,
) -> Prepared:
    """Lay out moves and prices, build the first network, and price the starting strategy.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    start : sequence of Config, or mapping, optional
        The starting strategy, in model order or by operator name; None for what the settings say.
    known : sequence of Configs
        Strategies that were found before, to begin with beside those.
    replays_later : bool
        Follow no packets yet, which would take long where that has to be compiled first: the start is told as it is
        priced, until the search has ended.

    Raises
    ------
    FlexNetError
        If the topology cannot be built for this cluster, a starting strategy does not fit or lets gradients wait that
        may not, or the method is not one for these semantics.
    """
    rng = np.random.default_rng(settings.seed)
    is_mcmc = _is_mcmc(problem, settings)
    ordered = settings.reductions == "ordered" and not is_mcmc
    space = make_space(
        problem, strided=settings.strided, parameter_parallel=settings.parameter_parallel, ordered=ordered
    )
    pricer = _pricer(problem, settings, remembers=is_mcmc)
    family = settings.family(problem)
    first = make_strategy(problem, start if start is not None else data_parallel(rng, space))
    found = [make_strategy(problem, one) for one in known]
    waiting = [at for one in (first, *found) for at in np.flatnonzero(one.after >= 0).tolist()]
    if waiting and not ordered:
        name = problem.graph.operators[waiting[0]].name
        raise FlexNetError(
            f"gradients of operator {name} wait in a starting strategy, which neither eager reductions nor method "
            "mcmc have; export it as text, which leaves that out, or search with ordered reductions"
        )
    kinds = StartKinds(space, family, pricer.memory_limit)
    laid_out = _Layout(problem, settings, space, pricer, family, kinds, rng, first, tuple(found), replays_later)
    return laid_out.chain(start is not None) if is_mcmc else laid_out.portfolio(start is not None)


def memory_limit(problem: Problem, settings: Settings) -> float | None:
    """Bytes of memory that all GPUs of a server have, if that is a limit."""
    limited = problem.semantics.limit_memory and settings.gpu_memory is not None
    return (settings.gpu_memory or 0.0) * problem.cluster.gpus if limited else None


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
    kinds: StartKinds
    rng: np.random.Generator
    first: Strategy
    known: tuple[Strategy, ...]
    replays_later: bool

    def chain(self, imported: bool) -> Prepared:
        """The original's method: it begins with the fastest of all strategies of the start."""
        settings, pricer, rng = self.settings, self.pricer, self.rng
        if settings.budget is None and settings.time is None:
            raise FlexNetError("method mcmc never ends by itself; give it a budget or a time")
        mix = make_mix(self.space, settings.moves or (PROPAGATING if settings.propagation else RECONFIGURING))
        name = "data" if settings.start == ALL_STARTS else settings.start
        strategies = [self.first, *self.known]
        strategies += [] if imported else self.kinds.strategies(name, rng)
        fitting = self._fitting(strategies, may_look_further=not imported)
        fixed, rebuild = self._networks()
        search = CoSearch(mix, pricer, rebuild, settings.alpha, reset_span(settings.budget))

        def begun(strategy: Strategy) -> State:
            network = fixed if rebuild is None else rebuild(rng, pricer.demand(strategy))
            assert network is not None
            if not pricer.resolved:
                pricer.set_resolution([(strategy, network)])
            return search.init(rng, strategy, network)

        state = min(map(begun, fitting), key=_seconds)
        best = state.best.strategy
        if len(strategies) > 1 and self.family.follows_demand and pricer.demand(best).model_parallel.any():
            n_network = min(PRICED_TASKS // len(pricer.tasks(best).kind), MOST_NETWORKS)
            state = min([state, *(begun(best) for _ in range(n_network))], key=_seconds)
        told = self._data_parallel() if name == "data" else STARTS[name].name
        return self._prepared(search, state, "imported" if imported else told)

    def portfolio(self, imported: bool) -> Prepared:
        """All starts, or an imported one alone, annealed in rounds."""
        pricer, rng = self.pricer, self.rng
        mix = make_mix(self.space, self.settings.moves or block_shares(self.space))
        names, later = ((), ()) if imported else self._starts()
        named = [(name, strategy) for name in names for strategy in self.kinds.strategies(name, rng)]
        strategies = [self.first, *self.known, *(strategy for _, strategy in named)]
        kinds = ["imported" if imported else self._data_parallel(), *(KNOWN for _ in self.known)]
        kinds += [STARTS[name].name for name, _ in named]
        kind_by_id = {id(strategy): kind for strategy, kind in zip(strategies, kinds, strict=True)}
        first, *fitting = self._fitting(strategies, may_look_further=not imported)
        fixed, rebuild = self._networks()
        network = fixed if rebuild is None else rebuild(rng, pricer.demand(first))
        assert network is not None
        network = pricer.routed(first, network)
        pricer.set_resolution(self._typical(first, network, () if first is self.first else fitting, rebuild))
        if are_open(self.problem, self.settings):
            set_best_buckets(pricer, Candidate(first, network, np.inf, None))
        trials = Trials(pricer, self._built(rebuild))
        if self._is_uneven():  # others that are built for it may use all interfaces
            own = trials.priced(rng, first, network, np.inf, "")
            built = trials.on_all_kinds(rng, first, network, own.seconds, "")
            network = min(own, built, key=lambda one: one.seconds).network
        slot = first_slot(pricer.tasks(first), network)
        search = Portfolio(mix, trials, slot, self.kinds)
        origins = tuple(kind_by_id.get(id(strategy), FITTING) for strategy in (first, *fitting))
        state = search.init(rng, first, network, tuple(fitting), origins, later)
        return self._prepared(search, state, origins[0] if first is self.first else FITTING)

    def _data_parallel(self) -> str:
        """What data parallelism is called: with how many servers, where micro-batches are too small for all."""
        n, name = servers_of(self.space), STARTS["data"].name
        return name if n == self.problem.cluster.n_server else f"{n}-server {name}"

    def _is_uneven(self) -> bool:
        """Whether TopoOpt's rings leave an interface of every server to pairs, which may send nothing."""
        n = self.problem.cluster.n_server
        return self.family.any_links and self.family.follows_demand and self.family.interfaces(n) % 2 == 1

    def _typical(
        self, first: Strategy, network: Network, others: Sequence[Strategy], rebuild: Rebuild | None
    ) -> list[tuple[Strategy, Network]]:
        """Plans that prices are to suit: the first, and some others, as what fits first may take many times as long."""
        pricer, plans = self.pricer, [(first, network)]
        for one in others[:: max(-(-len(others) // MOST_TYPICAL), 1)]:
            built = network if rebuild is None else rebuild(self.rng, pricer.demand(one))
            plans.append((one, pricer.routed(one, built)))
        return plans

    def _networks(self) -> tuple[Network | None, Rebuild | None]:
        """The network if its links stay, and what builds one for a demand or gives it rings for one."""
        if self.family.follows_demand:
            return None, rebuilder(self.problem, self.family)
        fixed = fixed_network(self.problem, self.family, self.rng)
        return fixed, cycle_follower(fixed) if follows_groups(self.problem, fixed) else None

    def _built(self, rebuild: Rebuild | None) -> Networks | None:
        """What builds networks for strategies; of many servers with one to look at all of them on."""
        if rebuild is None:
            return None
        degree = self.family.interfaces(self.problem.cluster.n_server) if self.family.any_links else None
        others = tuple[Rebuild, ...]()
        if self.family.random and self.problem.cluster.n_server <= MANY_SERVERS:
            others = later_draws(self.problem, self.family, self.settings.seed)
        return Networks(self.problem, rebuild, degree, common_network(self.problem, degree), others)

    def _starts(self) -> tuple[Sequence[str], Sequence[str]]:
        """The kinds of starts to begin with, and those to be laid out later.

        All, but for a model of many layers only those that take seconds, and without those that are soon found.
        """
        if self.settings.start != ALL_STARTS:
            return (self.settings.start,), ()
        n_task = len(self.pricer.tasks(self.first).kind)
        if many_layered(self.problem.graph):
            names = ["data", "stages", "layers", "layer-cuts"]
        else:
            one_heavy = one_holds_most(self.space)
            decisive = one_heavy or n_task >= MANY_TASKS
            left_out = ["layer-cuts"] + ["heavy"] * (not decisive) + ["heavy-sets"] * (not one_heavy)
            names = [name for name in STARTS if name not in left_out]
        if n_task < LATER_TASKS or not self.pricer.fits(self.first):
            return names, ()
        few = self.problem.cluster.n_server <= MANY_SERVERS
        return (), sorted(names, key=lambda name: few and name != SOONEST)

    def _fitting(self, strategies: list[Strategy], *, may_look_further: bool) -> list[Strategy]:
        """Those that fit into memory, or those of all starts that do, however large; there must be one.

        They come in their order; of plans of micro-batches, behind data parallelism, the most promising ones first.
        """
        fitting, others = [strategy for strategy in strategies if self.pricer.fits(strategy)], list[Strategy]()
        if not fitting and may_look_further:
            others = [one for name in STARTS for one in self.kinds.strategies(name, self.rng, any_size=True)]
            fitting = [strategy for strategy in others if self.pricer.fits(strategy)]
            n_task = count_tasks(self.problem, fitting)
            most = max(min(n_task, default=0), MOST_PRICED)
            fitting = [strategy for strategy, n in zip(fitting, n_task, strict=True) if n <= most]
        if not fitting:
            self.pricer.require_memory(min((*strategies, *others), key=self.pricer.memory_needed))
        n_first = int(fitting[0] is strategies[0])
        return fitting[:n_first] + self.kinds.by_promise(fitting[n_first:])

    def _prepared(self, search: CoSearch | Portfolio, state: State, name: str) -> Prepared:
        at = state.current
        if not self.replays_later and is_soon_exact(self.pricer, at):
            problem, timeline = self.pricer.fastest(at.strategy, at.network, at.directions)
        else:
            problem, timeline = self.pricer.problem, self.pricer.rough(at.strategy, at.network, at.directions)
        begin = Plan(problem, at.strategy, at.network, timeline, at.directions, self.pricer.protocol)
        later = self.replays_later
        return Prepared(self.problem, self.settings, search, self.rng, state, begin, name, self.family, later)


def _pricer(problem: Problem, settings: Settings, *, remembers: bool) -> Pricer:
    semantics = problem.semantics
    if settings.network == "fair" and not semantics.fair_links:
        raise FlexNetError(
            f"network model fair is not for {semantics.name} semantics, whose links are first in, first out; use "
            "corrected semantics"
        )
    if settings.bucket_bytes and not semantics.fair_links:
        raise FlexNetError(
            f"buckets are not for {semantics.name} semantics, which reduce weights one by one; use corrected semantics"
        )
    protocol = PROTOCOLS[settings.protocol]
    if settings.bucket_bytes:
        problem = problem.with_buckets(settings.bucket_bytes)
    limit = memory_limit(problem, settings)
    return Pricer(problem, settings.segment_bytes, limit, settings.network == "fair", protocol, remembers)


def _seconds(state: State) -> float:
    return state.best.seconds
