"""Model graphs as files: what `flexnet import` writes and ``flexnet search net.json`` reads; docs/model-format.md."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from flexnet.errors import FlexNetError, one_of
from flexnet.files import read_object, write_atomically
from flexnet.model.graph import ELEMENT_BYTES, UNARY, ModelGraph, Operator, OpType, Source, Tensor
from flexnet.model.operators import OPERATORS
from flexnet.model.precision import find_precision
from flexnet.model.repeats import find_repeats

__all__ = ["FORMAT", "VERSION", "Description", "check_batch", "read_graph", "write_graph"]

FORMAT = "flexnet model"
VERSION = 1

_SIZES = ("kernel_", "stride_", "groups")  # attributes that are at least 1, by how their names begin
_MOST = 10**15  # of an attribute: what is computed of several still is a number of 64 bits, or of floating point

_Document = Mapping[str, Any]


class Description(NamedTuple):
    """What a file tells beside the graph.

    Parameters
    ----------
    source : mapping
        Where the graph comes from: packages and their versions, function, inputs.
    flops : mapping
        By name of the product ``forward``, ``backward`` and ``counted_backward``; see docs/model-format.md.
    """

    source: Mapping[str, Any] = MappingProxyType({})
    flops: Mapping[str, Mapping[str, int]] = MappingProxyType({})


def write_graph(path: str | Path, graph: ModelGraph, description: Description = Description()) -> None:  # noqa: B008
    """Write a graph.

    Raises
    ------
    FlexNetError
        If the file cannot be written.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "batch_size": graph.batch_size,
        "dtype": graph.dtype,
        "parameters": graph.n_parameter,
        "idle_parameters": graph.idle,
        "flops": {**_totals(description), "products": dict(description.flops)},
        "source": dict(description.source),
        "operators": [_operator(op) for op in graph.operators],
    }
    write_atomically(path, orjson.dumps(document, option=orjson.OPT_INDENT_2))


def read_graph(path: str | Path, batch_size: int | None = None) -> tuple[ModelGraph, Description]:
    """Read a graph, of another batch if one is given.

    Parameters
    ----------
    path : str or Path
    batch_size : int, optional
        Samples; those of the file unless given.

    Raises
    ------
    FlexNetError
        If the file is no model of this version, contradicts itself, or its tensors do not grow with the batch.
    """
    path = Path(path)
    document = read_object(path, "model")
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        said = f"format {document.get('format')!r}, version {document.get('version')!r}"
        raise FlexNetError(
            f"{path} has {said}; a model has format {FORMAT!r}, version {VERSION}: flexnet import makes one"
        )
    operators: list[Operator] = []
    try:
        known = document["batch_size"]
        if isinstance(known, bool) or not isinstance(known, int) or known < 1:
            raise FlexNetError(f"the batch is {known!r}; it must be 1 or more")
        wanted = known if batch_size is None else batch_size
        if known == 1 < wanted:
            raise FlexNetError(f"it has one sample, which tells no batch; import the model with a batch of {wanted}")
        for entry in document["operators"]:
            operators.append(_read_operator(entry, operators, known, wanted))
        dtype = document.get("dtype")
        if dtype is not None:
            find_precision(str(dtype))
        name, idle = str(document["name"]), int(document.get("idle_parameters", 0))
        description = Description(document.get("source", {}), document["flops"].get("products", {}))
        _check_flops(document["flops"], description)
    except FlexNetError as error:
        raise FlexNetError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FlexNetError(
            f"{path} is no whole model: operator {len(operators)}, or what is before the operators, lacks or mistakes "
            f"{error}; docs/model-format.md tells what must be there"
        ) from None
    if not operators:
        raise FlexNetError(f"{path} has no operators; a model has at least one")
    (name_of_most, count), *_ = Counter(op.name for op in operators).most_common(1)
    if count > 1:
        raise FlexNetError(f"{path}: two operators are called {name_of_most}; names are unique")
    check_batch(path, operators, wanted)
    graph = ModelGraph(name, wanted, tuple(operators), dtype, find_repeats(operators), idle)
    if graph.n_parameter != document.get("parameters"):
        raise FlexNetError(
            f"{path} says it has {document.get('parameters')} parameters; its operators have {graph.n_parameter}: the "
            "file was changed, make it anew"
        )
    return graph, description


def check_batch(where: object, operators: Sequence[Operator], batch_size: int) -> None:
    """Refuse a batch that no operator's output holds in its outermost dimension, as of a size that is no batch.

    Raises
    ------
    FlexNetError
        Saying ``where``.
    """
    if all(tensor.dims[-1] % batch_size for op in operators for tensor in op.outputs):
        raise FlexNetError(
            f"{where} has a batch of {batch_size}, but no output holds it in its first dimension, as "
            f"{operators[0].outputs[0].shape} of {operators[0].name}"
        )


def _totals(description: Description) -> dict[str, int]:
    works = description.flops.values()
    return {name: sum(work[name] for work in works) for name in ("forward", "backward", "counted_backward")}


def _check_flops(told: _Document, description: Description) -> None:
    for name, total in _totals(description).items():
        if told.get(name, total) != total:
            raise FlexNetError(f"{name} of flops is {told[name]}; its products have {total}: the file was changed")


def _operator(op: Operator) -> dict[str, Any]:
    kind = op.kind.name if isinstance(op.kind, OpType) else int(op.kind)
    entry: dict[str, Any] = {
        "name": op.name,
        "kind": kind,
        "key": op.key,
        "inputs": [_source(source) for source in op.inputs],
        "outputs": [_tensor(tensor) for tensor in op.outputs],
    }
    if op.weights:
        entry["weights"] = [list(weight.shape) for weight in op.weights]
    if op.attrs:
        entry["attributes"] = dict(op.attrs)
    if op.equation:
        entry["equation"] = op.equation
    if op.tied:
        entry["tied"] = {str(i): list(owner) for i, owner in op.tied.items()}
    return entry


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": tensor.dtype}


def _source(source: Source) -> dict[str, Any]:
    entry = _tensor(source.tensor)
    if source.op is not None:
        entry |= {"operator": source.op, "output": source.output}
    if source.view is not None:
        rank = len(source.tensor.dims)
        entry["view"] = [[rank - 1 - k if k >= 0 else -1, pieces] for k, pieces in reversed(source.view)]
    return entry


def _read_operator(entry: _Document, before: list[Operator], known: int, wanted: int) -> Operator:
    index, name = len(before), str(entry["name"])
    if not name.isprintable() or not name.strip() or entry["name"] != name:
        raise FlexNetError(f"operator {index} is called {entry['name']!r}; a name is text that can be printed")
    kind = OpType[entry["kind"]] if isinstance(entry["kind"], str) else int(entry["kind"])
    if kind not in OPERATORS:
        raise FlexNetError(f"operator {name} is of kind {kind}, which is not registered")
    outputs = tuple(_scaled(_read_tensor(one), known, wanted, name) for one in entry["outputs"])
    inputs = tuple(_read_source(one, before, known, wanted, name) for one in entry["inputs"])
    weights = tuple(Tensor(tuple(int(n) for n in reversed(shape))) for shape in entry.get("weights", ()))
    attrs = MappingProxyType({key: _attribute(name, kind, key, x) for key, x in entry.get("attributes", {}).items()})
    tied = {int(i): (int(owner), int(j)) for i, (owner, j) in entry.get("tied", {}).items()}
    for owner, j in tied.values():
        if not (0 <= owner < index and j < len(before[owner].weights)):
            raise FlexNetError(f"operator {name} shares weight {j} of operator {owner}, which is not before it")
    if not outputs or not inputs:
        raise FlexNetError(f"operator {name} must have inputs and outputs")
    equation = str(entry.get("equation", ""))
    op = Operator(
        index, kind, name, str(entry["key"]), inputs, outputs, weights, attrs, equation, MappingProxyType(tied)
    )
    _check(op)
    return op


def _attribute(name: str, kind: int, key: str, value: Any) -> int:
    """The value of an attribute; what its name means is known of built-in kinds alone."""
    if isinstance(value, int | float) and abs(value) > _MOST:
        raise FlexNetError(f"operator {name} has {key} {value:.1e}; it must be between -1e15 and 1e15")
    if not isinstance(value, int):
        raise FlexNetError(f"operator {name} has {key} {value!r}; it must be a whole number")
    if isinstance(kind, OpType) and value < 1 and key.startswith(_SIZES):
        raise FlexNetError(f"operator {name} has {key} {value}; it must be 1 or more")
    if isinstance(kind, OpType) and key == "activation" and value not in (0, *UNARY):
        raise FlexNetError(f"operator {name} has activation {value}; it must be 0 or one of {sorted(map(int, UNARY))}")
    return int(value)


def _check(op: Operator) -> None:
    """Refuse an operator whose kind cannot tell how it is cut: its tensors do not fit."""
    try:
        OPERATORS[op.kind].cut_sizes(op)
        OPERATORS[op.kind].flops(op)
        OPERATORS[op.kind].part(op, (1,) * op.rank)
    except (ValueError, IndexError, KeyError, ZeroDivisionError) as error:
        raise FlexNetError(f"operator {op.name} does not have the tensors that its kind has ({error})") from None


def _read_tensor(entry: _Document) -> Tensor:
    tensor = Tensor(tuple(int(n) for n in reversed(entry["shape"])), str(entry["dtype"]))
    if tensor.dtype not in ELEMENT_BYTES:
        raise FlexNetError(f"a tensor is of type {tensor.dtype}; types are {one_of(tuple(ELEMENT_BYTES))}")
    if not tensor.dims or min(tensor.dims) < 1:
        raise FlexNetError(f"a tensor has shape {entry['shape']}; it must have sizes, each at least 1")
    return tensor


def _read_source(entry: _Document, before: list[Operator], known: int, wanted: int, name: str) -> Source:
    tensor = _scaled(_read_tensor(entry), known, wanted, name)
    if "operator" not in entry:
        return Source(None, 0, tensor)
    op, output = int(entry["operator"]), int(entry.get("output", 0))
    if not (0 <= op < len(before) and 0 <= output < len(before[op].outputs)):
        raise FlexNetError(f"operator {name} reads output {output} of operator {op}, which is not before it")
    rank, made = len(tensor.dims), before[op].outputs[output]
    if "view" not in entry:
        if made.dims != tensor.dims:
            raise FlexNetError(
                f"operator {name} reads {tensor.shape} of what operator {op} puts out as {made.shape}; a view must "
                "tell how"
            )
        return Source(op, output, tensor)
    view = []
    for k, pieces in reversed(entry["view"]):
        if not -1 <= k < rank or pieces < 1:
            raise FlexNetError(
                f"operator {name} has a view of dimension {k} in {pieces} pieces; it has {rank} dimensions"
            )
        own = rank - 1 - int(k) if k >= 0 else -1
        view.append((own, int(pieces) * wanted // known if k == 0 and pieces % known == 0 else int(pieces)))
    if len(view) != len(made.dims) or prod(made.dims) < 1:
        raise FlexNetError(f"operator {name} has a view of {len(view)} dimensions of a tensor of {len(made.dims)}")
    return Source(op, output, tensor, tuple(view))


def _scaled(tensor: Tensor, known: int, wanted: int, name: str) -> Tensor:
    """A tensor of another batch, which its outermost dimension holds."""
    if known == wanted or tensor.dims[-1] == 1:
        return tensor
    if tensor.dims[-1] % known:
        raise FlexNetError(
            f"operator {name} has a tensor of shape {tensor.shape}, which does not grow with the batch of {known}; "
            f"import the model with a batch of {wanted}"
        )
    return Tensor((*tensor.dims[:-1], tensor.dims[-1] // known * wanted), tensor.dtype)
