"""What a profiler measures of a model: every shape, every config of it, and the operator one GPU then runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from flexnet.arithmetic import divisors
from flexnet.costs import Entry
from flexnet.degrees import measured_degrees, why_not_measured
from flexnet.errors import FlexNetError
from flexnet.graph import ModelGraph, Operator, OpType, Source, Tensor
from flexnet.shapes import shape_name
from flexnet.wording import counted

__all__ = ["Cuts", "Shape", "part_of", "plan_shapes", "tables_of"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """How a profiler cuts; see `flexnet.degrees.measured_degrees`."""

    n_server: int
    big_gpu: int = 0
    parameter_parallel: bool = False
    attribute_parallel: bool = False
    max_local: int | None = None

    def degrees(self, op: Operator) -> list[tuple[int, ...]]:
        """Configs of ``op`` that are measured."""
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
        Shape-qualified (`flexnet.shapes.shape_name`).
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
            key_degrees = tuple(d for d in degrees if all(_divides(other, d) for other in same_key))
            _check_start([*(o for o in same_key if not _divides(o, _start(o, cuts))), *same_key], key_degrees, cuts)
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


def part_of(op: Operator, degrees: tuple[int, ...], big_gpu: int) -> Operator:
    """Return the operator that one GPU runs for one part of ``op``: the same kind with the part's shapes.

    The GPUs of a server share its part of the batch as far as they divide it.  A channel part of Linear reads its
    whole input and holds its share of the weights; a spatial part of a window operator reads its rows and those its
    windows reach over, and needs no padding; an embedding is never cut.

    >>> from flexnet.builder import GraphBuilder
    >>> b = GraphBuilder("m", batch_size=64)
    >>> x = b.conv2d(b.input(3, 8, 8), 4, (3, 3), padding=(1, 1))
    >>> part = part_of(b.build().operators[0], (1, 2, 1, 4), 2)
    >>> part.inputs[0].tensor.dims, part.outputs[0].dims
    ((8, 6, 3, 8), (8, 4, 4, 8))
    """
    if op.kind == OpType.EMBEDDING:
        return op
    batch_parts = degrees[-1] * _gpus_used(op, degrees[-1], big_gpu)
    op = _with_tensors(op, lambda tensor: Tensor((*tensor.dims[:-1], tensor.dims[-1] // batch_parts), tensor.dtype))
    if op.kind == OpType.LINEAR and degrees[0] > 1 and op.rank > 1:
        return _channel_part(op, degrees[0])
    if op.rank == 4 and prod(degrees[:2]) > 1:
        return _spatial_part(op, degrees[0], degrees[1])
    return op


def _with_tensors(op: Operator, change: Callable[[Tensor], Tensor]) -> Operator:
    inputs = tuple(Source(source.op, source.output, change(source.tensor)) for source in op.inputs)
    return replace(op, inputs=inputs, outputs=tuple(map(change, op.outputs)))


def _channel_part(op: Operator, pieces: int) -> Operator:
    """The Linear operator that computes one of ``pieces`` equal pieces of the output channels of ``op``."""
    kernel, *bias = op.weights
    out = op.outputs[0].dims[0] // pieces
    return replace(
        op,
        outputs=(Tensor((out, *op.outputs[0].dims[1:]), op.outputs[0].dtype),),
        weights=(Tensor((kernel.dims[0], out)), *(Tensor((out,)) for _ in bias)),
    )


def _spatial_part(op: Operator, across: int, down: int) -> Operator:
    def cut(tensor: Tensor) -> Tensor:
        width, height, *rest = tensor.dims
        return Tensor((width // across, height // down, *rest), tensor.dtype)

    if op.kind not in (OpType.CONV2D, OpType.POOL2D):
        return _with_tensors(op, cut)
    attrs, outputs = dict(op.attrs), tuple(map(cut, op.outputs))
    width, height, *rest = op.inputs[0].tensor.dims
    if across > 1:
        width = (outputs[0].dims[0] - 1) * attrs["stride_w"] + attrs["kernel_w"]
        attrs["padding_w"] = 0
    if down > 1:
        height = (outputs[0].dims[1] - 1) * attrs["stride_h"] + attrs["kernel_h"]
        attrs["padding_h"] = 0
    source = op.inputs[0]
    read = Source(source.op, source.output, Tensor((width, height, *rest), source.tensor.dtype))
    return replace(op, inputs=(read,), outputs=outputs, attrs=MappingProxyType(attrs))


def _gpus_used(op: Operator, degree: int, big_gpu: int) -> int:
    """Most GPUs of a server that can share its part of the batch evenly: all, where profilers measure."""
    batch = op.outputs[0].dims[-1]
    return max(g for g in divisors(max(big_gpu, 1), big_gpu or 1) if batch % (degree * g) == 0)


def _divides(op: Operator, degrees: tuple[int, ...]) -> bool:
    return all(size % degree == 0 for size, degree in zip(op.outputs[0].dims, degrees, strict=True))


def _start(op: Operator, cuts: Cuts) -> tuple[int, ...]:
    return (*[1] * (op.rank - 1), cuts.n_server)


def _check_start(ops: Iterable[Operator], degrees: Iterable[tuple[int, ...]], cuts: Cuts) -> None:
    """Refuse a table no search could start from: the initial strategy is data-parallel on all servers."""
    found = set(degrees)
    gpus = max(cuts.big_gpu, 1)
    for op in ops:
        if op.kind == OpType.EMBEDDING or _start(op, cuts) in found:
            continue
        why = why_not_measured(op, n_server=cuts.n_server, big_gpu=cuts.big_gpu, max_local=cuts.max_local)
        over = f"{counted(cuts.n_server, 'server')} of {counted(gpus, 'GPU')}"
        raise FlexNetError(f"operator {op.name} ({op.key}) cannot be cut over {over}: {why}")
