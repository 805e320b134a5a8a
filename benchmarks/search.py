"""Speed of a search beside the original's, on the published measurements.

    python benchmarks/search.py --data DIR [--only dlrm16.topoopt] [--method portfolio]

DIR holds ``measurements/`` and ``expected.json`` (what the original computes and how fast).  CPU seconds of a proposal,
one process, kernels warm, median of five runs.  Of a portfolio, with all cuts, once its starts are priced.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from flexnet.cost.estimate import complete_table
from flexnet.cost.measurement_file import read_measurement
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import PRESETS
from flexnet.published.index import published_measurement
from flexnet.search.driver import drive
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.units import gbps_to_bytes_per_s, us_to_s


def prepared(
    data: Path, model: str, topology: str, semantics: str, budget: int, seed: int, segment: int, method: str = "mcmc"
):
    published = published_measurement(model)
    path = data / "measurements" / f"{model}.json"
    table = read_measurement(path, batch_size=published.batch_size, n_server=published.n_server)
    graph = published.build()
    if method == "portfolio":
        table = complete_table(table, graph, big_gpu=published.big_gpu)
    cluster = Cluster(
        published.n_server, published.big_gpu, gbps_to_bytes_per_s(200), gbps_to_bytes_per_s(100), us_to_s(1), 4
    )
    problem = make_problem(graph, table, cluster, PRESETS[semantics])
    settings = Settings(
        topology, budget, seed=seed, strided=True, propagation=True, segment_bytes=segment, method=method
    )
    return prepare(problem, settings)


def speed(data: Path, run: dict, semantics: str, segment: int, method: str) -> float:
    """Proposals per CPU second, median of five."""
    n_proposal = 400 if "128" not in run["model"] else 60
    rates = []
    for seed in range(6):
        ready = prepared(data, run["model"], run["topology"], semantics, 5000, seed, segment, method)
        state = ready.state
        while state.schedule is not None and state.schedule.pending:
            state, _ = ready.search.step(ready.rng, state)
        began = time.process_time()
        drive(ready.search, ready.rng, state, state.iteration + n_proposal)
        rates.append((n_proposal + 1) / (time.process_time() - began))
    return statistics.median(rates[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--semantics", choices=sorted(PRESETS), default="original")
    parser.add_argument("--segment-bytes", type=int, default=0)
    parser.add_argument("--method", choices=["mcmc", "portfolio"], default="mcmc")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if args.method == "portfolio" and args.semantics == "original":
        parser.error("a portfolio has corrected semantics; add --semantics corrected")
    runs = json.loads((args.data / "expected.json").read_text())["original_search"]["runs"]
    seen = set()
    for run in runs:
        name = f"{run['model']}.{run['topology']}"
        if args.only not in name or name in seen:
            continue
        seen.add(name)
        rate = speed(args.data, run, args.semantics, args.segment_bytes, args.method)
        theirs = run["proposals_per_cpu_s"]
        print(f"{name:22} {rate:9.1f} proposals/CPU s  original {theirs:7.2f}  {rate / theirs:6.1f}x", flush=True)


if __name__ == "__main__":
    main()
