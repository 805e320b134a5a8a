"""The dp command: tables, optimum, and every output written."""

import time

from flexnet.atomic import check_writable, write_atomically
from flexnet.dp.order import Order, breadth_first_order
from flexnet.dp.pase import PaseProblem, flop_per_word, pase_problem
from flexnet.dp.solver import Solution, solve
from flexnet.dp_config import DpConfig
from flexnet.dp_report import dot_text, json_document, text_lines
from flexnet.errors import FlexNetError
from flexnet.progress import say

__all__ = ["run_dp"]

WARM_UP, TIMED = 2, 5  # runs of --measure, as in PaSE


def run_dp(config: DpConfig, command_line: list[str]) -> int:
    """Solve as the command line does: print, write, and return the exit status.

    Raises
    ------
    FlexNetError
        If the tables do not fit in the memory allowed, or an output cannot be written.
    """
    places = [path for path in (config.output, config.dump) if path is not None]
    for path in places:
        check_writable(path)
    if len(places) == 2 and places[0].resolve() == places[1].resolve() and not places[0].is_char_device():
        raise FlexNetError(f"--output and --dump-graph both name {places[0]}; name two files")
    began = time.perf_counter()
    problem = pase_problem(
        config.graph,
        config.n_device,
        flop_per_word(config.flops, config.bandwidth),
        config.cutoff,
        overwrite=config.overwrite,
        memory=config.memory,
    )
    tables_s = time.perf_counter() - began
    profile = ""
    if config.profile:
        solution, profile = _profiled(config, problem)
    else:
        solution = _solve(config, problem)
    seconds = time.perf_counter() - began
    for line in text_lines(config, problem, solution, seconds):
        say(line)
    if config.measure:
        _measure(config, problem, tables_s)
    if config.profile:
        say(profile)
    if config.output is not None:
        write_atomically(config.output, json_document(config, problem, solution, seconds, command_line))
        say(f"wrote      {config.output}")
    if config.dump is not None:
        write_atomically(config.dump, dot_text(config, problem, solution).encode())
        say(f"wrote      {config.dump}")
    return 0


def _solve(config: DpConfig, problem: PaseProblem) -> Solution:
    order: Order | None = None
    if config.breadth_first:
        sizes = [len(costs) for costs in problem.tables.vertices]
        order = breadth_first_order(sizes, problem.tables.edges.keys())
    return solve(problem.tables, memory=config.memory, order=order)


def _profiled(config: DpConfig, problem: PaseProblem) -> tuple[Solution, str]:
    """The optimum, and the functions that take longest to find it."""
    import cProfile
    import io
    import pstats

    profiler = cProfile.Profile()
    solution = profiler.runcall(_solve, config, problem)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("cumulative").print_stats(20)
    return solution, text.getvalue().rstrip()


def _measure(config: DpConfig, problem: PaseProblem, tables_s: float) -> None:
    from statistics import mean, median

    times = []
    for _ in range(WARM_UP + TIMED):
        began = time.perf_counter()
        _solve(config, problem)
        times.append(time.perf_counter() - began)
    timed = times[WARM_UP:]
    say(
        f"measured   tables {tables_s:.4f} s; solving, {TIMED} times after {WARM_UP}: "
        f"mean {mean(timed):.4f} s, median {median(timed):.4f} s, least {min(timed):.4f} s"
    )
