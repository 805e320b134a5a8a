import subprocess
import sys
from pathlib import Path

import orjson
import pytest

pytest.importorskip("torch")

SOURCE = """
import torch

def make_model():
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))

def make_number():
    return 3

class Trained(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.last = torch.nn.Conv1d(4, 8, 3, stride=2), torch.nn.Linear(8, 5)

    def forward(self, x, labels):
        y = self.line(x)
        y = (y * y.sigmoid() + y.roll(1, -1)).mean(-1)
        return torch.nn.functional.cross_entropy(self.last(y), labels)
"""


def _run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (where / "own_net.py").write_text(SOURCE)
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "flexnet", *words]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, env={"PYTHONPATH": root, "PATH": ""})


def test_a_module_becomes_a_file_that_profiles_and_searches_take(tmp_path):
    done = _run(tmp_path, "import", "own_net:make_model", "--input", "input:float32:64x16", "-o", "net.json")
    assert (done.returncode, done.stderr) == (0, "")
    document = orjson.loads((tmp_path / "net.json").read_bytes())
    assert document["parameters"] == 16 * 32 + 32 + 32 * 8 + 8
    assert document["source"]["model"] == "own_net:make_model"
    assert document["flops"]["forward"] == 2 * 64 * (16 * 32 + 32 * 8)
    assert [entry["kind"] for entry in document["operators"]] == ["LINEAR", "LINEAR"]
    words = ("profile", "net.json", "--device", "analytic", "--nsimnode", "4", "-o", "costs.json")
    assert _run(tmp_path, *words).returncode == 0
    assert orjson.loads((tmp_path / "costs.json").read_bytes())


def test_a_module_with_its_loss_is_measured_and_searched(tmp_path):
    inputs = ("--input", "x:float32:64x4x33", "--input", "labels:int64:64")
    assert _run(tmp_path, "import", "own_net:Trained", *inputs, "-o", "net.json").returncode == 0
    kinds = [entry["kind"] for entry in orjson.loads((tmp_path / "net.json").read_bytes())["operators"]]
    assert kinds == ["CONVOLUTION", "FUSION", "LINEAR", "SOFTMAX_CROSS_ENTROPY"]
    measured = _run(
        tmp_path,
        *["profile", "net.json", "--device", "cpu", "--nsimnode", "2", "--time-cap", "0.001", "-o", "costs.json"],
    )
    assert measured.returncode == 0, measured.stderr
    words = [
        "search",
        "net.json",
        "--mfile",
        "costs.json",
        "--nsimnode",
        "2",
        "--topology",
        "fc",
        "--search-budget",
        "5",
        "--no-report",
        "-o",
        "run",
    ]
    found = _run(tmp_path, *words)
    assert found.returncode == 0, found.stderr
    assert orjson.loads((tmp_path / "run" / "run.json").read_bytes())["status"] == "finished"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no model given"),
        (["own_net"], "package.module:function"),
        (["own_net:make_model"], "--input is missing"),
        (["own_net:make_model", "--input", "x:float32"], "NAME:TYPE:SIZES"),
        (["own_net:make_model", "--input", "x:float31:8x16"], "it must be one of"),
        (["own_net:make_model", "--input", "x:float32:99999999999x512"], "each must be at most 2147483647"),
        (["own_net:make_model", "--input", "x:float32:1000000000x1000001"], "all together 1e+15 elements"),
        (["own_net:nothing", "--input", "x:float32:8x16"], "has no nothing"),
        (["own_net:make_number", "--input", "x:float32:8x16"], "must return a torch.nn.Module"),
        (["no_net:make_model", "--input", "x:float32:8x16"], "cannot be imported"),
        (["own_net:make_model", "--input", "input:float32:8x17"], "cannot be traced"),
        (["absent.onnx"], "is no file"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, words, sentence):
    done = _run(tmp_path, "import", *words, "-o", "net.json")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "version 2"),
        ({"parameters": 7}, "says it has 7 parameters"),
        ({"operators": []}, "no operators"),
        ({"batch_size": 0}, "net.json: the batch is 0; it must be 1 or more"),
        ({"dtype": 2}, "net.json: dtype is '2'; it must be fp32, "),
        ({"dtype": "float64"}, "net.json: dtype is 'float64'; it must be fp32, "),
        ({"operators": [{"name": "x"}]}, "lacks or mistakes 'kind'"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path, change, sentence):
    from flexnet import FlexNetError, GraphBuilder, read_graph, write_graph

    b = GraphBuilder("mlp", batch_size=8)
    b.dense(b.input(16), 4)
    path = tmp_path / "net.json"
    write_graph(path, b.build())
    assert read_graph(path)[0] == b.build()
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | change))
    with pytest.raises(FlexNetError, match=sentence):
        read_graph(path)


def test_an_attribute_that_no_number_holds_is_one_sentence(tmp_path):
    from flexnet import FlexNetError, GraphBuilder, read_graph, write_graph

    b = GraphBuilder("convolution", batch_size=8)
    b.conv2d(b.input(3, 8, 8), 4, (3, 3), padding=(1, 1))
    path = tmp_path / "net.json"
    write_graph(path, b.build())
    document = orjson.loads(path.read_bytes())
    document["operators"][0]["attributes"]["kernel_h"] = 1e308
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(FlexNetError, match=r"Conv2D_100 has kernel_h 1\.0e\+308; it must be between -1e15 and 1e15"):
        read_graph(path)


def test_a_model_in_fp8_is_not_measured(tmp_path, capsys):
    from flexnet import GraphBuilder, write_graph
    from flexnet.__main__ import main

    b = GraphBuilder("mlp", batch_size=8)
    b.dense(b.input(16), 4)
    path = tmp_path / "net.json"
    write_graph(path, b.build())
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"dtype": "fp8"}))
    assert main(["profile", str(path), "--device", "cpu", "-o", str(tmp_path / "costs.json")]) == 2
    assert "net.json, a model in fp8, needs --device analytic; " in capsys.readouterr().err


def hand_edited(tmp_path, change):
    """The sentence about a convolution and a linear layer whose file was changed."""
    from flexnet import FlexNetError, GraphBuilder, read_graph, write_graph

    b = GraphBuilder("net", batch_size=8)
    b.dense(b.flat(b.conv2d(b.input(3, 8, 8), 4, (3, 3), padding=(1, 1))), 10)
    path = tmp_path / "net.json"
    write_graph(path, b.build())
    document = orjson.loads(path.read_bytes())
    change(document)
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(FlexNetError) as refused:
        read_graph(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["operators"][1].update(name="Conv2D_100"), "two operators are called Conv2D_100"),
        (lambda d: d["operators"][0].update(name="a\nb"), r"operator 0 is called 'a\nb'; a name is text that can be"),
        (lambda d: d["operators"][0].update(name=None), "operator 0 is called None"),
        (lambda d: d["operators"][2]["outputs"][0].update(shape=[8]), "does not have the tensors that its kind has"),
        (lambda d: d.update(batch_size=512), "net.json has a batch of 512, but no output holds it"),
        (lambda d: d.update(batch_size="8"), "the batch is '8'; it must be 1 or more"),
        (lambda d: d["flops"].update(forward=1), "forward of flops is 1; its products have 0"),
        (lambda d: d["operators"][0]["attributes"].update(kernel_h=-3), "Conv2D_100 has kernel_h -3; it must be 1 or"),
        (lambda d: d["operators"][0]["attributes"].update(stride_h=0), "Conv2D_100 has stride_h 0; it must be 1 or"),
        (lambda d: d["operators"][0]["attributes"].update(groups="1"), "has groups '1'; it must be a whole number"),
        (lambda d: d["operators"][2]["attributes"].update(activation=99), "Dense_102 has activation 99; it must be 0"),
        (lambda d: d["operators"][0]["outputs"][0].update(dtype="complex"), "a tensor is of type complex; types are"),
    ],
)
def test_what_was_changed_by_hand_must_agree_with_itself(change, sentence, tmp_path):
    assert sentence in hand_edited(tmp_path, change)


def test_a_dimension_that_is_no_batch(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    from flexnet.__main__ import main

    (tmp_path / "nets_of_mine.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.parts = torch.nn.ModuleDict({'a\\nb': torch.nn.Linear(64, 8)})\n"
        "    def forward(self, x):\n"
        "        return self.parts['a\\nb'](x)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["import", "nets_of_mine:Net", "--input", "x:float32:16x64", "-o", "net.json"]
    assert main([*words, "--batch-dim", "1"]) == 2
    assert "has a batch of 64, but no output holds it in its first dimension" in capsys.readouterr().err
    assert main(words) == 0
    (op,) = orjson.loads((tmp_path / "net.json").read_bytes())["operators"]
    assert op["name"] == "parts.a_b.Dense_100"
