"""Compares the roofline with measured times: of the published A100 profiles, or of files ``flexnet profile`` made.

    python benchmarks/roofline_accuracy.py --data DIR [--plot FILE]
    python benchmarks/roofline_accuracy.py --measured FILE...

DIR holds the published measurement files.  Prints the tables of measurements/README.md; ``--plot`` draws estimated
against measured times on logarithmic axes (``pip install matplotlib``).
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from flexnet.cost.efficiency import EFFICIENCY, Efficiency
from flexnet.cost.gpus import GPUS
from flexnet.cost.measurement_file import read_measurement
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import Entry
from flexnet.model.graph import Operator
from flexnet.model.operators import type_name
from flexnet.model.precision import PRECISIONS
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurements

FITTED = ("alexnet", "candle16", "dlrm16", "resnet128")
CHECKED = ("dlrm128", "transformer16", "vgg16")

# The original measures with 5 + 10 passes and no warm-up of the GPU itself: in every file the first operator takes
# about twice what it takes later, until passes have run for a quarter of a second. Clocks that rise explain that.
COLD_S = 0.25
PASSES = 15

HEAD = "| times | median error | within 1.5 | median ratio | least | greatest |\n|---|---|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time and ours."""

    file: str
    key: str
    config: tuple[int, ...]
    back: int
    part: Operator
    theirs: float
    ours: float
    cold: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def kind(self) -> str:
        return type_name(self.part)


def compare(data: Path, efficiency: Efficiency = EFFICIENCY) -> list[Row]:
    """Every forward and backward time of the published files in ``data``, in the order they were measured in."""
    rows = []
    for name in (*FITTED, *CHECKED):
        published = published_measurements()[name]
        first = {op.key: op for op in reversed(published.build().operators)}
        run = 0.0
        for key, entries in read_measurement(data / f"{name}.json").entries.items():
            for part, entry, back, theirs in _timed(first[key], entries, published.big_gpu):
                ours = part_seconds(part, 1, GPUS["a100"], efficiency)[back]
                rows.append(Row(name, key, entry.degrees, back, part, theirs, ours, run < COLD_S))
                run += PASSES * theirs
    return rows


def compare_own(path: Path) -> list[Row]:
    """Every time of a file that ``flexnet profile`` measured on a GPU that the roofline knows."""
    table = read_measurement(path)
    made = table.provenance
    gpu = next(gpu for name, gpu in GPUS.items() if name in str(made["gpu"]).lower())
    graph = MODELS[str(made["model"])].build(made["model_flags"], table.batch_size)
    first = {shape_name(op): op for op in reversed(graph.operators)}
    rows = []
    for name, entries in table.shapes.items():
        for part, entry, back, theirs in _timed(first[name], entries, int(made["big_gpu"])):
            if theirs:  # a cache has no backward pass
                ours = part_seconds(part, 1, gpu, precision=PRECISIONS[str(made["dtype"])])[back]
                rows.append(Row(path.stem, name, entry.degrees, back, part, theirs, ours, False))
    return rows


def _timed(op: Operator, entries: Sequence[Entry], big_gpu: int) -> Iterator[tuple[Operator, Entry, int, float]]:
    """What one GPU has of an operator in every config, whether the pass is the backward one, and what it took."""
    for entry in entries:
        part = part_of(op, entry.degrees, big_gpu)
        yield part, entry, 0, entry.forward
        yield part, entry, 1, entry.backward


def summary(rows: Sequence[Row]) -> str:
    """Number, median error, share within a factor of 1.5, median, least and greatest ratio, as cells of a table."""
    ratios = [row.ratio for row in rows]
    error = median(abs(ratio - 1) for ratio in ratios)
    within = sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios) / len(ratios)
    return (
        f"{len(ratios)} | {100 * error:.1f} % | {100 * within:.1f} % | "
        f"{median(ratios):.2f} | {min(ratios):.{2 if min(ratios) >= 0.01 else 4}f} | {max(ratios):.2f}"
    )


def plot(rows: Sequence[Row], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "flexnet"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    ends = [2e-3, 300.0]
    axes.fill_between(ends, [e / 1.5 for e in ends], [e * 1.5 for e in ends], color="0.92", label="within 1.5")
    axes.plot(ends, ends, color="0.6", linewidth=0.8)
    for kind in sorted({row.kind for row in rows}):
        warm = [row for row in rows if row.kind == kind and not row.cold]
        axes.scatter(
            [1e3 * row.theirs for row in warm],
            [1e3 * row.ours for row in warm],
            s=11,
            alpha=0.75,
            label=kind.lower().replace("_", " "),
        )
    cold = [row for row in rows if row.cold]
    axes.scatter(
        [1e3 * row.theirs for row in cold],
        [1e3 * row.ours for row in cold],
        s=14,
        facecolors="none",
        edgecolors="black",
        linewidths=0.6,
        label="clocks still rising",
    )
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    axes.set(xlabel="measured, ms", ylabel="estimated, ms")
    axes.legend(fontsize=7, loc="upper left")
    figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, metavar="DIR")
    what.add_argument("--measured", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows = compare(options.data) if options.data else [row for path in options.measured for row in compare_own(path)]
    print(f"| {HEAD}")
    print(f"| all | {summary(rows)} |")
    if options.data:
        print(f"| files the shares were fitted to | {summary([row for row in rows if row.file in FITTED])} |")
        print(f"| files kept apart | {summary([row for row in rows if row.file in CHECKED])} |")
        print(f"| all but the first quarter second of each file | {summary([row for row in rows if not row.cold])} |")
        print(f"| kept apart, without it | {summary([r for r in rows if r.file in CHECKED and not r.cold])} |")
    print(f"\n| operator {HEAD}")
    for kind in sorted({row.kind for row in rows}):
        print(f"| {kind.lower().replace('_', ' ')} | {summary([row for row in rows if row.kind == kind])} |")
    print(f"\n| file {HEAD}")
    for name in dict.fromkeys(row.file for row in rows):
        print(f"| {name} | {summary([row for row in rows if row.file == name])} |")
    if options.plot is not None:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
