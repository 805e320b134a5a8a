"""What a search reads: operator times, a starting strategy, a checkpoint; and the hashes that tell them from others."""

from dataclasses import replace
from pathlib import Path

from flexnet.commands.console.printing import warn
from flexnet.commands.requests.search import SearchRequest
from flexnet.cost.coverage import check_covers
from flexnet.cost.estimate import complete_table, memory_of
from flexnet.cost.measurement_file import read_measurement
from flexnet.cost.roofline import roofline_table
from flexnet.cost.table import CostTable
from flexnet.errors import FlexNetError
from flexnet.exact.tensor_parallel import tensor_parallel
from flexnet.files import sha256_of
from flexnet.network.network import Network
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.strategy import Config, Strategy, configs_of, make_strategy, order_configs, same_strategy
from flexnet.plan.strategy_file import read_strategy
from flexnet.search import history
from flexnet.search.checkpoint import restore
from flexnet.search.history import HISTORY, History
from flexnet.search.portfolio import Portfolio
from flexnet.search.prepared import Prepared
from flexnet.search.state import State

__all__ = [
    "hashes_of",
    "problem_of",
    "read_checkpoint",
    "read_costs",
    "read_history",
    "read_known",
    "read_start",
    "with_memory",
]


def hashes_of(request: SearchRequest) -> dict[str, dict[str, str]]:
    """Path and SHA-256 of every input file by its flag.

    Raises
    ------
    FlexNetError
        If one cannot be read, or is no regular file.
    """
    found = {}
    for flag, path in request.inputs.items():
        if path.exists() and not path.is_file():  # a device may never end, a pipe can be read only once
            raise FlexNetError(f"{flag} {path} is not a regular file; it must be one")
        try:
            digest = sha256_of(path)
        except OSError as error:
            raise FlexNetError(f"{flag} {path} cannot be read: {error.strerror or error}") from None
        found[flag] = {"path": str(path.absolute()), "sha256": digest}
    return found


def read_costs(request: SearchRequest) -> CostTable:
    """Measured times from the file, or estimated ones; either hold all that the search starts from.

    What other cuts take is estimated, if they are asked for.

    Raises
    ------
    FlexNetError
        If not.
    """
    cluster, graph, over_all = request.cluster, request.graph, request.micro_batches == 1
    if request.mfile is not None:
        batch = graph.batch_size if over_all else None
        table = read_measurement(request.mfile, batch_size=batch, n_server=cluster.n_server, big_gpu=cluster.big_gpu)
        if table.batch_size != graph.batch_size:
            raise FlexNetError(
                f"{table.source} was measured at batch size {table.batch_size}; a micro-batch has {graph.batch_size} "
                f"samples, and would have as many with --batch-size {request.micro_batches * table.batch_size}"
            )
    else:
        assert request.gpu is not None
        table = roofline_table(
            graph,
            request.gpu,
            n_server=cluster.n_server,
            big_gpu=request.gpus_by_samples,
            parameter_parallel=request.settings.parameter_parallel,
            dtype=request.dtype,
            over_all=over_all,
        )
    check_covers(table, graph, over_all=over_all)
    if request.every_cut:
        gpus, groups = request.gpus_by_samples, request.groups
        return complete_table(table, graph, big_gpu=gpus, gpu=request.gpu, groups=groups)
    return table


def with_memory(request: SearchRequest, table: CostTable) -> SearchRequest:
    """The request with the memory that GPUs have by what the measurement file says of itself, unless it was told."""
    if not request.memory_open:
        return request
    return replace(request, settings=replace(request.settings, gpu_memory=memory_of(table)))


def problem_of(request: SearchRequest, table: CostTable) -> Problem:
    """The problem that is to be searched, with times of `read_costs`.

    Raises
    ------
    FlexNetError
        If an operator is missing from the table, or has no config that fits the cluster.
    """
    graph, cluster, batches, gpus = request.graph, request.cluster, request.micro_batches, request.tensor_parallel
    parallel = None
    if gpus > 1:
        parallel = tensor_parallel(
            graph,
            table,
            cluster,
            gpus,
            optimizer=request.optimizer,
            micro_batches=batches,
            gpu_memory=request.settings.gpu_memory,
            gpu=request.gpu,
        )
    return make_problem(
        graph,
        table,
        cluster,
        request.semantics,
        optimizer=request.optimizer,
        micro_batches=batches,
        parallel=parallel,
    )


def read_start(request: SearchRequest, problem: Problem) -> list[Config] | None:
    """The strategy to start from, in model order, if there is a file of one.

    Raises
    ------
    FlexNetError
        If it cannot be read, or is not of this problem.
    """
    if request.start is None:
        return None
    return _read_configs(request.start, problem)


def read_known(request: SearchRequest, problem: Problem) -> list[list[Config]]:
    """Strategies to begin with beside others, in model order: that of ``--warm-start``, if there is one.

    Raises
    ------
    FlexNetError
        If it cannot be read, or is not of this problem.
    """
    return [] if request.known is None else [_read_configs(request.known, problem)]


def _read_configs(path: Path, problem: Problem) -> list[Config]:
    source = f"strategy file {path}"
    configs = order_configs(problem.graph, read_strategy(path), source)
    n_server, used = problem.cluster.n_server, {device for found in configs for device in found.devices}
    if max(used, default=0) >= n_server:
        raise FlexNetError(f"{source} places an operator on server {max(used)}; servers are 0 to {n_server - 1}")
    try:
        make_strategy(problem, configs)
    except FlexNetError as error:
        raise FlexNetError(f"{source}: {error}") from None
    if len(used) < n_server:
        warn(f"{source} uses {len(used)} of {n_server} servers; {n_server - len(used)} stay idle in it")
    return configs


def read_checkpoint(request: SearchRequest, ready: Prepared) -> State:
    """Where a stopped run stood; sets the generator to where it was.

    Raises
    ------
    FlexNetError
        If the checkpoint is damaged or of another run, or has more proposals than were asked for.
    """
    assert request.output is not None
    path = request.output / "checkpoint.json"
    state = restore(path, ready.rng)
    if not _fits(ready, state):
        raise FlexNetError(f"checkpoint {path} is not of the run its run.json describes; start the search again")
    budget = request.settings.budget
    if budget is not None and state.iteration > budget + 1:
        raise FlexNetError(
            f"--search-budget is {budget}, but the run in {request.output} has made "
            f"{state.iteration} proposals; give at least {state.iteration - 1}"
        )
    return state


def read_history(request: SearchRequest, state: State) -> History:
    """How a stopped run went so far; from now on if it kept no history.

    Raises
    ------
    FlexNetError
        If that is damaged.
    """
    assert request.output is not None
    path = request.output / HISTORY
    return replace(history.read_history(path), best=state.best.seconds) if path.exists() else History.begin(state)


def _is_of(network: Network, cluster: Cluster) -> bool:
    return (network.topology.n_server, network.link_bandwidth, network.latency) == (
        cluster.n_server,
        cluster.link_bandwidth,
        cluster.latency,
    )


def _fits(ready: Prepared, state: State) -> bool:
    """Whether a state is one of this search: kernels would read past their arrays with another's."""
    jobs, portfolio = ready.settings.jobs, isinstance(ready.search, Portfolio)
    if len(state.chains) not in (0, jobs if jobs > 1 else 0) or any(chain.chains for chain, _ in state.chains):
        return False
    for one in (state, *(chain for chain, _ in state.chains)):
        if (one.schedule is not None) != portfolio or not _fits_alone(ready, one):
            return False
    return True


def _fits_alone(ready: Prepared, state: State) -> bool:
    """Whether a state is one of this search, whatever its chains are."""
    problem = ready.problem
    counts = (state.iteration, state.last_reset, state.topology_unchanged)
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return False
    plans, pending = [state.current, state.best, *state.elite, *state.led], list[Strategy]()
    plans += [] if state.chosen is None else [state.chosen]
    if (schedule := state.schedule) is not None:
        if len(schedule.credit) != len(ready.search.moves.moves) or min(schedule.credit) < 0:
            return False
        plans += [*schedule.pool, *schedule.starts, *schedule.entrants, *schedule.results]
        plans += [] if schedule.slot_best is None else [schedule.slot_best]
        pending += schedule.pending
    if not all(_is_strategy(problem, strategy) for strategy in (*(plan.strategy for plan in plans), *pending)):
        return False
    for plan in plans:
        if not all(_is_of(network, problem.cluster) for network in (plan.network, state.network)):
            return False
        n_group = len(ready.search.pricer.tasks(plan.strategy).group_ptr) - 1
        if plan.directions is not None and plan.directions.shape != (n_group,):
            return False
    return True


def _is_strategy(problem: Problem, strategy: Strategy) -> bool:
    """Whether a strategy is one for a problem."""
    n_op, n_server = len(problem.graph.operators), problem.cluster.n_server
    if [array.shape for array in strategy] != [(n_op,), (n_op, n_server), (n_op,)]:
        return False
    if ((strategy.after < -1) | (strategy.after >= n_op)).any():
        return False
    if any(not 0 <= c < len(options) for c, options in zip(strategy.choice, problem.candidates, strict=True)):
        return False
    try:
        return same_strategy(make_strategy(problem, configs_of(problem, strategy)), strategy)
    except FlexNetError:
        return False
