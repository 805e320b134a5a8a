"""Losses, and other sums over the batch: they are put out for each sample, since each part has those of its own.

What sums of parts cost to add up, a number or a few for each part, is left out, as is what is computed of the sums
alone (`flexnet.importing.graphs.without_tail`).
"""

from collections.abc import Mapping, Sequence

from flexnet.importing.aten import Reader, Result, named
from flexnet.importing.calls import Call
from flexnet.importing.values import Role, Value, batch_axis

__all__ = ["LOSSES", "is_of_samples", "of_samples"]

Uses = Sequence[tuple[Value, Sequence[int | None]]]


def is_of_samples(reader: Reader, call: Call, axes: set[int]) -> bool:
    """Whether a reduction over ``axes`` of its first argument adds up samples of something that is trained."""
    value = call.first
    trained = value.base.needs_grad and not reader.no_grad
    return trained and call.dtypes == ["float"] and batch_axis(value) in axes


def of_samples(reader: Reader, call: Call, uses: Uses, sizes: Mapping[int, int], letters: Sequence[int]) -> Value:
    """Record a reduction over the batch, whose ``letters`` are left, as one for each sample; show the sum."""
    batch = batch_axis(call.first)
    assert batch is not None
    outputs = [([batch, *letters], call.dtypes[0])]
    made = reader.recorder.record("light", call.name, call.where, uses, outputs, sizes)[0]
    return Value(made.base, made.dims[1:])


def _of_elements(reader: Reader, call: Call) -> Result:
    """A loss of each element of two tensors of one shape, or their mean or sum."""
    shape = call.first.shape
    return _loss(reader, call, [(one, _alike(one, shape)) for one in _varying(call)], set())


def _of_classes(reader: Reader, call: Call) -> Result:
    """A loss of each sample (N, classes, ...), of labels (N, ...) or shares of classes, or their mean or sum."""
    shape = call.first.shape
    classes = min(1, len(shape) - 1)
    rows = [k for k in range(len(shape)) if k != classes]
    uses: list[tuple[Value, Sequence[int | None]]] = []
    for one in _varying(call):
        if one.shape == shape:
            uses.append((one, [None if k == classes else k for k in range(len(shape))]))
        elif one.shape == tuple(shape[k] for k in rows):
            uses.append((one, rows))
        else:
            uses.append((one, [None] * len(one.shape)))
    return _loss(reader, call, uses, {classes})


def _loss(reader: Reader, call: Call, uses: Uses, within: set[int]) -> Result:
    shape = call.first.shape
    sizes = {k: n for k, n in enumerate(shape) if k not in within}
    is_of_each = call.given.get("reduction", 1) == 0
    if not is_of_each and len(call.dtypes) == 1 and is_of_samples(reader, call, set(sizes)):
        return of_samples(reader, call, uses, sizes, [])
    letters = list(sizes) if is_of_each else []
    outputs = [(letters if i == 0 else [], dtype) for i, dtype in enumerate(call.dtypes)]
    made = reader.recorder.record("light", call.name, call.where, uses, outputs, sizes, no_grad=reader.no_grad)
    return made[0] if len(made) == 1 else made


def _varying(call: Call) -> list[Value]:
    return [one for one in call.values if one.base.role is not Role.CONSTANT]


def _alike(value: Value, shape: tuple[int, ...]) -> list[int | None]:
    return list(range(len(shape))) if value.shape == shape else [None] * len(value.shape)


LOSSES = {
    **named(
        _of_elements,
        "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy "
        "binary_cross_entropy_with_logits kl_div poisson_nll_loss",
    ),
    **named(_of_classes, "cross_entropy_loss nll_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss2d_forward"),
}
"""What reads each loss."""
