"""The CUDA device with its driver replaced: what it asks for, in which order, and what it makes of errors."""

import functools

import pytest

from flexnet.errors import FlexNetError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from fake_gpu import FakeGpu  # noqa: E402
from small_operators import built  # noqa: E402

from flexnet.profiler.cuda import Cuda  # noqa: E402
from flexnet.profiler.operators import Work, make_work  # noqa: E402

TAKEN = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 MiB.\nmore")


@pytest.fixture
def gpu(monkeypatch):
    fake = FakeGpu()
    fake.install(monkeypatch)
    return fake


def seen(gpu, of_work):
    @functools.wraps(of_work)
    def run(self):
        gpu.passes(of_work.__name__)
        of_work(self)

    return run


@pytest.fixture
def dense(gpu, monkeypatch):
    """Makes a small operator whose passes the fake GPU sees."""
    for name in ("forward", "backward"):
        monkeypatch.setattr(Work, name, seen(gpu, getattr(Work, name)))
    op = built(lambda b: b.dense(b.input(4), 4), batch=8)
    return lambda: make_work(op, device="cpu", dtype=torch.float32)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA GPU")
def test_without_a_gpu_the_other_devices_are_named():
    with pytest.raises(FlexNetError, match=r"^--device cuda needs a CUDA GPU and its driver \(.+\); use --device cpu"):
        Cuda("fp32")


def test_short_passes_are_captured_as_graphs(gpu, dense):
    device = Cuda("fp32")
    assert gpu.calls[:2] == ["highest", "warm up"]
    assert device.provenance()["one_element_s"] == pytest.approx(1e-4)
    gpu.calls.clear()
    ran = device.run(dense, 0.05)
    assert ran.forward.seconds == ran.backward.seconds == pytest.approx(1e-4)
    assert (ran.peak, ran.notes) == (5000, ())
    calls = [call for call in gpu.calls if call != "replay"]
    twice = ["reset_peak", "forward", "backward"] * 2
    # each pass: once to see whether it is short, once to see whether it waits for the GPU, once in the capture
    one = ["forward", "forward", "capture", "forward captured"]
    other = ["backward", "backward", "capture", "backward captured"]
    assert calls == [*twice, "read peak", *one, *other, "clocks", "empty_cache"]
    assert gpu.calls.count("replay") >= 10
    assert torch.backends.cudnn.allow_tf32 is False
    assert torch.backends.cudnn.benchmark is True
    assert device.free_bytes() == 7 * 10**9
    assert gpu.sync_mode == "default"


def test_what_the_gpu_is(gpu, dense):
    device = Cuda("fp32")
    found = device.provenance()
    assert (found["gpu"], found["driver"], found["dtype"], found["device"]) == ("Fake GPU", "550.1", "fp32", "cuda")
    assert found["gpu_memory_bytes"] == 10**10
    assert device.run(dense, 0.01).clocks == {
        "sm_mhz": 1410.0,
        "memory_mhz": 1593.0,
        "celsius": 45.0,
        "watts": None,
        "throttled": ["power cap"],
    }
    assert device.run(dense, 0.01).clocks is None  # ten seconds have not gone by


def test_a_driver_that_does_not_say_why_clocks_are_down(gpu, dense):
    del gpu.answers["clocks_throttle_reasons.active"]
    assert Cuda("fp32").run(dense, 0.01).clocks["throttled"] is None


def test_without_nvidia_smi(gpu, dense):
    gpu.answers.clear()
    device = Cuda("fp32")
    assert device.run(dense, 0.01).clocks is None
    assert device.provenance()["driver"] == "unknown"
    assert "driver" not in device.identity()  # one that answers tomorrow is no other


def test_long_passes_are_timed_as_they_are(gpu, dense):
    gpu.seconds = 0.01
    device = Cuda("tf32")
    gpu.calls.clear()
    ran = device.run(dense, 0.05)
    assert ran.forward.seconds == pytest.approx(0.01)
    assert not ran.notes
    assert "capture" not in gpu.calls
    assert torch.backends.cudnn.allow_tf32 is True


def test_what_waits_for_the_gpu_is_not_captured(gpu, dense):
    device = Cuda("bf16")
    gpu.calls.clear()
    gpu.synchronizes = True
    ran = device.run(dense, 0.05)
    assert ran.notes == tuple(
        f"{name} timed without a CUDA graph: it waits for the GPU" for name in ("forward", "backward")
    )
    assert "capture" not in gpu.calls
    assert gpu.sync_mode == "default"


@pytest.mark.parametrize("where", ["fails_inside", "fails_at_end"])
def test_after_a_capture_that_failed_none_is_tried(gpu, dense, where):
    device = Cuda("bf16")
    setattr(gpu, where, RuntimeError("operation failed due to a previous error during capture\nmore"))
    gpu.calls.clear()
    ran = device.run(dense, 0.05)
    said = "timed without a CUDA graph:"
    reason = "operation failed due to a previous error during capture"
    assert ran.notes == (f"forward {said} {reason}", f"backward {said} an earlier capture failed ({reason})")
    assert ran.forward.seconds == ran.backward.seconds == pytest.approx(1e-4)
    assert gpu.calls.count("capture") == 1


def test_a_graph_there_is_no_memory_for_is_timed_as_it_is(gpu, dense):
    device = Cuda("fp32")
    gpu.fails_inside = TAKEN
    gpu.calls.clear()
    ran = device.run(dense, 0.05)
    assert [note.partition(":")[2] for note in ran.notes] == [" CUDA out of memory. Tried to allocate 64.00 MiB"] * 2
    assert gpu.calls.count("capture") == 2  # the next one may fit
    failed = gpu.calls.index("forward captured")
    assert gpu.calls[failed + 1 : failed + 3] == ["empty_cache", "forward"]


def test_what_is_in_the_way_is_freed_before_the_capture(gpu, dense, monkeypatch):
    work = dense()
    kept = []
    enter = torch.cuda.graph.__enter__
    monkeypatch.setattr(torch.cuda.graph, "__enter__", lambda self: (kept.append(len(work.outputs)), enter(self)))
    Cuda("fp32").run(lambda: work, 0.01)
    assert kept[-2:] == [0, 1]  # the backward pass starts from the forward pass's outputs


def test_old_gpus_have_no_bf16(gpu):
    gpu.properties.major = 7
    with pytest.raises(FlexNetError, match=r"^--dtype bf16 needs a GPU of .* 8 or more; Fake GPU has 7\.0$"):
        Cuda("bf16")


def test_a_gpu_whose_memory_is_taken(gpu, monkeypatch):
    def refuse(_self):
        raise TAKEN

    monkeypatch.setattr(Cuda, "_warm_up", refuse)
    with pytest.raises(FlexNetError, match=r"^Fake GPU cannot be used \(CUDA out of memory.*MiB\); use --device cpu"):
        Cuda("fp32")


def test_a_cache_that_cannot_be_emptied_is_lived_with(gpu, dense, monkeypatch):
    def refuse():
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED")

    device = Cuda("fp32")
    monkeypatch.setattr(torch.cuda, "empty_cache", refuse)
    assert device.run(dense, 0.01).forward.seconds == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("error", "alive"),
    [
        (None, True),
        (TAKEN, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
    ],
)
def test_a_dead_gpu_is_told_from_a_refusal(gpu, monkeypatch, error, alive):
    def synchronize(_device=None):
        if error:
            raise error

    device = Cuda("fp32")
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    assert device.is_alive() is alive
