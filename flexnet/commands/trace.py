"""``flexnet trace DIR|FILE.fbuf``: a timeline of one iteration, for Perfetto."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command, Flag, only_word
from flexnet.commands.requests.limits import MAX_INTEGER
from flexnet.commands.requests.types import FilePath, Number, Whole
from flexnet.errors import FlexNetError
from flexnet.units import bytes_text, ms_text, us_to_s

if TYPE_CHECKING:
    from flexnet.report.trace import Traced

__all__ = ["trace"]


def _trace(words: tuple[str, ...], output: Path | None, latency: float | None, seed: int | None) -> int:
    """Writes a timeline of one iteration, in Chrome's trace format: open it at ui.perfetto.dev.

    Of a directory that flexnet search -o DIR wrote, the plan as it was priced; of a task graph file, its replay on its
    own network.
    """
    usage = "nothing to trace is given; use flexnet trace DIR or flexnet trace FILE.fbuf"
    source = Path(only_word(words, "trace", "directory or file", usage))

    from flexnet.files import check_writable, printable, write_atomically
    from flexnet.report.trace import trace_json

    of_run = source.is_dir()
    if of_run and (latency is not None or seed is not None):
        flag = "--network-latency" if latency is not None else "--seed"
        raise FlexNetError(f"{flag} is for task graph files; the run in {source} is traced as it was priced")
    path = output or (source / "trace.json.gz" if of_run else source.with_suffix(".trace.json.gz"))
    check_writable(path)
    traced = _of_run(source) if of_run else _of_file(source, latency, seed or 0)
    data = trace_json(traced, {"source": printable(str(source)), "iteration_ms": traced.timeline.seconds * 1e3})
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_atomically(path, data)
    say(f"wrote {path}: {bytes_text(len(data))}, an iteration of {ms_text(traced.timeline.seconds)}")
    return 0


trace = Command(
    "trace",
    params=[
        click.Argument(["words"], nargs=-1, metavar="DIR|FILE", required=False, type=click.Path()),
        Flag(
            ["output", "--output", "-o"],
            type=FilePath(),
            metavar="FILE",
            help="where to write it, compressed if FILE ends in .gz (default DIR/trace.json.gz or FILE.trace.json.gz)",
        ),
        Flag(
            ["latency", "--network-latency"],
            type=Number(0.0, 1e9, "microseconds"),
            metavar="US",
            help="of a task graph file: latency of a hop in microseconds (default 1)",
        ),
        Flag(
            ["seed", "--seed"],
            type=Whole(0, MAX_INTEGER),
            metavar="N",
            help="of a task graph file: same seed, same paths where flows have a choice (default 0)",
        ),
    ],
    callback=_trace,
    help=_trace.__doc__,
)


def _of_run(directory: Path) -> "Traced":
    """The plan that a search found, as it was priced."""
    from flexnet.commands.runs.outcome import read_run
    from flexnet.report.link_use import link_use
    from flexnet.report.trace import Traced
    from flexnet.simulate.arrays import network_arrays
    from flexnet.simulate.protocol import TCP
    from flexnet.simulate.routed import routed

    plan = read_run(directory).plan
    network = routed(plan.graph.arrays(), plan.network, TCP)
    use = link_use(plan.graph, network_arrays(network), TCP)
    return Traced(plan.graph, plan.timeline, plan.network, use, [op.name for op in plan.operators])


def _of_file(path: Path, latency: float | None, seed: int) -> "Traced":
    """The replay of a task graph file on its own network."""
    import numpy as np

    from flexnet.commands.runs.taskgraphs import fabric_of, read_tasks
    from flexnet.report.link_use import link_use
    from flexnet.report.trace import Traced
    from flexnet.simulate.fabric import draw_routes
    from flexnet.simulate.protocol import PACKET
    from flexnet.simulate.replay import replay

    file, graph = read_tasks(path)
    fabric = fabric_of(file, None, None if latency is None else us_to_s(latency))
    arrays, routes = draw_routes(graph, fabric, PACKET, np.random.default_rng(seed))
    timeline = replay(graph, fabric, seed=seed).timeline
    return Traced(graph, timeline, fabric.network, link_use(graph, arrays, PACKET, routes), ())
