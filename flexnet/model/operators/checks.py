"""What layers are given: checked, each with a sentence that names the layer and what would be right.

``where`` is how a sentence begins, such as ``"conv2d: kernel"``; ``label`` that of a kind alone.
"""

from collections.abc import Sequence
from operator import index
from typing import Any

from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.model.graph import ELEMENT_BYTES, UNARY, OpType, Tensor

__all__ = [
    "activation_of",
    "check_axis",
    "check_dtype",
    "check_indices",
    "check_op_type",
    "check_shape",
    "pair",
    "shown",
    "whole_number",
]

_INTEGERS = ("int32", "int64")


def whole_number(where: str, value: Any, least: int = 1) -> int:
    """A whole number of any integer type."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise FlexNetError(f"{where} is {shown(value)}; it must be a whole number, at least {least}")
    return int(number)


def pair(where: str, value: object, least: int = 1) -> tuple[int, int]:
    """Height and width; one number stands for both.

    >>> pair("conv2d: kernel", 3), pair("conv2d: kernel", (1, 7))
    ((3, 3), (1, 7))
    """
    both = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise FlexNetError(f"{where} is {shown(value)}; it must be (height, width), or one number for both")
    return whole_number(where, both[0], least), whole_number(where, both[1], least)


def check_dtype(where: str, dtype: object) -> None:
    """Refuse an element type that has no size."""
    if dtype not in tuple(ELEMENT_BYTES):
        hint = did_you_mean(str(dtype), ELEMENT_BYTES)
        raise FlexNetError(
            f"{where} is {shown(dtype)}; it must be {one_of(tuple(ELEMENT_BYTES))}" + (f" ({hint})" if hint else "")
        )


def check_op_type(where: str, kind: object, known: Sequence[OpType], more: str = "") -> None:
    """Refuse what is none of the known ones: a name as text, a number, the kind of another layer."""
    if not isinstance(kind, OpType) or kind not in known:
        names = [f"OpType.{one.name}" for one in known]
        raise FlexNetError(f"{where} is {shown(kind)}; it must be {one_of(names)}{more}")


def activation_of(label: str, activation: OpType | None) -> int:
    """The number of a fused activation; 0 for none."""
    if activation is None:
        return 0
    check_op_type(f"{label}: activation", activation, UNARY, ", or None")
    return int(activation)


def check_axis(where: str, axis: object, rank: int) -> int:
    """An axis of a tensor, counted with the batch as 0."""
    if whole_number(where, axis, 0) >= rank:
        raise FlexNetError(f"{where} is {shown(axis)}; it must be from 0 (the batch) to {rank - 1}")
    return whole_number(where, axis, 0)


def check_shape(label: str, x: Tensor, *shapes: str, hint: str = "") -> None:
    """Refuse a tensor whose rank is that of none of ``shapes``, as ``"(N, C, H, W)"``; ``hint`` says what helps."""
    if all(len(x.dims) != text.count(",") + 1 for text in shapes):
        raise FlexNetError(f"{label} takes a tensor of shape {one_of(shapes)}; got one of shape {x.shape}{hint}")


def check_indices(label: str, x: Tensor) -> None:
    """Refuse a tensor that does not hold integers."""
    if x.dtype not in _INTEGERS:
        raise FlexNetError(f"{label} takes indices; got a {x.dtype} tensor, which must be {one_of(_INTEGERS)}")


def shown(value: object) -> str:
    """A value as a sentence repeats it: short, and an `OpType` by its name."""
    text = f"OpType.{value.name}" if isinstance(value, OpType) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
