"""Checks the profiler on a GPU: do two runs agree, is it quick, and does it reach what PyTorch alone reaches?

    python benchmarks/profiler_gpu.py [--device cuda] [--batch-size 16384 --servers 16]

Profiles the published ``dlrm16`` twice and prints the time of a run (at most 180 s), the median difference of the two
runs' times (at most 3 %), and the FLOP/s of the largest product beside those of a plain ``torch.matmul`` of its shape
(at least 90 %). Exit status 1 if any is missed. ``--device cpu`` with a small batch and table tries it without a GPU.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from flexnet.commands.cli import run
from flexnet.cost.measurement_file import read_measurement
from flexnet.cost.parts import flops, part_of
from flexnet.model.graph import OpType
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurement

PASSES = ("forward", "backward")


def matmul_seconds(rows: int, inner: int, columns: int, device: str) -> float:
    """Median seconds of a product as anyone would time it."""
    a, b = torch.randn(rows, inner, device=device), torch.randn(inner, columns, device=device)
    seconds = []
    for _ in range(12):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        a @ b
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return median(seconds[2:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--batch-size", type=int, default=16384)
    parser.add_argument("--servers", type=int, default=16)
    parser.add_argument("--small", action="store_true", help="DLRM's default sizes instead of those of dlrm16")
    options = parser.parse_args()
    flags = {} if options.small else dict(published_measurement("dlrm16").flags)
    command = ["profile", "dlrm", "--batch-size", str(options.batch_size), "--nsimnode", str(options.servers)]
    command += ["--big-gpu", "4", "--device", options.device, *(word for pair in flags.items() for word in pair)]
    tables, took = [], []
    with tempfile.TemporaryDirectory() as directory:
        for name in ("first.json", "second.json"):
            start = time.monotonic()
            if status := run([*command, "-o", str(Path(directory) / name)]):
                return status
            took.append(time.monotonic() - start)
            tables.append(read_measurement(Path(directory) / name))
    one, two = (
        {(shape, entry.degrees): entry for shape, found in table.shapes.items() for entry in found} for table in tables
    )
    pairs = [(getattr(one[place], name), getattr(two[place], name)) for place in one if place in two for name in PASSES]
    apart = median(abs(a - b) / max(a, b) for a, b in pairs if max(a, b) > 0)
    graph = MODELS["dlrm"].build(flags, options.batch_size)
    largest = max((op for op in graph.operators if op.kind == OpType.LINEAR), key=lambda op: flops(op, 1).forward)
    part = part_of(largest, (1, 1), 4)
    work = flops(part, 1).forward
    profiled = min(entry.forward for table in tables for entry in table.candidates(largest) if entry.degrees == (1, 1))
    inner, rows = part.inputs[0].tensor.dims
    plain = matmul_seconds(rows, inner, part.outputs[0].dims[0], options.device)
    print(f"a run took {max(took):.1f} s (at most 180)")
    print(f"two runs differ by {100 * apart:.2f} % in the median (at most 3)")
    print(
        f"{largest.key} with {rows} rows: {work / profiled / 1e12:.3g} TFLOP/s profiled, "
        f"{work / plain / 1e12:.3g} by torch.matmul, {100 * plain / profiled:.0f} % (at least 90)"
    )
    return int(max(took) > 180 or apart > 0.03 or plain / profiled < 0.9)


if __name__ == "__main__":
    sys.exit(main())
