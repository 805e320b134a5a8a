"""Fits the roofline's shares to published A100 profiles and checks them on the others.

    python benchmarks/roofline_fit.py --data DIR [--steps N]

DIR holds the published measurement files.  Prints the values that `flexnet.cost.roofline.Efficiency` has, rounded, but
for those of products on tensor cores, of which these files have none, and how far the estimates are off on the files
they were fitted to and on those that were kept apart.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from roofline_accuracy import CHECKED, FITTED, Row, compare, summary

from flexnet.cost.efficiency import EFFICIENCY, Efficiency
from flexnet.cost.gpus import GPUS
from flexnet.cost.roofline import part_seconds

FREE = ("compute", "narrow", "tensor", "memory", "irregular", "cached", "launch", "row", "layout")


def loss(rows: list[Row], efficiency: Efficiency) -> float:
    """Mean of the absolute logarithm of the ratio, up to 1, and a half for each ratio beyond 1.5."""
    total = 0.0
    for row in rows:
        ours = part_seconds(row.part, 1, GPUS["a100"], efficiency)[row.back]
        off = abs(math.log(ours / row.theirs))
        total += min(off, 1.0) + 0.5 * (off > math.log(1.5))
    return total / len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args()
    rows = compare(options.data)
    fitted = [row for row in rows if row.file in FITTED and not row.cold]
    rng = np.random.default_rng(1)
    best = EFFICIENCY
    least = loss(fitted, best)
    for _ in range(options.steps):
        name = FREE[int(rng.integers(len(FREE)))]
        value = getattr(best, name) * math.exp(rng.normal(0.0, 0.08))
        if name in ("compute", "narrow", "tensor", "memory", "irregular") and value > 1.0:
            continue
        tried = replace(best, **{name: value})
        if (found := loss(fitted, tried)) < least:
            best, least = tried, found
    print("fitted:", best)
    for what, efficiency in (("shipped", EFFICIENCY), ("fitted", best)):
        again = compare(options.data, efficiency)
        print(f"{what}: fitted to {summary([row for row in again if row.file in FITTED])}")
        print(f"{what}: checked on {summary([row for row in again if row.file in CHECKED])}")


if __name__ == "__main__":
    main()
