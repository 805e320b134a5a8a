"""Estimated cost tables: run times from operation counts, bytes and a GPU's data sheet, without a GPU."""

from dataclasses import asdict, dataclass
from types import MappingProxyType

from flexnet.costs import CostTable, Entry, held_seconds
from flexnet.graph import ELEMENT_BYTES, ModelGraph, Operator, OpType
from flexnet.machine import Gpu, find_gpu
from flexnet.memory import required_bytes
from flexnet.parts import Cuts, part_of, plan_shapes, tables_of
from flexnet.units import s_to_ms
from flexnet.workload import Passes, flops, irregular_bytes, launches, moved_bytes

__all__ = ["EFFICIENCY", "Efficiency", "part_seconds", "profile_analytic", "roofline_table"]


@dataclass(frozen=True, slots=True)
class Efficiency:
    """How far below its data sheet a GPU runs; one set for all operators and all GPUs.

    Parameters
    ----------
    compute : float
        Share of peak operations a large matrix product reaches (published A100 profiles: 18.2 of 19.5 TFLOP/s).
    tensor : float
        The same on tensor cores, for convolutions and attention (50 to 77 % of 156 TFLOP/s there).
    memory : float
        Share of peak bandwidth a streaming kernel reaches (1.31 to 1.37 of 1.555 TB/s there).
    irregular : float
        The same for looked-up rows and pooling windows, which use caches and DRAM pages badly.
    launch : float
        Seconds each kernel adds: start, ramp-up and tail.
    layout : float
        Times a tensor-core convolution moves its data: it works on NHWC copies of NCHW tensors.
    workspace : float
        Bytes of scratch memory those copies must fit in (cuDNN's 1 GiB, as the original sets it); a convolution
        whose input and output are larger runs without tensor cores.
    """

    compute: float = 0.93
    tensor: float = 0.65
    memory: float = 0.88
    irregular: float = 0.6
    launch: float = 3.5e-6
    layout: float = 2.0
    workspace: float = 2.0**30


EFFICIENCY = Efficiency()


def roofline_table(
    graph: ModelGraph,
    gpu: str,
    *,
    n_server: int,
    big_gpu: int = 0,
    parameter_parallel: bool = False,
    attribute_parallel: bool = False,
    max_local: int | None = None,
    efficiency: Efficiency = EFFICIENCY,
) -> CostTable:
    """Estimate what a profiler would measure for ``graph``.

    Parameters
    ----------
    graph : ModelGraph
    gpu : str
        A name in `flexnet.machine.GPUS`.
    n_server, big_gpu, parameter_parallel, attribute_parallel, max_local
        As in `flexnet.degrees.measured_degrees`, which says what configs are in the table.
    efficiency : Efficiency

    Returns
    -------
    CostTable
        One key for each measurement name with the times of the first operator that has it, as the original's
        profiler does (model.cc:2250). Its times are those a measurement file can hold, so a written table reads
        back the same.

    Raises
    ------
    FlexNetError
        If the GPU is unknown, or an operator other than an Embedding has no full data-parallel config.

    Notes
    -----
    ``seconds = launches * launch + operations / (share * peak) + bytes / (share * bandwidth)``: the sum and not the
    larger of the two, for kernels overlap them badly at their start and end: over 618 published A100 times of seven
    models the sum is off by 12 % in the median (82 % within a factor of 1.5), the larger one by 15 % (73 %).
    The shares were chosen on these same times; other GPUs have not been compared.

    With ``parameter_parallel`` a channel part of Linear reads its whole input and holds its share of the weights
    (the original cut the input too), and the GPUs of a server share its batch as far as they divide it (the original
    ignored ``big_gpu`` here, so its channel-split times do not compare with the others).
    """
    found = find_gpu(gpu)
    cuts = Cuts(n_server, big_gpu, parameter_parallel, attribute_parallel, max_local)
    shapes = plan_shapes(graph, cuts)
    by_key, by_shape = tables_of(
        shapes,
        {
            (shape.name, degrees): _entry(part_of(shape.op, degrees, big_gpu), degrees, found, efficiency)
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
    }
    return CostTable(
        graph.batch_size,
        n_server,
        by_key,
        True,
        f"roofline {found.name}",
        MappingProxyType(provenance),
        by_shape,
    )


profile_analytic = roofline_table  # flexnet profile --device analytic


def part_seconds(op: Operator, parts: int, gpu: Gpu, efficiency: Efficiency = EFFICIENCY) -> tuple[float, float]:
    """Estimated forward and backward seconds of one of ``parts`` pieces of the batch of ``op`` on one GPU."""
    work, irregular = flops(op, parts), irregular_bytes(op, parts)
    streamed = moved_bytes(op, parts)
    streamed = Passes(*(all_ - some for all_, some in zip(streamed, irregular, strict=True)))
    rate, passes = efficiency.compute * gpu.flops, 1.0
    if _on_tensor_cores(op, parts, efficiency) and gpu.tensor_flops > gpu.flops:
        rate = efficiency.tensor * gpu.tensor_flops
        passes = efficiency.layout if op.kind == OpType.CONV2D else 1.0
    forward, backward = (
        n_launch * efficiency.launch
        + n_flop / rate
        + passes * n_streamed / (efficiency.memory * gpu.memory_bandwidth)
        + n_irregular / (efficiency.irregular * gpu.memory_bandwidth)
        for n_launch, n_flop, n_streamed, n_irregular in zip(launches(op), work, streamed, irregular, strict=True)
    )
    return forward, backward


def _on_tensor_cores(op: Operator, parts: int, efficiency: Efficiency) -> bool:
    """Whether the library may use TF32: cuDNN (convolution, attention) does by default, cuBLAS (Linear) does not."""
    if op.kind == OpType.CONV2D:
        return ELEMENT_BYTES["float"] * _data_volume(op) // parts <= efficiency.workspace
    return op.kind == OpType.MULTI_HEAD_ATTENTION


def _data_volume(op: Operator) -> int:
    return op.inputs[0].tensor.volume + op.outputs[0].volume


def _entry(part: Operator, degrees: tuple[int, ...], gpu: Gpu, efficiency: Efficiency) -> Entry:
    forward, backward = part_seconds(part, 1, gpu, efficiency)
    return Entry(degrees, held_seconds(s_to_ms(forward)), held_seconds(s_to_ms(backward)), required_bytes(part, 1))
