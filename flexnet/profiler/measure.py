"""Measures every config of every shape of a model, one after the other."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from flexnet.cost.gpus import GPUS
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.cost.shapes import Shape, tables_of
from flexnet.cost.table import CostTable, Entry, config_text, held_seconds
from flexnet.errors import FlexNetError
from flexnet.model.cutting import batch_degrees
from flexnet.model.graph import ModelGraph, Operator, OpType
from flexnet.model.operators import kind_of
from flexnet.profiler.device import Device, Ran, first_line, is_out_of_memory
from flexnet.profiler.journal import Journal, Measured
from flexnet.profiler.operators import Work, check_runs, make_work
from flexnet.profiler.timing import TARGET
from flexnet.units import s_to_ms

__all__ = ["Job", "Step", "how_well_known", "measure_all", "table_from", "throttled"]

# What a config takes beside its passes; only for the time left.
_SETUP_S = 0.03
# Passes in whose time cuDNN has tried its algorithms for a convolution, slow ones too; on an H100 100 to 200.
_TRIAL_PASSES = 150
_FEWEST_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Step:
    """Where a profile is.

    Parameters
    ----------
    n_done, n_total : int
        Configs.
    share : float
        Share of the work done, as the roofline estimates it.
    text : str
        What was measured.
    """

    n_done: int
    n_total: int
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure.

    Parameters
    ----------
    shapes : tuple of Shape
    n_server : int
    big_gpu : int
    cap : float
        Seconds a pass is repeated at most.
    """

    shapes: tuple[Shape, ...]
    n_server: int
    big_gpu: int
    cap: float

    @property
    def configs(self) -> list[tuple[Shape, tuple[int, ...]]]:
        """All configs, shape by shape."""
        return [(shape, degrees) for shape in self.shapes for degrees in shape.degrees]

    def is_start(self, shape: Shape, degrees: tuple[int, ...]) -> bool:
        """Whether every search starts from this config: data parallelism over all servers, embeddings whole."""
        n_part = 1 if kind_of(shape.op).whole else self.n_server
        return degrees == batch_degrees(shape.op.rank, n_part)

    def part(self, shape: Shape, degrees: tuple[int, ...]) -> Operator:
        """What one GPU runs of a config."""
        return part_of(shape.op, degrees, self.big_gpu)


def measure_all(
    job: Job,
    device: Device,
    journal: Journal,
    *,
    observe: Callable[[Step], None],
    warn: Callable[[str], None],
    seconds: float = inf,
) -> int:
    """Measure what the journal lacks, and return how many configs there was no time for.

    First come the configs every search starts from, without which no other is of use and which are measured however
    long they take; then other cuts of the batch, then the rest.  If there is a limit, none is begun after ``seconds``,
    and quick ones come before slow ones.

    A config that does not fit the device's memory, or that its libraries refuse, is left out with a warning; nothing
    is ever written for it.

    Raises
    ------
    FlexNetError
        If that befalls a config every search starts from, an operator is of a kind that cannot be measured, the
        device has failed, or a measurement cannot be kept.
    """
    for shape in job.shapes:
        check_runs(shape.op)
    began, done = time.monotonic(), 0.0
    configs = job.configs
    todo = [config for config in configs if (config[0].name, config[1]) not in journal.found]
    parts = [job.part(*config) for config in todo]
    weights = [_expected_seconds(part, job.cap, device) for part in parts]
    n_before, whole = len(configs) - len(todo), sum(weights)
    order = sorted(range(len(todo)), key=lambda i: (_rank(job, *todo[i]), weights[i] if seconds < inf else 0.0))
    for i, place in enumerate(order):
        (shape, degrees), part = todo[place], parts[place]
        if time.monotonic() - began > seconds and not job.is_start(shape, degrees):
            return len(order) - i
        done += weights[place]
        text = f"{shape.op.key} {config_text(degrees)}"
        where = f"{shape.op.key} with config {config_text(degrees)}"
        try:
            if (shape.name, degrees) in journal.refused:
                raise _LeftOutError(f"{device.name} failed on it before ({journal.refused[shape.name, degrees]})")
            measured = _measure(shape, degrees, part, job.cap, device)
        except _LeftOutError as error:
            if job.is_start(shape, degrees):
                raise FlexNetError(f"{where}, which every search starts from, cannot be measured: {error}") from None
            warn(f"left out {where}: {error}")
        except _DeviceFailedError as error:
            journal.refuse(shape.name, degrees, str(error))
            raise FlexNetError(
                f"{device.name} failed on {where}: {error}; everything before it is kept in {journal.path}, "
                "go on without it by --resume"
            ) from None
        else:
            journal.add(measured)
            text += f": forward {s_to_ms(measured.forward):.4g} ms, backward {s_to_ms(measured.backward):.4g} ms"
        observe(Step(n_before + i + 1, len(configs), done / whole, text))
    return 0


def table_from(
    job: Job, graph: ModelGraph, journal: Journal, device: Device
) -> tuple[CostTable, dict[tuple[str, tuple[int, ...]], dict[str, Any]]]:
    """Make the cost table of what was measured, and what its file says of each config."""
    entries = {
        place: Entry(m.degrees, held_seconds(s_to_ms(m.forward)), held_seconds(s_to_ms(m.backward)), m.memory)
        for place, m in journal.found.items()
    }
    by_key, by_shape = tables_of(job.shapes, entries)
    details = {place: dict(m.detail) for place, m in journal.found.items()}
    table = CostTable(graph.batch_size, job.n_server, by_key, False, f"profile {device.name}", {}, by_shape)
    return table, details


def how_well_known(journal: Journal) -> str:
    """How many of the measured times are known as well as asked, and how well the worst one is."""
    spreads = [m.detail[key] for m in journal.found.values() for key in ("fw_spread", "bw_spread") if key in m.detail]
    known = [spread for spread in spreads if isinstance(spread, float)]
    worst = max(known, default=0.0)
    text = f"{sum(spread <= TARGET for spread in known)} of {len(spreads)} times are known to {100 * TARGET:g} %"
    if worst > TARGET:
        text += f", the worst to {100 * worst:.0f} %"
    return text if len(known) == len(spreads) else f"{text}; {len(spreads) - len(known)} passes ran only once"


def throttled(journal: Journal) -> list[str]:
    """What held clocks down, as far as it was looked at."""
    looked = [m.detail["clocks"] for m in journal.found.values() if "clocks" in m.detail]
    return sorted({reason for clocks in looked for reason in clocks["throttled"] or ()})


class _LeftOutError(Exception):
    """Why a config cannot be measured."""


class _DeviceFailedError(Exception):
    """Why nothing runs on the device any more."""


def _rank(job: Job, shape: Shape, degrees: tuple[int, ...]) -> int:
    """0 for what every search starts from, 1 for other cuts of the batch, 2 for the rest."""
    if job.is_start(shape, degrees):
        return 0
    return 1 if degrees == batch_degrees(shape.op.rank, degrees[shape.op.rank - 1]) else 2


def _measure(shape: Shape, degrees: tuple[int, ...], part: Operator, cap: float, device: Device) -> Measured:
    free = device.free_bytes()
    rows = _table_rows(part, free, device) if part.kind == OpType.EMBEDDING else None
    if device.name == "cpu" and rows is None and _needed(part, device) > 0.8 * free:
        # a processor's memory is not refused; the system ends whom it likes
        raise _LeftOutError(f"it needs {_needed(part, device) / 1e9:.1f} GB and {free / 1e9:.1f} GB are free")

    def make() -> Work:
        return make_work(part, device=device.torch_device, dtype=device.dtype, table_rows=rows)

    began = time.monotonic()
    try:
        ran = device.run(make, cap)
    except (RuntimeError, MemoryError, NotImplementedError) as error:
        if is_out_of_memory(error):
            raise _LeftOutError(
                f"it needs about {_needed(part, device) / 1e9:.1f} GB and does not fit the memory of {device.name} "
                f"({free / 1e9:.1f} GB free)"
            ) from None
        if device.is_alive():
            raise _LeftOutError(f"{device.name} refuses it ({first_line(error)})") from None
        raise _DeviceFailedError(first_line(error)) from None
    memory = kind_of(part).memory_bytes(part) * device.element_bytes // 4 if ran.peak is None else ran.peak
    if ran.peak is not None and rows is not None:
        memory += (part.weights[0].dims[1] - min(rows, part.weights[0].dims[1])) * _row_bytes(part, device)
    return Measured(
        shape.name,
        degrees,
        ran.forward.seconds,
        0.0 if ran.backward is None else ran.backward.seconds,
        memory,
        time.monotonic() - began,
        _detail(ran),
    )


def _detail(ran: Ran) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    for name, timing in (("fw", ran.forward), ("bw", ran.backward)):
        if timing is not None:
            spread = None if timing.spread is None else round(timing.spread, 5)
            detail |= {f"{name}_spread": spread, f"{name}_repeats": timing.repeats}
    if ran.notes:
        detail["note"] = "; ".join(ran.notes)
    if ran.clocks is not None:
        detail["clocks"] = dict(ran.clocks)
    return detail


def _needed(part: Operator, device: Device) -> int:
    """About what an operator takes: everything with its gradients, and once more for what is made on the way."""
    return 2 * kind_of(part).memory_bytes(part) * device.element_bytes // 4


def _row_bytes(part: Operator, device: Device) -> int:
    return part.weights[0].dims[0] * device.element_bytes


def _table_rows(part: Operator, free: int, device: Device) -> int:
    """Rows of an embedding's table for which there is memory beside its looked-up rows and their gradient."""
    lookups = part.inputs[0].tensor.volume
    beside = 24 * lookups + 2 * lookups * _row_bytes(part, device) + 3 * part.outputs[0].volume * device.element_bytes
    rows = part.weights[0].dims[1]
    while rows > _FEWEST_ROWS and rows * _row_bytes(part, device) + beside > 0.9 * free:
        rows //= 2
    return rows


def _expected_seconds(part: Operator, cap: float, device: Device) -> float:
    passes = part_seconds(part, 1, GPUS["a100"])
    tried = _TRIAL_PASSES * sum(passes) if part.kind == OpType.CONV2D and device.name == "cuda" else 0.0
    return _SETUP_S + tried + sum(max(min(cap, 30 * seconds), 6 * seconds) for seconds in passes)
