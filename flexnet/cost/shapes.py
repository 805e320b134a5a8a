"""What a profiler measures of a model: every distinct shape and its configs, and the tables made of that."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from flexnet.cost.configs import every_degrees, measured_degrees, why_not_measured
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import Entry
from flexnet.errors import FlexNetError, counted
from flexnet.model.cutting import batch_degrees
from flexnet.model.graph import ModelGraph, Operator
from flexnet.model.operators import kind_of

__all__ = ["Cuts", "Shape", "plan_shapes", "tables_of"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """How a profiler cuts; see `flexnet.cost.configs.measured_degrees`.

    ``over_all`` tells whether a search must be able to start data-parallel over all servers, or over one.
    """

    n_server: int
    big_gpu: int = 0
    parameter_parallel: bool = False
    attribute_parallel: bool = False
    max_local: int | None = None
    every: bool = False
    over_all: bool = True

    @property
    def start_servers(self) -> int:
        """Servers that a search must be able to start data-parallel over."""
        return self.n_server if self.over_all else 1

    def degrees(self, op: Operator) -> list[tuple[int, ...]]:
        """Configs of ``op`` that are measured, ascending in parts: with ``every`` those of `every_degrees` too."""
        found = self.plain_degrees(op)
        if self.every:
            more = every_degrees(op, n_server=self.n_server, big_gpu=self.big_gpu)
            found = sorted({*found, *more}, key=lambda degrees: (prod(degrees), degrees))
        return found

    def plain_degrees(self, op: Operator) -> list[tuple[int, ...]]:
        """Configs of ``op`` that the original's programs can read."""
        return measured_degrees(
            op,
            n_server=self.n_server,
            big_gpu=self.big_gpu,
            parameter_parallel=self.parameter_parallel,
            attribute_parallel=self.attribute_parallel,
            max_local=self.max_local,
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """One distinct shape of a model.

    Parameters
    ----------
    name : str
        Shape-qualified (`flexnet.cost.shape_names.shape_name`).
    op : Operator
        The first operator of this shape.
    degrees : tuple of tuple of int
        Configs to measure.
    key_degrees : tuple of tuple of int or None
        If the operator is also the first of its measurement name: the configs that stand under the original's name,
        which are those that fit every operator of the name.  Else None.
    """

    name: str
    op: Operator
    degrees: tuple[tuple[int, ...], ...]
    key_degrees: tuple[tuple[int, ...], ...] | None


def plan_shapes(graph: ModelGraph, cuts: Cuts) -> tuple[Shape, ...]:
    """Return the distinct shapes of ``graph`` with their configs, in order of first appearance.

    Raises
    ------
    FlexNetError
        If an operator other than an Embedding has no full data-parallel config: no search could start.
    """
    by_key: dict[str, list[Operator]] = {}
    for op in graph.operators:
        by_key.setdefault(op.key, []).append(op)
    first = {shape_name(op): op for op in reversed(graph.operators)}
    shapes: dict[str, Shape] = {}
    for op in (op for op in graph.operators if first[shape_name(op)] is op):
        name, same_key = shape_name(op), by_key[op.key]
        degrees = cuts.degrees(op)
        key_degrees = None
        if op is same_key[0]:
            plain = cuts.plain_degrees(op)
            key_degrees = tuple(d for d in plain if all(_divides(other, d) for other in same_key))
            _check_start(
                [*(o for o in same_key if not _divides(o, batch_degrees(o.rank, cuts.start_servers))), *same_key],
                key_degrees,
                cuts,
            )
        _check_start([op], degrees, cuts)
        shapes[name] = Shape(name, op, tuple(degrees), key_degrees)
    return tuple(shapes.values())


def tables_of(
    shapes: Iterable[Shape], entries: dict[tuple[str, tuple[int, ...]], Entry]
) -> tuple[MappingProxyType[str, tuple[Entry, ...]], MappingProxyType[str, tuple[Entry, ...]]]:
    """Arrange measured entries by the original's names and by shapes; configs that were not measured are left out."""
    by_key, by_shape = {}, {}
    for shape in shapes:
        by_shape[shape.name] = tuple(entries[shape.name, d] for d in shape.degrees if (shape.name, d) in entries)
        if shape.key_degrees is not None:
            found = (entries.get((shape.name, d)) for d in shape.key_degrees)
            by_key[shape.op.key] = tuple(entry for entry in found if entry is not None)
    return MappingProxyType(by_key), MappingProxyType(by_shape)


def _divides(op: Operator, degrees: tuple[int, ...]) -> bool:
    return all(size % degree == 0 for size, degree in zip(op.outputs[0].dims, degrees, strict=True))


def _check_start(ops: Iterable[Operator], degrees: Iterable[tuple[int, ...]], cuts: Cuts) -> None:
    """Refuse a table no search could start from: the initial strategy is data-parallel on all servers."""
    found = set(degrees)
    gpus = max(cuts.big_gpu, 1)
    for op in ops:
        if kind_of(op).whole or batch_degrees(op.rank, cuts.start_servers) in found:
            continue
        why = why_not_measured(op, n_server=cuts.start_servers, big_gpu=cuts.big_gpu, max_local=cuts.max_local)
        over = f"{counted(cuts.start_servers, 'server')} of {counted(gpus, 'GPU')}"
        raise FlexNetError(f"operator {op.name} ({op.key}) cannot be cut over {over}: {why}")
