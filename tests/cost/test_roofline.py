import subprocess
import sys
from statistics import median

import pytest
from command_lines import ROOT, environment

from flexnet.cost.coverage import check_covers
from flexnet.cost.efficiency import EFFICIENCY
from flexnet.cost.gpus import GPUS
from flexnet.cost.measurement_file import read_measurement, write_measurement
from flexnet.cost.parts import required_bytes
from flexnet.cost.roofline import part_seconds, roofline_table
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.model.precision import PRECISIONS
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurements

SHARED = ["alexnet", "candle16", "dlrm128", "dlrm16", "resnet128", "transformer16", "vgg16"]


def test_estimates_are_near_the_published_a100_times(shared_data):
    ratios = []
    for name in SHARED:
        published = published_measurements()[name]
        measured = read_measurement(shared_data / "measurements" / f"{name}.json")
        table = roofline_table(published.build(), "a100", n_server=published.n_server, big_gpu=published.big_gpu)
        for key, entries in measured.entries.items():
            for entry in entries:
                ours = table.lookup(key, entry.degrees)
                assert ours.memory == entry.memory
                ratios += [ours.forward / entry.forward, ours.backward / entry.backward]
    assert len(ratios) == 618
    assert median(abs(ratio - 1) for ratio in ratios) < 0.15
    assert sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios) / len(ratios) >= 0.9


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "moe"])
def test_every_model_has_a_table_that_covers_it(name, gpu):
    graph = MODELS[name].build({}, 64)
    dtype = None if graph.dtype is None else "fp16"  # the V100 has no bf16
    table = roofline_table(graph, gpu, n_server=4, big_gpu=2, dtype=dtype)
    check_covers(table, graph)
    assert table.estimated
    assert table.source == f"roofline {gpu}" + (" fp16" if dtype else "")
    assert all(e.forward > 0 and e.backward > 0 for entries in table.entries.values() for e in entries)


def test_experts_are_estimated_too():
    graph = MODELS["moe"].build({}, 320)  # 256 rows for each expert
    table = roofline_table(graph, "a100", n_server=16, big_gpu=4)
    check_covers(table, graph)
    assert {"Group_by", "TopK", "Cache", "Aggregate", "AggregateSpec"} <= table.entries.keys()
    assert table.lookup("Cache", (1, 16)).backward == 0


def test_experts_whose_rows_do_not_divide_are_refused():
    with pytest.raises(FlexNetError, match=r"\(Softmax\)|\(Group_by\) cannot be cut over 16 servers of 1 GPU:"):
        roofline_table(MODELS["moe"].build({}, 64), "a100", n_server=16)


def test_a_batch_the_gpus_do_not_divide_is_refused():
    with pytest.raises(FlexNetError, match=r"Dense_100 \(Dense_4_2\) .* its batch \(40\) must be a multiple of 64"):
        roofline_table(MODELS["dlrm"].build({}, 40), "a100", n_server=16, big_gpu=4)


def test_a_written_table_reads_back_the_same(tmp_path):
    graph = MODELS["dlrm"].build({}, 64)
    table = roofline_table(graph, "a100", n_server=8, big_gpu=2)
    write_measurement(tmp_path / "m.json", table, provenance={"date": "2026-11-21"})
    back = read_measurement(tmp_path / "m.json", batch_size=64, n_server=8)
    assert back.entries == table.entries
    assert back.estimated
    assert back.provenance["date"] == "2026-11-21"
    assert back.provenance["gpu"]["name"] == "a100"


def dense(activation=None):
    b = GraphBuilder("m", 4096)
    b.dense(b.input(1024), 1024, activation=activation)
    return b.build()


def test_channel_parts_are_faster_and_hold_less():
    table = roofline_table(dense(), "a100", n_server=4, big_gpu=2, parameter_parallel=True)
    whole, half = table.lookup("Dense_1024_1024", (1, 2)), table.lookup("Dense_1024_1024", (2, 2))
    assert 0.5 < half.forward / whole.forward < 0.7
    assert whole.memory == required_bytes(dense().operators[0], 4)
    assert half.memory == 8 * (1024 * 1024 + 1024 * 512 + 1024 * 512 + 512)
    plain = roofline_table(dense(), "a100", n_server=4, big_gpu=2)
    assert plain.lookup("Dense_1024_1024", (1, 4)) == table.lookup("Dense_1024_1024", (1, 4))


def test_more_parts_take_less_time_and_newer_gpus_too():
    op = dense(OpType.RELU).operators[0]
    times = [part_seconds(op, parts, GPUS["a100"]) for parts in (1, 2, 4)]
    assert times == sorted(times, reverse=True)
    by_gpu = [part_seconds(op, 1, GPUS[gpu])[0] for gpu in ("v100", "a100", "h100", "h200")]
    assert by_gpu == sorted(by_gpu, reverse=True)


def test_large_products_run_near_peak():
    forward, backward = part_seconds(dense().operators[0], 1, GPUS["a100"])
    assert 0.85 < 2 * 4096 * 1024 * 1024 / forward / 19.5e12 < 0.93
    assert 1.9 < backward / forward < 2.1


def test_products_on_tensor_cores_read_while_they_compute():
    """The longer of both counts, where single precision takes their sum; rows out of line keep tensor cores waiting."""
    tokens = 32768

    def seconds(out, precision):
        b = GraphBuilder("m", tokens)
        b.dense(b.input(768), out, bias=False)
        return (
            part_seconds(b.build().operators[0], 1, GPUS["h100"], precision=PRECISIONS[precision])[0]
            - 2 * EFFICIENCY.launch
        )

    def computed(out, rate):
        return 2 * tokens * 768 * out / rate

    def streamed(out, size):
        return size * (tokens * (768 + out) + 768 * out) / (EFFICIENCY.memory * GPUS["h100"].memory_bandwidth)

    rate = EFFICIENCY.product * GPUS["h100"].bf16_flops
    assert seconds(3072, "bf16") == pytest.approx(computed(3072, rate))
    assert seconds(64, "bf16") == pytest.approx(streamed(64, 2))
    for out, aligned in ((3076, 8), (3074, 4), (3075, 2)):
        assert seconds(out, "bf16") == pytest.approx(computed(out, EFFICIENCY.ragged * aligned * rate))
    plain = EFFICIENCY.compute * 0.82 * GPUS["h100"].flops
    assert seconds(3072, "fp32") == pytest.approx(computed(3072, plain) + streamed(3072, 4))
    assert GPUS["a100"].sustained_flops == GPUS["a100"].flops


def test_an_unknown_gpu_is_refused():
    with pytest.raises(FlexNetError, match="no GPU is called 'a1000'"):
        roofline_table(dense(), "a1000", n_server=4)


def test_times_published_for_a_gpu_that_was_warm_are_nearer(shared_data):
    """The benchmark behind measurements/README.md says what it says there."""
    script = ROOT / "benchmarks" / "roofline_accuracy.py"
    command = [sys.executable, str(script), "--data", str(shared_data / "measurements")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=True)
    readme = (ROOT / "measurements" / "README.md").read_text()
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == 28
    assert all(line in readme for line in lines)


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_times_of_a_gpu_are_as_near_as_is_said(gpu):
    files = sorted(str(path) for path in (ROOT / "measurements").glob(f"{gpu}-*/*.json"))
    command = [sys.executable, str(ROOT / "benchmarks" / "roofline_accuracy.py"), "--measured", *files]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=True)
    readme = (ROOT / "measurements" / "README.md").read_text()
    every, _, by_file = done.stdout.strip().split("\n\n")
    lines = [every.splitlines()[-1], *by_file.splitlines()]
    assert len(lines) == 3 + len(files)
    assert all(line in readme for line in lines)


MEASURED = {"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "measurements").glob("h?00-*/*.json")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_the_files_of_a_gpu_cover_their_models(path):
    measured = read_measurement(path)
    made = measured.provenance
    assert not measured.estimated
    assert made["gpu"] == MEASURED[path.parent.name.partition("-")[0]]
    check_covers(measured, MODELS[made["model"]].build(made["model_flags"], measured.batch_size))


@pytest.mark.parametrize("path", sorted((ROOT / "measurements" / "roofline-a100").glob("*.json")), ids=lambda p: p.stem)
def test_the_shipped_tables_are_what_the_roofline_gives(path):
    shipped = read_measurement(path)
    flags, big_gpu = shipped.provenance["model_flags"], shipped.provenance["big_gpu"]
    graph = MODELS[shipped.provenance["model"]].build(flags, shipped.batch_size)
    check_covers(shipped, graph)
    table = roofline_table(graph, "a100", n_server=shipped.n_server, big_gpu=big_gpu)
    assert shipped.estimated
    assert shipped.entries == table.entries
    assert shipped.shapes == table.shapes
    assert shipped.provenance["efficiency"] == table.provenance["efficiency"]


def test_there_is_a_shipped_table_for_every_model():
    found = {path.stem for path in (ROOT / "measurements" / "roofline-a100").glob("*.json")}
    names = {"candle_uno": "candle"}
    originals = [name for name, spec in MODELS.items() if spec.program]
    assert found == {f"{names.get(name, name)}{n_server}" for name in originals for n_server in (16, 128)}
