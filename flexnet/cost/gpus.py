"""GPUs by name: what their data sheets promise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from flexnet.errors import FlexNetError, one_of

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
    bf16_flops, fp16_flops, fp8_flops : float
        Operations per second of tensor cores in these arithmetics, dense; 0 where there are none.
    sustained : float
        Share of `flops` that long products hold of what they hold on an A100, where its clocks stay up.
    processors : int
        Streaming multiprocessors.
    clock : float
        Their highest cycles per second.
    """

    name: str
    flops: float
    memory_bandwidth: float
    memory_bytes: float
    tensor_flops: float
    cache_bytes: float
    bf16_flops: float = 0.0
    fp16_flops: float = 0.0
    fp8_flops: float = 0.0
    sustained: float = 1.0
    processors: int = field(kw_only=True)
    clock: float = field(kw_only=True)

    @property
    def sustained_flops(self) -> float:
        """Single-precision operations per second that an A100's kernels would reach at this GPU's clocks."""
        return self.sustained * self.flops

    def rate(self, dtype: str) -> float:
        """Peak operations per second of products of matrices in an arithmetic of `flexnet.model.precision.PRECISIONS`.

        Raises
        ------
        FlexNetError
            If the GPU does not have it.

        Examples
        --------
        >>> GPUS["h100"].rate("bf16")
        989400000000000.0
        """
        rates = {"fp32": self.flops, "tf32": self.tensor_flops if self.tensor_flops > self.flops else 0.0}
        rates |= {"bf16": self.bf16_flops, "fp16": self.fp16_flops, "fp8": self.fp8_flops}
        if not rates[dtype]:
            has = one_of([name for name, rate in rates.items() if rate])
            raise FlexNetError(f"GPU {self.name} has no {dtype}; use {has}, or another GPU")
        return rates[dtype]


# NVIDIA data sheets: V100 (SXM2 32 GB, January 2020), A100 (SXM4 40 GB, 2020: the memory the published profiles
# fitted in), H100 (SXM5 80 GB), H200 (SXM 141 GB), B200 (an eighth of HGX B200: 180 GB, FP32 75 TFLOPS): FP32, memory
# bandwidth, memory, TF32, level-2 cache, BF16, FP16, FP8, multiprocessors and their clock (of a B200 what its FP32
# makes of it); of tensor cores half the sparse figures. An H100 runs long products of single precision at 51 to 54
# TFLOP/s, and so does an H200 (measurements/h100-fp32, h200-fp32).
_HOPPER = 989.4e12, 989.4e12, 1978.9e12, 0.82
GPUS: Mapping[str, Gpu] = MappingProxyType(
    {
        "v100": Gpu("v100", 15.7e12, 900e9, 32e9, 15.7e12, 6e6, 0.0, 125e12, processors=80, clock=1.53e9),
        "a100": Gpu("a100", 19.5e12, 1555e9, 40e9, 156e12, 40e6, 312e12, 312e12, processors=108, clock=1.41e9),
        "h100": Gpu("h100", 67e12, 3350e9, 80e9, 494.5e12, 50e6, *_HOPPER, processors=132, clock=1.98e9),
        "h200": Gpu("h200", 67e12, 4800e9, 141e9, 494.5e12, 50e6, *_HOPPER, processors=132, clock=1.98e9),
        "b200": Gpu(
            "b200", 75e12, 8000e9, 180e9, 1125e12, 126e6, 2250e12, 2250e12, 4500e12, processors=148, clock=1.98e9
        ),
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
