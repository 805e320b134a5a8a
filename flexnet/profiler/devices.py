"""Where operators run: this machine's processor or a CUDA GPU, with their clocks, memory and peculiarities."""

import contextlib
import gc
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch

from flexnet.errors import FlexNetError
from flexnet.profiler.operators import Work
from flexnet.profiler.timing import Timing, measure

__all__ = ["DTYPES", "Cpu", "Cuda", "Device", "open_device"]

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

_GRAPH_BELOW = 5e-3  # seconds: of longer passes the start does not matter
_CPU_SAMPLE = 1e-3  # seconds a sample lasts at least
_CLOCK_EVERY = 10.0  # seconds
_CORES = torch.get_num_threads()  # what PyTorch takes unless told otherwise
_QUERY = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")
_HELD_DOWN = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # its name since driver 535, and before
_REASONS = {  # nvml.h: nvmlClocksThrottleReasons
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}


class Device(Protocol):
    """What profiling needs of a device."""

    name: str
    element_bytes: int
    dtype: torch.dtype

    def free_bytes(self) -> int:
        """Memory that can be had now."""

    def run(self, make: Callable[[], Work], cap: float) -> tuple[Timing, Timing | None, int | None, list[str]]:
        """Make an operator and time it.

        Returns
        -------
        forward, backward : Timing
            None for what has no backward pass.
        peak : int or None
            Bytes the allocator handed out at most; None where it does not tell.
        notes : list of str
        """

    def provenance(self) -> dict[str, object]:
        """What the device is and how it fared."""

    def identity(self) -> dict[str, object]:
        """What must be the same for measurements to stand in one file."""


def open_device(name: str, dtype: str) -> Device:
    """Open ``cpu`` or ``cuda``.

    Raises
    ------
    FlexNetError
        If there is no such device, or it has no such arithmetic.
    """
    return Cpu(dtype) if name == "cpu" else Cuda(dtype)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        words in text for words in ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
    )


class Cpu:
    """The processor of this machine: real times for trying out, not those of a cluster.

    Half of the cores run it, or as many threads as ``OMP_NUM_THREADS`` says: where threads outnumber idle cores, each
    waits at every barrier until the system lets the last one run, and a pass of microseconds takes 8 ms.
    """

    def __init__(self, dtype: str) -> None:
        if dtype == "tf32":
            raise FlexNetError("--dtype tf32 needs --device cuda; a processor has fp32, bf16 and fp16")
        self.name = "cpu"
        self.dtype = DTYPES[dtype]
        self.element_bytes = self.dtype.itemsize
        self._dtype_name = dtype
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(max(1, min(torch.get_num_threads(), _CORES // 2)))

    def free_bytes(self) -> int:
        """Memory that can be had now."""
        try:
            with Path("/proc/meminfo").open(encoding="ascii") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
        except (OSError, StopIteration):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2

    def run(self, make: Callable[[], Work], cap: float) -> tuple[Timing, Timing | None, int | None, list[str]]:
        """See `Device.run`."""
        work = make()
        forward = measure(_stopwatch(work.forward), cap)
        backward = None
        if work.start_backward():
            backward = measure(_stopwatch(work.backward), cap)
        return forward, backward, None, [work.note] if work.note else []

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


def _reason(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(". ")


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
        if seconds < _CPU_SAMPLE:
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
    inner = max(1, int(_CPU_SAMPLE / max(seconds, 1e-7)))

    def sample(n: int) -> list[float]:
        seconds = []
        for _ in range(n):
            start = time.perf_counter()
            for _ in range(inner):
                run()
            seconds.append((time.perf_counter() - start) / inner)
        return seconds

    return sample


class Cuda:
    """The first CUDA GPU, timed by its own events.

    A pass shorter than 5 ms is captured as a CUDA graph, so that its time is the GPU's and not Python's; before every
    repeat the level-2 cache is overwritten, as in training, where other operators run in between.
    """

    def __init__(self, dtype: str) -> None:
        others = "use --device cpu for real times on this machine's processor, or --device analytic for estimates"
        try:
            torch.cuda.init()
            self._properties: Any = torch.cuda.get_device_properties(0)
        except (RuntimeError, AssertionError) as error:
            raise FlexNetError(f"--device cuda needs a CUDA GPU and its driver ({_reason(error)}); {others}") from None
        if dtype in ("tf32", "bf16") and self._properties.major < 8:
            raise FlexNetError(
                f"--dtype {dtype} needs a GPU of compute capability 8 or more; {self._properties.name} "
                f"has {self._properties.major}.{self._properties.minor}"
            )
        self.name = "cuda"
        self.dtype = DTYPES[dtype]
        self.element_bytes = self.dtype.itemsize
        self._dtype_name = dtype
        self._device = torch.device("cuda", 0)
        torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        torch.backends.cudnn.benchmark = True  # the original, too, takes the fastest algorithm
        self._clocks: list[dict[str, object]] = []
        self._clocked_at = -_CLOCK_EVERY
        uuid = getattr(self._properties, "uuid", None)
        self._uuid = None if uuid is None else str(uuid).removeprefix("GPU-")
        self._n_graph = self._n_loop = 0
        self._kept: list[Any] = []
        try:
            self._stream = torch.cuda.Stream(self._device)
            cache = int(getattr(self._properties, "L2_cache_size", 0)) or 64 * 2**20
            self._flush = torch.empty(2 * cache, dtype=torch.int8, device=self._device)
            self._warm_up()
        except RuntimeError as error:  # its memory is taken, or this PyTorch has no code for it
            raise FlexNetError(f"{self._properties.name} cannot be used ({_reason(error)}); {others}") from None
        gc.freeze()  # every capture collects garbage; what is there now will stay

    def free_bytes(self) -> int:
        """Memory that can be had now."""
        self._release()
        return int(torch.cuda.mem_get_info(self._device)[0])

    def run(self, make: Callable[[], Work], cap: float) -> tuple[Timing, Timing | None, int | None, list[str]]:
        """See `Device.run`."""
        try:
            with torch.cuda.stream(self._stream):
                return self._run(make, cap)
        finally:
            self._stream.synchronize()
            self._note_clocks()
            self._release()

    def _run(self, make: Callable[[], Work], cap: float) -> tuple[Timing, Timing | None, int | None, list[str]]:
        held, has_backward = torch.cuda.memory_allocated(self._device), False
        work = make()
        for _ in range(2):  # the first time algorithms are tried, some with more memory
            torch.cuda.reset_peak_memory_stats(self._device)
            work.forward()
            has_backward = work.start_backward()
            if has_backward:
                work.backward()
        self._stream.synchronize()
        peak = torch.cuda.max_memory_allocated(self._device) - held
        notes = [work.note] if work.note else []
        forward = self._time(work.forward, cap, notes)
        backward = self._time(work.backward, cap, notes) if has_backward and work.start_backward() else None
        return forward, backward, peak, notes

    def _time(self, run: Callable[[], None], cap: float, notes: list[str]) -> Timing:
        """Time a pass, as a graph if it is short; it has run before."""
        loop = self._stopwatch(run)
        if loop(1)[0] >= _GRAPH_BELOW:
            self._n_loop += 1
            return measure(loop, cap)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                run()
        except RuntimeError as error:  # what cannot be captured, or not in the memory left, is timed as it is
            notes.append(f"{run.__name__} timed without a CUDA graph: {_reason(error)[:100]}")
            torch.cuda.synchronize(self._device)
            run()
            self._n_loop += 1
            return measure(loop, cap)
        self._n_graph += 1
        replay = self._stopwatch(graph.replay)
        replay(3)
        timing = measure(replay, cap)
        self._stream.synchronize()
        self._kept.append(graph)  # the outputs in its memory are what the backward pass starts from
        return timing

    def _stopwatch(self, run: Callable[[], None]) -> Callable[[int], list[float]]:
        def sample(n: int) -> list[float]:
            pairs = []
            for _ in range(n):
                self._flush.zero_()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                run()
                end.record()
                pairs.append((begin, end))
            self._stream.synchronize()
            return [begin.elapsed_time(end) * 1e-3 for begin, end in pairs]

        return sample

    def _warm_up(self) -> None:
        """Keep the GPU busy until its clocks are up: the published files' first quarter second ran at half speed."""
        x = torch.ones((4096, 4096), device=self._device)
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            for _ in range(20):
                x = (x @ x).clamp_(-1.0, 1.0)
            torch.cuda.synchronize(self._device)

    def _release(self) -> None:
        self._kept.clear()
        gc.collect()
        with contextlib.suppress(RuntimeError):  # refused after a capture that failed; memory is then handed out again
            torch.cuda.empty_cache()

    def _note_clocks(self) -> None:
        if time.monotonic() - self._clocked_at < _CLOCK_EVERY:
            return
        self._clocked_at = time.monotonic()
        values = _nvidia_smi(_QUERY, self._uuid)
        if values is not None:
            names = ("sm_mhz", "memory_mhz", "celsius", "watts")
            noted: dict[str, object] = {name: _number(text) for name, text in zip(names, values, strict=True)}
            masks = (_nvidia_smi((name,), self._uuid) for name in _HELD_DOWN)
            mask = next((found[0] for found in masks if found is not None), "")
            self._clocks.append({**noted, "throttled": _throttled(mask)})

    def provenance(self) -> dict[str, object]:
        """See `Device.provenance`."""
        throttled = sorted({reason for clock in self._clocks for reason in _strings(clock["throttled"])})
        return {
            **self.identity(),
            "gpu_memory_bytes": self._properties.total_memory,
            "clocks": self._clocks,
            "throttled": throttled,
            "passes_timed_as_graphs": self._n_graph,
            "passes_timed_in_loops": self._n_loop,
        }

    def identity(self) -> dict[str, object]:
        """See `Device.identity`."""
        driver = _nvidia_smi(("driver_version",), self._uuid)
        return {
            "device": "cuda",
            "dtype": self._dtype_name,
            "gpu": self._properties.name,
            "driver": driver[0] if driver else "unknown",
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "torch": torch.__version__,
        }


def _nvidia_smi(fields: tuple[str, ...], uuid: str | None = None) -> list[str] | None:
    """Values that nvidia-smi gives for these fields of the GPU that is used, None if it does not."""
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    if uuid is not None:
        command.append(f"--id=GPU-{uuid}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    values = [text.strip() for text in done.stdout.strip().partition("\n")[0].split(",")]
    return values if len(values) == len(fields) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _throttled(text: str) -> list[str] | None:
    """What holds clocks down, from the bit mask nvidia-smi prints; None if it does not tell.

    >>> _throttled("0x0000000000000024"), _throttled("0x0000000000000001"), _throttled("[N/A]")
    (['power cap', 'software thermal slowdown'], [], None)
    """
    try:
        mask = int(text, 16)
    except ValueError:
        return None
    return [reason for bit, reason in _REASONS.items() if mask & bit]


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
