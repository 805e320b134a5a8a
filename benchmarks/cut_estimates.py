"""How far off estimates of cuts are: leave one out, over the published A100 profiles.

    python benchmarks/cut_estimates.py --data DIR

DIR holds the published measurement files.  Each measured config is left out and estimated from those that remain of its
operator (`flexnet.cost.estimate`).  Prints a table: error in the median, the mean, and of 90 % of the times; and beside
it that of the roofline alone, which knows no measured time.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexnet.cost.estimate import estimate_entry
from flexnet.cost.gpus import GPUS
from flexnet.cost.measurement_file import read_measurement
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.published.index import Published, published_measurements

HEAD = "| file | times | median | mean | 90 % | roofline: median | mean | 90 % |\n|---|---|---|---|---|---|---|---|"


def errors(data: Path, published: Published) -> list[tuple[float, float, float]]:
    """Of every time of a file: the error of its estimate and of the roofline alone, and that of its memory."""
    gpu, big_gpu = GPUS["a100"], published.big_gpu
    table = read_measurement(data / f"{published.name}.json")
    first = {op.key: op for op in reversed(published.build().operators)}  # the one that was measured
    found = []
    for key, op in first.items():
        known = {entry.degrees: entry for entry in table.entries[key]}
        for degrees, entry in known.items():
            others = tuple(other for other in known.values() if other.degrees != degrees)
            if not others:
                continue
            ours = estimate_entry(op, degrees, others, big_gpu=big_gpu, gpu=gpu)
            roofline = part_seconds(part_of(op, degrees, big_gpu), 1, gpu)
            memory = abs(ours.memory / entry.memory - 1)
            for measured, near, plain in zip(
                (entry.forward, entry.backward), (ours.forward, ours.backward), roofline, strict=True
            ):
                found.append((abs(near / measured - 1), abs(plain / measured - 1), memory))
    return found


def row(name: str, found: Sequence[tuple[float, float, float]]) -> str:
    """A line of the table."""
    cells = [name, str(len(found))]
    for column in np.array(found).T[:2]:
        cells += [f"{100 * value:.1f} %" for value in (np.median(column), column.mean(), np.quantile(column, 0.9))]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of the published measurement files")
    data = parser.parse_args().data
    every = {
        name: errors(data, published)
        for name, published in published_measurements().items()
        if (data / f"{name}.json").exists()
    }
    print(HEAD)
    for name, found in every.items():
        print(row(name, found))
    together = [one for found in every.values() for one in found]
    print(row("all", together))
    memory = np.array(together).T[2]
    print(f"\nmemory: {100 * np.median(memory):.1f} % in the median, {100 * np.quantile(memory, 0.9):.1f} % for 90 %")


if __name__ == "__main__":
    main()
