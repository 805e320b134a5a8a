"""On a real GPU: every operator runs, short passes as CUDA graphs, times and memory are those of a GPU."""

import pytest
from small_operators import built, small_operators

from flexnet.cost.shape_names import shape_name
from flexnet.model.graph import OpType
from flexnet.model.zoo import MODELS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.profiler.cuda import Cuda  # noqa: E402
from flexnet.profiler.imported_operators import departure  # noqa: E402
from flexnet.profiler.operators import Work, make_work  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")


@pytest.fixture(scope="module")
def gpu():
    return Cuda("fp32")


def run(gpu, op):
    return gpu.run(lambda: make_work(op, device="cuda", dtype=gpu.dtype), 0.02)


OPERATORS = [*small_operators(), *MODELS["moe"].build({}, 80).operators]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: f"{op.kind.name}-{shape_name(op)}")
def test_every_operator_is_timed_as_a_graph(gpu, op):
    ran = run(gpu, op)
    assert set(ran.notes) <= {departure(op)}
    assert 1e-6 < ran.forward.seconds < 1e-3
    assert ran.backward is None if op.kind == OpType.CACHE else 1e-6 < ran.backward.seconds < 1e-3
    least = sum(4 * x.volume for x in (*op.outputs, *op.weights))
    assert least <= ran.peak < 2**22 + 20 * least
    assert run(gpu, op).peak == ran.peak


def test_a_product_reaches_what_the_gpu_can(gpu):
    """Within 10 % of a plain product, timed by the same events."""
    n = 4096
    ran = run(gpu, built(lambda b: b.dense(b.input(n), n, bias=False), batch=n))
    a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
    seconds = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    assert ran.forward.seconds == pytest.approx(sorted(seconds)[10], rel=0.1)
    assert 3 * 4 * n * n <= ran.peak < 7 * 4 * n * n


def test_what_waits_for_the_gpu_is_timed_and_the_next_one_is_a_graph(gpu):
    def make():
        x = torch.ones(64, device="cuda", requires_grad=True)
        return Work(lambda xs, ws: (xs[0] * xs[0].sum().item(),), [x], [])

    assert any("it waits for the GPU" in note for note in gpu.run(make, 0.02).notes)
    assert not run(gpu, built(lambda b: b.dense(b.input(8), 8))).notes


def test_a_pass_of_one_element_is_short(gpu):
    assert gpu.provenance()["one_element_s"] < 2e-5


@pytest.mark.parametrize("dtype", ["tf32", "bf16", "fp16"])
def test_narrower_arithmetic_is_faster(gpu, dtype):
    op = built(lambda b: b.dense(b.input(4096), 4096), batch=4096)
    assert run(Cuda(dtype), op).forward.seconds < 0.7 * run(Cuda("fp32"), op).forward.seconds


def test_attention_with_a_bias_runs_as_one_kernel():
    """T5's; one kernel after the other, which write all scores, takes 20 times as long."""

    def op(**more):
        return built(
            lambda b: b.add(OpType.SCALED_DOT_PRODUCT, *(b.input(512, 768) for _ in "qkv"), heads=12, **more), batch=16
        )

    gpu = Cuda("bf16")
    plain, biased = run(gpu, op()), run(gpu, op(buckets=32))
    assert biased.forward.seconds < 8 * plain.forward.seconds
    assert biased.backward.seconds < 8 * plain.backward.seconds


def test_too_large_is_out_of_memory_and_the_next_one_runs(gpu):
    n = torch.cuda.get_device_properties(0).total_memory // 4096
    with pytest.raises(torch.OutOfMemoryError):
        run(gpu, built(lambda b: b.dense(b.input(1024), 8), batch=n))
    assert run(gpu, built(lambda b: b.dense(b.input(8), 8))).forward.seconds < 1e-3


def test_what_the_gpu_is_stands_in_the_file(gpu):
    found = gpu.provenance()
    assert found["device"] == "cuda"
    assert found["gpu"] == torch.cuda.get_device_name(0)
    assert found["driver"] != "unknown"
    assert found["gpu_memory_bytes"] > 2**30
