"""The processor of this machine: real times for trying out, not those of a cluster."""

import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch

from flexnet.errors import FlexNetError
from flexnet.profiler.device import DTYPES, Ran
from flexnet.profiler.operators import Work
from flexnet.profiler.timing import measure

__all__ = ["Cpu"]

_SAMPLE = 1e-3  # seconds a sample lasts at least
_THREADS = torch.get_num_threads()  # what PyTorch takes unless told otherwise, most often one for each core


class Cpu:
    """A processor as a `flexnet.profiler.device.Device`.

    Half as many threads run it as PyTorch would take, or as many as ``OMP_NUM_THREADS`` says: where threads outnumber
    idle cores, each waits at every barrier until the system lets the last one run, and a pass of microseconds takes
    8 ms.

    Raises
    ------
    FlexNetError
        If it has no such arithmetic.
    """

    def __init__(self, dtype: str) -> None:
        if dtype == "tf32":
            raise FlexNetError("--dtype tf32 needs --device cuda; a processor has fp32, bf16 and fp16")
        self.name = self.torch_device = "cpu"
        self.dtype = DTYPES[dtype]
        self.element_bytes = self.dtype.itemsize
        self._dtype_name = dtype
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(max(1, min(torch.get_num_threads(), _THREADS // 2)))

    def free_bytes(self) -> int:
        """Memory that can be had now."""
        try:
            with Path("/proc/meminfo").open(encoding="ascii") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
        except (OSError, StopIteration):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2

    def run(self, make: Callable[[], Work], cap: float) -> Ran:
        """See `Device.run`."""
        work = make()
        forward = measure(_stopwatch(work.forward), cap)
        backward = measure(_stopwatch(work.backward), cap) if work.start_backward() else None
        return Ran(forward, backward, None, (work.note,) if work.note else ())

    def is_alive(self) -> bool:
        """Whether anything runs after an error: always."""
        return True

    def provenance(self) -> dict[str, object]:
        """See `Device.provenance`."""
        return self.identity()

    def identity(self) -> dict[str, object]:
        """See `Device.identity`."""
        return {
            "device": "cpu",
            "dtype": self._dtype_name,
            "processor": _processor(),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _stopwatch(run: Callable[[], None]) -> Callable[[int], list[float]]:
    """Samples of at least a millisecond each: short passes run several times in one."""
    seconds = 0.0
    for _ in range(3):  # the first is slower than the others; one long pass is enough
        if seconds < _SAMPLE:
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
    inner = math.ceil(_SAMPLE / max(seconds, 1e-7))

    def sample(n: int) -> list[float]:
        seconds = []
        for _ in range(n):
            start = time.perf_counter()
            for _ in range(inner):
                run()
            seconds.append((time.perf_counter() - start) / inner)
        return seconds

    return sample
