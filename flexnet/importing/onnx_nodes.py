"""ONNX operators in the words of ATen: which operator with which arguments does the same.

Source: the operators of ONNX opset 21 (github.com/onnx/onnx/blob/main/docs/Operators.md).
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from flexnet.importing.values import Value, permuted

__all__ = ["NODES", "Node", "Translation"]


class Node(NamedTuple):
    """A node: its inputs, attributes, sizes of its first output, and the values of its constant inputs."""

    inputs: Sequence[Value | None]
    attributes: Mapping[str, Any]
    shape: tuple[int, ...]
    constants: Sequence[Sequence[int] | None]

    def axis(self, default: int = -1) -> int:
        """The attribute ``axis``."""
        return int(self.attributes.get("axis", default))

    def numbers(self, name: str, at: int) -> list[int] | None:
        """Numbers that an attribute has, or, of later opsets, an input."""
        if name in self.attributes:
            given = self.attributes[name]
            return [int(n) for n in given] if isinstance(given, list | tuple) else [int(given)]
        found = self.constants[at] if at < len(self.constants) else None
        return None if found is None else list(found)


class Translation(NamedTuple):
    """The name of an ATen operator, and its arguments."""

    name: str
    given: dict[str, Any]


def _plain(name: str) -> Callable[[Node], Translation]:
    return lambda node: Translation(name, {f"x{i}": x for i, x in enumerate(node.inputs) if x is not None})


def _view(node: Node) -> Translation:
    return Translation("view", {"self": node.inputs[0]})


def _permute(node: Node) -> Translation:
    rank = len(node.shape)
    return Translation("permute", {"self": node.inputs[0], "dims": node.attributes.get("perm", range(rank)[::-1])})


def _gemm(node: Node) -> Translation:
    a, b, *c = node.inputs
    assert a is not None and b is not None
    a = permuted(a, (1, 0)) if node.attributes.get("transA") else a
    b = permuted(b, (1, 0)) if node.attributes.get("transB") else b
    if c and c[0] is not None:
        return Translation("addmm", {"input": c[0], "mat1": a, "mat2": b})
    return Translation("mm", {"self": a, "mat2": b})


def _windows(node: Node, n: int) -> dict[str, Any]:
    pads = list(node.attributes.get("pads", [0] * 2 * n))
    if str(node.attributes.get("auto_pad", "NOTSET")).startswith("SAME"):
        pads = [(k - 1) // 2 for k in node.attributes["kernel_shape"]] * 2
    return {
        "stride": list(node.attributes.get("strides", [1] * n)),
        "padding": pads[:n],
        "dilation": list(node.attributes.get("dilations", [1] * n)),
    }


def _conv(transposed: bool) -> Callable[[Node], Translation]:
    def translated(node: Node) -> Translation:
        x, weight, *bias = node.inputs
        assert weight is not None
        given = {"input": x, "weight": weight, "bias": bias[0] if bias else None}
        given |= _windows(node, len(weight.shape) - 2)
        return Translation(
            "convolution", {**given, "groups": node.attributes.get("group", 1), "transposed": transposed}
        )

    return translated


def _pool(name: str) -> Callable[[Node], Translation]:
    def translated(node: Node) -> Translation:
        kernel = node.attributes["kernel_shape"]
        plane = len(kernel) == 2
        given = {"self": node.inputs[0], "kernel_size": list(kernel), **_windows(node, len(kernel))}
        return Translation(f"{name}_pool2d" if plane else f"{name}_pool1d", given)

    return translated


def _reduce(node: Node) -> Translation:
    return Translation("reduce", {"self": node.inputs[0], "dim": node.numbers("axes", 1)})


def _global(node: Node) -> Translation:
    return Translation("reduce", {"self": node.inputs[0], "dim": list(range(2, len(node.shape)))})


def _along(name: str, default: int = -1) -> Callable[[Node], Translation]:
    return lambda node: Translation(name, {"self": node.inputs[0], "dim": node.axis(default)})


def _concat(node: Node) -> Translation:
    return Translation("cat", {"tensors": [x for x in node.inputs if x is not None], "dim": node.axis()})


def _split(node: Node) -> Translation:
    return Translation("split", {"self": node.inputs[0], "dim": node.axis(0)})


def _slice(node: Node) -> Translation:
    x = node.inputs[0]
    assert x is not None
    changed = [k for k, (a, b) in enumerate(zip(x.shape, node.shape, strict=True)) if a != b]
    if len(changed) > 1:
        return Translation("pad", {"self": x})  # several axes, of which a part reads all
    return Translation("slice", {"self": x, "dim": changed[0] if changed else 0})


def _gather(node: Node) -> Translation:
    table, index = node.inputs[:2]
    assert table is not None and index is not None
    axis = node.axis(0) % len(table.shape)
    if axis == 0 and len(table.shape) == 2 and table.base.parameters:
        return Translation("embedding", {"weight": table, "indices": index})
    if not index.shape or prod(index.shape) == 1:
        return Translation("select", {"self": table, "dim": axis})
    return Translation("index", {"self": table, "indices": [None] * axis + [index]})


def _norm(name: str) -> Callable[[Node], Translation]:
    def translated(node: Node) -> Translation:
        x, *rest = node.inputs
        assert x is not None
        weight, bias = [*rest, None, None][:2]
        n = len(x.shape) - node.axis() % len(x.shape)
        shape = list(x.shape[len(x.shape) - n :])
        groups = node.attributes.get("num_groups", 1)
        return Translation(
            name, {"input": x, "weight": weight, "bias": bias, "normalized_shape": shape, "num_groups": groups}
        )

    return translated


_POINTWISE = str.split(
    "Add Sub Mul Div Pow Sqrt Erf Tanh Sigmoid Relu LeakyRelu Gelu Exp Log Abs Neg Reciprocal Clip Where Min Max Sin "
    "Cos Elu Selu HardSigmoid HardSwish Softplus Mish PRelu Floor Ceil Round Sign Mod Celu Swish And Or Not Xor Equal "
    "Less Greater LessOrEqual GreaterOrEqual IsNaN IsInf Sum Mean ThresholdedRelu Softsign Trilu"
)
_ATEN = {"HardSigmoid": "hardsigmoid", "HardSwish": "hardswish", "Swish": "silu"}

NODES: dict[str, Callable[[Node], Translation]] = {
    **{name: _plain(_ATEN.get(name, name.lower())) for name in _POINTWISE},
    **dict.fromkeys(("Identity", "Cast", "CastLike", "Dropout"), _plain("alias")),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _view),
    "Transpose": _permute,
    "Expand": lambda node: Translation("expand", {"self": node.inputs[0]}),
    "MatMul": _plain("matmul"),
    "Gemm": _gemm,
    "Conv": _conv(False),
    "ConvTranspose": _conv(True),
    "MaxPool": _pool("max"),
    "AveragePool": _pool("avg"),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _global),
    **dict.fromkeys(str.split("ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ReduceProd ArgMax ArgMin"), _reduce),
    "Softmax": _along("softmax"),
    "LogSoftmax": _along("log_softmax"),
    "CumSum": _along("cumsum"),
    "TopK": _along("topk"),
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": lambda node: Translation("pad", {"self": node.inputs[0]}),
    "Resize": lambda node: Translation("upsample_bilinear2d", {"self": node.inputs[0]}),
    "Gather": _gather,
    "LayerNormalization": _norm("layer_norm"),
    "RMSNormalization": _norm("rms_norm"),
    "GroupNormalization": _norm("group_norm"),
    "InstanceNormalization": _norm("instance_norm"),
    "BatchNormalization": _norm("batch_norm"),
}
"""What each ONNX operator is."""
