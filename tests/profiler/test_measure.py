"""Measuring with a device that can be told what to do: memory that runs out, operators it cannot run."""

import pytest

from flexnet.cost.coverage import check_covers
from flexnet.cost.parts import required_bytes
from flexnet.cost.shapes import Cuts, plan_shapes
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.profiler.journal import Journal, Measured
from flexnet.profiler.timing import Timing

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.profiler.device import Ran  # noqa: E402
from flexnet.profiler.measure import Job, how_well_known, measure_all, table_from, throttled  # noqa: E402


class FakeDevice:
    """Says a second for each megabyte, and refuses what is larger than its memory."""

    name, torch_device = "cuda", "cpu"
    element_bytes = 4
    dtype = torch.float32

    def __init__(self, memory=10**9, fail=None, fail_rows=None):
        self.memory, self.fail, self.fail_rows, self.ran, self.alive = memory, fail, fail_rows, [], True

    def free_bytes(self):
        return self.memory

    def run(self, make, cap):
        work = make()
        if self.fail is not None and (self.fail_rows is None or work.inputs[0].shape[0] == self.fail_rows):
            raise self.fail
        size = sum(x.numel() * x.element_size() for x in (*work.inputs, *work.weights))
        if size > self.memory:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.ran.append(size)
        backward = Timing(2e-6 * size, None, 1) if any(x.requires_grad for x in work.inputs) else None
        return Ran(Timing(1e-6 * size, 0.01, 7), backward, 2 * size, (work.note,) if work.note else (), self.clocks)

    clocks = None

    def is_alive(self):
        return self.alive


def mlp(batch=64):
    b = GraphBuilder("mlp", batch)
    b.dense(b.dense(b.input(64), 64, activation=OpType.RELU), 64)
    return b.build()


def profile(tmp_path, graph, device, n_server=4):
    shapes = plan_shapes(graph, Cuts(n_server))
    job = Job(shapes, n_server, 0, 0.1)
    tmp_path.mkdir(exist_ok=True)
    journal = Journal(tmp_path / "j", {})
    journal.open(resume=True)
    steps, warnings = [], []
    measure_all(job, device, journal, observe=steps.append, warn=warnings.append)
    return job, journal, steps, warnings


def test_every_shape_is_measured_once(tmp_path):
    device = FakeDevice()
    job, journal, steps, warnings = profile(tmp_path, mlp(), device)
    assert len(device.ran) == len(job.configs) == 6  # two shapes, for one has an activation
    assert [step.n_done for step in steps] == [1, 2, 3, 4, 5, 6]
    assert steps[-1].share == pytest.approx(1.0)
    assert not warnings
    table, details = table_from(job, mlp(), journal, device)
    check_covers(table, mlp())
    assert list(table.entries) == ["Dense_64_64"]
    assert len(table.shapes) == 2
    entry = table.lookup("Dense_64_64", (1, 4))
    assert entry.memory == 2 * device.ran[0]  # every search starts from it, so it comes first
    assert details[next(iter(table.shapes)), (1, 4)] == {
        "fw_spread": 0.01,
        "fw_repeats": 7,
        "bw_spread": None,
        "bw_repeats": 1,
    }
    assert how_well_known(journal) == "6 of 12 times are known to 2 %; 6 passes ran only once"
    before = len(device.ran)
    profile(tmp_path, mlp(), device)
    assert len(device.ran) == before


def test_times_that_spread_are_told(tmp_path):
    journal = Journal(tmp_path / "j", {})
    for i, spread in enumerate((0.02, 0.031, 0.004)):
        journal.found["Flat", (i,)] = Measured("Flat", (i,), 1e-3, 0.0, 64, 0.2, {"fw_spread": spread, "fw_repeats": 9})
    assert how_well_known(journal) == "2 of 3 times are known to 2 %, the worst to 3 %"


def test_what_does_not_fit_is_left_out_with_a_warning(tmp_path):
    device = FakeDevice(memory=4 * (64 * 64 + 64 + 32 * 64))  # whole batches do not fit, halves do
    job, journal, _, warnings = profile(tmp_path, mlp(), device)
    assert [w.partition(":")[0] for w in warnings] == ["left out Dense_64_64 with config 2-1-1"] * 2
    table, _ = table_from(job, mlp(), journal, device)
    check_covers(table, mlp())
    assert [entry.degrees for entry in table.entries["Dense_64_64"]] == [(1, 2), (1, 4)]
    assert "does not fit the memory of cuda (0.0 GB free)" in warnings[0]


def test_a_device_too_small_for_the_start_is_refused_at_once(tmp_path):
    device = FakeDevice(memory=1000)
    with pytest.raises(FlexNetError, match=r"Dense_64_64 with config 2-1-4, which every search starts from, cannot be"):
        profile(tmp_path, mlp(), device)
    assert not device.ran


def test_what_the_libraries_refuse_is_left_out(tmp_path):
    device = FakeDevice(fail=RuntimeError("CUDNN_STATUS_NOT_SUPPORTED\nmore"), fail_rows=64)
    job, journal, steps, warnings = profile(tmp_path, mlp(), device)
    said = "left out Dense_64_64 with config 2-1-1: cuda refuses it (CUDNN_STATUS_NOT_SUPPORTED)"
    assert warnings == [said] * 2
    assert len(device.ran) == 4
    assert len(steps) == 6
    check_covers(table_from(job, mlp(), journal, device)[0], mlp())


def test_what_cannot_run_at_the_start_is_said_in_one_sentence(tmp_path):
    device = FakeDevice(fail=RuntimeError('"addmm" not implemented for Half\nmore'))
    with pytest.raises(FlexNetError, match=r'2-1-4, which .* cannot be measured: cuda refuses it \("addmm" .* Half\)$'):
        profile(tmp_path, mlp(), device)


def test_a_device_that_failed_ends_the_profile_and_the_next_goes_on_without_that_config(tmp_path):
    device = FakeDevice(fail=RuntimeError("CUDA error: an illegal memory access was encountered"), fail_rows=64)
    device.alive = False
    with pytest.raises(FlexNetError, match=r"^cuda failed on Dense_64_64 with config 2-1-1: CUDA error: .* --resume$"):
        profile(tmp_path, mlp(), device)
    assert len(device.ran) == 2  # those came before, and are kept
    again = FakeDevice()
    _, journal, _, warnings = profile(tmp_path, mlp(), again)
    (said,) = warnings
    assert "2-1-1: cuda failed on it before (CUDA error: an illegal memory access was encountered)" in said
    assert len(again.ran) == 3
    assert len(journal.found) == 5


@pytest.mark.parametrize("text", ["CUBLAS_STATUS_NOT_SUPPORTED when calling x", "invalid configuration argument"])
def test_a_refusal_that_calls_itself_a_cuda_error_ends_nothing(tmp_path, text):
    device = FakeDevice(fail=RuntimeError(f"CUDA error: {text}"), fail_rows=64)
    *_, warnings = profile(tmp_path, mlp(), device)
    assert len(device.ran) == 4
    assert len(warnings) == 2


def test_clocks_stand_with_what_was_measured_then(tmp_path):
    device = FakeDevice()
    device.clocks = {"sm_mhz": 1410.0, "throttled": ["power cap"]}
    job, journal, *_ = profile(tmp_path, mlp(), device)
    assert throttled(journal) == ["power cap"]
    _, details = table_from(job, mlp(), journal, device)
    assert all(detail["clocks"] == device.clocks for detail in details.values())
    device.clocks["throttled"] = None  # not told
    assert throttled(profile(tmp_path / "other", mlp(), device)[1]) == []


def test_a_processor_leaves_out_what_it_has_no_memory_for(tmp_path):
    whole = 2 * required_bytes(mlp().operators[0], 1)
    device = FakeDevice(memory=int(whole / 0.8) - 1)
    device.name = "cpu"
    *_, warnings = profile(tmp_path, mlp(), device)
    assert [w.partition(":")[0] for w in warnings] == ["left out Dense_64_64 with config 2-1-1"] * 2
    assert len(device.ran) == 4


def test_a_processor_without_memory_for_the_start_is_refused(tmp_path):
    device = FakeDevice(memory=10**4)
    device.name = "cpu"
    with pytest.raises(FlexNetError, match=r"2-1-4, .* cannot be measured: it needs 0\.0 GB and 0\.0 GB are free$"):
        profile(tmp_path, mlp(), device)
    assert not device.ran


def test_an_embedding_too_large_has_a_smaller_table(tmp_path):
    b = GraphBuilder("m", 8)
    b.embedding(b.input(3, dtype="int64"), 100_000, 8)
    graph = b.build()
    device = FakeDevice(memory=10**6)
    job, journal, _, _ = profile(tmp_path, graph, device, 1)
    table, details = table_from(job, graph, journal, device)
    (detail,) = details.values()
    assert detail["note"] == "table of 25000 rows in place of 100000"
    memory = table.lookup("Embed_100000x8", (1, 1)).memory
    assert memory == 2 * device.ran[0] + 75_000 * 32
    assert memory < required_bytes(graph.operators[0], 1)
