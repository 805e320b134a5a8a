import sys

import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("torch")

import numpy as np  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from flexnet import FlexNetError, OpType, from_onnx  # noqa: E402
from flexnet.importing.entry import import_onnx  # noqa: E402


def _model(path, batch=8, kind="Relu"):
    """A convolution, a pooling, sizes computed on the way, and a linear layer."""
    weights = {
        "kernel": np.zeros((4, 3, 3, 3), np.float32),
        "bias": np.zeros(4, np.float32),
        "matrix": np.zeros((16, 10), np.float32),
        "first": np.array([0], np.int64),
        "rest": np.array([-1], np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["x", "kernel", "bias"], ["a"], pads=[1, 1, 1, 1], name="/net/conv/Conv"),
        helper.make_node(kind, ["a"], ["b"], name="/net/Relu"),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2], name="/net/pool/MaxPool"),
        helper.make_node("Shape", ["c"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "first"], ["samples"]),
        helper.make_node("Concat", ["samples", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["c", "shape"], ["d"]),
        helper.make_node("MatMul", ["d", "matrix"], ["y"], name="/net/head/MatMul"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 4, 4])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])]
    initial = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    model = helper.make_model(helper.make_graph(nodes, "net", inputs, outputs, initial))
    onnx.save(model, str(path))
    return path


def test_a_file_becomes_a_graph(tmp_path):
    found = import_onnx(_model(tmp_path / "net.onnx"))
    kinds = [op.kind for op in found.graph.operators]
    assert kinds == [OpType.CONV2D, OpType.POOL2D, OpType.LINEAR]
    assert found.graph.operators[0].attrs["activation"] == OpType.RELU
    assert found.graph.n_parameter == 4 * 3 * 9 + 4 + 160
    assert found.flops[0] == 2 * 8 * (16 * 4 * 27 + 16 * 10)
    flat = found.graph.operators[2].inputs[0]
    assert flat.tensor.shape == (8, 16)
    assert flat.view == ((-1, 1), (-1, 1), (0, 4), (1, 8))


def test_an_open_batch_is_set(tmp_path):
    path = _model(tmp_path / "net.onnx", batch="n")
    assert from_onnx(path, batch_size=32).batch_size == 32
    with pytest.raises(FlexNetError, match="leaves its batch open"):
        from_onnx(path)


def test_what_is_not_known_is_one_sentence(tmp_path):
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(FlexNetError, match="is no ONNX file"):
        from_onnx(tmp_path / "text.onnx")
    path = _model(tmp_path / "net.onnx", kind="Det")
    with pytest.raises(FlexNetError):
        from_onnx(path)


def test_a_file_is_refused_without_pytorch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(FlexNetError, match=r"needs PyTorch, which is not installed: pip install flexnet\[import\]$"):
        import_onnx(_model(tmp_path / "net.onnx"))
