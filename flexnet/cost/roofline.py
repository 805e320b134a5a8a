"""Estimated cost tables: run times from operation counts, bytes and a GPU's data sheet, without a GPU."""

from dataclasses import asdict
from math import gcd
from types import MappingProxyType

from flexnet.cost.efficiency import EFFICIENCY, Efficiency
from flexnet.cost.gpus import Gpu, find_gpu
from flexnet.cost.kernel_seconds import run_seconds
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import largest_piece, part_of
from flexnet.cost.shapes import Cuts, plan_shapes, tables_of
from flexnet.cost.table import CostTable, Entry, held_seconds
from flexnet.model.graph import ELEMENT_BYTES, ModelGraph, Operator, OpType
from flexnet.model.operators import kind_of
from flexnet.model.operators.conv2d import THIN_CHANNELS
from flexnet.model.operators.kind import Arithmetic
from flexnet.model.precision import Precision, find_precision, in_precision
from flexnet.units import s_to_ms

__all__ = ["part_seconds", "roofline_table"]


_ALIGNED = 16  # bytes: what the fastest kernels read at once
_CACHE_SHARE = 0.8


def roofline_table(
    graph: ModelGraph,
    gpu: str,
    *,
    n_server: int,
    big_gpu: int = 0,
    parameter_parallel: bool = False,
    attribute_parallel: bool = False,
    max_local: int | None = None,
    every: bool = False,
    dtype: str | None = None,
    efficiency: Efficiency = EFFICIENCY,
    over_all: bool = True,
) -> CostTable:
    """Estimate what a profiler would measure for ``graph``.

    Parameters
    ----------
    graph : ModelGraph
    gpu : str
        A name in `flexnet.cost.gpus.GPUS`.
    n_server, big_gpu, parameter_parallel, attribute_parallel, max_local
        As in `flexnet.cost.configs.measured_degrees`, which says what configs are in the table.
    every : bool
        Those of `flexnet.cost.configs.every_degrees` too, by shape; the original's names have none of them.
    dtype : str, optional
        Arithmetic, a name in `flexnet.model.precision.PRECISIONS`; None for that of the graph, and if it has none for
        the original's: 4 bytes an element, and TF32 where its libraries choose that.
    efficiency : Efficiency
    over_all : bool
        Whether a search must be able to start data-parallel over all servers, or over one, as with micro-batches.

    Returns
    -------
    CostTable
        One key for each measurement name with the times of the first operator that has it, as the original's
        profiler does (model.cc:2250). Its times are those a measurement file can hold, so a written table reads
        back the same.

    Raises
    ------
    FlexNetError
        If the GPU is unknown or has not this arithmetic, or an operator other than an Embedding has no full
        data-parallel config.

    Notes
    -----
    ``seconds = launches * launch + operations / (share * peak) + bytes / (share * bandwidth)``: the sum and not the
    larger of the two, for kernels overlap them badly at their start and end; but for products on tensor cores, which
    overlap them well. How well this does against times of an A100 and an H100 is in measurements/README.md; other
    GPUs have not been compared.

    With ``parameter_parallel`` a channel part of Linear reads its whole input and holds its share of the weights
    (the original cut the input too), and the GPUs of a server share its batch as far as they divide it (the original
    ignored ``big_gpu`` here, so its channel-split times do not compare with the others).
    """
    found, arithmetic = find_gpu(gpu), graph.dtype if dtype is None else dtype
    precision = None if arithmetic is None else find_precision(arithmetic)
    readers = readers_of(graph)
    cuts = Cuts(n_server, big_gpu, parameter_parallel, attribute_parallel, max_local, every, over_all)
    shapes = plan_shapes(graph, cuts)
    by_key, by_shape = tables_of(
        shapes,
        {
            (shape.name, degrees): _entry(
                shape.op, degrees, big_gpu, found, efficiency, precision, readers[shape.op.index]
            )
            for shape in shapes
            for degrees in shape.degrees
        },
    )
    provenance = {
        "generator": "flexnet roofline",
        "model": graph.name,
        "big_gpu": big_gpu,
        "gpu": asdict(found),
        "efficiency": asdict(efficiency),
        **({} if precision is None else {"dtype": precision.name}),
    }
    return CostTable(
        graph.batch_size,
        n_server,
        by_key,
        True,
        f"roofline {found.name}" + ("" if precision is None else f" {precision.name}"),
        MappingProxyType(provenance),
        by_shape,
    )


def part_seconds(
    op: Operator,
    parts: int,
    gpu: Gpu,
    efficiency: Efficiency = EFFICIENCY,
    precision: Precision | None = None,
) -> tuple[float, float]:
    """Estimated forward and backward seconds of one of ``parts`` pieces of the batch of ``op`` on one GPU."""
    part, kind = largest_piece(op, parts), kind_of(op)
    if precision is not None:
        part = in_precision(part, precision)
        kernels = kind.kernels(part)
        if kernels is not None and (kind.arithmetic is not Arithmetic.CONVOLUTION or precision.name == "fp32"):
            rate, tensor = _rate(part, gpu, efficiency, precision), _on_tensor_cores(part, precision)
            forward, backward = (run_seconds(run, rate, gpu, efficiency, overlapped=tensor) for run in kernels)
            return forward, backward
    work, moved, irregular = kind.flops(part), kind.moved_bytes(part), kind.irregular_bytes(part)
    seconds = []
    for back, n_launch in enumerate(kind.launches(part)):
        if precision is None and kind.arithmetic is Arithmetic.CONVOLUTION:
            n_product = 1 + back  # filter and data
            run = n_product * _convolution(part, work.forward, moved.forward, bool(back), gpu, efficiency)
        else:
            rate = _rate(part, gpu, efficiency, precision)
            bandwidth = efficiency.memory * gpu.memory_bandwidth
            if moved[back] < _CACHE_SHARE * gpu.cache_bytes:
                bandwidth *= efficiency.cached
            computed, streamed = work[back] / rate, (moved[back] - irregular[back]) / bandwidth
            run = max(computed, streamed) if _on_tensor_cores(part, precision) else computed + streamed
            run += irregular[back] / (efficiency.irregular * gpu.memory_bandwidth)
            if kind.row_blocks and not back:
                read = part.inputs[0].tensor
                run += efficiency.row * read.volume / read.dims[0]
        seconds.append(n_launch * efficiency.launch + run)
    return seconds[0], seconds[1]


def _convolution(op: Operator, work: float, moved: float, back: bool, gpu: Gpu, efficiency: Efficiency) -> float:
    """Seconds of one product of a convolution, by the faster of two ways."""
    read, written = op.inputs[0].tensor, op.outputs[0]
    streamed = moved / (efficiency.memory * gpu.memory_bandwidth)
    thin = op.weights[0].dims[2] < THIN_CHANNELS
    plain = work / (efficiency.compute * gpu.sustained_flops * (efficiency.narrow if thin else 1.0)) + streamed
    odd = any(size % 2 for size in (*read.dims[:2], *written.dims[:2]))
    copied = ELEMENT_BYTES["float"] * (read.volume + written.volume)
    if thin or gpu.tensor_flops <= gpu.flops or ((back or odd) and copied > efficiency.workspace):
        return plain
    return min(plain, work / _tensor_rate(gpu, efficiency) + efficiency.layout * streamed)


def _rate(part: Operator, gpu: Gpu, efficiency: Efficiency, precision: Precision | None) -> float:
    """Operations per second that a kind reaches in an arithmetic; without one, as the original's libraries do."""
    arithmetic = kind_of(part).arithmetic
    plain = efficiency.compute * gpu.sustained_flops
    if precision is None:
        return _tensor_rate(gpu, efficiency) if arithmetic is Arithmetic.TENSOR else plain
    if arithmetic is Arithmetic.PLAIN or precision.name == "fp32":
        return plain
    if _on_tensor_cores(part, precision):
        rows = (part.inputs[0].tensor.dims[0], part.outputs[0].dims[0]) if part.kind == OpType.LINEAR else ()
        aligned = gcd(_ALIGNED, *(row * precision.activation_bytes for row in rows))
        share = 1.0 if aligned == _ALIGNED else efficiency.ragged * aligned
        return efficiency.product * gpu.rate(precision.name) * share
    # Transformer Engine has 8 bits for products of weights alone, and cuDNN's attention and convolutions have 16.
    rate = efficiency.tensor * gpu.rate("bf16" if precision.name == "fp8" else precision.name)
    if part.kind == OpType.SCALED_DOT_PRODUCT and part.weights:
        return efficiency.biased * rate
    thin = arithmetic is Arithmetic.CONVOLUTION and part.weights[0].dims[2] < THIN_CHANNELS
    return efficiency.narrow * rate if thin else rate


def _on_tensor_cores(part: Operator, precision: Precision | None) -> bool:
    """Whether a part is a product of matrices in an arithmetic that tensor cores take."""
    return _is_narrow(precision) and kind_of(part).arithmetic is Arithmetic.PRODUCT


def _is_narrow(precision: Precision | None) -> bool:
    return precision is not None and precision.name != "fp32"


def _tensor_rate(gpu: Gpu, efficiency: Efficiency) -> float:
    if gpu.tensor_flops <= gpu.flops:
        return efficiency.compute * gpu.sustained_flops
    return efficiency.tensor * gpu.tensor_flops


def _entry(
    op: Operator,
    degrees: tuple[int, ...],
    big_gpu: int,
    gpu: Gpu,
    efficiency: Efficiency,
    precision: Precision | None,
    readers: tuple[int, ...],
) -> Entry:
    part = part_of(op, degrees, big_gpu)
    forward, backward = part_seconds(part, 1, gpu, efficiency, precision)
    if precision is None:
        memory = kind_of(part).memory_bytes(part)
    else:
        memory = held_bytes(op, degrees, big_gpu, precision, readers)
    return Entry(degrees, held_seconds(s_to_ms(forward)), held_seconds(s_to_ms(backward)), memory)
