"""Does ``--start dp`` pay?  The same wall-clock for both starts, on the published measurements.

    python benchmarks/start.py --data DIR [--gbps 100] [--seconds 3] [--only dlrm16]

DIR holds ``measurements/``.  TopoOpt networks of degree 4, corrected semantics; seeds 0 to 4; preparing a start counts.
Printed: medians over seeds of the starting plan, of the final plan at full resolution, and of the seconds until a plan
was as good as the worse of the two finals (0.1 % allowed); and the lower bound.
"""

import argparse
import statistics
import time
from pathlib import Path

from flexnet.cost.measurement_file import read_measurement
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.published.index import published_measurement
from flexnet.search.driver import drive
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.units import gbps_to_bytes_per_s, us_to_s

NAMES = ("alexnet", "candle16", "dlrm16", "transformer16", "vgg16", "resnet128", "dlrm128")
SLOW = {"resnet128": 3, "dlrm128": 8}  # times the seconds
BUDGET = 100_000  # never reached


def make(data: Path, name: str, gbps: float) -> Problem:
    published = published_measurement(name)
    path = data / "measurements" / f"{name}.json"
    table = read_measurement(path, batch_size=published.batch_size, n_server=published.n_server)
    bandwidths = gbps_to_bytes_per_s(200), gbps_to_bytes_per_s(gbps)  # inside servers, of an interface
    cluster = Cluster(published.n_server, published.big_gpu, *bandwidths, us_to_s(1), 4)
    return make_problem(published.build(), table, cluster, CORRECTED)


def run(problem: Problem, start: str, seed: int, seconds: float):
    """One search: start ms, final ms, [(seconds, best ms)], lower bound ms."""
    began = time.perf_counter()
    ready = prepare(problem, Settings("topoopt", BUDGET, seed=seed, strided=True, propagation=True, start=start))
    trail = [(time.perf_counter() - began, ready.state.best.seconds * 1e3)]

    def observe(progress, state, info):
        if state.best.seconds * 1e3 < trail[-1][1]:
            trail.append((time.perf_counter() - began, state.best.seconds * 1e3))

    stop = lambda: time.perf_counter() - began > seconds  # noqa: E731
    outcome = drive(ready.search, ready.rng, ready.state, BUDGET, observe=observe, stop=stop)
    bound = ready.dp.lower_bound * 1e3 if ready.dp else 0.0
    return trail[0][1], ready.exact(outcome.state).seconds * 1e3, trail, bound


def reached(trail, goal: float) -> float:
    """Seconds until a plan was within 0.1 % of ``goal`` ms; infinite if none was."""
    return next((at for at, best in trail if best <= goal * 1.001), float("inf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gbps", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print(
        "medians of 5 seeds  | start ms: data        dp | final ms: data        dp | reached s: data      dp | bound ms"
    )
    for name in NAMES:
        if args.only not in name:
            continue
        problem = make(args.data, name, args.gbps)
        seconds = args.seconds * SLOW.get(name, 1)
        run(problem, "dp", 0, 0.5)  # compiles
        runs = {s: [run(problem, s, seed, seconds) for seed in range(5)] for s in ("data", "dp")}
        median = {s: [statistics.median(r[i] for r in found) for i in (0, 1)] for s, found in runs.items()}
        goal = max(statistics.median(r[2][-1][1] for r in found) for found in runs.values())
        when = {s: statistics.median(reached(r[2], goal) for r in found) for s, found in runs.items()}
        print(
            f"{name:13} {seconds:4.0f} s | {median['data'][0]:14.3f} {median['dp'][0]:9.3f} "
            f"| {median['data'][1]:14.3f} {median['dp'][1]:9.3f} | {when['data']:15.2f} {when['dp']:7.2f} "
            f"| {max(r[3] for r in runs['dp']):8.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
