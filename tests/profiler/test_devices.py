"""The processor for real, and the CUDA device with its driver replaced: what it does can be seen without a GPU."""

import contextlib
import itertools
from types import SimpleNamespace

import pytest

from flexnet.errors import FlexNetError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.builder import GraphBuilder  # noqa: E402
from flexnet.profiler import devices  # noqa: E402
from flexnet.profiler.devices import Cpu, Cuda, is_out_of_memory, open_device  # noqa: E402
from flexnet.profiler.operators import make_work  # noqa: E402


def dense():
    b = GraphBuilder("m", 8)
    b.dense(b.input(4), 4)
    return make_work(b.build().operators[0], device="cpu", dtype=torch.float32)


def test_the_processor_is_timed():
    device = open_device("cpu", "fp32")
    forward, backward, peak, notes = device.run(dense, 0.01)
    assert 0 < forward.seconds < 0.1
    assert backward is not None
    assert 0 < backward.seconds < 0.1
    assert (peak, notes) == (None, [])
    assert device.free_bytes() > 2**20
    assert device.provenance()["device"] == "cpu"
    assert device.provenance()["torch"] == torch.__version__


@pytest.mark.parametrize(("given", "threads"), [(None, 4), ("7", 7)])
def test_half_of_the_cores_are_left_to_others(monkeypatch, given, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(devices, "_CORES", 8)
    torch.set_num_threads(7)
    assert Cpu("fp32").provenance()["threads"] == threads


def test_a_processor_has_no_tf32():
    with pytest.raises(FlexNetError, match="--dtype tf32 needs --device cuda"):
        Cpu("tf32")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA GPU")
def test_without_a_gpu_the_other_devices_are_named():
    with pytest.raises(FlexNetError, match=r"^--device cuda needs a CUDA GPU and its driver \(.+\); use --device cpu"):
        Cuda("fp32")


def test_running_out_of_memory_is_told_from_other_errors():
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"))
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))


class FakeGpu:
    """Stands in for torch.cuda: counts what is asked of it; events are a tenth of a millisecond apart."""

    def __init__(self, seconds=1e-4, capturable=True, major=9):
        self.seconds, self.capturable = seconds, capturable
        self.calls = []
        self.clock = itertools.count()
        self.properties = SimpleNamespace(
            name="Fake GPU", major=major, minor=0, L2_cache_size=1024, total_memory=10**10
        )

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

        @contextlib.contextmanager
        def graph(_graph, stream):
            gpu.calls.append("capture")
            if not gpu.capturable:
                raise RuntimeError("operation not permitted when stream is capturing")
            yield

        stream = SimpleNamespace(synchronize=lambda: None)
        cuda = torch.cuda
        for name, value in {
            "init": lambda: None,
            "get_device_properties": lambda _index: gpu.properties,
            "Stream": lambda _device: stream,
            "stream": lambda _stream: contextlib.nullcontext(),
            "Event": Event,
            "CUDAGraph": Graph,
            "graph": graph,
            "synchronize": lambda _device=None: None,
            "empty_cache": lambda: gpu.calls.append("empty_cache"),
            "memory_allocated": lambda _device: 100,
            "max_memory_allocated": lambda _device: 5100,
            "reset_peak_memory_stats": lambda _device: gpu.calls.append("reset_peak"),
            "mem_get_info": lambda _device: (7 * 10**9, 10**10),
        }.items():
            patch.setattr(cuda, name, value)
        patch.setattr(torch, "device", lambda *_names: None)
        patch.setattr(Cuda, "_warm_up", lambda self: None)
        self.smi = {
            "driver_version": ["550.1"],
            "clocks.sm": ["1410", "1593", "45", "[N/A]"],
            "clocks_throttle_reasons.active": ["0x4"],
        }
        patch.setattr(devices, "_nvidia_smi", lambda fields, uuid=None: gpu.smi.get(fields[0]))
        patch.setattr(torch, "set_float32_matmul_precision", lambda name: gpu.calls.append(name))
        patch.setattr(torch.backends.cudnn, "allow_tf32", True)
        patch.setattr(torch.backends.cudnn, "benchmark", False)


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeGpu()
    fake.install(monkeypatch)
    return fake


def test_short_passes_are_captured_as_graphs(gpu):
    device = Cuda("fp32")
    forward, backward, peak, _ = device.run(dense, 0.05)
    assert forward.seconds == backward.seconds == pytest.approx(1e-4)
    assert peak == 5000
    assert gpu.calls.count("capture") == 2
    assert gpu.calls.count("replay") >= 10
    assert gpu.calls.count("reset_peak") == 2
    found = device.provenance()
    assert found["passes_timed_as_graphs"] == 2
    assert found["throttled"] == ["power cap"]
    assert found["clocks"][0] == {
        "sm_mhz": 1410.0,
        "memory_mhz": 1593.0,
        "celsius": 45.0,
        "watts": None,
        "throttled": ["power cap"],
    }
    assert (found["gpu"], found["driver"], found["dtype"]) == ("Fake GPU", "550.1", "fp32")
    assert "highest" in gpu.calls
    assert torch.backends.cudnn.allow_tf32 is False
    assert torch.backends.cudnn.benchmark is True
    assert device.free_bytes() == 7 * 10**9


def test_a_driver_that_does_not_say_why_clocks_are_down(gpu):
    del gpu.smi["clocks_throttle_reasons.active"]
    device = Cuda("fp32")
    device.run(dense, 0.01)
    assert device.provenance()["clocks"][0]["throttled"] is None


def test_a_gpu_whose_memory_is_taken(gpu, monkeypatch):
    def refuse(_self):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 MiB.\nmore")

    monkeypatch.setattr(Cuda, "_warm_up", refuse)
    with pytest.raises(FlexNetError, match=r"^Fake GPU cannot be used \(CUDA out of memory.*MiB\); use --device cpu"):
        Cuda("fp32")


def test_a_cache_that_cannot_be_emptied_is_lived_with(gpu, monkeypatch):
    def refuse():
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    device = Cuda("fp32")
    monkeypatch.setattr(torch.cuda, "empty_cache", refuse)
    assert device.run(dense, 0.01)[0].seconds == pytest.approx(1e-4)


def test_long_passes_are_not(gpu):
    gpu.seconds = 0.01
    device = Cuda("tf32")
    forward, _, _, _ = device.run(dense, 0.05)
    assert forward.seconds == pytest.approx(0.01)
    assert "capture" not in gpu.calls
    assert device.provenance()["passes_timed_in_loops"] == 2
    assert "high" in gpu.calls
    assert torch.backends.cudnn.allow_tf32 is True


def test_what_cannot_be_captured_is_timed_in_a_loop(gpu):
    gpu.capturable = False
    device = Cuda("bf16")
    forward, backward, _, notes = device.run(dense, 0.05)
    said = "timed without a CUDA graph: operation not permitted when stream is capturing"
    assert notes == [f"forward {said}", f"backward {said}"]
    assert forward.seconds == backward.seconds == pytest.approx(1e-4)
    assert device.provenance()["passes_timed_in_loops"] == 2


def test_old_gpus_have_no_bf16(gpu):
    gpu.properties.major = 7
    with pytest.raises(FlexNetError, match=r"^--dtype bf16 needs a GPU of .* 8 or more; Fake GPU has 7\.0$"):
        Cuda("bf16")


def test_nvidia_smi_is_asked_and_may_be_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices._nvidia_smi(("driver_version",)) is None
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '550.54, 0x20'\n")
    program.chmod(0o755)
    assert devices._nvidia_smi(("driver_version", "reasons")) == ["550.54", "0x20"]
    assert devices._nvidia_smi(("driver_version",)) is None
