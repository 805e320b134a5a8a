"""``flexnet dp GRAPH``: the provably best strategy under PaSE's cost model."""

import time
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.dp import DP_FLAGS, DpRequest, dp_request
from flexnet.commands.requests.flags import Command
from flexnet.commands.requests.types import Name
from flexnet.errors import FlexNetError, one_of
from flexnet.model.zoo.pase import GRAPHS

if TYPE_CHECKING:
    from flexnet.exact.pase import PaseProblem
    from flexnet.exact.solver import Solution

__all__ = ["dp"]

WARM_UP, TIMED = 2, 5  # runs of --measure, as in PaSE


@click.pass_context
def _dp(ctx: click.Context, /, words: tuple[str, ...], **values: Any) -> int:
    request = dp_request(words, values)
    typed: list[str] = ctx.find_object(list) or []
    _check_places(request)

    from flexnet.commands.dp_report import dot_text, json_document, text_lines
    from flexnet.exact.pase import flop_per_word, pase_problem
    from flexnet.files import write_atomically

    began = time.perf_counter()
    problem = pase_problem(
        request.graph,
        request.n_device,
        flop_per_word(request.flops, request.bandwidth),
        request.cutoff,
        overwrite=request.overwrite,
        memory=request.memory,
    )
    tables_s = time.perf_counter() - began
    profile = ""
    if request.profile:
        solution, profile = _profiled(request, problem)
    else:
        solution = _solve(request, problem)
    seconds = time.perf_counter() - began
    for line in text_lines(request, problem, solution, seconds):
        say(line)
    if request.measure:
        _measure(request, problem, tables_s)
    if request.profile:
        say(profile)
    if request.output is not None:
        write_atomically(request.output, json_document(request, problem, solution, seconds, typed))
        say(f"wrote      {request.output}")
    if request.dump is not None:
        write_atomically(request.dump, dot_text(request, problem, solution).encode())
        say(f"wrote      {request.dump}")
    return 0


dp = Command(
    "dp",
    params=[
        click.Argument(
            ["words"], nargs=-1, metavar="GRAPH", required=False, shell_complete=Name(GRAPHS).shell_complete
        ),
        *DP_FLAGS,
    ],
    callback=_dp,
    help="Finds the configuration of every operator with the least cost under PaSE's model, exactly.\n\n"
    f"GRAPH is {one_of((*GRAPHS, 'a file that flexnet import made'))}.",
)


def _check_places(request: DpRequest) -> None:
    from flexnet.files import check_writable

    places = [path for path in (request.output, request.dump) if path is not None]
    for path in places:
        check_writable(path)
    if len(places) == 2 and places[0].resolve() == places[1].resolve() and not places[0].is_char_device():
        raise FlexNetError(f"--output and --dump-graph both name {places[0]}; name two files")


def _solve(request: DpRequest, problem: "PaseProblem") -> "Solution":
    from flexnet.exact.order import breadth_first_order
    from flexnet.exact.solver import solve

    order = None
    if request.breadth_first:
        sizes = [len(costs) for costs in problem.tables.vertices]
        order = breadth_first_order(sizes, problem.tables.edges.keys())
    return solve(problem.tables, memory=request.memory, order=order)


def _profiled(request: DpRequest, problem: "PaseProblem") -> "tuple[Solution, str]":
    """The optimum, and the functions that take longest to find it."""
    import cProfile
    import io
    import pstats

    profiler = cProfile.Profile()
    solution = profiler.runcall(_solve, request, problem)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("cumulative").print_stats(20)
    return solution, text.getvalue().rstrip()


def _measure(request: DpRequest, problem: "PaseProblem", tables_s: float) -> None:
    from statistics import mean, median

    times = []
    for _ in range(WARM_UP + TIMED):
        began = time.perf_counter()
        _solve(request, problem)
        times.append(time.perf_counter() - began)
    timed = times[WARM_UP:]
    say(
        f"measured   tables {tables_s:.4f} s; solving, {TIMED} times after {WARM_UP}: "
        f"mean {mean(timed):.4f} s, median {median(timed):.4f} s, least {min(timed):.4f} s"
    )
