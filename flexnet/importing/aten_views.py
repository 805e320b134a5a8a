"""ATen operators that show a tensor otherwise, or some of it."""

from collections.abc import Sequence
from math import prod

from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.calls import Call
from flexnet.importing.values import Base, Factor, Role, Value, expanded, permuted, reshaped

__all__ = ["VIEWS", "along", "as_shape"]


def as_shape(reader: Reader, call: Call, value: Value, shape: Sequence[int]) -> Value:
    """A value in another shape: a view, or a copy where a dimension would be made of uneven pieces."""
    viewed = reshaped(value, shape)
    if viewed is not None:
        return viewed
    if value.base.role is not Role.COMPUTED and value.base.role is not Role.DATA:
        return Value.whole(
            Base(
                tuple(shape),
                value.base.dtype,
                value.base.role,
                needs_grad=value.base.needs_grad,
                parameters=value.base.parameters,
            )
        )
    wanted, had = _groups(tuple(shape), value.shape)
    sizes: dict[int, int] = {}
    read: list[int | None] = [None] * len(value.shape)
    made: list[int] = []
    private = set()
    for new, old in zip(wanted, had, strict=True):
        plain = [k for k in old if value.shape[k] > 1]
        for i, k in enumerate(new):
            letter = len(sizes)
            sizes[letter] = shape[k]
            made.append(letter)
            if i == 0 and plain and value.shape[plain[0]] == shape[k]:
                read[plain[0]] = letter
            elif shape[k] > 1:
                private.add(letter)
    made_values = reader.recorder.record(
        "light",
        call.name,
        call.where,
        [(value, read)],
        [(made, value.base.dtype)],
        sizes,
        private=frozenset(private),
        no_grad=reader.no_grad,
    )
    return made_values[0]


def _groups(new: tuple[int, ...], old: tuple[int, ...]) -> tuple[list[list[int]], list[list[int]]]:
    """Dimensions of two shapes in the fewest runs of equal volume."""
    runs_new: list[list[int]] = [[]]
    runs_old: list[list[int]] = [[]]
    i = j = 0
    while i < len(new) or j < len(old):
        a, b = prod(new[k] for k in runs_new[-1]), prod(old[k] for k in runs_old[-1])
        if a == b and a > 1:
            runs_new.append([])
            runs_old.append([])
            a = b = 1
        if (a <= b and i < len(new)) or j >= len(old):
            runs_new[-1].append(i)
            i += 1
        else:
            runs_old[-1].append(j)
            j += 1
    return runs_new, runs_old


def _reshape(reader: Reader, call: Call) -> Result:
    return as_shape(reader, call, call.first, call.shape)


def _permute(reader: Reader, call: Call) -> Result:
    return permuted(call.first, [int(k) % len(call.shape) for k in call.given["dims"]])


def _exchange(reader: Reader, call: Call) -> Result:
    rank = len(call.shape)
    a, b = (list(call.given.values())[1:3] + [None] * 2)[:2]
    order = list(range(rank))
    if a is None:
        order[-2:] = order[: -3 if rank < 3 else rank - 3 : -1][:2] if rank > 1 else order
    else:
        order[a % rank], order[b % rank] = order[b % rank], order[a % rank]
    return permuted(call.first, order)


def _reversed(reader: Reader, call: Call) -> Result:
    return permuted(call.first, list(range(len(call.shape)))[::-1])


def _move(reader: Reader, call: Call) -> Result:
    rank = len(call.shape)

    def axes(one: object) -> list[int]:
        return [int(k) % rank for k in one] if isinstance(one, list | tuple) else [int(one) % rank]  # type: ignore[call-overload]

    source, destination = axes(call.given["source"]), axes(call.given["destination"])
    rest = iter(k for k in range(rank) if k not in source)
    placed = dict(zip(destination, source, strict=True))
    return permuted(call.first, [placed[k] if k in placed else next(rest) for k in range(rank)])


def _expand(reader: Reader, call: Call) -> Result:
    return expanded(call.first, call.shape)


def _same(reader: Reader, call: Call) -> Result:
    return call.first


def _copied(reader: Reader, call: Call) -> Result:
    source: Value = call.given["src"]
    return expanded(source, call.shape)


def _repeat(reader: Reader, call: Call) -> Result:
    """Repeats along dimensions of size 1, or outside of what is repeated, are a view."""
    value = call.first
    times = call.given["repeats"] if "repeats" in call.given else call.given["dims"]
    if not isinstance(times, list | tuple):
        return _interleaved(reader, call)
    wide = [1] * (len(call.shape) - len(value.shape)) + list(value.shape)
    counts = [1] * (len(call.shape) - len(times)) + list(times)
    view = reshaped(value, wide)
    assert view is not None
    dims = tuple(
        ((Factor(None, n), *factors) if n > 1 else factors) for n, factors in zip(counts, view.dims, strict=True)
    )
    return Value(value.base, dims)


def _interleaved(reader: Reader, call: Call) -> Result:
    value, times, axis = call.first, call.given.get("repeats"), call.given.get("dim")
    if not isinstance(times, int) or axis is None:
        return _pick(reader, call, [] if axis is None else [int(axis) % len(value.shape)])
    axis = int(axis) % len(value.shape)
    dims = list(value.dims)
    dims[axis] = (*dims[axis], Factor(None, times)) if times > 1 else dims[axis]
    return Value(value.base, tuple(dims))


def _slice(reader: Reader, call: Call) -> Result:
    if call.shape == call.first.shape:
        return call.first
    return _pick(reader, call, [call.axis()])


def _select(reader: Reader, call: Call) -> Result:
    value, axis = call.first, call.axis()
    picked = _picked(reader, call, value, axis, 1) if value.shape[axis] > 1 else value
    return as_shape(reader, call, picked, call.shape)


def _pick(reader: Reader, call: Call, axes: Sequence[int]) -> Result:
    """Some elements along some axes, of which a part reads all."""
    value, shape = call.first, call.shape
    if len(shape) != len(value.shape):
        axes = range(len(shape))
    axes = [k for k in axes if shape[k] != value.shape[k] or call.name not in ("slice", "narrow")]
    if len(axes) == 1:
        return _picked(reader, call, value, axes[0], shape[axes[0]])
    return along(reader, call, value, axes)[0]


def _picked(reader: Reader, call: Call, value: Value, axis: int, size: int) -> Value:
    factors = value.dims[axis]
    if all(factor.dim is None for factor in factors):
        dims = list(value.dims)
        dims[axis] = (Factor(None, size),) if size > 1 else ()
        return Value(value.base, tuple(dims))
    shape = [size if k == axis else n for k, n in enumerate(value.shape)]
    base = value.base
    if base.role in (Role.CONSTANT, Role.PARAMETER):
        return Value.whole(
            Base(tuple(shape), base.dtype, base.role, needs_grad=base.needs_grad, parameters=base.parameters)
        )
    return _shaped(reader, call, value, [shape], axis)[0]


def _shaped(reader: Reader, call: Call, value: Value, shapes: list[list[int]], axis: int) -> list[Value]:
    """Several pieces of a value along an axis."""
    rank = len(value.shape)
    sizes = dict(enumerate(value.shape))
    letters = {k: rank + i for i, k in enumerate(range(len(shapes)))}
    outputs = []
    for i, shape in enumerate(shapes):
        sizes[letters[i]] = shape[axis]
        outputs.append(([letters[i] if k == axis else k for k in range(rank)], value.base.dtype))
    read = [None if k == axis else k for k in range(rank)]
    del sizes[axis]
    return reader.recorder.record(
        "light",
        call.name,
        call.where,
        [(value, read)],
        outputs,
        sizes,
        private=frozenset(letters.values()),
        no_grad=reader.no_grad,
    )


def _split(reader: Reader, call: Call) -> Result:
    value = call.first
    axis = call.axis()
    if len(call.shapes) == 1:
        return [value]
    base = value.base
    if base.role in (Role.CONSTANT, Role.PARAMETER):
        return [_picked(reader, call, value, axis, shape[axis]) for shape in call.shapes]
    return _shaped(reader, call, value, [list(shape) for shape in call.shapes], axis)


def _unbind(reader: Reader, call: Call) -> Result:
    value, axis = call.first, call.axis()
    shape = [1 if k == axis else n for k, n in enumerate(value.shape)]
    if value.base.role in (Role.CONSTANT, Role.PARAMETER) or len(call.shapes) == 1:
        pieces = [_picked(reader, call, value, axis, 1) if len(call.shapes) > 1 else value] * len(call.shapes)
    else:
        pieces = _shaped(reader, call, value, [shape] * len(call.shapes), axis)
    return [as_shape(reader, call, piece, call.shape) for piece in pieces]


def along(reader: Reader, call: Call, value: Value, axes: Sequence[int]) -> list[Value]:
    """Outputs of an operator that works along axes of a value, and maybe changes their sizes."""
    values = [one for one in call.values if one.base.role is not Role.CONSTANT]
    rank = len(call.shape)
    sizes = dict(enumerate(call.shape))
    uses = []
    for one in values:
        aligned = len(one.shape) == rank
        letters = [k if aligned and k not in axes and n == call.shape[k] else None for k, n in enumerate(one.shape)]
        uses.append((one, letters))
    outputs = [(list(range(rank)), dtype) for dtype in call.dtypes]
    return reader.recorder.record(
        "light",
        call.name,
        call.where,
        uses,
        outputs,
        sizes,
        private=frozenset(axes),
        no_grad=reader.no_grad,
    )


VIEWS = {
    **named(
        _reshape,
        "view _unsafe_view reshape flatten unflatten view_as reshape_as unsqueeze squeeze "
        "_reshape_alias _reshape_copy atleast_1d atleast_2d atleast_3d ravel",
    ),
    "permute": _permute,
    **named(_exchange, "transpose t swapaxes swapdims mT matrix_H adjoint"),
    "numpy_T": _reversed,
    **named(_move, "movedim moveaxis"),
    **named(_expand, "expand expand_as broadcast_to"),
    **named(
        _same,
        "alias detach contiguous clone to _to_copy type_as dropout lift_fresh lift_fresh_copy requires_grad "
        "alpha_dropout feature_dropout dropout2d positive resolve_conj resolve_neg conj _conj float half double "
        "bfloat16 int long bool native_dropout feature_alpha_dropout view_as_real_copy zero_gradient identity",
    ),
    "copy": _copied,
    **named(_repeat, "repeat tile"),
    "repeat_interleave": _interleaved,
    **named(_slice, "slice narrow"),
    "select": _select,
    **named(_split, "split split_with_sizes chunk tensor_split unsafe_split unsafe_chunk"),
    "unbind": _unbind,
}
"""Operators of which most are views, of parameters and constants too."""
