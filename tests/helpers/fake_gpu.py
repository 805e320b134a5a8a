"""Stands in for torch.cuda: notes what is asked of it, and says whatever times and errors it is told to."""

import itertools
from types import SimpleNamespace

import torch

from flexnet.profiler import nvidia_smi
from flexnet.profiler.cuda import Cuda


class FakeGpu:
    """A GPU whose passes all take ``seconds``.

    Parameters
    ----------
    fails_inside, fails_at_end : Exception or None
        What a capture raises while the pass runs, or when it ends.
    synchronizes : bool
        Whether passes wait for the GPU.
    """

    def __init__(self):
        self.seconds = 1e-4
        self.fails_inside = self.fails_at_end = None
        self.synchronizes = False
        self.calls = []
        self.sync_mode = "default"
        self.capturing = False
        self.clock = itertools.count()
        self.properties = SimpleNamespace(name="Fake GPU", major=9, minor=0, L2_cache_size=1024, total_memory=10**10)
        self.answers = {
            "driver_version": "550.1",
            "clocks.sm": "1410",
            "clocks.mem": "1593",
            "temperature.gpu": "45",
            "power.draw": "[N/A]",
            "clocks_throttle_reasons.active": "0x4",
        }

    def passes(self, name):
        """To be called in every pass."""
        self.calls.append(f"{name} captured" if self.capturing else name)
        if self.synchronizes and self.sync_mode == "error":
            raise RuntimeError("called a synchronizing CUDA operation")
        if self.capturing and self.fails_inside:
            raise self.fails_inside

    def ask(self, _smi, names, meanwhile=None):
        if meanwhile:
            self.calls.append("clocks")
            meanwhile()
        values = [self.answers.get(name) for name in names]
        return None if None in values else values

    def install(self, patch):
        gpu = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = next(gpu.clock)

            def elapsed_time(self, other):
                assert other.at == self.at + 1
                return gpu.seconds * 1e3

        class Graph:
            def replay(self):
                gpu.calls.append("replay")

        class Capture:
            def __init__(self, _graph, stream):
                assert stream is not None

            def __enter__(self):
                gpu.calls.append("capture")
                gpu.capturing = True

            def __exit__(self, *_error):
                gpu.capturing = False
                if gpu.fails_at_end:
                    raise gpu.fails_at_end

        class Stream:
            def __init__(self, _device=None):
                pass

            def synchronize(self):
                pass

            def __enter__(self):
                pass

            def __exit__(self, *_error):
                pass

        for name, value in {
            "init": lambda: None,
            "get_device_properties": lambda _index: gpu.properties,
            "Stream": Stream,
            "stream": Stream,
            "Event": Event,
            "CUDAGraph": Graph,
            "graph": Capture,
            "synchronize": lambda _device=None: None,
            "empty_cache": lambda: gpu.calls.append("empty_cache"),
            "memory_allocated": lambda _device: 100,
            "max_memory_allocated": self._peak,
            "reset_peak_memory_stats": lambda _device: gpu.calls.append("reset_peak"),
            "mem_get_info": lambda _device: (7 * 10**9, 10**10),
            "set_sync_debug_mode": lambda mode: setattr(gpu, "sync_mode", mode),
        }.items():
            patch.setattr(torch.cuda, name, value)
        patch.setattr(torch, "device", lambda *_names: None)
        patch.setattr(Cuda, "_warm_up", lambda self: gpu.calls.append("warm up"))
        patch.setattr(nvidia_smi.NvidiaSmi, "_ask", lambda smi, *more: gpu.ask(smi, *more))
        patch.setattr(torch, "set_float32_matmul_precision", lambda name: gpu.calls.append(name))
        patch.setattr(torch.backends.cudnn, "allow_tf32", True)
        patch.setattr(torch.backends.cudnn, "benchmark", False)

    def _peak(self, _device):
        self.calls.append("read peak")
        return 5100
