"""The processor, for real."""

import pytest

from flexnet.errors import FlexNetError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from small_operators import built  # noqa: E402

from flexnet.profiler import cpu  # noqa: E402
from flexnet.profiler.cpu import Cpu  # noqa: E402
from flexnet.profiler.device import is_out_of_memory  # noqa: E402
from flexnet.profiler.operators import make_work  # noqa: E402


def dense():
    return make_work(built(lambda b: b.dense(b.input(4), 4), batch=8), device="cpu", dtype=torch.float32)


def test_the_processor_is_timed():
    device = Cpu("fp32")
    ran = device.run(dense, 0.01)
    assert 0 < ran.forward.seconds < 10
    assert ran.backward is not None
    assert 0 < ran.backward.seconds < 10
    assert (ran.peak, ran.notes, ran.clocks) == (None, (), None)
    assert device.free_bytes() > 2**20
    assert device.provenance()["device"] == "cpu"
    assert device.provenance()["torch"] == torch.__version__
    assert device.is_alive()


@pytest.mark.parametrize(("given", "threads"), [(None, 4), ("7", 7)])
def test_half_of_the_cores_are_left_to_others(monkeypatch, given, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(cpu, "_THREADS", 8)
    torch.set_num_threads(7)
    assert Cpu("fp32").provenance()["threads"] == threads


def test_a_sample_lasts_a_millisecond(monkeypatch):
    now = 0.0

    def run():
        nonlocal now
        now += 0.6e-3

    monkeypatch.setattr(cpu.time, "perf_counter", lambda: now)
    sample = cpu._stopwatch(run)
    before = now
    assert sample(3) == pytest.approx([0.6e-3] * 3)
    assert now - before == pytest.approx(6 * 0.6e-3)


def test_a_processor_has_no_tf32():
    with pytest.raises(FlexNetError, match="--dtype tf32 needs --device cuda"):
        Cpu("tf32")


def test_running_out_of_memory_is_told_from_other_errors():
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"))
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"))
    assert is_out_of_memory(RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))
