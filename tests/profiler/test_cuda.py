"""On a real GPU: every operator runs, short passes as CUDA graphs, times and memory are those of a GPU."""

import pytest

from flexnet.graph import OpType
from flexnet.models import MODELS
from flexnet.shapes import shape_name
from profiler.small_operators import built, small_operators

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.profiler.devices import Cuda  # noqa: E402
from flexnet.profiler.operators import make_work  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")


@pytest.fixture(scope="module")
def gpu():
    return Cuda("fp32")


def run(gpu, op):
    return gpu.run(lambda: make_work(op, device="cuda", dtype=gpu.dtype), 0.02)


OPERATORS = [*small_operators(), *MODELS["moe"].build({}, 80).operators]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: f"{op.kind.name}-{shape_name(op)}")
def test_every_operator_is_timed_as_a_graph(gpu, op):
    forward, backward, peak, notes = run(gpu, op)
    assert not notes
    assert 1e-6 < forward.seconds < 1e-3
    assert backward is None if op.kind == OpType.CACHE else 1e-6 < backward.seconds < 1e-3
    assert peak >= sum(4 * x.volume for x in (*op.outputs, *op.weights))


def test_a_product_reaches_what_the_gpu_can(gpu):
    """Within 10 % of a plain product, timed by the same events."""
    n = 4096
    forward, _, peak, _ = run(gpu, built(lambda b: b.dense(b.input(n), n, bias=False), batch=n))
    a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
    seconds = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    assert forward.seconds == pytest.approx(sorted(seconds)[10], rel=0.1)
    assert peak >= 3 * 4 * n * n


def test_too_large_is_out_of_memory_and_the_next_one_runs(gpu):
    n = torch.cuda.get_device_properties(0).total_memory // 4096
    with pytest.raises(torch.OutOfMemoryError):
        run(gpu, built(lambda b: b.dense(b.input(1024), 8), batch=n))
    forward, *_ = run(gpu, built(lambda b: b.dense(b.input(8), 8)))
    assert forward.seconds < 1e-3


def test_what_the_gpu_is_stands_in_the_file(gpu):
    found = gpu.provenance()
    assert found["device"] == "cuda"
    assert found["gpu"] == torch.cuda.get_device_name(0)
    assert found["driver"] != "unknown"
    assert found["clocks"]
    assert found["gpu_memory_bytes"] > 2**30
