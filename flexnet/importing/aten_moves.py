"""ATen operators that put tensors together, or elements of one in another order."""

from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.aten_views import along, as_shape
from flexnet.importing.calls import Call
from flexnet.importing.values import Value

__all__ = ["MOVES"]


def _cat(reader: Reader, call: Call) -> Result:
    values: list[Value] = [value for value in call.given["tensors"] if value.volume > 0]
    if len(values) == 1 and values[0].shape == call.shape:
        return values[0]
    call.given["tensors"] = values
    return along(reader, call, values[0], [call.axis(rank=len(call.shape))])[0]


def _stack(reader: Reader, call: Call) -> Result:
    axis = call.axis(rank=len(call.shape))
    call.given["tensors"] = [
        as_shape(reader, call, value, [*value.shape[:axis], 1, *value.shape[axis:]]) for value in call.given["tensors"]
    ]
    return along(reader, call, call.given["tensors"][0], [axis])[0]


def _pad(reader: Reader, call: Call) -> Result:
    value = call.first
    axes = [k for k, (a, b) in enumerate(zip(value.shape, call.shape, strict=True)) if a != b]
    return along(reader, call, value, axes)[0] if axes else value


def _axes_whole(reader: Reader, call: Call) -> Result:
    """Roll, flip: the elements along some axes in another order."""
    given = call.given.get("dims", call.given.get("dim"))
    rank = len(call.shape)
    axes = [int(k) % rank for k in (given if isinstance(given, list | tuple) else [given])]  # type: ignore[arg-type]
    return along(reader, call, call.first, axes or range(rank))[0]


def _triangle(reader: Reader, call: Call) -> Result:
    rank = len(call.shape)
    return along(reader, call, call.first, [])[0] if rank else call.first


def _filled(reader: Reader, call: Call) -> Result:
    """Places that a mask shows filled in order, in every sample as many."""
    return along(reader, call, call.first, range(1, len(call.shape)))[0]


def _complex(reader: Reader, call: Call) -> Result:
    """Pairs along a last axis to complex numbers, and back."""
    value = call.first
    rank, shared = len(call.shape), min(len(call.shape), len(value.shape))
    uses = [(value, [*range(shared), *[None] * (len(value.shape) - shared)])]
    outputs = [(list(range(rank)), call.dtypes[0])]
    sizes, private = dict(enumerate(call.shape)), frozenset(range(shared, rank))
    return reader.recorder.record(
        "light", call.name, call.where, uses, outputs, sizes, private=private, no_grad=reader.no_grad
    )[0]


def _diagonal(reader: Reader, call: Call) -> Result:
    return along(reader, call, call.first, range(len(call.shape)))[0]


MOVES = {
    **named(_cat, "cat concat concatenate"),
    "stack": _stack,
    **named(_pad, "pad constant_pad_nd reflection_pad1d reflection_pad2d replication_pad2d"),
    **named(_axes_whole, "roll flip"),
    **named(_triangle, "tril triu"),
    **named(_complex, "view_as_complex view_as_real"),
    "masked_scatter": _filled,
    **named(_diagonal, "unfold diagonal as_strided diff"),
}
