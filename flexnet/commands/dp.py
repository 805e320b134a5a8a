"""``flexnet dp GRAPH``: the provably best strategy under PaSE's cost model."""

import time
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.dp import DpRequest, dp_request
from flexnet.commands.requests.flags import Command, Flag, switch
from flexnet.commands.requests.types import FilePath, Name, Number, Whole
from flexnet.errors import FlexNetError, one_of
from flexnet.model.zoo.pase import BASE, GRAPHS

if TYPE_CHECKING:
    from flexnet.exact.pase import PaseProblem
    from flexnet.exact.solver import Solution

__all__ = ["dp"]

WARM_UP, TIMED = 2, 5  # runs of --measure, as in PaSE

_FLAGS = [
    Flag(
        ["procs", "--procs", "-p"],
        type=Whole(1, 2**20),
        default=8,
        metavar="N",
        help="devices (default 8); an operator is cut into at most as many parts",
    ),
    Flag(
        ["batch_size", "--batch-size", "-b", "--batch"],
        type=Whole(1, 2**31 - 1),
        default=128,
        metavar="N",
        help="samples of the global batch (default 128)",
    ),
    Flag(
        ["model", "--model", "-m"],
        type=Whole(1, 2**20),
        default=BASE,
        metavar="N",
        help="model size: all widths times N/128 (default 128, the published size)",
    ),
    Flag(
        ["flops", "--flops"],
        type=Number(1e-6, 1e9, "TFLOP/s"),
        default=10.0,
        metavar="TFLOPS",
        help="speed of a device (default 10)",
    ),
    Flag(
        ["bw", "--bw"],
        type=Number(1e-6, 1e9, "GB/s"),
        default=16.0,
        metavar="GB/S",
        help="bandwidth of a link in GB/s (default 16)",
    ),
    Flag(
        ["algo", "--algo"],
        type=Whole(0, 1),
        default=0,
        metavar="0|1",
        help="elimination order: 0 the best found (default), 1 breadth first; exact both",
    ),
    Flag(
        ["memory", "--memory"],
        type=Number(1e-6, 1e6, "GB"),
        default=8.0,
        metavar="GB",
        help="memory that tables may take (default 8)",
    ),
    switch(
        "pase_compat", "--pase-compat", "of tensors between the same two operators only the last counts, as in PaSE"
    ),
    Flag(["output", "--output", "-o"], type=FilePath(), metavar="FILE", help="write cost and configurations as JSON"),
    Flag(
        ["dump_graph", "--dump-graph", "-d"],
        type=FilePath(),
        metavar="FILE",
        help="write the graph with configurations and costs, for Graphviz",
    ),
    switch("measure", "--measure", "solve twice to warm up and five times more, and tell how long it takes"),
    switch("profile", "--profile", "tell which functions the solver spends its time in"),
]


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
        *_FLAGS,
    ],
    callback=_dp,
    help="Finds the configuration of every operator with the least cost under PaSE's model, exactly.\n\n"
    f"GRAPH is {one_of(tuple(GRAPHS))}.",
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
