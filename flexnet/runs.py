"""The search command: costs, problem, search with progress, and every output written."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field

from flexnet.cluster import Cluster
from flexnet.config import RunConfig
from flexnet.costs import CostTable
from flexnet.directories import one_writer
from flexnet.errors import FlexNetError
from flexnet.export.strategy_file import order_configs, read_strategy
from flexnet.measurement import check_covers, read_measurement
from flexnet.outputs import Outputs, RunRecord
from flexnet.problem import Problem, make_problem
from flexnet.progress import Display, interruptible, say, warn
from flexnet.provenance import sha256_of
from flexnet.results import describe_problem, describe_result, judge
from flexnet.resume import Earlier
from flexnet.roofline import roofline_table
from flexnet.search.alternate import Info, State
from flexnet.search.checkpoint import restore
from flexnet.search.driver import Progress, drive
from flexnet.search.find import Prepared, prepare
from flexnet.strategy import Config, configs_of, make_strategy
from flexnet.topology import Network

__all__ = ["run_search"]

CHECKPOINT_S = 60.0


def run_search(config: RunConfig, command_line: list[str], earlier: Earlier | None = None) -> int:
    """Run a search as the command line does: print, write, and return the exit status.

    Parameters
    ----------
    config : RunConfig
    command_line : list of str
        What was typed, for ``run.json``.
    earlier : Earlier, optional
        The stopped run to go on with, in ``config.output``.

    Returns
    -------
    int
        0; 130 after Ctrl-C (143 after SIGTERM), with what was found so far written; 2 if some output could not be
        written.

    Raises
    ------
    FlexNetError
        If an input is wrong, or an output cannot be written; all known before the search starts.
    """
    hashes = _hashes(config)
    if earlier is not None:
        earlier.check_files(hashes)
    with one_writer(config.output) if config.output is not None else nullcontext():
        return _run(config, command_line, hashes, earlier)


def _run(config: RunConfig, command_line: list[str], hashes: dict[str, dict[str, str]], earlier: Earlier | None) -> int:
    earlier_s = 0.0 if earlier is None else earlier.search_s
    record = RunRecord(config, command_line, hashes)
    outputs = Outputs(config, record)
    outputs.check(resumed=earlier is not None)
    table = _cost_table(config)
    check_covers(table, config.graph)
    record.source, record.estimated = table.source, table.estimated
    problem = make_problem(config.graph, table, config.cluster, config.semantics)
    ready = prepare(problem, config.settings, _start(config, problem))
    initial = ready.timeline(ready.state.current)
    state = ready.state if earlier is None else _restored(config, ready)
    with interruptible() as stop:
        for sentence in config.warnings:
            warn(sentence)
        for line in describe_problem(config, ready, initial.seconds):
            say(line)
        if earlier is not None:
            say(f"resumed after {state.iteration} proposals")
        outputs.begin()
        outputs.save_progress(ready, state, initial.seconds, earlier_s)
        display = Display(config.settings.budget + 1, state.iteration)
        watch = _Watch(outputs, ready, display, initial.seconds, earlier_s)
        outcome = drive(ready.search, ready.rng, state, config.settings.budget, observe=watch.observe, stop=stop)
        watch.clear()
        result = judge(ready, initial, outcome, earlier_s)
        problems = [*outputs.write(ready, outcome.state, result), *watch.problems]
        for remark in record.remarks:
            warn(remark)
        try:
            if outputs.written:
                say("wrote      " + ", ".join(map(str, outputs.written)))
            for line in describe_result(config, ready, result):
                say(line)
        except FlexNetError as error:  # what could not be written is told all the same
            problems.append(str(error))
    if problems:
        raise FlexNetError("; ".join(problems))
    return stop.status if outcome.interrupted else 0


@dataclass(slots=True)
class _Watch:
    """Looks on after every proposal: progress, and a checkpoint now and then."""

    outputs: Outputs
    ready: Prepared
    display: Display
    initial_seconds: float
    earlier_s: float
    saved_at: float = field(default_factory=time.monotonic)
    failed: bool = False
    problems: list[str] = field(default_factory=list)

    def observe(self, progress: Progress, state: State, info: Info) -> None:
        del info
        try:
            self.display.show(
                state.iteration, state.current.seconds, state.best.seconds, progress.proposals_per_s, progress.left_s
            )
        except FlexNetError as error:  # a full disk or a closed terminal must not end a search that is under way
            self.problems.append(str(error))
        if time.monotonic() - self.saved_at < CHECKPOINT_S or self.failed:
            return
        try:
            self.outputs.save_progress(self.ready, state, self.initial_seconds, self.earlier_s + progress.elapsed)
        except FlexNetError as error:
            warn(f"{error}; the search goes on without checkpoints")
            self.failed = True
        self.saved_at = time.monotonic()

    def clear(self) -> None:
        """Remove the live line, if there is still a terminal."""
        try:
            self.display.clear()
        except FlexNetError as error:
            self.problems.append(str(error))


def _hashes(config: RunConfig) -> dict[str, dict[str, str]]:
    """Path and SHA-256 of every input file."""
    found = {}
    for flag, path in (("--mfile", config.mfile), ("--import", config.start)):
        if path is not None:
            if path.exists() and not path.is_file():  # a device may never end, a pipe can be read only once
                raise FlexNetError(f"{flag} {path} is not a regular file; it must be one")
            try:
                digest = sha256_of(path)
            except OSError as error:
                raise FlexNetError(f"{flag} {path} cannot be read: {error.strerror or error}") from None
            found[flag] = {"path": str(path.absolute()), "sha256": digest}
    return found


def _cost_table(config: RunConfig) -> CostTable:
    if config.mfile is not None:
        return read_measurement(
            config.mfile,
            batch_size=config.graph.batch_size,
            n_server=config.cluster.n_server,
            big_gpu=config.cluster.big_gpu,
        )
    assert config.gpu is not None
    return roofline_table(
        config.graph,
        config.gpu,
        n_server=config.cluster.n_server,
        big_gpu=config.cluster.big_gpu,
        parameter_parallel=config.settings.parameter_parallel,
    )


def _start(config: RunConfig, problem: Problem) -> list[Config] | None:
    if config.start is None:
        return None
    configs = order_configs(config.graph, read_strategy(config.start), f"strategy file {config.start}")
    try:
        make_strategy(problem, configs)
    except FlexNetError as error:
        raise FlexNetError(f"strategy file {config.start}: {error}") from None
    n_server = config.cluster.n_server
    n_idle = n_server - len({device for found in configs for device in found.devices})
    if n_idle:
        warn(f"strategy file {config.start} uses {n_server - n_idle} of {n_server} servers; {n_idle} stay idle in it")
    return configs


def _restored(config: RunConfig, ready: Prepared) -> State:
    assert config.output is not None
    path = config.output / "checkpoint.json"
    state = restore(path, ready.rng)
    if not _fits(ready, state):
        raise FlexNetError(f"checkpoint {path} is not of the run its run.json describes; start the search again")
    if state.iteration > config.settings.budget + 1:
        raise FlexNetError(
            f"--search-budget is {config.settings.budget}, but the run in {config.output} has made "
            f"{state.iteration} proposals; give at least {state.iteration - 1}"
        )
    return state


def _is_of(network: Network, cluster: Cluster) -> bool:
    return (network.topology.n_server, network.link_bandwidth, network.latency) == (
        cluster.n_server,
        cluster.link_bandwidth,
        cluster.latency,
    )


def _fits(ready: Prepared, state: State) -> bool:
    """Whether a state is one of this search: kernels would read past their arrays with another's."""
    problem = ready.problem
    n_op, n_server = len(problem.graph.operators), problem.cluster.n_server
    counts = (state.iteration, state.last_reset, state.topology_unchanged)
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return False
    for plan in (state.current, state.best, *state.elite):
        choice, devices = plan.strategy
        if choice.shape != (n_op,) or devices.shape != (n_op, n_server) or not isinstance(plan.seconds, float):
            return False
        if any(not 0 <= c < len(options) for c, options in zip(choice, problem.candidates, strict=True)):
            return False
        if not all(_is_of(network, problem.cluster) for network in (plan.network, state.network)):
            return False
        try:
            make_strategy(problem, configs_of(problem, plan.strategy))
        except FlexNetError:
            return False
        n_group = len(ready.search.pricer.tasks(plan.strategy).group_ptr) - 1
        if plan.directions is not None and plan.directions.shape != (n_group,):
            return False
    return True
