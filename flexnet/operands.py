"""What the layers of `flexnet.builder` take: checked, with a sentence that names the layer and what would be right."""

from collections.abc import Container, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.graph import ELEMENT_BYTES, Operator, OpType, Source, Tensor
from flexnet.wording import did_you_mean, one_of

__all__ = [
    "BINARY_NAMES",
    "INTEGERS",
    "UNARY_NAMES",
    "activation_of",
    "check_axis",
    "check_dtype",
    "check_kind",
    "check_source",
    "pair",
    "whole",
    "windows",
]

BINARY_NAMES = MappingProxyType({OpType.ADD: "Add", OpType.MUL: "Mul", OpType.SUB: "Sub", OpType.DIV: "Div"})
UNARY_NAMES = MappingProxyType(
    {
        OpType.RELU: "ReLU",
        OpType.IDENTITY: "Identity",
        OpType.SIGMOID: "Sigmoid",
        OpType.TANH: "Tanh",
        OpType.ELU: "ELU",
        OpType.EXP: "Exp",
        OpType.GELU: "GELU",
    }
)
INTEGERS = ("int32", "int64")


def whole(where: str, value: Any, least: int = 1) -> int:
    """A whole number of any integer type."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise FlexNetError(f"{where} is {_shown(value)}; it must be a whole number, at least {least}")
    return int(number)


def pair(where: str, value: object, least: int = 1) -> tuple[int, int]:
    """Height and width; one number stands for both.

    >>> pair("conv2d: kernel", 3), pair("conv2d: kernel", (1, 7))
    ((3, 3), (1, 7))
    """
    both = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(both) != 2:
        raise FlexNetError(f"{where} is {_shown(value)}; it must be (height, width), or one number for both")
    return whole(where, both[0], least), whole(where, both[1], least)


def windows(
    layer: str, sizes: tuple[int, int], kernel: object, stride: object, padding: object
) -> tuple[tuple[int, int], dict[str, Any]]:
    """Width and height that sliding windows put out, of the width and height they read; and their attributes.

    >>> windows("pool2d", (30, 20), (3, 5), (2, 3), (1, 0))[0]
    (9, 10)
    """
    width, height = sizes
    kernel_h, kernel_w = pair(f"{layer}: kernel", kernel)
    stride_h, stride_w = pair(f"{layer}: stride", stride)
    padding_h, padding_w = pair(f"{layer}: padding", padding, 0)
    attrs: dict[str, Any] = {"kernel_h": kernel_h, "kernel_w": kernel_w, "stride_h": stride_h, "stride_w": stride_w}
    attrs |= {"padding_h": padding_h, "padding_w": padding_w}
    return (_window(width, kernel_w, stride_w, padding_w), _window(height, kernel_h, stride_h, padding_h)), attrs


def check_dtype(dtype: object) -> None:
    """Refuse an element type that has no size."""
    if dtype not in tuple(ELEMENT_BYTES):
        hint = did_you_mean(str(dtype), ELEMENT_BYTES)
        raise FlexNetError(
            f"input: dtype is {_shown(dtype)}; it must be {one_of(tuple(ELEMENT_BYTES))}"
            + (f" ({hint})" if hint else "")
        )


def check_kind(layer: str, kind: object, known: Mapping[OpType, str]) -> None:
    """Refuse what is no kind of this layer: a name as text, a number, the kind of another layer."""
    _refuse_unless(f"{layer}: kind", kind, known, "")


def activation_of(layer: str, activation: OpType | None) -> int:
    """The number of a fused activation; 0 for none."""
    if activation is None:
        return 0
    _refuse_unless(f"{layer}: activation", activation, UNARY_NAMES, ", or None")
    return int(activation)


def check_axis(where: str, axis: object, rank: int) -> int:
    """An axis of a tensor, counted with the batch as 0."""
    if whole(where, axis, 0) >= rank:
        raise FlexNetError(f"{where} is {_shown(axis)}; it must be from 0 (the batch) to {rank - 1}")
    return whole(where, axis, 0)


def check_source(
    layer: str,
    x: object,
    made: Sequence[Operator],
    batch_size: int | None,
    shapes: Sequence[str] = (),
    dtypes: Container[str] = tuple(ELEMENT_BYTES),
) -> Tensor:
    """The tensor a layer reads.

    Parameters
    ----------
    layer : str
    x : object
        What was given for it.
    made : sequence of Operator
        Operators of the builder so far, which ``x`` must come from unless it is data.
    batch_size : int or None
        Of data; None if it may be any.
    shapes : sequence of str
        Those the layer takes, as ``"(N, C, H, W)"``; any if empty.
    dtypes : container of str
        Element types the layer takes.

    Raises
    ------
    FlexNetError
        If it takes something else.
    """
    if not isinstance(x, Source):
        raise FlexNetError(f"{layer} takes tensors that layers of its builder returned; got {_shown(x)}")
    shape = x.tensor.shape
    if x.op is None:
        ours = batch_size is None or shape[0] == batch_size
    else:
        ours = x.op < len(made) and any(x.tensor is output for output in made[x.op].outputs)
    if not ours:
        raise FlexNetError(f"{layer} got a tensor of shape {shape} of another builder; build a model with one builder")
    if shapes and all(len(shape) != text.count(",") + 1 for text in shapes):
        flat = "; flat makes (N, F) of an image" if layer == "dense" else ""
        raise FlexNetError(f"{layer} takes a tensor of shape {one_of(shapes)}; got one of shape {shape}{flat}")
    if x.tensor.dtype not in dtypes:
        raise FlexNetError(f"{layer} takes indices; got a {x.tensor.dtype} tensor, which must be {one_of(INTEGERS)}")
    return x.tensor


def _refuse_unless(where: str, kind: object, known: Mapping[OpType, str], more: str) -> None:
    if not isinstance(kind, OpType) or kind not in known:
        names = [f"OpType.{one.name}" for one in known]
        raise FlexNetError(f"{where} is {_shown(kind)}; it must be {one_of(names)}{more}")


def _window(size: int, kernel: int, stride: int, padding: int) -> int:
    """Output size of a sliding window: 1 + floor((size + 2 padding - kernel) / stride)."""
    return 1 + (size + 2 * padding - kernel) // stride


def _shown(value: object) -> str:
    text = f"OpType.{value.name}" if isinstance(value, OpType) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
