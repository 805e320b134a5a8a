"""Times taken from other measurement files: the same parts of other servers, of the same device alone."""

import orjson
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from flexnet.commands.cli import run  # noqa: E402

FLAGS = ["--device", "cpu", "--time-cap", "0.001", "--arch-mlp-bot", "4-16-2"]


def profile(path, n_server, *more, batch=8):
    size = ["--batch-size", str(batch * n_server), "--nsimnode", str(n_server)]
    status = run(["profile", "dlrm", *size, *FLAGS, *map(str, more), "-o", str(path)])
    return status, orjson.loads(path.read_bytes()) if path.exists() else None


def times(document):
    return {(record["name"], record["pc_str"]): (record["fw_time"], record["bw_time"]) for record in document["shapes"]}


def test_parts_of_equal_shapes_are_taken_whatever_they_were_cut_from(tmp_path, capsys):
    """A quarter of 32 samples is an eighth of 64; what is not there is measured."""
    _, four = profile(tmp_path / "four.json", 4)
    status, eight = profile(tmp_path / "eight.json", 8, "--reuse", tmp_path / "four.json")
    assert status == 0
    taken = {(r["name"], r["pc_str"]): r for r in eight["shapes"] if r.get("reused") == "four"}
    assert f"{len(taken)} of them are taken from {tmp_path / 'four.json'}" in capsys.readouterr().out
    assert eight["reused"] == {"four": len(taken)}
    before = {(name.replace("x32", "x64"), config): found for (name, config), found in times(four).items()}
    for (name, config), record in taken.items():
        assert (record["fw_time"], record["bw_time"]) in before.values()
        smaller = config.rpartition("-")[0] + f"-{int(config.rpartition('-')[2]) // 2}"
        if "Dense" in name and config.startswith("2-1-"):  # cut along the batch alone
            assert (record["fw_time"], record["bw_time"]) == before[name, smaller]
    assert {"2-1-2", "2-1-4", "2-1-8"} <= {config for name, config in taken if "Dense_16_2" in name}
    assert "2-1-1" not in {config for name, config in taken if "Dense_16_2" in name}


def test_a_profile_whose_time_is_up_goes_on_with_its_own_file(tmp_path, capsys):
    path = tmp_path / "m.json"
    status, first = profile(path, 4, "--time", "0.001")
    assert status == 0
    n_start = len(first["shapes"])
    assert first["unfinished"].startswith(f"{n_start} of ")
    assert f"go; measure them with --reuse {path}" in capsys.readouterr().err
    assert all(record["pc_str"].endswith("-4") or "Embed" in record["name"] for record in first["shapes"])
    status, second = profile(path, 4, "--reuse", path)
    assert status == 0
    assert "unfinished" not in second
    assert "reused" not in second
    assert f"{len(second['shapes'])} configs" in capsys.readouterr().out
    assert times(first).items() <= times(second).items()
    assert second["profile_s"] >= first["profile_s"]


def test_a_file_that_goes_on_keeps_what_it_said(tmp_path):
    path = tmp_path / "m.json"
    _, first = profile(path, 4)
    path.write_bytes(orjson.dumps({**first, "profile_s": 70.0, "throttled": ["power cap"], "reused": {"x": 3}}))
    _, second = profile(path, 4, "--reuse", path)
    assert second["profile_s"] == 70.0
    assert second["throttled"] == ["power cap"]
    assert second["reused"] == {"x": 3}
    assert second["shapes"] == first["shapes"]


def test_rows_of_a_cut_table_are_not_those_of_a_whole_one(tmp_path):
    """Parts whose data are alike take each its own time if their weights are not, as of a vocabulary in two halves."""
    flags = ["--sequence-length", "8", "--hidden-size", "16", "--num-heads", "2", "--num-layers", "1"]
    flags += ["--vocabulary-size", "64", "--batch-size", "8", "--nsimnode", "4"]
    flags += ["--device", "cpu", "--time-cap", "0.001"]
    path, other = tmp_path / "m.json", tmp_path / "other.json"
    assert run(["profile", "gpt", *flags, "-o", str(path)]) == 0
    document = orjson.loads(path.read_bytes())
    tables = [record for record in document["shapes"] if record["name"].startswith("TokenEmbed_64x")]
    for record in tables:
        rank, *degrees = map(int, record["pc_str"].split("-"))
        record["fw_time"] = 1.0 + (degrees[-1] if rank == 4 else 1)
    assert len({record["fw_time"] for record in tables}) == 3  # whole, halves, quarters
    path.write_bytes(orjson.dumps(document))
    for output in (other, path):
        assert run(["profile", "gpt", *flags, "--reuse", str(path), "-o", str(output)]) == 0
        assert times(orjson.loads(output.read_bytes())).items() >= times({"shapes": tables}).items()


def test_quick_configs_come_first_when_time_is_short(tmp_path, monkeypatch):
    from flexnet.profiler import measure

    order = []
    real = measure._measure
    monkeypatch.setattr(measure, "_measure", lambda *a: order.append((a[0].name, a[1])) or real(*a))
    profile(tmp_path / "m.json", 4, "--time", "100", batch=2**14)
    wide = [degrees for name, degrees in order if name.startswith("Dense_16_2@")]
    along_batch = [degrees for degrees in wide if len(degrees) == 2 and degrees[0] == 1]
    assert along_batch == [(1, 4), (1, 2), (1, 1)]
    assert wide[: len(along_batch)] == along_batch


@pytest.mark.parametrize("more", [["--dtype", "bf16"], ["--resume"]])
def test_files_of_another_device_are_refused_and_leave_nothing(tmp_path, capsys, more):
    path, other = tmp_path / "m.json", tmp_path / "other.json"
    _, document = profile(path, 4)
    path.write_bytes(orjson.dumps({**document, "dtype": "fp16"}))
    assert profile(other, 4, "--reuse", path, *more)[0] == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert f"the times of {path} cannot be reused: its dtype is fp16 and that of this profile" in said
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"[]", "is not a measurement file"),
        (b'{"batch_size": 1, "ngpus": 1, "estimated": true, "measurements": [{}]}', "lacks name"),
    ],
)
def test_what_is_no_such_file_is_said(tmp_path, capsys, content, said):
    if content is not None:
        (tmp_path / "bad.json").write_bytes(content)
    assert profile(tmp_path / "m.json", 4, "--reuse", tmp_path / "bad.json")[0] == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m.json").exists()


def test_estimates_are_refused(tmp_path, capsys):
    estimates = tmp_path / "e.json"
    assert run(["profile", "dlrm", "--nsimnode", "4", "--device", "analytic", "-o", str(estimates)]) == 0
    assert profile(tmp_path / "m.json", 4, "--reuse", estimates)[0] == 2
    assert f"the times of {estimates} are estimated" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changed",
    [
        {"big_gpu": -3},
        {"big_gpu": "4"},
        {"model": ["dlrm"]},
        {"model_flags": {"--arch-mlp-bot": 7}},
        {"model_flags": {"--no-such": "1"}},
        {"model_flags": []},
        {"ngpus": 1},
        {"batch_size": 7},
        {"profile_s": "long"},
        {"throttled": "power", "reused": 5},
        *({"pc_str": text} for text in ("2-3-3", "1-4", "2-1-1-1", "5-1-1-1-1-1", "2-1-16")),
    ],
)
def test_a_file_that_was_tampered_with_ends_in_a_sentence_if_in_anything(tmp_path, capsys, changed):
    path, other = tmp_path / "m.json", tmp_path / "other.json"
    _, document = profile(path, 4)
    if "pc_str" in changed:
        document["shapes"] = [{**record, **changed} for record in document["shapes"]]
    else:
        document |= changed
    path.write_bytes(orjson.dumps(document))
    for output in (other, path):
        status, _ = profile(output, 4, "--reuse", path)
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("flexnet: error")]
        assert (status, len(said)) in ((0, 0), (2, 1))


def test_two_files_joined_by_a_comma_or_given_one_by_one(tmp_path, capsys):
    for name, n_server in (("a", 2), ("b", 4)):
        profile(tmp_path / f"{name}.json", n_server)
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    for more in (["--reuse", f"{a},{b}"], ["--reuse", a, "--reuse", b]):
        capsys.readouterr()
        assert profile(tmp_path / "m.json", 4, *more)[0] == 0
        out = capsys.readouterr().out
        assert f"taken from {a}" in out
        assert f"taken from {b}" in out


def test_an_empty_name_is_refused(tmp_path, capsys):
    assert profile(tmp_path / "m.json", 4, "--reuse", f"{tmp_path / 'a.json'},")[0] == 2
    assert '--reuse is ""; it must be the name of a file' in capsys.readouterr().err
