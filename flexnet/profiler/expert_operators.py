"""Operators of mixtures of experts in PyTorch; shapes as in `flexnet.profiler.operators`."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch
import torch.nn.functional as F  # noqa: N812

from flexnet.model.graph import Operator, OpType

__all__ = ["EXPERT_OPERATORS"]

Tensors = Sequence[torch.Tensor]


def _topk(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    values, indices = torch.topk(xs[0], op.attrs["k"], dim=-1)
    return values, indices.to(torch.int32)


def _slots(assignment: torch.Tensor, n_expert: int, n_row: int) -> torch.Tensor:
    """Row of each (sample, choice) among all experts' rows; ``n_expert * n_row`` where an expert has no room."""
    chosen = assignment.reshape(-1).to(torch.int64)
    taken = (chosen.unsqueeze(1) == torch.arange(n_expert, device=chosen.device)).to(torch.int64).cumsum(0)
    place = taken.gather(1, chosen.unsqueeze(1)).squeeze(1) - 1
    return torch.where(place < n_row, chosen * n_row + place, n_expert * n_row)


def _group_by(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    x, assignment = xs
    n_expert, n_row = len(op.outputs), op.outputs[0].dims[-1]
    slots = _slots(assignment, n_expert, n_row)
    sample = torch.arange(n_expert * n_row + 1, device=x.device) % x.shape[0]  # rows no sample takes hold any
    sample = sample.scatter(0, slots, torch.arange(slots.numel(), device=x.device) // assignment.shape[1])
    return tuple(torch.index_select(x, 0, sample[:-1]).split(n_row))


def _aggregate(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    gate, assignment, *experts = xs
    slots = _slots(assignment, len(experts), experts[0].shape[0])
    rows = torch.cat([*experts, experts[0].new_zeros((1, *experts[0].shape[1:]))])
    picked = torch.index_select(rows, 0, slots)
    if op.kind == OpType.AGGREGATE_SPEC:
        return (picked,)
    weighted = picked.reshape(*gate.shape, *picked.shape[1:]) * gate.reshape(*gate.shape, *[1] * (picked.dim() - 1))
    return (weighted.sum(1),)


def _rows(assignment: torch.Tensor, n_expert: int, n_row: int) -> torch.Tensor:
    """Row of each choice of a sample among all experts' rows, (N, S k); ``n_expert n_row`` where there is no room."""
    chosen = assignment.flatten(1).to(torch.int64)
    taken = F.one_hot(chosen, n_expert).cumsum(1).gather(2, chosen.unsqueeze(2)).squeeze(2) - 1
    return torch.where(taken < n_row, chosen * n_row + taken, n_expert * n_row)


def _dispatch(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    x, assignment = xs
    features, n_row, n_expert, _ = op.outputs[0].dims
    places = _rows(assignment, n_expert, n_row)
    tokens = torch.arange(places.shape[1], device=x.device).div(assignment.shape[2], rounding_mode="floor")
    buffers = x.new_zeros((len(x), n_expert * n_row + 1, features))
    sent = x[:, tokens]
    filled = buffers.scatter(1, places.unsqueeze(2).expand_as(sent), sent)
    return (filled[:, :-1].reshape(len(x), n_expert, n_row, features),)


def _combine(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    gate, assignment, rows = xs
    places = _rows(assignment, rows.shape[1], rows.shape[2])
    every = F.pad(rows.flatten(1, 2), (0, 0, 0, 1))
    picked = every.gather(1, places.unsqueeze(2).expand(-1, -1, rows.shape[3])).unflatten(1, tuple(gate.shape[1:]))
    return (torch.einsum("nskf,nsk->nsf", picked, gate),)


EXPERT_OPERATORS: Mapping[int, Callable[[Operator, Tensors, Tensors], Tensors]] = MappingProxyType(
    {
        OpType.TOPK: _topk,
        OpType.GROUP_BY: _group_by,
        OpType.AGGREGATE: _aggregate,
        OpType.AGGREGATE_SPEC: _aggregate,
        OpType.DISPATCH: _dispatch,
        OpType.COMBINE: _combine,
    }
)
"""Every kind's function of an operator, its inputs and its weights to its outputs."""
