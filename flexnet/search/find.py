"""One call that finds a plan: prepares the problem, runs the search, prices the result at full resolution."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexnet.choices import NETWORKS, STARTS, TOPOLOGIES
from flexnet.errors import FlexNetError
from flexnet.export.flatbuf import write_taskgraph
from flexnet.problem import Problem
from flexnet.search.alternate import CoSearch, Plan, Rebuild, State
from flexnet.search.driver import drive, reset_span
from flexnet.search.elite import choose
from flexnet.search.moves import initial_strategy, make_moves
from flexnet.search.pricing import Pricer
from flexnet.search.start import DpStart, dp_start
from flexnet.simulate import Timeline
from flexnet.strategy import Config, Strategy, configs_of, make_strategy
from flexnet.taskgraph import TaskGraph, build
from flexnet.topology import (
    Demand,
    Network,
    Topology,
    build_topoopt,
    connect,
    fat_tree,
    full_mesh,
    random_graph,
    routes_for,
)

__all__ = ["Found", "Prepared", "Settings", "find_plan", "prepare"]

KNOWN_TOPOLOGIES = 256
# Networks for the same traffic differ by random routes (on dlrm16 by 5 % in time); the best start of dynamic
# programming is tried on as many as have this many tasks together.
PRICED_TASKS = 300_000
MOST_NETWORKS = 100


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Parameters
    ----------
    topology : {"topoopt", "fattree", "random", "fc"}
    budget : int
        Proposals (the original's ``--search-budget``; one more is made).
    alpha : float
        Inverse temperature per ms of iteration time.
    seed : int
        Same seed, same plan.
    strided : bool
        Place parts evenly over the servers (``--net-opt 1``).
    propagation, parameter_parallel : bool
        Moves that propagate configs along edges; Linear operators cut along channels.
    segment_bytes : int
        Message size of the first-in-first-out link model; 0 for whole transfers.
    gpu_memory : float or None
        Bytes per GPU; None for no limit.
    start : {"data", "dp"}
        Start from data parallelism, or from the best of what dynamic programming finds and data parallelism.
    network : {"fast", "fair"}
        Price proposals fast, and the best ones again at full resolution; or all at full resolution.
    """

    topology: str
    budget: int = 0
    alpha: float = 1.0
    seed: int = 0
    strided: bool = False
    propagation: bool = False
    parameter_parallel: bool = False
    segment_bytes: int = 0
    gpu_memory: float | None = None
    start: str = "data"
    network: str = "fast"

    def __post_init__(self) -> None:
        if self.topology not in TOPOLOGIES:
            raise FlexNetError(f"unknown topology {self.topology!r}; choose one of {', '.join(TOPOLOGIES)}")
        if self.start not in STARTS:
            raise FlexNetError(f"unknown start {self.start!r}; choose one of {', '.join(STARTS)}")
        if self.network not in NETWORKS:
            raise FlexNetError(f"unknown network model {self.network!r}; choose one of {', '.join(NETWORKS)}")
        if self.budget < 0:
            raise FlexNetError(f"the search budget is {self.budget}; it must be 0 or more")
        if not 0 <= self.alpha < float("inf"):
            raise FlexNetError(f"alpha is {self.alpha}; it must be a finite number, 0 or more")
        if self.seed < 0:
            raise FlexNetError(f"the seed is {self.seed}; it must be 0 or more")
        if self.segment_bytes < 0:
            raise FlexNetError(f"the segment size is {self.segment_bytes} bytes; use 0 (whole transfers) or more")
        if self.gpu_memory is not None and not self.gpu_memory > 0:
            raise FlexNetError(f"the GPU memory is {self.gpu_memory} bytes; it must be above 0")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to run."""

    problem: Problem
    settings: Settings
    search: CoSearch
    rng: np.random.Generator
    state: State
    dp: DpStart | None = None

    def timeline(self, plan: Plan) -> Timeline:
        """A plan's times at full resolution."""
        return self.search.pricer.exact(plan.strategy, plan.network, plan.directions)

    def exact(self, state: State) -> Timeline:
        """The best plan's times at full resolution."""
        return self.timeline(state.best)

    def choose(self, state: State) -> tuple[Plan, Timeline]:
        """The fastest candidate at full resolution, of the best plan and all of the elite."""
        best = state.best
        candidates = [(best, self.exact(state))]
        for plan in state.elite:
            if plan.strategy is not best.strategy or plan.network is not best.network:
                candidates.append((plan, self.timeline(plan)))
        return choose(candidates)

    def faster(self, state: State, initial: Timeline) -> tuple[Plan, Timeline]:
        """What `choose` chooses, or the start, whose times are ``initial``, if that is not faster."""
        return choose([(self.state.current, initial), self.choose(state)])

    def configs(self, state: State) -> list[Config]:
        """The best plan's configs."""
        return configs_of(self.problem, state.best.strategy)


def prepare(problem: Problem, settings: Settings, start: list[Config] | None = None) -> Prepared:
    """Lay out moves and prices, build the first network, and price the starting strategy.

    ``start`` is the starting strategy; data parallelism with round-robin embeddings if None.

    Raises
    ------
    FlexNetError
        If the topology cannot be built for this cluster, or the starting strategy does not fit.
    """
    rng = np.random.default_rng(settings.seed)
    moves = make_moves(
        problem,
        strided=settings.strided,
        propagation=settings.propagation,
        parameter_parallel=settings.parameter_parallel,
    )
    strategy = make_strategy(problem, start if start is not None else initial_strategy(rng, moves))
    memory_limit = None
    if problem.semantics.limit_memory and settings.gpu_memory is not None:
        memory_limit = settings.gpu_memory * problem.cluster.gpus
    if settings.network == "fair" and not problem.semantics.fair_links:
        raise FlexNetError(
            f"network model fair is not for {problem.semantics.name} semantics, whose links are first in, first out; "
            "use corrected semantics"
        )
    pricer = Pricer(problem, settings.segment_bytes, memory_limit, settings.network == "fair")
    dp = None
    if settings.start == "dp" and start is None:
        dp = dp_start(problem, settings.topology, strided=settings.strided, memory_limit=memory_limit)
    found = [] if dp is None else [make_strategy(problem, list(configs)) for configs in dp.strategies]
    strategies = [s for s in (strategy, *found) if memory_limit is None or pricer.memory_needed(s) <= memory_limit]
    if not strategies:
        pricer.require_memory(strategy)
    rebuild = _rebuilder(problem) if settings.topology == "topoopt" else None
    fixed = None if rebuild is not None else _fixed_network(problem, settings.topology, rng)
    search = CoSearch(moves, pricer, rebuild, settings.alpha, reset_span(settings.budget))

    def begun(strategy: Strategy) -> State:
        network = fixed if rebuild is None else rebuild(rng, pricer.demand(strategy))
        assert network is not None
        if not pricer.resolved:
            pricer.set_resolution(strategy, network)
        return search.init(rng, strategy, network)

    state = min(map(begun, strategies), key=_seconds)
    if dp is not None and rebuild is not None and pricer.demand(state.best.strategy).model_parallel.any():
        n_network = min(PRICED_TASKS // len(pricer.tasks(state.best.strategy).kind), MOST_NETWORKS)
        state = min([state, *(begun(state.best.strategy) for _ in range(n_network))], key=_seconds)
    return Prepared(problem, settings, search, rng, state, dp)


def _seconds(state: State) -> float:
    return state.best.seconds


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found: the best plan, or the start if none was faster.

    Parameters
    ----------
    problem : Problem
    plan : Plan
        Its strategy and network.
    timeline : Timeline
        Its times, at full resolution.
    start_seconds : float
        Iteration time of the starting plan, at full resolution.
    iterations : int
        Proposals made.
    """

    problem: Problem
    plan: Plan
    timeline: Timeline
    start_seconds: float
    iterations: int

    @property
    def seconds(self) -> float:
        """Iteration time."""
        return self.timeline.seconds

    @property
    def configs(self) -> list[Config]:
        """Config of every operator."""
        return configs_of(self.problem, self.plan.strategy)

    @property
    def topology(self) -> Topology:
        """Links and rings."""
        return self.plan.network.topology

    def task_graph(self) -> TaskGraph:
        """The tasks of one iteration."""
        return build(self.problem, self.plan.strategy)

    def write_taskgraph(self, path: str | Path) -> tuple[str, ...]:
        """Write the task graph with its network for the packet simulator and ``flexnet simulate``.

        Returns
        -------
        tuple of str
            Sentences on what the packet simulator will not simulate as meant; empty if nothing.

        Raises
        ------
        FlexNetError
            If the file cannot be written, or the packet simulator could not run it.
        """
        return write_taskgraph(
            path,
            self.task_graph(),
            self.plan.network,
            operators=[(op.name, int(op.kind)) for op in self.problem.graph.operators],
            run_seconds=self.timeline.end - self.timeline.start,
            inter_gpu_bandwidth=self.problem.cluster.inter_gpu_bandwidth,
        )


def find_plan(problem: Problem, settings: Settings, start: list[Config] | None = None) -> Found:
    """Search, and price what was found at full resolution.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    start : list of Config, optional
        As in `prepare`, which see for errors too; `prepare` and `flexnet.search.drive` do the same step by step.
    """
    ready = prepare(problem, settings, start)
    initial = ready.timeline(ready.state.current)
    state = drive(ready.search, ready.rng, ready.state, settings.budget).state
    plan, timeline = ready.faster(state, initial)
    return Found(problem, plan, timeline, initial.seconds, state.iteration)


def _fixed_network(problem: Problem, name: str, rng: np.random.Generator) -> Network:
    cluster = problem.cluster
    topology: Topology
    if name == "fattree":
        topology = fat_tree(cluster.n_server)
    elif name == "fc":
        topology = full_mesh(cluster.n_server)
    else:
        topology = random_graph(cluster.n_server, cluster.degree, rng)
    routes = routes_for(topology, problem.semantics, rng)
    return connect(topology, cluster.link_bandwidth, cluster.latency, routes)


def _rebuilder(problem: Problem) -> Rebuild:
    cluster = problem.cluster
    known: dict[tuple[object, ...], Network] = {}

    def rebuild(rng: np.random.Generator, demand: Demand) -> Network:
        topology = build_topoopt(demand, cluster.degree, problem.semantics, rng)
        routes = routes_for(topology, problem.semantics, rng)
        key = (topology.links.tobytes(), tuple(sorted(topology.rings.items())))
        if key not in known:  # the same few topologies come again and again; only their routes differ
            if len(known) == KNOWN_TOPOLOGIES:
                known.pop(next(iter(known)))
            known[key] = connect(topology, cluster.link_bandwidth, cluster.latency, routes)
        return known[key].with_routes(routes)

    return rebuild
