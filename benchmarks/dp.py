"""Time and memory to the optimum beside PaSE's, on one core; graph, cost tables and solving, median of five.

    python benchmarks/dp.py [--only transformer] [--largest]

Every case runs in a process of its own.  CPU seconds are those of the work; `process` also has Python's start and
imports.  PaSE: CPU seconds of its whole process on the same kind of machine; on transformer it runs out of memory at
p = 64.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

CASES = {  # PaSE's CPU seconds, or the most seconds and GB allowed
    ("resnet101", 32): 37.0,
    ("resnet101", 64): 101.7,
    ("inception3", 32): 13.7,
    ("inception3", 64): 33.9,
    ("transformer", 16): 45.8,
    ("transformer", 32): 278.0,
    ("transformer", 64): (10.0, 1.0),
    ("transformer", 128): (60.0, 8.0),
}


def one(graph: str, p: int) -> dict[str, float]:
    from flexnet.exact.pase import flop_per_word, pase_problem
    from flexnet.exact.solver import solve
    from flexnet.model.zoo.pase import GRAPHS

    began = time.process_time()
    spec = GRAPHS[graph]
    problem = pase_problem(spec.build(128), p, flop_per_word(10e12, 16e9), spec.cutoff)
    tables = time.process_time() - began
    solution = solve(problem.tables)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": seconds, "tables": tables, "cost": solution.cost, "gb": peak, "process": time.process_time()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", action="store_true", help="transformer p=256 too")
    parser.add_argument("--one", nargs=2)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one[0], int(args.one[1]))))
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    cases = dict(CASES)
    if args.largest:
        cases["transformer", 256] = (275.5, 8.0)
    for (graph, p), target in cases.items():
        if args.only not in graph:
            continue
        command = [sys.executable, __file__, "--one", graph, str(p)]
        runs = [
            json.loads(subprocess.run(command, env={**os.environ, **threads}, capture_output=True, check=True).stdout)
            for _ in range(5)
        ]
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        text = (
            f"{graph:12} p={p:<4} {median['seconds']:7.3f} CPU s (tables {median['tables']:.3f}; "
            f"process {median['process']:.3f})  {median['gb']:.3f} GB  cost {median['cost']:.0f}  "
        )
        if isinstance(target, tuple):
            print(f"{text}allowed {target[0]:g} s, {target[1]:g} GB", flush=True)
        else:
            print(f"{text}PaSE {target} s: {target / median['seconds']:.0f}x", flush=True)


if __name__ == "__main__":
    main()
