"""ATen operators that are layers without products: embeddings, normalizations, pooling."""

from collections.abc import Sequence

from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.aten_products import numbers
from flexnet.importing.aten_views import as_shape
from flexnet.importing.calls import Call
from flexnet.importing.values import Role, Value

__all__ = ["LAYERS"]


def _embedding(reader: Reader, call: Call) -> Result:
    """A row of a table for each index."""
    table: Value = call.given["weight"]
    index: Value = call.given["indices"] if "indices" in call.given else call.given["input"]
    lead = index.shape[0] if index.shape else 1
    flat = as_shape(reader, call, index, (lead, max(index.volume, 1) // lead))
    sizes = {0: flat.shape[0], 1: flat.shape[1], 2: table.shape[1]}
    made = reader.recorder.record(
        "embedding",
        call.name,
        call.where,
        [(flat, [0, 1]), (table, [None, 2])],
        [([0, 1, 2], call.dtypes[0])],
        sizes,
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    return as_shape(reader, call, made, call.shape)


def _norm(reader: Reader, call: Call) -> Result:
    """Normalization over the last dimensions, with scale and shift if it has them."""
    x = call.first
    n = len(call.given["normalized_shape"])
    rank = len(x.shape)
    return _normalized(reader, call, "norm", range(rank - n, rank), range(rank - n, rank))


def _batch_norm(reader: Reader, call: Call) -> Result:
    """Normalization of each channel."""
    return _normalized(reader, call, "batch_norm", [], [1])


def _group_norm(reader: Reader, call: Call) -> Result:
    return _normalized(reader, call, "group_norm", range(1, len(call.first.shape)), [1])


def _instance_norm(reader: Reader, call: Call) -> Result:
    return _normalized(reader, call, "instance_norm", range(2, len(call.first.shape)), [1])


def _normalized(reader: Reader, call: Call, kind: str, whole: Sequence[int], along: Sequence[int]) -> Value:
    x = call.first
    shape = call.shape
    sizes = dict(enumerate(shape))
    uses: list[tuple[Value, Sequence[int | None]]] = [(x, [None if k in whole else k for k in sizes])]
    for name in ("weight", "bias"):
        given = call.given.get(name)
        if isinstance(given, Value) and given.base.role is not Role.CONSTANT:
            uses.append((given, [None if k in whole else k for k in along]))
    attrs: dict[str, object] = {"along": tuple(along)}
    if kind == "group_norm":
        attrs["groups"] = int(call.given["num_groups"])
    return reader.recorder.record(
        kind,
        call.name,
        call.where,
        uses,
        [(list(sizes), call.dtypes[0])],
        sizes,
        private=frozenset(whole),
        attrs=attrs,
        no_grad=reader.no_grad,
        exact=kind != "norm",
    )[0]


def _native_norm(reader: Reader, call: Call) -> Result:
    handler = {"native_layer_norm": _norm, "native_group_norm": _group_norm}.get(call.name, _batch_norm)
    made = handler(reader, call)
    assert isinstance(made, Value)
    rest = [reader.constant(shape, dtype) for shape, dtype in zip(call.shapes[1:], call.dtypes[1:], strict=True)]
    return [made, *rest]


def _pool(reader: Reader, call: Call) -> Result:
    """2-D windows that slide over images."""
    x, given = call.first, call.given
    if len(x.shape) != 4:
        x = as_shape(reader, call, x, (1, *x.shape))
    kernel = numbers(given["kernel_size"], 2)
    stride = numbers(given["stride"], 2) if given["stride"] else kernel
    sizes = dict(enumerate(call.shape if len(call.shape) == 4 else (1, *call.shape)))
    made = reader.recorder.record(
        "pool",
        call.name,
        call.where,
        [(x, [0, 1, None, None])],
        [([0, 1, 2, 3], dtype) for dtype in call.dtypes],
        sizes,
        private=frozenset([2, 3]),
        attrs={
            "kernel": kernel,
            "stride": stride,
            "padding": numbers(given["padding"], 2),
            "dilation": numbers(given.get("dilation", 1), 2),
            "average": "avg" in call.name,
        },
        no_grad=reader.no_grad,
        exact=True,
    )
    values = [as_shape(reader, call, one, call.shape) for one in made]
    return values[0] if len(values) == 1 else values


LAYERS = {
    "embedding": _embedding,
    **named(_norm, "layer_norm rms_norm _fused_rms_norm"),
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    **named(
        _native_norm,
        "native_layer_norm native_group_norm _native_batch_norm_legit _native_batch_norm_legit_no_training "
        "native_batch_norm _batch_norm_with_update _batch_norm_no_update",
    ),
    **named(_pool, "max_pool2d avg_pool2d max_pool2d_with_indices"),
}
