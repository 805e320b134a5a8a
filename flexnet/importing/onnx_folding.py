"""Sizes that an ONNX file computes on the way, worked out, so that every tensor has a known shape."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

__all__ = ["SMALL", "with_shapes"]

SMALL = 64
"""Elements of a tensor that may say sizes or axes."""

_WEIGHTS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)

_ROUNDS = 50  # sizes made of sizes


def with_shapes(model: Any) -> Any:
    """The graph of a model with inferred shapes, and with what is computed of shapes alone as constants.

    Raises
    ------
    Exception
        Of onnx, if the model contradicts itself.
    """
    for _ in range(_ROUNDS):
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
        types = {one.name: one.type.tensor_type for one in (*graph.value_info, *graph.input, *graph.output)}
        known = {
            tensor.name: numpy_helper.to_array(tensor)
            for tensor in model.graph.initializer
            if _size(tensor.dims) <= (1 if tensor.data_type in _WEIGHTS else SMALL)
            and tensor.data_location != onnx.TensorProto.EXTERNAL
        }
        found: dict[str, npt.NDArray[Any]] = {}
        rest = []
        for node in model.graph.node:
            value = _value(node, {**known, **found}, types, model.opset_import)
            if value is None:
                rest.append(node)
            else:
                found[node.output[0]] = value
        if not found:
            return graph
        del model.graph.node[:]
        model.graph.node.extend(rest)
        model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in found.items())
    return graph


def _value(node: Any, known: dict[str, npt.NDArray[Any]], types: Any, opsets: Any) -> npt.NDArray[Any] | None:
    """What a node makes, if that hangs on shapes and constants alone."""
    if len(node.output) != 1:
        return None
    if node.op_type == "Shape":
        tensor = types.get(node.input[0])
        if tensor is None or not tensor.HasField("shape"):
            return None
        dims = tensor.shape.dim
        if node.attribute or any(not dim.HasField("dim_value") for dim in dims):
            return None
        return np.array([dim.dim_value for dim in dims], np.int64)
    if any(one and one not in known for one in node.input) or node.op_type.startswith("Random"):
        return None
    inputs = {one: known[one] for one in node.input if one}
    if node.op_type == "ConstantOfShape" and np.prod(inputs[node.input[0]]) > SMALL:
        return None
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0])]
    alone = helper.make_model(helper.make_graph([node], "node", infos, outputs), opset_imports=opsets)
    try:
        made = np.asarray(ReferenceEvaluator(alone).run(None, inputs)[0])
    except Exception:  # of an operator that onnx cannot run
        return None
    return made if made.size <= SMALL and made.dtype.kind in "iubf" else None


def _size(dims: Any) -> int:
    return int(np.prod(list(dims))) if len(dims) else 1
