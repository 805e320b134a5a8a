"""How good the plans are that a search finds, how far from a bound, and how soon; keeps benchmarks/QUALITY.md.

    python benchmarks/quality.py --data DIR [--only candle16] [--seeds 10] [--seconds 60] [--large-seconds 300]
                                 [--jobs 2] [--version NAME] [--write]

DIR holds ``measurements/``.  Every case is searched with corrected semantics, 1 us, 4 GPUs a server joined at 200 Gbps,
once for each seed, for so many seconds on 16 and on 128 servers.  Times are those that ``flexnet simulate`` has for the
written task graph.  With ``--write`` the table of QUALITY.md gets a column for this version, or a new one in its place.
``--ablation`` leaves out one part of the search after the other instead.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from unittest import mock

from flexnet.cost.estimate import complete_table
from flexnet.cost.measurement_file import read_measurement
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.published.index import published_measurement
from flexnet.search import networks, portfolio, rounds
from flexnet.search.jobs import run
from flexnet.search.moves.mix import BLOCKS
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.units import gbps_to_bytes_per_s, us_to_s

HERE = Path(__file__).parent
RESULTS = HERE / "quality.json"

CASES = [
    *(
        (model, topology, gbps, 4)
        for model in ("candle16", "vgg16")
        for topology in ("fattree", "topoopt")
        for gbps in (100, 25)
    ),
    ("dlrm16", "fattree", 100, 4),
    ("dlrm16", "topoopt", 100, 4),
    ("dlrm16", "topoopt", 100, 8),
    ("dlrm16", "random", 100, 4),
    ("transformer16", "fattree", 100, 4),
    ("transformer16", "topoopt", 100, 4),
    ("alexnet", "fattree", 100, 4),
    ("alexnet", "topoopt", 100, 4),
    ("dlrm128", "fattree", 100, 4),
    ("dlrm128", "topoopt", 100, 4),
    ("resnet128", "fattree", 100, 4),
    ("resnet128", "topoopt", 100, 4),
]
"""Measurement file, network, Gbps of an interface, interfaces of a server."""

ABLATION: dict[str, dict[str, object]] = {
    "everything": {},
    "cuts as measured": {"cuts": "measured"},
    "start: data": {"start": "data"},
    "start: dp": {"start": "dp"},
    "start: groups": {"start": "groups"},
    "eager reductions": {"reductions": "eager"},
    **{
        f"without {name}": {"moves": {n: s for n, s in BLOCKS.items() if n != name}}
        for name in BLOCKS
        if name != "hold"
    },
    "the original's method": {"method": "mcmc", "start": "data"},
}
"""Settings without one part of the search."""

STEPS: dict[str, list[tuple[ModuleType, str, object]]] = {
    "networks never changed": [(portfolio, "REWIRED", 0.0)],
    "networks seldom built anew": [(portfolio, "REBUILT", portfolio.LEAST_REBUILT)],
    "routes drawn, not balanced": [(networks, "balanced", lambda network, *_: network)],
    "rings over their own links": [(networks, "more_cycles", lambda topology, _: topology.cycles)],
    "no crosses": [(portfolio, "CROSSED", 0.0)],
    "no fits": [(portfolio, "heavy_recuts", lambda *_: []), (portfolio, "fits", lambda _: ((), ()))],
    "heavy operators not cut anew": [(portfolio, "heavy_recuts", lambda *_: [])],
    "no dives": [(where, "is_dive", lambda _: False) for where in (portfolio, rounds)],
}
"""Parts of the search that no setting leaves out: where each is, and what stands there instead."""


@dataclass(frozen=True)
class Run:
    """One search; times in ms and seconds."""

    start: float
    best: float
    bound: float
    near_s: float
    proposals: int


def problem_of(data: Path, model: str, gbps: float, degree: int, cuts: str = "all") -> Problem:
    """The problem of a published measurement file."""
    published = published_measurement(model)
    path = data / "measurements" / f"{model}.json"
    table = read_measurement(path, batch_size=published.batch_size, n_server=published.n_server)
    graph = published.build()
    if cuts == "all":
        table = complete_table(table, graph, big_gpu=published.big_gpu)
    cluster = Cluster(
        published.n_server,
        published.big_gpu,
        gbps_to_bytes_per_s(200),
        gbps_to_bytes_per_s(gbps),
        us_to_s(1),
        degree,
    )
    return make_problem(graph, table, cluster, CORRECTED)


def search(problem: Problem, topology: str, seed: int, seconds: float, jobs: int, **changes: object) -> Run:
    """One search, its plan written and replayed."""
    settings = Settings(topology, None, seed=seed, strided=True, time=seconds, **{"jobs": jobs, **changes})
    ready = prepare(problem, settings)
    history: list[tuple[float, float]] = []
    outcome = run(
        ready, ready.state, observe=lambda progress, state, info: history.append((progress.elapsed, progress.best))
    )
    found = ready.found(outcome)
    near = next((elapsed for elapsed, best in history if best <= outcome.best.seconds * 1.01), 0.0)
    bound = found.bound.seconds * 1e3 if found.bound is not None else 0.0
    return Run(found.start_seconds * 1e3, replayed(found), bound, near, outcome.state.iteration)


def replayed(found) -> float:
    """What ``flexnet simulate`` says of the plan's task graph, ms."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "taskgraph.fbuf"
        found.plan.write_taskgraph(path)
        command = [sys.executable, "-m", "flexnet", "simulate", str(path), "--json"]
        return float(
            json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)["iteration_ms"]
        )


def name_of(case: tuple[str, str, float, int]) -> str:
    model, topology, gbps, degree = case
    return f"{model}, {topology} {gbps:g} Gbps" + ("" if topology == "fattree" else f", degree {degree}")


def report(name: str, runs: list[Run]) -> str:
    """A line of results."""
    best = [run.best for run in runs]
    median, bound = statistics.median(best), max(run.bound for run in runs)
    spread = (max(best) - min(best)) / median
    near = statistics.median(run.near_s for run in runs)
    return (
        f"{name:38} start {runs[0].start:9.2f}  best {min(best):9.2f}  median {median:9.2f}  spread {spread:6.1%}  "
        f"bound {bound:8.2f}  gap {median / bound if bound else 0:5.2f}  within 1 % after {near:5.1f} s"
    )


def rows(results: Mapping[str, Mapping[str, list[Mapping[str, float]]]]) -> Iterator[str]:
    """The table of QUALITY.md: a column for each version, oldest first; bounds are of the last one."""
    versions = list(results)
    names = list(dict.fromkeys(name for each in versions for name in results[each]))
    yield "| case | start | bound | " + " | ".join(versions) + " |"
    yield "|---|--:|--:|" + "--:|" * len(versions)
    for name in names:
        known = [run for each in versions for run in results[each].get(name, [])]
        cells = []
        for each in versions:
            runs = results[each].get(name)
            if not runs:
                cells.append("-")
                continue
            best = [run["best"] for run in runs]
            median, bound = statistics.median(best), max(run["bound"] for run in runs)
            near = statistics.median(run["near_s"] for run in runs)
            cells.append(
                f"{min(best):.2f} / {median:.2f}, ±{(max(best) - min(best)) / median / 2:.1%}, "
                f"gap {median / bound if bound else 0:.2f}, {near:.0f} s, {len(runs)} seeds"
            )
        yield f"| {name} | {known[-1]['start']:.2f} | {known[-1]['bound']:.2f} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--large-seconds", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--version", default=version("flexnet"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for case in CASES:
        name = name_of(case)
        if args.only not in name:
            continue
        model, topology, gbps, degree = case
        seconds = args.large_seconds if "128" in model else args.seconds
        for part in (*ABLATION, *STEPS) if args.ablation else ("everything",):
            changes = ABLATION.get(part, {})
            problem = problem_of(args.data, model, gbps, degree, str(changes.get("cuts", "all")))
            settings = {key: value for key, value in changes.items() if key != "cuts"}
            jobs = 1 if settings.get("method") == "mcmc" else args.jobs
            with ExitStack() as stack:
                for step in STEPS.get(part, []):
                    stack.enter_context(mock.patch.object(*step))
                runs = [search(problem, topology, seed, seconds, jobs, **settings) for seed in range(args.seeds)]
            print(report(f"{name} {part}" if args.ablation else name, runs), flush=True)
            if args.write and not args.ablation:
                results.setdefault(args.version, {})[name] = [asdict(run) for run in runs]
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if args.write and not args.ablation:
        page = HERE / "QUALITY.md"
        lines = page.read_text().splitlines() if page.exists() else ["# Quality of plans", ""]
        begin = next((i for i, line in enumerate(lines) if line.startswith("|")), len(lines))
        end = next((i for i in range(begin, len(lines)) if not lines[i].startswith("|")), len(lines))
        page.write_text("\n".join([*lines[:begin], *rows(results), *lines[end:]]) + "\n")


if __name__ == "__main__":
    main()
