"""ATen operators that reduce, pick and scatter, or work along an axis: light beside products."""

from collections.abc import Sequence
from typing import Any

from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.aten_losses import is_of_samples, of_samples
from flexnet.importing.calls import Call
from flexnet.importing.routing import routed_rows
from flexnet.importing.values import Role, Value, batch_axis

__all__ = ["LIGHT", "pointwise", "reduction"]


def pointwise(reader: Reader, call: Call) -> Result:
    """Every element by itself."""
    values = [value for value in call.values if value.base.role is not Role.CONSTANT]
    made = reader.light(call, values)
    order = next((reader.orders[value.base] for value in values if value.base in reader.orders), None)
    if order is not None and isinstance(made, Value) and call.dtypes[0] in ("int32", "int64"):
        reader.orders[made.base] = order
    return made


def reduction(reader: Reader, call: Call) -> Result:
    """Some dimensions to one number: they disappear, or keep size 1."""
    value = call.first
    rank = len(value.shape)
    given = call.given.get("dim")
    if given is None or given == []:
        axes = set(range(rank))
    else:
        axes = {int(k) % max(rank, 1) for k in (given if isinstance(given, list | tuple) else [given])}
    sizes = {k: n for k, n in enumerate(value.shape) if k not in axes}
    kept = len(call.shape) == rank
    letters = []
    for k in range(rank):
        if k not in axes:
            letters.append(k)
        elif kept:
            sizes[rank + k] = 1
            letters.append(rank + k)
    batch = batch_axis(value)
    if batch is not None and is_of_samples(reader, call, axes):
        read = [k if k == batch or k not in axes else None for k in range(rank)]
        return of_samples(reader, call, [(value, read)], {**sizes, batch: value.shape[batch]}, letters)
    made = reader.recorder.record(
        "light",
        call.name,
        call.where,
        [(value, [None if k in axes else k for k in range(rank)])],
        [(letters, dtype) for dtype in call.dtypes],
        sizes,
        no_grad=reader.no_grad,
    )
    return made[0] if len(made) == 1 else made


def _adaptive_pool(reader: Reader, call: Call) -> Result:
    """Spatial dimensions to a few, or one."""
    value = call.first
    lead = len(value.shape) - int(call.op.__name__.partition("pool")[2][0])
    return _windowed(reader, call, range(lead, len(value.shape)))


def _spatial(reader: Reader, call: Call) -> Result:
    """Pooling and resizing of what is behind samples and channels."""
    return _windowed(reader, call, range(min(2, len(call.shape) - 1), len(call.shape)))


def _windowed(reader: Reader, call: Call, axes: Sequence[int]) -> Result:
    """Parts cannot be computed along some axes, nor along those of another size than what is read has."""
    value = call.first
    sizes = dict(enumerate(call.shape))
    kept = {k for k, n in enumerate(value.shape) if k not in axes and sizes.get(k) == n}
    uses = [(value, [k if k in kept else None for k in range(len(value.shape))])]
    uses += [(one, [None] * len(one.shape)) for one in call.values[1:] if one.base.role is not Role.CONSTANT]
    outputs = [(list(sizes), dtype) for dtype in call.dtypes]
    private = frozenset(set(sizes) - kept)
    made = reader.recorder.record(
        "light", call.name, call.where, uses, outputs, sizes, private=private, no_grad=reader.no_grad
    )
    return made[0] if len(made) == 1 else made


def _along_axis(reader: Reader, call: Call) -> Result:
    """Softmax, cumulative sums, sorting, the largest k: everything along one axis hangs together."""
    value = call.first
    rank = len(value.shape)
    axis = call.given.get("dim", -1)
    axis = (rank - 1 if axis is None else int(axis)) % max(rank, 1)
    made = _windowed(reader, call, [axis])
    if call.name in ("sort", "argsort") and rank == 1 and value.base.dtype in ("int32", "int64"):
        for one in [made] if isinstance(made, Value) else made:
            reader.orders[one.base] = value
    return made


def _gather(reader: Reader, call: Call) -> Result:
    """An element for each index along an axis; the others agree."""
    value, index = call.first, call.given["index"]
    rank, axis = len(call.shape), call.axis()
    sizes = dict(enumerate(call.shape))
    whole = [None if k == axis or value.shape[k] != n else k for k, n in enumerate(call.shape)]
    uses: list[tuple[Value, Sequence[int | None]]] = [(value, whole), (index, list(range(rank)))]
    return reader.recorder.record(
        "light", call.name, call.where, _fresh(uses), [(list(range(rank)), call.dtypes[0])], sizes
    )[0]


def _scatter(reader: Reader, call: Call) -> Result:
    """Elements put where indices say along an axis."""
    rank, axis = len(call.shape), call.axis()
    sizes = dict(enumerate(call.shape))
    uses: list[tuple[Value, Sequence[int | None]]] = []
    for one in call.values:
        aligned = len(one.shape) == rank
        letters = [
            k if aligned and k != axis and one.shape[k] == n else None
            for k, n in enumerate(call.shape[: len(one.shape)])
        ]
        uses.append((one, letters + [None] * (len(one.shape) - len(letters))))
    return reader.recorder.record(
        "light",
        call.name,
        call.where,
        _fresh(uses),
        [(list(range(rank)), call.dtypes[0])],
        sizes,
        private=frozenset([axis]),
    )[0]


def _index(reader: Reader, call: Call) -> Result:
    """Elements at indices of some dimensions; the dimensions between are as they were."""
    value = call.first
    indices: list[Any] = list(call.given["indices"])
    if len(indices) == 1 and isinstance(indices[0], Value) and indices[0].base in reader.orders:
        routed = routed_rows(reader, call, value, reader.orders[indices[0].base])
        if routed is not None:
            return routed
    places = [k for k, one in enumerate(indices) if one is not None]
    together = places == list(range(places[0], places[-1] + 1))
    shape = call.shape
    n_index = len(shape) - (len(value.shape) - len(places))
    start = places[0] if together else 0
    read: list[int | None] = []
    at = 0
    for k in range(len(value.shape)):
        if k in places:
            read.append(None)
            continue
        while start <= at < start + n_index:
            at += 1
        read.append(at)
        at += 1
    uses: list[tuple[Value, Sequence[int | None]]] = [(value, read)]
    for one in indices:
        if one is not None:
            offset = start + n_index - len(one.shape)
            letters = [offset + k if n == shape[offset + k] else None for k, n in enumerate(one.shape)]
            uses.append((one, letters))
    return reader.recorder.record(
        "light",
        call.name,
        call.where,
        _fresh(uses),
        [(list(range(len(shape))), call.dtypes[0])],
        dict(enumerate(shape)),
        no_grad=reader.no_grad,
    )[0]


def _index_select(reader: Reader, call: Call) -> Result:
    axis = call.axis()
    call.given["indices"] = [None] * axis + [call.given["index"]]
    return _index(reader, call)


def _index_put(reader: Reader, call: Call) -> Result:
    """Elements put at indices of some dimensions; of these everything is read."""
    indexed = {k for k, one in enumerate(call.given["indices"]) if one is not None}
    rank = len(call.shape)
    order = next((reader.orders[one.base] for one in call.values if one.base in reader.orders), None)
    uses: list[tuple[Value, Sequence[int | None]]] = []
    for one in call.values:
        same = len(one.shape) == rank
        uses.append(
            (one, [k if same and k not in indexed and n == call.shape[k] else None for k, n in enumerate(one.shape)])
        )
    made = reader.recorder.record(
        "light",
        call.name,
        call.where,
        _fresh(uses),
        [(list(range(rank)), call.dtypes[0])],
        dict(enumerate(call.shape)),
        private=frozenset(indexed),
        no_grad=reader.no_grad,
    )[0]
    if order is not None:
        reader.orders[made.base] = order
    return made


def _everything(reader: Reader, call: Call) -> Result:
    """All of the output hangs on all of the input, but for samples if these agree."""
    values = [one for one in call.values if one.base.role is not Role.CONSTANT]
    uses: list[tuple[Value, Sequence[int | None]]] = []
    letters: list[int] = []
    sizes: dict[int, int] = {}
    outputs = []
    for shape, dtype in zip(call.shapes, call.dtypes, strict=True):
        mine = list(range(len(sizes), len(sizes) + len(shape)))
        sizes |= zip(mine, shape, strict=True)
        outputs.append((mine, dtype))
        letters += mine
    for one in values:
        uses.append((one, [None] * len(one.shape)))
    made = reader.recorder.record(
        "light", call.name, call.where, uses, outputs, sizes, private=frozenset(letters), no_grad=reader.no_grad
    )
    return made[0] if len(made) == 1 else made


def _last_axis(reader: Reader, call: Call) -> Result:
    """Halves of an axis, one the gate of the other."""
    return _windowed(reader, call, [call.axis()])


def _fresh(uses: Sequence[tuple[Value, Sequence[int | None]]]) -> list[tuple[Value, Sequence[int | None]]]:
    """Without constants."""
    return [use for use in uses if use[0].base.role is not Role.CONSTANT]


def _transform(reader: Reader, call: Call) -> Result:
    given = call.given.get("dim")
    rank = len(call.shape)
    axes = (
        [rank - 1]
        if given is None
        else [int(k) % rank for k in (given if isinstance(given, list | tuple) else [given])]
    )
    return _windowed(reader, call, axes)


LIGHT = {
    **named(
        _along_axis,
        "softmax _softmax log_softmax _log_softmax _safe_softmax cumsum cumprod cummax cummin logcumsumexp sort "
        "argsort topk kthvalue renorm",
    ),
    "gather": _gather,
    "take_along_dim": _gather,
    **named(_scatter, "scatter scatter_add scatter_reduce index_add index_copy index_fill"),
    "index": _index,
    "index_select": _index_select,
    **named(_index_put, "index_put _unsafe_index_put"),
    "_unsafe_index": _index,
    **named(
        _adaptive_pool,
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
        "adaptive_max_pool1d adaptive_max_pool2d",
    ),
    **named(
        _spatial,
        "avg_pool1d avg_pool3d max_pool1d max_pool3d max_pool3d_with_indices upsample_nearest1d upsample_nearest2d "
        "upsample_bilinear2d upsample_bicubic2d upsample_linear1d _upsample_bilinear2d_aa "
        "_upsample_bicubic2d_aa pixel_shuffle pixel_unshuffle "
        "grid_sampler grid_sampler_2d im2col col2im",
    ),
    "glu": _last_axis,
    **named(reduction, "_is_all_true _is_any_true"),
    **named(
        _everything,
        "bincount histc unique scaled_modified_bessel_k0 cdist one_hot searchsorted bucketize multinomial "
        "nonzero_static",
    ),
    **named(
        _transform,
        "_fft_r2c _fft_c2c _fft_c2r fft_fft fft_rfft fft_irfft fft_fftn fft_fft2 fft_ifft fft_rfft2 fft_irfft2",
    ),
    **named(
        pointwise,
        "where hardswish prelu floor_divide rms_scale fake_quantize_per_tensor_affine logical_or bitwise_not "
        "bitwise_and bitwise_or __and__ __or__ __xor__ rsub zeros_like ones_like full_like masked_fill addcmul addcdiv "
        "sub mul div add pow square min max maximum minimum relu relu6 hardsigmoid hardtanh clamp_min clamp_max "
        "true_divide fmod remainder isin rand_like randn_like polar complex native_dropout bernoulli fill zero "
        "uniform normal exponential random geometric log_normal cauchy "
        "absolute negative not_equal less greater less_equal greater_equal",
    ),
}
