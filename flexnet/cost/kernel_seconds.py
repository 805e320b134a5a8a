"""Seconds of kernels that PyTorch starts one after the other."""

from collections.abc import Sequence
from math import sqrt

from flexnet.cost.efficiency import Efficiency
from flexnet.cost.gpus import Gpu
from flexnet.model.operators.kernel import Kernel

__all__ = ["run_seconds"]

# A product in single precision of few tiles is made in smaller ones, which keep more multiprocessors busy but read more
# for what they compute; so 16 to 64 tiles took on an H100.
_SMALLER = 1.1


def run_seconds(kernels: Sequence[Kernel], rate: float, gpu: Gpu, efficiency: Efficiency, *, overlapped: bool) -> float:
    """Seconds of all kernels of a pass.

    Parameters
    ----------
    kernels : sequence of Kernel
    rate : float
        Operations per second of products of matrices.
    gpu : Gpu
    efficiency : Efficiency
    overlapped : bool
        Whether products move data while they compute, as those on tensor cores do; else times add up.

    Notes
    -----
    Nothing is found in the level-2 cache, which `flexnet.profiler` overwrites before every pass.
    """
    if not kernels:
        return 0.0
    return efficiency.launch + sum(_seconds(kernel, rate, gpu, efficiency, overlapped) for kernel in kernels)


def _seconds(kernel: Kernel, rate: float, gpu: Gpu, efficiency: Efficiency, overlapped: bool) -> float:
    busy = min(1.0, kernel.blocks / gpu.processors)
    streamed = kernel.moved / (efficiency.memory * gpu.memory_bandwidth)
    if kernel.flops:
        computed = kernel.flops / rate
        if overlapped:
            return efficiency.launch + max(computed, streamed)
        return efficiency.launch + computed / min(1.0, _SMALLER * sqrt(busy)) + streamed
    streamed /= busy
    cycles = max(kernel.indexed / efficiency.indexed, kernel.rows / efficiency.looked_up)
    return kernel.n * efficiency.following + max(streamed, cycles / (gpu.processors * busy * gpu.clock))
