"""Model graphs of ONNX files, whose weights are not loaded."""

from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
from onnx import numpy_helper

from flexnet.errors import FlexNetError
from flexnet.importing.aten import Handler, Reader
from flexnet.importing.aten_layers import LAYERS
from flexnet.importing.aten_light import LIGHT, pointwise, reduction
from flexnet.importing.aten_moves import MOVES
from flexnet.importing.aten_products import PRODUCTS
from flexnet.importing.aten_table import TABLES
from flexnet.importing.aten_views import VIEWS
from flexnet.importing.calls import Call
from flexnet.importing.graphs import Imported, graph_of
from flexnet.importing.onnx_folding import SMALL, with_shapes
from flexnet.importing.onnx_nodes import NODES, Node
from flexnet.importing.values import Base, Role, Value

__all__ = ["import_file"]

_CONSTANT = ("Constant", "Shape", "Size", "ConstantOfShape", "Range", "EyeLike", "RandomNormal", "RandomUniform")
_HANDLERS: dict[str, Handler] = {**LIGHT, **VIEWS, **MOVES, **LAYERS, **PRODUCTS, "reduce": reduction}


def import_file(path: Path, *, name: str | None = None, batch_size: int | None = None) -> Imported:
    """Read a file and make operators of what it computes.

    Raises
    ------
    FlexNetError
        If it is no ONNX file, has tensors of unknown shape, or an operator that flexnet does not know.
    """
    model = _loaded(path)
    graph = model.graph
    initial = {tensor.name: tensor for tensor in graph.initializer}
    inputs = [one for one in graph.input if one.name not in initial]
    if not inputs:
        raise FlexNetError(f"{path} has no inputs; a model reads at least one tensor")
    batch = _fix_batch(path, inputs, batch_size)
    try:
        graph = with_shapes(model)
    except Exception as error:  # of a file that contradicts itself: onnx has several kinds
        raise FlexNetError(f"{path}: shapes cannot be inferred: {str(error).splitlines()[0][:200]}") from error
    types = {one.name: one.type.tensor_type for one in (*graph.value_info, *graph.input, *graph.output)}
    env: dict[str, Any] = {}
    small: dict[str, list[int]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in graph.initializer:
        shape, dtype = tuple(tensor.dims), _dtype(tensor.data_type)
        if dtype == "float" and prod(shape) > 1:
            shapes[tensor.name] = shape
            env[tensor.name] = Value.whole(
                Base(shape, dtype, Role.PARAMETER, needs_grad=True, parameters=(tensor.name,))
            )
        else:
            env[tensor.name] = Value.whole(Base(shape, dtype, Role.CONSTANT))
        if prod(shape) <= SMALL and tensor.data_location != onnx.TensorProto.EXTERNAL and dtype != "float":
            small[tensor.name] = [int(n) for n in numpy_helper.to_array(tensor).reshape(-1)]
    for one in inputs:
        shape = _shape(path, one.name, types)
        base = Base(shape, _dtype(one.type.tensor_type.elem_type), Role.DATA, batched=True)
        env[one.name] = Value.whole(base)
    reader = Reader(batch, TABLES)
    for node in graph.node:
        _read(path, reader, node, env, small, types)
    results = [env[one.name] for one in graph.output if isinstance(env.get(one.name), Value)]
    elements: Counter[str] = Counter()
    for tensor in graph.initializer:
        if tensor.name in shapes:
            elements[_ARITHMETIC.get(tensor.data_type, "")] += prod(shapes[tensor.name])
    title = name or graph.name or path.stem
    return graph_of(title, batch, reader.recorder.steps, results, shapes, reader.folded, elements)


def _loaded(path: Path) -> Any:
    if not path.is_file():
        raise FlexNetError(f"{path} is no file; name an ONNX file")
    try:
        return onnx.load(str(path), load_external_data=False)
    except Exception as error:  # of protobuf: several kinds
        raise FlexNetError(f"{path} is no ONNX file: {str(error).splitlines()[0][:200]}") from error


def _fix_batch(path: Path, inputs: Any, batch_size: int | None) -> int:
    """The batch of a file, set where its inputs leave their first dimension open."""
    sizes = set()
    for one in inputs:
        dims = one.type.tensor_type.shape.dim
        if not dims:
            raise FlexNetError(f"{path}: input {one.name} has no dimensions; its first must hold the batch")
        if not dims[0].HasField("dim_value"):
            if batch_size is None:
                raise FlexNetError(f"{path}: input {one.name} leaves its batch open; --batch-size sets it")
            dims[0].dim_value = batch_size
        sizes.add(int(dims[0].dim_value))
    if len(sizes) > 1:
        raise FlexNetError(
            f"{path}: inputs have {' and '.join(map(str, sorted(sizes)))} samples; all must have as many"
        )
    found = sizes.pop()
    if batch_size not in (None, found):
        raise FlexNetError(f"{path} has a batch of {found}; --batch-size {batch_size} is for files that leave it open")
    return found


def _shape(path: Path, name: str, types: Mapping[str, Any]) -> tuple[int, ...]:
    known = types.get(name)
    if known is None or not known.HasField("shape"):
        raise FlexNetError(f"{path}: the shape of tensor {name} is not known; export the model with fixed shapes")
    if any(not dim.HasField("dim_value") for dim in known.shape.dim):
        raise FlexNetError(f"{path}: tensor {name} has an open size; export the model with fixed shapes")
    return tuple(int(dim.dim_value) for dim in known.shape.dim)


_ARITHMETIC = {onnx.TensorProto.BFLOAT16: "bf16", onnx.TensorProto.FLOAT16: "fp16"}


def _dtype(number: int) -> str:
    names = {onnx.TensorProto.INT64: "int64", onnx.TensorProto.INT32: "int32", onnx.TensorProto.BOOL: "bool"}
    floating = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
    return "float" if number in floating else names.get(number, "int32")


def _read(
    path: Path, reader: Reader, node: Any, env: dict[str, Any], small: dict[str, list[int]], types: Mapping[str, Any]
) -> None:
    where = node.name.strip("/").replace("/", ".")
    names = [one for one in node.output if one]
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    if node.op_type == "Constant" and "value" in attributes:
        array = numpy_helper.to_array(attributes["value"])
        if array.size <= SMALL and array.dtype.kind in "iub":
            small[names[0]] = [int(n) for n in array.reshape(-1)]
        env[names[0]] = Value.whole(Base(tuple(array.shape), _dtype(attributes["value"].data_type), Role.CONSTANT))
        return
    dtypes = [_dtype(types[one].elem_type) if one in types else "float" for one in names]
    shapes = [_shape(path, one, types) for one in names[:1]]
    shapes += [_shape(path, one, types) if one in types else shapes[0] for one in names[1:]]
    if node.op_type in _CONSTANT or all(env[one].base.role is Role.CONSTANT for one in node.input if one):
        env |= {
            one: Value.whole(Base(shape, dtype, Role.CONSTANT))
            for one, shape, dtype in zip(names, shapes, dtypes, strict=True)
        }
        return
    if node.op_type not in NODES or node.domain not in ("", "ai.onnx"):
        raise FlexNetError(
            f"{path}: operator {node.op_type} of node {node.name or names[0]} is not known; export the model with "
            "standard operators in its place"
        )
    given = [env[one] if one else None for one in node.input]
    translated = NODES[node.op_type](Node(given, attributes, shapes[0], [small.get(one) for one in node.input]))
    returns = [SimpleNamespace(type="Tensor")] * len(names)
    op = SimpleNamespace(
        _schema=SimpleNamespace(returns=returns, arguments=()), tags=(), namespace="onnx", __name__=node.op_type
    )
    call = Call(op, translated.name, translated.given, shapes, dtypes, where.rpartition(".")[0])
    made = reader.apply(call, _HANDLERS.get(translated.name, pointwise))
    env |= zip(names, [made] if isinstance(made, Value) else made, strict=False)
