"""GPUs by name: what their data sheets promise."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.errors import FlexNetError

__all__ = ["GPUS", "Gpu", "find_gpu"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """Peak rates and memory of one GPU.

    Parameters
    ----------
    name : str
    flops : float
        Single-precision operations per second without tensor cores, as the published measurements' matrix
        products ran.
    memory_bandwidth : float
        Bytes/s.
    memory_bytes : float
        Capacity, bytes.
    tensor_flops : float
        Operations per second on single-precision data where the library may round products to TF32 and use tensor
        cores (dense, not the sparse figure), as cuDNN does by default; `flops` where there is no TF32.
    cache_bytes : float
        Level-2 cache.
    """

    name: str
    flops: float
    memory_bandwidth: float
    memory_bytes: float
    tensor_flops: float
    cache_bytes: float


# NVIDIA data sheets: V100 (SXM2 32 GB, January 2020), A100 (SXM4 40 GB, 2020: the memory the published profiles
# fitted in), H100 (SXM5 80 GB) and H200 (SXM 141 GB): FP32, memory bandwidth, memory, TF32 (half the sparse figure),
# level-2 cache.
GPUS: Mapping[str, Gpu] = MappingProxyType(
    {
        "v100": Gpu("v100", 15.7e12, 900e9, 32e9, 15.7e12, 6e6),
        "a100": Gpu("a100", 19.5e12, 1555e9, 40e9, 156e12, 40e6),
        "h100": Gpu("h100", 67e12, 3350e9, 80e9, 494.5e12, 50e6),
        "h200": Gpu("h200", 67e12, 4800e9, 141e9, 494.5e12, 50e6),
    }
)


def find_gpu(name: str) -> Gpu:
    """The GPU called ``name``, in any case.

    Raises
    ------
    FlexNetError
        If there is none.

    Examples
    --------
    >>> find_gpu("A100").flops
    19500000000000.0
    """
    if name.lower() not in GPUS:
        raise FlexNetError(f"no GPU is called {name!r}; the GPUs are {', '.join(GPUS)}")
    return GPUS[name.lower()]
