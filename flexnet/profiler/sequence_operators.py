"""Operators of sequences, and normalizations, in PyTorch; shapes as in `flexnet.profiler.operators`."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention.bias import causal_lower_right
from torch.utils.weak import WeakTensorKeyDictionary

from flexnet.model.graph import Operator, OpType
from flexnet.profiler.activations import ACTIVATIONS

__all__ = ["SEQUENCE_OPERATORS"]

Tensors = Sequence[torch.Tensor]


def _einsum(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (torch.einsum(op.equation, *xs, *ws),)


def _layer_norm(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    scale, shift = (*ws, None, None)[:2]
    return (F.layer_norm(xs[0], xs[0].shape[-1:], scale, shift),)


def _rms_norm(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (F.rms_norm(xs[0], xs[0].shape[-1:], ws[0]),)


def _group_norm(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (F.group_norm(xs[0], xs[0].shape[1] // op.attrs["channels"], ws[0], ws[1]),)


_ANGLES = WeakTensorKeyDictionary()  # of what is turned, so that every operator has its own, for as long as it is there


def _angles(x: torch.Tensor, head: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosine and sine of every position and pair of features, (S, 1, head), made once for an operator."""
    if x not in _ANGLES:
        rates = 10000.0 ** (-torch.arange(0, head, 2, device=x.device) / head)
        turned = torch.outer(torch.arange(x.shape[1], device=x.device), rates).repeat(1, 2).unsqueeze(1)
        _ANGLES[x] = turned.cos().to(x.dtype), turned.sin().to(x.dtype)
    found: tuple[torch.Tensor, torch.Tensor] = _ANGLES[x]
    return found


def _rope(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    head = op.attrs["head"]
    cos, sin = _angles(xs[0], head)
    turned = []
    for x in xs:
        split = x.unflatten(-1, (-1, head))
        first, second = split.chunk(2, dim=-1)
        turned.append((split * cos + torch.cat((-second, first), -1) * sin).flatten(2))
    return tuple(turned)


def _scaled_dot_product(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    widths = (op.attrs["head"], op.attrs["head"], op.attrs["value"])
    q, k, v = (x.unflatten(-1, (-1, width)).transpose(1, 2) for x, width in zip(xs, widths, strict=True))
    bias, causal = None, bool(op.attrs["causal"])
    if ws:
        asking, asked = (torch.arange(x.shape[2], device=q.device) for x in (q, k))
        far = (asking.unsqueeze(1) - asked).abs().clamp(max=len(ws[0]) - 1)
        bias = F.embedding(far, ws[0]).permute(2, 0, 1)  # an index adds up its gradient one by one, for 40 ms
        # no fused kernel takes a mask whose last axis has a stride, and one after the other takes 20 times as long
        bias = bias.contiguous()
    ahead = k.shape[2] - q.shape[2]  # of fewer positions of the query the last ones, which see most
    if causal and bias is not None:
        hidden = torch.ones(bias.shape[1:], dtype=torch.bool, device=q.device).triu(1 + ahead)
        bias, causal = bias.masked_fill(hidden, float("-inf")), False
    elif causal and ahead > 0:
        bias, causal = causal_lower_right(q.shape[2], k.shape[2]), False
    y = F.scaled_dot_product_attention(q, k, v, bias, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    return (y.transpose(1, 2).flatten(2),)


def _gated(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    gate, up = xs if len(xs) > 1 else xs[0].chunk(2, dim=-1)
    return (ACTIVATIONS[op.attrs["activation"]](gate) * up,)


def _permute(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    order = [int(digit) for digit in f"{op.attrs['order']:0{op.rank}d}"]
    return (xs[0].permute(order).clone(memory_format=torch.contiguous_format),)


def _slice(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    axis = op.attrs["axis"]
    return (xs[0].narrow(axis, op.attrs["start"], op.outputs[0].shape[axis]).clone(),)


def _reduce_mean(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (xs[0].mean([axis for axis in range(xs[0].dim()) if op.attrs["axes"] >> axis & 1]),)


SEQUENCE_OPERATORS: Mapping[int, Callable[[Operator, Tensors, Tensors], Tensors]] = MappingProxyType(
    {
        OpType.EINSUM: _einsum,
        OpType.LAYER_NORM: _layer_norm,
        OpType.RMS_NORM: _rms_norm,
        OpType.GROUP_NORM: _group_norm,
        OpType.ROPE: _rope,
        OpType.TOKEN_EMBEDDING: lambda op, xs, ws: (F.embedding(xs[0], ws[0]),),
        OpType.SCALED_DOT_PRODUCT: _scaled_dot_product,
        OpType.GATED: _gated,
        OpType.PERMUTE: _permute,
        OpType.SLICE: _slice,
        OpType.ADD_WEIGHT: lambda op, xs, ws: (xs[0] + ws[0],),
        OpType.MUL_WEIGHT: lambda op, xs, ws: (xs[0] * ws[0],),
        OpType.PREPEND: lambda op, xs, ws: (torch.cat([ws[0].expand(len(xs[0]), -1, -1), xs[0]], 1),),
        OpType.REDUCE_MEAN: _reduce_mean,
        OpType.SOFTMAX_CROSS_ENTROPY: lambda op, xs, ws: (F.log_softmax(xs[0], dim=-1),),
    }
)
"""Every kind's function of an operator, its inputs and its weights to its outputs."""
