"""Costs of cuts that were not measured, from those that were.

A cut costs what its nearest relative costs, the measured one with the most similar number of parts, times the ratio
that the roofline (`flexnet.cost.roofline`) has for the two.  Memory likewise, by the ratio of what the operator's kind
counts (`OperatorKind.memory_bytes`).  How far off this is, ``benchmarks/cut_estimates.py`` tells; docs/costs.md has its
figures.  A shape that a table lacks, though it tells shapes apart, costs what another one of the same measurement name
does, times the ratio of the two.
"""

from dataclasses import replace
from math import log, prod
from types import MappingProxyType
from typing import NamedTuple

from flexnet.cost.configs import every_degrees
from flexnet.cost.gpus import GPUS, Gpu, find_gpu
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph, Operator
from flexnet.model.operators import kind_of
from flexnet.model.precision import Precision, find_precision

__all__ = ["Roofline", "by_ratio", "complete_table", "estimate_entry", "gpu_of", "memory_of"]


def complete_table(
    table: CostTable,
    graph: ModelGraph,
    *,
    big_gpu: int = 0,
    gpu: str | Gpu | None = None,
    groups: int | None = None,
) -> CostTable:
    """The table with an entry for every cut of every operator of a model that a search may choose.

    Parameters
    ----------
    table : CostTable
        Measured, or estimated by the roofline; it must hold at least one config of each operator.
    graph : ModelGraph
    big_gpu : int
        GPUs of a server acting as one, as the table was made for.
    gpu : str or Gpu, optional
        Whose data sheet estimates; None for the GPU that the table's provenance names, or the A100.
    groups : int, optional
        Into how many equal parts a server's samples must fall, where its GPUs will share other things than samples too
        (`flexnet.cost.tensor_parallel`); as many as it has GPUs unless given.

    Returns
    -------
    CostTable
        ``shapes`` has, for each operator of the model, first what `CostTable.candidates` gave, as it was and in its
        order, or scaled and marked as estimated if that is of another shape; then all other configs of
        `flexnet.cost.configs.every_degrees`, ascending in parts, marked as estimated.  ``entries``, which the
        original's semantics read, is as it was.

    Raises
    ------
    FlexNetError
        If the table has no measurement of an operator, or there is no GPU of that name.

    Examples
    --------
    >>> from flexnet.cost.roofline import roofline_table
    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=64)
    >>> x = b.dense(b.input(16), 4)
    >>> table = complete_table(roofline_table(b.build(), "a100", n_server=2), b.build())
    >>> [(entry.degrees, entry.estimated) for entry in table.candidates(b.build().operators[0])]
    [((1, 1), False), ((1, 2), False), ((1, 1, 2), True), ((2, 1), True)]
    """
    on = Roofline.of_table(table, big_gpu, held=table.estimated, gpu=gpu)
    readers = readers_of(graph)
    shapes: dict[str, tuple[Entry, ...]] = {}
    for op in graph.operators:
        name = shape_name(op)
        if name in shapes:
            continue
        known = _of_its_shape(op, name, table, graph, on, readers)
        have = {entry.degrees for entry in known}
        wanted = [
            degrees
            for degrees in every_degrees(op, n_server=table.n_server, big_gpu=big_gpu if groups is None else groups)
            if degrees not in have
        ]
        read = readers[op.index]
        relatives = _relatives(op, known, on, read) if wanted else ()
        shapes[name] = (*known, *(_estimated(op, degrees, relatives, on, read) for degrees in wanted))
    return replace(table, shapes=MappingProxyType({**table.shapes, **shapes}))


def estimate_entry(
    op: Operator, degrees: tuple[int, ...], known: tuple[Entry, ...], *, big_gpu: int, gpu: Gpu
) -> Entry:
    """What a config of ``op`` costs by its nearest relative in ``known``, which must not be empty."""
    on, readers = Roofline(gpu, big_gpu), (1,) * len(op.inputs)
    return _estimated(op, degrees, _relatives(op, known, on, readers), on, readers)


def gpu_of(table: CostTable) -> Gpu | None:
    """The GPU that a table's provenance names, if it does and its data sheet is known.

    >>> gpu_of(CostTable(8, 2, {}, False, "m.json", {"gpu": "NVIDIA A100-SXM4-40GB"})).name
    'a100'
    """
    said = table.provenance.get("gpu")
    name = said.get("name") if isinstance(said, dict) else said
    if not isinstance(name, str):
        return None
    return next((gpu for gpu in GPUS.values() if gpu.name in name.lower()), None)


def memory_of(table: CostTable) -> float | None:
    """Bytes of memory of the GPU that a table was made on or for, if its provenance tells."""
    said = table.provenance.get("gpu_memory_bytes")
    if isinstance(said, int | float) and said > 0:
        return float(said)
    gpu = gpu_of(table)
    return None if gpu is None else gpu.memory_bytes


def _precision(table: CostTable) -> Precision | None:
    """Of what the ratios of estimates are; those of single precision that was measured as the original's."""
    if table.dtype is None or (table.dtype == "fp32" and not table.estimated):
        return None
    return find_precision(table.dtype)


class _Relative(NamedTuple):
    """A known config, and what the roofline has for it: seconds forward and back, and bytes."""

    entry: Entry
    forward: float
    backward: float
    memory: int


def _gpu(table: CostTable, gpu: str | Gpu | None) -> Gpu:
    if isinstance(gpu, Gpu):
        return gpu
    return find_gpu(gpu) if gpu is not None else gpu_of(table) or find_gpu("a100")


class Roofline(NamedTuple):
    """What the roofline has for configs on a GPU."""

    gpu: Gpu
    big_gpu: int
    precision: Precision | None = None
    held: bool = False  # counts memory as estimated tables of a precision do

    @classmethod
    def of_table(cls, table: CostTable, big_gpu: int, *, held: bool, gpu: str | Gpu | None = None) -> "Roofline":
        """Of the GPU that a table names, or the A100, unless another is given, and in the arithmetic of its ratios."""
        return cls(_gpu(table, gpu), big_gpu, _precision(table), held)

    def of(self, op: Operator, degrees: tuple[int, ...], readers: tuple[int, ...]) -> tuple[float, float, int]:
        """Seconds forward and back, and bytes, of one part."""
        part = part_of(op, degrees, self.big_gpu)
        seconds = part_seconds(part, 1, self.gpu, precision=self.precision)
        if self.precision is None or not self.held:
            return *seconds, kind_of(part).memory_bytes(part)
        return *seconds, held_bytes(op, degrees, self.big_gpu, self.precision, readers)


def _of_its_shape(
    op: Operator, name: str, table: CostTable, graph: ModelGraph, on: Roofline, readers: tuple[tuple[int, ...], ...]
) -> tuple[Entry, ...]:
    """What a table has of an operator; scaled from another shape of its name if it tells shapes apart and has it not.

    The times of a name are those of its first operator.
    """
    known = table.candidates(op)
    if not table.shapes or name in table.shapes:
        return known
    first = next(other for other in graph.operators if other.key == op.key)
    if shape_name(first) not in table.shapes:
        return known
    return tuple(
        by_ratio(
            entry.degrees,
            entry,
            on.of(op, entry.degrees, readers[op.index]),
            on.of(first, entry.degrees, readers[first.index]),
        )
        for entry in known
    )


def _relatives(op: Operator, known: tuple[Entry, ...], on: Roofline, readers: tuple[int, ...]) -> tuple[_Relative, ...]:
    if not known:
        raise FlexNetError(f"operator {op.name} ({op.key}) has no known config to estimate others from")
    return tuple({entry.degrees: _Relative(entry, *on.of(op, entry.degrees, readers)) for entry in known}.values())


def _estimated(
    op: Operator, degrees: tuple[int, ...], relatives: tuple[_Relative, ...], on: Roofline, readers: tuple[int, ...]
) -> Entry:
    parts = log(prod(degrees))
    # Of two equally near ones that with more parts: it is cut finer, as what is asked for mostly is.
    near = min(relatives, key=lambda one: (abs(log(prod(one.entry.degrees)) - parts), -prod(one.entry.degrees)))
    return by_ratio(degrees, near.entry, on.of(op, degrees, readers), (near.forward, near.backward, near.memory))


def by_ratio(
    degrees: tuple[int, ...], known: Entry, wanted: tuple[float, float, int], here: tuple[float, float, int]
) -> Entry:
    """What is known of a config times the ratios of what the roofline has for what is wanted and for that."""
    forward, backward, memory = map(_scaled, (known.forward, known.backward, known.memory), wanted, here)
    return Entry(degrees, forward, backward, round(memory), estimated=True)


def _scaled(known: float, wanted: float, here: float) -> float:
    """What is known times the ratio of two estimates; without a ratio, the estimate."""
    return known * (wanted / here) if here > 0 else wanted
