"""Operators that imported models have, in PyTorch; shapes as in `flexnet.profiler.operators`."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType
from flexnet.model.operators.fusion import parse_terms

__all__ = ["IMPORTED_OPERATORS", "departure"]

Tensors = Sequence[torch.Tensor]

MOST_DILATION = 8


def departure(op: Operator) -> str:
    """How what is measured departs from an operator of these; empty if it does not."""
    if op.kind == OpType.FUSION:
        return f"a sum of what is read in place of {op.attrs['operations']} fused operations"
    return ""


def _fusion(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    """Read everything once and write everything once, as one kernel does: what it computes between hardly counts."""
    terms = parse_terms(op.equation)
    shape = op.outputs[0].shape
    total: torch.Tensor | None = None
    for x, term in zip((*xs, *ws), terms.read, strict=True):
        seen = _along(x if x.is_floating_point() else x.to(_float_of(xs, ws)), term, terms.written, shape)
        total = seen if total is None else total + seen
    assert total is not None  # a fusion reads something
    first = total.expand(shape) * 1.0 if len(terms.read) == 1 or total.shape != shape else total
    more = [first.mean().expand(tensor.shape) * 1.0 for tensor in op.outputs[1:]]
    made = zip((first, *more), op.outputs, strict=True)
    return tuple(y.to(torch.int32) if tensor.dtype in ("int32", "int64") else y for y, tensor in made)


def _float_of(xs: Tensors, ws: Tensors) -> torch.dtype:
    return next((x.dtype for x in (*xs, *ws) if x.is_floating_point()), torch.float32)


def _along(x: torch.Tensor, term: str, written: str, shape: Sequence[int]) -> torch.Tensor:
    """A tensor along the dimensions of the result: means over what has no letter, of as many elements elsewhere."""
    for axis, letter in enumerate(term):
        wanted = shape[written.index(letter)] if letter in written and letter.isalpha() else 1
        if x.shape[axis] != wanted:
            x = x.mean(axis, keepdim=True)
    letters = sorted((letter for letter in term if letter.isalpha()), key=written.index)
    others = [axis for axis, letter in enumerate(term) if not letter.isalpha()]
    sizes = [
        shape[k] if letter in letters and x.shape[term.index(letter)] > 1 else 1 for k, letter in enumerate(written)
    ]
    return x.permute([*(term.index(letter) for letter in letters), *others]).reshape(sizes)


class _Steps(NamedTuple):
    stride: int
    padding: int
    dilation: int
    more: int
    """Rows at the end that a transposed convolution adds."""


def _convolution(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    """With strides, padding and dilation that make the output of the input, which an operator does not keep."""
    transposed = bool(op.attrs["transposed"])
    read, written, kernel = xs[0].shape[2:], op.outputs[0].shape[2:], ws[0].shape[2:]
    steps = [_steps(op, n, m, k, transposed) for n, m, k in zip(read, written, kernel, strict=True)]
    stride, padding, dilation, more = (list(one) for one in zip(*steps, strict=True))
    bias, groups = (ws[1] if len(ws) > 1 else None), _groups(op, xs[0], ws[0])
    if transposed:
        transpose = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[len(read) - 1]
        return (transpose(xs[0], ws[0], bias, stride, padding, more, groups, dilation),)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(read) - 1]
    return (convolve(xs[0], ws[0], bias, stride, padding, dilation, groups),)


def _groups(op: Operator, x: torch.Tensor, weight: torch.Tensor) -> int:
    """Groups that a part has."""
    if op.attrs["groups"] == 1:
        return 1
    return (op.outputs[0] if op.attrs["transposed"] else x).shape[1] // int(weight.shape[1])


def _steps(op: Operator, read: int, written: int, kernel: int, transposed: bool) -> _Steps:
    small, large = sorted((read, written))
    near = max(1, round(large / small))
    strides = sorted(range(1, near + 2), key=lambda stride: abs(stride - near))
    for dilation, stride in product(range(1, MOST_DILATION + 1), strides):
        span = dilation * (kernel - 1) + 1
        for padding in range(span):
            if transposed:
                more = written - ((read - 1) * stride - 2 * padding + span)
                if 0 <= more < max(stride, dilation):
                    return _Steps(stride, padding, dilation, more)
            elif read + 2 * padding >= span and (read + 2 * padding - span) // stride + 1 == written:
                return _Steps(stride, padding, dilation, 0)
    raise FlexNetError(
        f"operator {op.name} ({op.key}) cannot be measured: no stride makes {written} of {read} by a kernel of "
        f"{kernel}; --device analytic estimates it"
    )


def _grouped_linear(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    """Rows of a group are dealt out evenly to its experts."""
    n, groups, rows, width = xs[0].shape
    experts = ws[0].shape[0] // groups
    dealt = -(-n * rows // experts)
    by_group = xs[0].transpose(0, 1).reshape(groups, n * rows, width)
    padded = F.pad(by_group, (0, 0, 0, dealt * experts - n * rows)).reshape(groups * experts, dealt, width)
    made = torch.bmm(padded, ws[0]).reshape(groups, dealt * experts, -1)[:, : n * rows]
    return (made.reshape(groups, n, rows, -1).transpose(0, 1).contiguous(),)


IMPORTED_OPERATORS: Mapping[int, Callable[[Operator, Tensors, Tensors], Tensors]] = MappingProxyType(
    {
        OpType.FUSION: _fusion,
        OpType.CONVOLUTION: _convolution,
        OpType.GROUPED_LINEAR: _grouped_linear,
    }
)
