"""ATen operators that are products: of matrices, convolutions, attention, rows by experts."""

from collections.abc import Sequence
from math import prod
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.aten_views import as_shape
from flexnet.importing.calls import Call
from flexnet.importing.steps import Work
from flexnet.importing.values import Factor, Role, Value, expanded, permuted, split_factors

__all__ = ["PRODUCTS", "numbers"]

Letters = list[int]


def _gradients(reader: Reader, *values: Value) -> int:
    """How many of these need a gradient."""
    return 0 if reader.no_grad else sum(value.base.needs_grad for value in values)


def _contract(
    reader: Reader,
    call: Call,
    name: str,
    a: tuple[Value, Letters],
    b: tuple[Value, Letters],
    result: Letters,
    *,
    added: Value | None = None,
) -> Value:
    """The sum over letters that the result does not have, and maybe something added."""
    sizes: dict[int, int] = {}
    for value, letters in (a, b):
        for n, letter in zip(value.shape, letters, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), n)
    uses: list[tuple[Value, Sequence[int | None]]] = [
        (value, [letter if n == sizes[letter] else None for n, letter in zip(value.shape, letters, strict=True)])
        for value, letters in (a, b)
    ]
    if added is not None and added.base.role is not Role.CONSTANT:
        offset = len(result) - len(added.shape)
        uses.append(
            (
                added,
                [result[offset + k] if n == sizes[result[offset + k]] else None for k, n in enumerate(added.shape)],
            )
        )
    forward = 2 * prod(sizes.values())
    backward = forward * _gradients(reader, a[0], b[0])
    weight = b[0].base
    linear = (
        weight.role is Role.PARAMETER
        and len(weight.parameters) == 1
        and len(b[1]) == 2
        and set(a[1]) | set(b[1]) == set(sizes)
        and len(set(b[1]) - set(result)) == 1
        and set(result) - set(b[1]) <= set(a[1])
        and len(set(b[1]) & set(a[1])) == 1
    )
    return reader.recorder.record(
        "linear" if linear else "contract",
        call.name,
        call.where,
        uses,
        [(result, call.dtypes[0])],
        sizes,
        work=Work(name, forward, backward, backward),
        no_grad=reader.no_grad,
    )[0]


def _linear(reader: Reader, call: Call) -> Result:
    x, weight, bias = call.given["input"], call.given["weight"], call.given["bias"]
    rank = len(x.shape)
    rows = list(range(rank - 1))
    return _contract(reader, call, "mm", (x, [*rows, rank]), (weight, [rank + 1, rank]), [*rows, rank + 1], added=bias)


def _matmul(reader: Reader, call: Call) -> Result:
    a, b = list(call.given.values())[:2]
    return _product(reader, call, a, b)


def _product(reader: Reader, call: Call, a: Value, b: Value, added: Value | None = None) -> Value:
    shape = list(call.shape)
    left, right = len(a.shape) == 1, len(b.shape) == 1
    if left:
        a = as_shape(reader, call, a, (1, *a.shape))
        shape.insert(len(shape) if right else len(shape) - 1, 1)
    if right:
        b = as_shape(reader, call, b, (*b.shape, 1))
        shape.append(1)
    rank = len(shape)
    lead = list(range(rank - 2))
    row, inner, column = rank, rank + 1, rank + 2
    la, lb = lead[len(lead) - (len(a.shape) - 2) :], lead[len(lead) - (len(b.shape) - 2) :]
    name = "mm" if len(b.shape) == 2 or len(a.shape) == 2 else "bmm"
    made = _contract(
        reader, call, name, (a, [*la, row, inner]), (b, [*lb, inner, column]), [*lead, row, column], added=added
    )
    return as_shape(reader, call, made, call.shape)


def _addmm(reader: Reader, call: Call) -> Result:
    added, a, b = list(call.given.values())[:3]
    return _product(reader, call, a, b, added)


def _einsum(reader: Reader, call: Call) -> Result:
    inner = reader._decompose(call)  # to products of matrices
    if inner is None:
        raise FlexNetError(f"module {call.where} has an einsum that cannot be read: {call.given['equation']}")
    return reader.read(inner, call.values, call.where)[0]  # type: ignore[no-any-return]


def _attention(reader: Reader, call: Call) -> Result:
    """Query (..., heads, S, D), key (..., heads, T, D), value (..., heads, T, V), and what is added to the scores."""
    query, key, value = call.given["query"], call.given["key"], call.given["value"]
    mask = call.given.get("attn_mask")
    *lead, heads, positions, width = query.shape if len(query.shape) > 3 else (1, *query.shape)
    n, pairs, out = prod(lead), key.shape[-2], value.shape[-1]
    shared, views = heads, []
    for one in (query, key, value):
        own = heads if one is query or len(one.shape) < 4 else one.shape[-3]
        view = as_shape(reader, call, one, (n, own, one.shape[-2], one.shape[-1]))
        if one is not query:
            view, own = _distinct(view, own)
            shared = own if one is key else max(shared, own)
        flat = permuted(view, (0, 2, 1, 3))
        views.append(as_shape(reader, call, flat, (n, one.shape[-2], own * one.shape[-1])))
    sizes = {0: n, 1: positions, 2: heads * width, 3: pairs, 4: heads * out}
    uses: list[tuple[Value, Sequence[int | None]]] = [
        (views[0], [0, 1, 4]),
        (views[1], [0, None, 4]),
        (views[2], [0, None, 4]),
    ]
    if mask is not None and mask.base.role is not Role.CONSTANT:
        wide = expanded(mask, (*[1] * (4 - len(mask.shape)), *mask.shape)[-4:])
        spread = as_shape(reader, call, wide, wide.shape)
        uses.append((spread, [0 if spread.shape[0] == n else None, None, None, None]))
    once = 2 * n * heads * positions * pairs
    forward = once * (width + out)
    scores = _gradients(reader, views[0]), _gradients(reader, views[1])
    back = once * (width * sum(scores) + out * (_gradients(reader, views[2]) + bool(sum(scores))))
    made = reader.recorder.record(
        "attention",
        call.name,
        call.where,
        uses,
        [([0, 1, 4], call.dtypes[0])],
        sizes,
        attrs={
            "heads": heads,
            "shared": shared,
            "width": width,
            "out": out,
            "causal": bool(call.given.get("is_causal")),
        },
        work=Work("bmm", forward, back, back),
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    split = as_shape(reader, call, made, (n, positions, heads, out))
    return as_shape(reader, call, permuted(split, (0, 2, 1, 3)), call.shape)


def _distinct(value: Value, heads: int) -> tuple[Value, int]:
    """Heads without repetitions: several heads of a query that share one of keys."""
    factors = value.dims[1]
    if factors and factors[-1].dim is None and len(factors) > 1:
        dims = (value.dims[0], factors[:-1], *value.dims[2:])
        return Value(value.base, dims), heads // factors[-1].size
    if factors and len(factors) == 1 and factors[0].dim is None:
        return Value(value.base, (value.dims[0], (), *value.dims[2:])), 1
    return value, heads


def numbers(given: Any, n: int) -> tuple[int, ...]:
    """A size for each of so many dimensions, of which one may stand for all."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    return tuple(int(one) for one in (listed * n if len(listed) == 1 else listed))


def _convolution(reader: Reader, call: Call) -> Result:
    """(N, C, ...) by (out, C / groups, ...) to (N, out, ...), or back (transposed)."""
    given = call.given
    x, weight, bias = given["input"], given["weight"], given["bias"]
    if len(x.shape) == len(weight.shape) - 1:  # no batch
        x = as_shape(reader, call, x, (1, *x.shape))
    n = len(weight.shape) - 2
    shape = call.shape if len(call.shape) == n + 2 else (1, *call.shape)
    transposed = bool(given.get("transposed", "transpose" in call.name))
    groups = int(given["groups"])
    stride, dilation = numbers(given["stride"], n), numbers(given["dilation"], n)
    kernel = weight.shape[2:]
    padding = given["padding"]
    if isinstance(padding, str):
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        pads = tuple(one // 2 if padding == "same" else 0 for one in reach)
    else:
        pads = numbers(padding, n)
    batch, channel, space = 0, 1, list(range(2, 2 + n))
    forward = 2 * x.shape[0] * prod(x.shape[2:] if transposed else shape[2:]) * prod(weight.shape)
    data, kernels = (0 if reader.no_grad else forward * one.base.needs_grad for one in (x, weight))
    uses: list[tuple[Value, Sequence[int | None]]] = [(x, [batch, None, *[None] * n])]
    uses.append((weight, [None] * len(weight.shape)))
    if bias is not None:
        uses.append((bias, [channel]))
    sizes = dict(enumerate(shape))
    made = reader.recorder.record(
        "convolution",
        call.name,
        call.where,
        uses,
        [([batch, channel, *space], call.dtypes[0])],
        sizes,
        private=frozenset([channel, *space]),
        attrs={
            "kernel": tuple(kernel),
            "stride": stride,
            "padding": pads,
            "dilation": dilation,
            "groups": groups,
            "transposed": transposed,
            "bias": bias is not None,
        },
        work=Work("convolution", forward, data + kernels, data + kernels * groups),
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    return as_shape(reader, call, made, call.shape)


def _grouped(reader: Reader, call: Call) -> Result:
    """Rows in order of their experts times one matrix for each expert."""
    a, b = list(call.given.values())[:2]
    if len(a.shape) != 2 or len(b.shape) != 3:
        raise FlexNetError(
            f"operator {call.name} of module {call.where} multiplies groups of shapes {a.shape} and {b.shape}; rows "
            "(N, F) by one matrix for each group (groups, F, out) can be read"
        )
    experts, _, out = b.shape
    forward = 2 * a.volume * out
    back = forward * _gradients(reader, a, b)
    work = Work("grouped_mm", forward, back, back)
    dims: list[tuple[Factor, ...]] = [(factor,) for factor in a.dims[0]]
    if a.base not in reader.recorder.by_expert or len(dims) != 3:
        dims = [(), *_thirds(reader, a)]
    groups = dims[0][0].size if dims[0] else 1
    rows = Value(a.base, (*dims, a.dims[1]))
    sizes = dict(enumerate((*rows.shape, out)))
    uses: list[tuple[Value, Sequence[int | None]]] = [
        (rows, [0, 1, 2, 3]),
        (b, [0 if groups == experts else None, 3, 4]),
    ]
    made = reader.recorder.record(
        "contract" if groups == experts else "experts",
        call.name,
        call.where,
        uses,
        [([1, 0, 2, 4], call.dtypes[0])],
        sizes,
        attrs={"experts": experts},
        work=work,
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    sample, group, row, column = made.dims
    return Value(made.base, (group + sample + row, column))


def _thirds(reader: Reader, value: Value) -> tuple[tuple[Factor, ...], tuple[Factor, ...]]:
    """The rows of a tensor by samples, and by what is within one."""
    split = split_factors(value.dims[0], (reader.batch_size, value.shape[0] // reader.batch_size))
    return (split[0], split[1]) if split is not None else (value.dims[0], ())


PRODUCTS = {
    "linear": _linear,
    **named(_matmul, "matmul mm bmm mv dot linalg_matmul inner"),
    **named(_addmm, "addmm baddbmm"),
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    **named(
        _convolution, "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution"
    ),
    **named(_grouped, "_grouped_mm grouped_mm grouped_mm_fallback"),
}
