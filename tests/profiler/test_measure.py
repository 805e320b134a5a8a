"""Measuring with a device that can be told what to do: memory that runs out, operators it cannot run."""

import pytest

from flexnet.builder import GraphBuilder
from flexnet.errors import FlexNetError
from flexnet.graph import OpType
from flexnet.measurement import check_covers
from flexnet.memory import required_bytes
from flexnet.parts import Cuts, plan_shapes
from flexnet.profiler.journal import Journal
from flexnet.profiler.timing import Timing

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.profiler.measure import Job, measure_all, table_from  # noqa: E402


class FakeDevice:
    """Says a second for each megabyte, and refuses what is larger than its memory."""

    name = "cuda"
    element_bytes = 4
    dtype = torch.float32

    def __init__(self, memory=10**9, fail=None):
        self.memory, self.fail, self.ran = memory, fail, []

    def free_bytes(self):
        return self.memory

    def run(self, make, cap):
        if self.fail is not None:
            raise self.fail
        work = make()
        size = sum(x.numel() * x.element_size() for x in (*work.inputs, *work.weights))
        if size > self.memory:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.ran.append(size)
        backward = Timing(2e-6 * size, None, 1) if any(x.requires_grad for x in work.inputs) else None
        return Timing(1e-6 * size, 0.01, 7), backward, 2 * size, [work.note] if work.note else []


def mlp(batch=64):
    b = GraphBuilder("mlp", batch)
    b.dense(b.dense(b.input(64), 64, activation=OpType.RELU), 64)
    return b.build()


def profile(tmp_path, graph, device, n_server=4):
    shapes = plan_shapes(graph, Cuts(n_server))
    job = Job(shapes, 0, 0.1)
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
    table, details = table_from(job, mlp(), 4, journal, device)
    check_covers(table, mlp())
    assert list(table.entries) == ["Dense_64_64"]
    assert len(table.shapes) == 2
    entry = table.lookup("Dense_64_64", (1, 4))
    assert entry.memory == 2 * device.ran[2]
    assert details[next(iter(table.shapes)), (1, 4)] == {
        "fw_spread": 0.01,
        "fw_repeats": 7,
        "bw_spread": None,
        "bw_repeats": 1,
    }
    before = len(device.ran)
    profile(tmp_path, mlp(), device)
    assert len(device.ran) == before


def test_what_does_not_fit_is_left_out_with_a_warning(tmp_path):
    device = FakeDevice(memory=4 * (64 * 64 + 64 + 32 * 64))  # whole batches do not fit, halves do
    job, journal, _, warnings = profile(tmp_path, mlp(), device)
    assert [w.partition(":")[0] for w in warnings] == ["left out Dense_64_64 with config 2-1-1"] * 2
    table, _ = table_from(job, mlp(), 4, journal, device)
    check_covers(table, mlp())
    assert [entry.degrees for entry in table.entries["Dense_64_64"]] == [(1, 2), (1, 4)]


def test_a_device_too_small_for_the_start_is_refused(tmp_path):
    device = FakeDevice(memory=1000)
    job, journal, _, _ = profile(tmp_path, mlp(), device)
    with pytest.raises(FlexNetError, match=r"Dense_64_64 \(Dense_100\) with config 2-1-4, which every search starts"):
        table_from(job, mlp(), 4, journal, device)


def test_what_cannot_run_is_said_in_one_sentence(tmp_path):
    device = FakeDevice(fail=RuntimeError('"addmm" not implemented for Half\nmore'))
    with pytest.raises(FlexNetError, match=r'Dense_64_64 with config 2-1-1 cannot run on cuda: "addmm" .* Half$'):
        profile(tmp_path, mlp(), device)


def test_a_processor_leaves_out_what_it_has_no_memory_for(tmp_path):
    device = FakeDevice(memory=10**4)
    device.name = "cpu"
    *_, warnings = profile(tmp_path, mlp(), device)
    assert not device.ran
    assert len(warnings) == 6


def test_an_embedding_too_large_has_a_smaller_table(tmp_path):
    b = GraphBuilder("m", 8)
    b.embedding(b.input(3, dtype="int64"), 100_000, 8)
    graph = b.build()
    device = FakeDevice(memory=10**6)
    job, journal, _, _ = profile(tmp_path, graph, device, 1)
    table, details = table_from(job, graph, 1, journal, device)
    (detail,) = details.values()
    assert detail["note"] == "table of 25000 rows in place of 100000"
    memory = table.lookup("Embed_100000x8", (1, 1)).memory
    assert memory == 2 * device.ran[0] + 75_000 * 32
    assert memory < required_bytes(graph.operators[0], 1)
