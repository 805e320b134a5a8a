"""The first CUDA GPU, timed by its own events."""

import contextlib
import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from flexnet.errors import FlexNetError
from flexnet.profiler.device import DTYPES, Ran, first_line, is_out_of_memory
from flexnet.profiler.nvidia_smi import NvidiaSmi
from flexnet.profiler.operators import Work
from flexnet.profiler.timing import Timing, measure

__all__ = ["Cuda"]

_GRAPH_BELOW = 5e-3  # seconds: of longer passes the start does not matter
_CLOCKS_EVERY = 10.0  # seconds
_WARM_UP_S = 1.0  # of matrix products before anything is measured: clocks rise, libraries get their memory
_WARM_UP_RUNS = 2  # of every operator: the first time algorithms are tried, some with more memory
_WARM_UP_REPLAYS = 3  # of every CUDA graph


class Cuda:
    """The first CUDA GPU; a `flexnet.profiler.device.Device`.

    A pass shorter than 5 ms is captured as a CUDA graph, so that its time is the GPU's and not Python's; before every
    repeat the level-2 cache is overwritten, as in training, where other operators run in between.  Every time holds
    the start of a graph, some microseconds: provenance tells what a pass of one element takes.

    What the process has allocated by now is kept from garbage collection, which every config calls for.

    Raises
    ------
    FlexNetError
        If there is no GPU, it cannot be used, or it has no such arithmetic.
    """

    def __init__(self, dtype: str) -> None:
        others = "use --device cpu for real times on this machine's processor, or --device analytic for estimates"
        try:
            torch.cuda.init()
            self._properties: Any = torch.cuda.get_device_properties(0)
        except (RuntimeError, AssertionError) as error:
            raise FlexNetError(
                f"--device cuda needs a CUDA GPU and its driver ({first_line(error)}); {others}"
            ) from None
        if dtype in ("tf32", "bf16") and self._properties.major < 8:
            raise FlexNetError(
                f"--dtype {dtype} needs a GPU of compute capability 8 or more; {self._properties.name} "
                f"has {self._properties.major}.{self._properties.minor}"
            )
        self.name = self.torch_device = "cuda"
        self.dtype = DTYPES[dtype]
        self.element_bytes = self.dtype.itemsize
        self._dtype_name = dtype
        self._device = torch.device("cuda", 0)
        torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        torch.backends.cudnn.benchmark = True  # the original, too, takes the fastest algorithm
        uuid = getattr(self._properties, "uuid", None)
        self._smi = NvidiaSmi(None if uuid is None else str(uuid).removeprefix("GPU-"))
        self._clocks_at = float("inf")
        self._uncapturable = ""  # why nothing is captured any more
        self._kept: list[Any] = []
        try:
            self._stream = torch.cuda.Stream(self._device)
            cache = int(getattr(self._properties, "L2_cache_size", 0)) or 64 * 2**20
            self._flush = torch.empty(2 * cache, dtype=torch.int8, device=self._device)
            with torch.cuda.stream(self._stream):
                self._warm_up()
            self._release()
            self._least = self.run(self._one_element, 0.05).forward.seconds
        except RuntimeError as error:  # its memory is taken, or this PyTorch has no code for it
            raise FlexNetError(f"{self._properties.name} cannot be used ({first_line(error)}); {others}") from None
        self._clocks_at = -_CLOCKS_EVERY
        gc.freeze()

    def free_bytes(self) -> int:
        """Memory that can be had now."""
        self._release()
        return int(torch.cuda.mem_get_info(self._device)[0])

    def run(self, make: Callable[[], Work], cap: float) -> Ran:
        """See `Device.run`."""
        try:
            with torch.cuda.stream(self._stream):
                return self._run(make, cap)
        finally:
            self._stream.synchronize()
            self._release()

    def is_alive(self) -> bool:
        """Whether anything runs after an error; after an illegal access, say, nothing does in this process."""
        try:
            torch.zeros(1, device=self._device).add_(1.0)
            torch.cuda.synchronize(self._device)
        except RuntimeError as error:
            return is_out_of_memory(error)
        return True

    def _run(self, make: Callable[[], Work], cap: float) -> Ran:
        held, has_backward = torch.cuda.memory_allocated(self._device), False
        work = make()
        for _ in range(_WARM_UP_RUNS):
            torch.cuda.reset_peak_memory_stats(self._device)
            work.forward()
            has_backward = work.start_backward()
            if has_backward:
                work.backward()
        self._stream.synchronize()
        peak = torch.cuda.max_memory_allocated(self._device) - held
        notes = [work.note] if work.note else []
        forward, again = self._time(work.forward, work.clear, cap, notes)
        backward = None
        if has_backward and work.start_backward():
            backward, again = self._time(work.backward, lambda: None, cap, notes)
        return Ran(forward, backward, peak, tuple(notes), self._clocks(again))

    def _time(
        self, run: Callable[[], None], clear: Callable[[], None], cap: float, notes: list[str]
    ) -> tuple[Timing, Callable[[int], list[float]]]:
        """Time a pass that has run before, as a graph if it is short; also return what runs it again.

        ``clear`` frees what the pass makes anew, so that there is room for it in the graph's memory.
        """
        loop = self._stopwatch(run)
        if loop(1)[0] >= _GRAPH_BELOW:
            return measure(loop, cap), loop
        graph, reason = self._capture(run, clear)
        if graph is None:
            notes.append(f"{run.__name__} timed without a CUDA graph: {reason}")
            self._release()
            run()
            return measure(loop, cap), loop
        self._kept.append(graph)  # the outputs in its memory are what the backward pass starts from
        replay = self._stopwatch(graph.replay)
        replay(_WARM_UP_REPLAYS)
        return measure(replay, cap), replay

    def _capture(self, run: Callable[[], None], clear: Callable[[], None]) -> tuple[Any, str]:
        """The graph of a pass; or None, and why."""
        if self._uncapturable:
            return None, self._uncapturable
        if self._synchronizes(run):
            return None, "it waits for the GPU"
        clear()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                run()
        except RuntimeError as error:
            if not is_out_of_memory(error):  # PyTorch is then left as if it were still capturing
                self._uncapturable = f"an earlier capture failed ({first_line(error)})"
            return None, first_line(error)
        return graph, ""

    def _synchronizes(self, run: Callable[[], None]) -> bool:
        """Whether a pass waits for the GPU somewhere, which no graph can hold."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says that it does not find all; the others fail in the capture
            torch.cuda.set_sync_debug_mode("error")
        try:
            run()
        except RuntimeError as error:
            if "synchronizing" not in str(error):
                raise
            return True
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return False

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
        """Keep the GPU busy until its clocks are up: the published files' first quarter second ran at half speed.

        Both threads that run passes, Python's and autograd's, get what the libraries keep for each, so that it is
        not counted as memory of the first operator.
        """
        tensors = [torch.ones(shape, device=self._device, dtype=self.dtype) for shape in ((4096, 4096),) * 2]
        work = Work(lambda xs, ws: (F.linear(xs[0], *ws),), [], [])
        work.inputs = [tensors[0].requires_grad_()]
        work.weights = [tensors[1].requires_grad_(), tensors[1][0].detach().clone().requires_grad_()]
        until = time.monotonic() + _WARM_UP_S
        while time.monotonic() < until:
            for _ in range(5):
                work.forward()
                work.start_backward()
                work.backward()
            self._stream.synchronize()

    def _one_element(self) -> Work:
        return Work(lambda xs, ws: (torch.relu(xs[0]),), [torch.ones(1, device=self._device, requires_grad=True)], [])

    def _release(self) -> None:
        self._kept.clear()
        gc.collect()
        with contextlib.suppress(RuntimeError):  # refused after a capture that failed; memory is then handed out again
            torch.cuda.empty_cache()

    def _clocks(self, again: Callable[[int], list[float]]) -> dict[str, object] | None:
        """Clocks while a pass is run again, every ten seconds."""
        if time.monotonic() - self._clocks_at < _CLOCKS_EVERY:
            return None
        self._clocks_at = time.monotonic()
        return self._smi.clocks(lambda: again(10))

    def provenance(self) -> dict[str, object]:
        """See `Device.provenance`."""
        return {
            **self.identity(),
            "driver": self._smi.driver or "unknown",
            "gpu_memory_bytes": self._properties.total_memory,
            "one_element_s": self._least,
        }

    def identity(self) -> dict[str, object]:
        """See `Device.identity`."""
        return {
            "device": "cuda",
            "dtype": self._dtype_name,
            "gpu": self._properties.name,
            **({"driver": self._smi.driver} if self._smi.driver else {}),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "torch": torch.__version__,
        }
