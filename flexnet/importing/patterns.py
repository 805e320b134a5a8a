"""Fused steps that are a layer with a name: what they do tells, not what the program calls them."""

from flexnet.importing.fuse import Group
from flexnet.importing.values import Base, Cut
from flexnet.model.graph import BINARY, OpType

__all__ = ["activation_of", "is_cross_entropy", "is_gate", "is_rms_norm", "is_rotation", "same_shape", "single"]

_PLAIN = {"to", "_to_copy", "type_as", "contiguous", "clone", "alias"}
_ACTIVATIONS = {
    "relu": OpType.RELU,
    "sigmoid": OpType.SIGMOID,
    "tanh": OpType.TANH,
    "elu": OpType.ELU,
    "exp": OpType.EXP,
    "gelu": OpType.GELU,
    "silu": OpType.SILU,
    "hardsigmoid": OpType.HARD_SIGMOID,
    "hardswish": OpType.HARD_SWISH,
}
_LOSSES = {"cross_entropy_loss"}
_LABELS = {"pad", "constant_pad_nd", "slice", "select", "ne", "eq", "where", "masked_fill", "roll"}
_SUMS = {"add": OpType.ADD, "mul": OpType.MUL, "sub": OpType.SUB, "div": OpType.DIV}
_GELU = ({"mul", "pow", "add", "tanh"}, {"mul", "add", "tanh"}, {"mul", "div", "erf", "add"}, {"mul", "erf", "add"})
_SILU = ({"sigmoid", "mul"},)


def activation_of(group: Group) -> OpType | None:
    """The element-wise function that a group is, of one tensor."""
    if len(group.data) != 1 or group.parameters or not same_shape(group, group.data[0]) or group.uncut:
        return None
    return _function(group.targets - _PLAIN)


def single(group: Group) -> tuple[OpType, OpType | None] | None:
    """The sum, product, difference or quotient of two tensors that a group is, and the activation behind it."""
    targets = [step.target for step in group.steps if step.target not in _PLAIN]
    if len(group.data) != 2 or group.parameters or not 0 < len(targets) < 3 or group.uncut:
        return None
    kind, behind = _SUMS.get(targets[0]), _function(set(targets[1:]))
    if kind not in BINARY or (len(targets) > 1 and behind is None) or set(targets[:1]) & set(targets[1:]):
        return None
    return (kind, behind) if all(same_shape(group, base) for base in group.data) else None


def is_gate(group: Group) -> OpType | None:
    """The activation of which a group is the product with another tensor, or with the other half of its own."""
    targets = group.targets - _PLAIN
    if group.parameters or "mul" not in targets:
        return None
    halves = targets & {"chunk", "split", "split_with_sizes", "slice"}
    kind = _function(targets - {"mul"} - halves) or _function(targets - halves)
    last = len(group.exit.outputs[0].sizes) - 1
    if kind is None:
        return None
    if len(group.data) == 2 and not halves and not group.uncut:
        return kind if all(same_shape(group, base) for base in group.data) else None
    if len(group.data) == 1 and halves and group.uncut == {last}:
        written, read = group.exit.outputs[0].sizes, group.data[0].sizes
        return kind if (*written[:-1], 2 * written[-1]) == read else None
    return None


def is_cross_entropy(group: Group) -> Base | None:
    """What a group is the cross entropy of, softmax over the innermost dimension included, with labels."""
    targets = group.targets - _PLAIN
    scores = [base for base in group.data if base.needs_grad]
    if not targets & _LOSSES or len(scores) != 1 or group.parameters or not targets <= _LOSSES | _LABELS:
        return None
    rows = scores[0].sizes[:-1]  # labels that are shifted forbid no cut of these
    return scores[0] if len(rows) > 0 and rows == group.exit.outputs[0].sizes[: len(rows)] else None


def is_rms_norm(group: Group) -> bool:
    """Whether a group divides by the root mean square over the last dimension, and scales."""
    targets = group.targets - _PLAIN
    sizes = group.exit.outputs[0].sizes
    return (
        len(group.data) == 1
        and len(group.parameters) == 1
        and group.parameters[0].sizes == sizes[-1:]
        and group.data[0].sizes == sizes
        and group.uncut == {len(sizes) - 1}
        and bool(targets & {"pow", "square", "mul"})
        and "mean" in targets
        and bool(targets & {"rsqrt", "sqrt"})
        and targets <= {"pow", "square", "mean", "add", "rsqrt", "sqrt", "mul", "div", "reciprocal"}
    )


def is_rotation(group: Group) -> bool:
    """Whether a group turns pairs of the features of each head, (samples, heads, positions, features)."""
    targets = group.targets - _PLAIN
    rank = len(group.exit.outputs[0].sizes)
    return (
        len(group.data) == 1
        and not group.parameters
        and rank == 4
        and group.uncut == {3}
        and {"mul", "cat"} <= targets
        and bool(targets & {"neg", "sub"})
        and targets <= {"mul", "add", "sub", "neg", "cat", "slice", "chunk", "split", "stack", "unbind", "select"}
    )


def same_shape(group: Group, base: Base) -> bool:
    """Whether a tensor is cut as the group's output, dimension by dimension."""
    sizes = group.exit.outputs[0].sizes
    whole = tuple(Cut(k, n) if n > 1 else None for k, n in enumerate(sizes))
    cuts = tuple(None if n == 1 else cut for n, cut in zip(base.sizes, group.reads[base], strict=True))
    return base.sizes == sizes and cuts == whole


def _function(targets: set[str]) -> OpType | None:
    if not targets:
        return None
    if len(targets) == 1:
        return _ACTIVATIONS.get(next(iter(targets)))
    if targets in _GELU:
        return OpType.GELU
    return OpType.SILU if targets in _SILU else None
