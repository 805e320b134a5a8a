"""Every operator in PyTorch, forward and backward as training runs it.

Shapes are PyTorch's here, outermost first: the reverse of `flexnet.model.graph.Tensor.dims`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.profiler.activations import ACTIVATIONS
from flexnet.profiler.expert_operators import EXPERT_OPERATORS
from flexnet.profiler.imported_operators import IMPORTED_OPERATORS, departure
from flexnet.profiler.sequence_operators import SEQUENCE_OPERATORS

__all__ = ["Work", "check_runs", "make_work"]

Tensors = Sequence[torch.Tensor]

_FUSED = MappingProxyType({OpType.RELU: torch.relu_, OpType.SIGMOID: torch.sigmoid_, OpType.TANH: torch.tanh_})
_BINARY: Mapping[int, Callable[..., torch.Tensor]] = MappingProxyType(
    {OpType.ADD: torch.add, OpType.SUB: torch.sub, OpType.MUL: torch.mul, OpType.DIV: torch.div}
)


@dataclass(slots=True)
class Work:
    """One operator with its tensors, ready to run again and again.

    Parameters
    ----------
    compute : callable
        From inputs and weights to outputs.
    inputs, weights : sequence of Tensor
    note : str
        How it departs from the operator, empty if it does not.
    """

    compute: Callable[[Tensors, Tensors], Tensors]
    inputs: Tensors
    weights: Tensors
    note: str = ""
    _outputs: Tensors = ()
    _gradients: Tensors = ()
    _given: frozenset[int] = frozenset()

    def forward(self) -> None:
        """Run the forward pass; it leaves what the backward pass needs."""
        self.clear()
        self._outputs = self.compute(self.inputs, self.weights)

    def clear(self) -> None:
        """Free what the last passes made."""
        self._outputs = self._gradients = ()

    def start_backward(self) -> bool:
        """Make the gradients of the outputs of the last forward pass; False if there is no backward pass."""
        self._gradients = tuple(torch.ones_like(y) for y in self._outputs if y.requires_grad)
        self._given = frozenset(dy.untyped_storage().data_ptr() for dy in self._gradients)
        return bool(self._gradients)

    def backward(self) -> None:
        """Run the backward pass to all inputs and weights (data, too, has a gradient, as in the original).

        A gradient that only is a part of a given one, as of a sum or a concatenation, is copied, as in the original;
        PyTorch leaves that to whoever reads it.
        """
        gradients = torch.autograd.grad(
            [y for y in self._outputs if y.requires_grad],
            [x for x in (*self.inputs, *self.weights) if x.requires_grad],
            self._gradients,
            retain_graph=True,
            allow_unused=True,
        )
        for dx in gradients:
            if dx is not None and not dx.is_sparse and dx.untyped_storage().data_ptr() in self._given:
                dx.clone(memory_format=torch.contiguous_format)

    @property
    def outputs(self) -> Tensors:
        """Outputs of the last forward pass."""
        return self._outputs


def check_runs(op: Operator) -> None:
    """Refuse an operator of a kind that nothing here computes."""
    if op.kind not in _COMPUTE:
        raise FlexNetError(
            f"operator {op.name} ({op.key}) cannot be measured: there is no PyTorch code for its kind; "
            "--device analytic estimates it"
        )


def make_work(op: Operator, *, device: str, dtype: torch.dtype, table_rows: int | None = None) -> Work:
    """Make the tensors of an operator and the function that computes it.

    Parameters
    ----------
    op : Operator
        With the shapes of the part that is measured.
    device : str
    dtype : torch.dtype
        Of all floating-point tensors.
    table_rows : int, optional
        Rows of an embedding's table, if not all of them: looked up just as randomly.
    """
    note, rows = departure(op), None
    if op.kind == OpType.EMBEDDING and table_rows is not None and table_rows < op.weights[0].dims[1]:
        note, rows = f"table of {table_rows} rows in place of {op.weights[0].dims[1]}", table_rows
    inputs = [_input(op, i, device, dtype, rows) for i in range(len(op.inputs))]
    weights = [_normal(shape, device, dtype, scale) for shape, scale in _weight_shapes(op, rows)]
    return Work(lambda xs, ws: _COMPUTE[op.kind](op, xs, ws), inputs, weights, note)


def _normal(shape: Sequence[int], device: str, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """Random values, repeated after a million: making more takes longer than measuring does."""
    tensor = torch.empty(tuple(shape), device=device, dtype=dtype)
    flat = tensor.view(-1)
    done = min(flat.numel(), 2**20)
    flat[:done].normal_(0.0, scale)
    while done < flat.numel():
        more = min(done, flat.numel() - done)
        flat[done : done + more] = flat[:more]
        done += more
    return tensor.requires_grad_()


def _input(op: Operator, i: int, device: str, dtype: torch.dtype, table_rows: int | None) -> torch.Tensor:
    tensor = op.inputs[i].tensor
    shape = tensor.shape
    if tensor.dtype not in ("int32", "int64"):
        return _normal(shape, device, dtype)
    n_choice = _n_choice(op, table_rows)
    as_held = {"int32": torch.int32, "int64": torch.int64}[tensor.dtype]
    if op.kind in (OpType.EMBEDDING, OpType.TOKEN_EMBEDDING):
        return torch.randint(n_choice, shape, device=device, dtype=as_held)
    if len(shape) < 2 or shape[-1] > n_choice:
        return torch.zeros(shape, device=device, dtype=as_held)
    ranked = torch.rand((*shape[:-1], n_choice), device=device)  # every sample goes to different experts
    return ranked.topk(shape[-1], dim=-1).indices.to(as_held)


def _n_choice(op: Operator, table_rows: int | None) -> int:
    if op.kind in (OpType.EMBEDDING, OpType.TOKEN_EMBEDDING):
        return table_rows or op.weights[0].dims[1]
    if op.kind == OpType.DISPATCH:
        return op.outputs[0].dims[2]
    if op.kind == OpType.COMBINE:
        return op.inputs[2].tensor.dims[2]
    if op.kind == OpType.GROUP_BY:
        return len(op.outputs)
    if op.kind in (OpType.AGGREGATE, OpType.AGGREGATE_SPEC):
        return len(op.inputs) - 2
    return 8


def _weight_shapes(op: Operator, table_rows: int | None) -> list[tuple[tuple[int, ...], float]]:
    """Shapes of the weights and the size of their values, which keeps activations of order one."""
    if op.kind == OpType.MULTI_HEAD_ATTENTION:
        embed, read = op.outputs[0].dims[0], [source.tensor.dims[0] for source in op.inputs[:3]]
        inner = op.weights[0].volume // (sum(read) + embed)  # features of all heads that a part has
        return [*(((inner, width), width**-0.5) for width in read), ((embed, inner), inner**-0.5)]
    if op.kind == OpType.BATCH_NORM:
        return [((op.outputs[0].dims[-2],), 1.0)] * 2
    shapes = [tensor.shape for tensor in op.weights]
    if op.kind == OpType.EMBEDDING:
        return [((table_rows or shapes[0][0], shapes[0][1]), 1.0)]
    return [(shape, Tensor(shape[1:]).volume ** -0.5) for shape in shapes]


def _linear(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (_fused(op, F.linear(xs[0], ws[0], ws[1] if len(ws) > 1 else None)),)


def _conv2d(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    a = op.attrs
    stride, padding = (a["stride_h"], a["stride_w"]), (a["padding_h"], a["padding_w"])
    return (_fused(op, F.conv2d(xs[0], ws[0], ws[1] if len(ws) > 1 else None, stride, padding, 1, a["groups"])),)


def _fused(op: Operator, y: torch.Tensor) -> torch.Tensor:
    activation = op.attrs.get("activation", 0)
    if not activation:
        return y
    kind = OpType(activation)
    return _FUSED[kind](y) if kind in _FUSED else ACTIVATIONS[kind](y)


def _pool2d(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    a = op.attrs
    pool: Any = F.avg_pool2d if a["average"] else F.max_pool2d
    padding = (a["padding_h"], a["padding_w"])
    x = xs[0]
    if 2 * padding[0] > a["kernel_h"] or 2 * padding[1] > a["kernel_w"]:  # more than PyTorch's pooling pads
        x = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
        padding = (0, 0)
    return (pool(x, (a["kernel_h"], a["kernel_w"]), (a["stride_h"], a["stride_w"]), padding),)


def _attention(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    heads = op.weights[0].dims[1]
    q, k, v = (F.linear(x, w).unflatten(-1, (heads, -1)).transpose(1, 2) for x, w in zip(xs, ws[:3], strict=True))
    attended = F.scaled_dot_product_attention(q, k, v)
    return (F.linear(attended.transpose(1, 2).flatten(2), ws[3]),)


def _embedding(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (F.embedding_bag(xs[0], ws[0], mode="sum", sparse=True),)


def _concat(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (torch.cat(list(xs), dim=op.attrs["axis"]),)


def _split(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    whole, first = op.inputs[0].tensor.dims, op.outputs[0].dims
    axis = next((k for k in range(len(whole)) if whole[k] != first[k]), 0)  # innermost first
    pieces = torch.split(xs[0], [tensor.dims[axis] for tensor in op.outputs], len(whole) - 1 - axis)
    return tuple(piece.contiguous() for piece in pieces)


def _transpose(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (xs[0].transpose(-1, -2).contiguous(),)


def _reverse(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (xs[0].flip(-1 - op.attrs.get("axis", 0)),)


def _reshape(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (xs[0].clone().reshape(op.outputs[0].shape),)  # the original copies, and so does Flat


def _batch_norm(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (F.batch_norm(xs[0], None, None, ws[0], ws[1], training=True),)


def _unary(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (ACTIVATIONS[op.kind](xs[0]),)


def _binary(op: Operator, xs: Tensors, ws: Tensors) -> Tensors:
    return (_BINARY[op.kind](xs[0], xs[1]),)


_COMPUTE: Mapping[int, Callable[[Operator, Tensors, Tensors], Tensors]] = MappingProxyType(
    {
        OpType.LINEAR: _linear,
        OpType.CONV2D: _conv2d,
        OpType.POOL2D: _pool2d,
        OpType.MULTI_HEAD_ATTENTION: _attention,
        OpType.EMBEDDING: _embedding,
        OpType.CONCAT: _concat,
        OpType.SPLIT: _split,
        OpType.FLAT: _reshape,
        OpType.RESHAPE: _reshape,
        OpType.TRANSPOSE: _transpose,
        OpType.REVERSE: _reverse,
        OpType.SOFTMAX: lambda op, xs, ws: (torch.softmax(xs[0], dim=-1),),
        OpType.DROPOUT: lambda op, xs, ws: (F.dropout(xs[0], 0.5, training=True),),
        OpType.BATCH_NORM: _batch_norm,
        OpType.BATCH_MATMUL: lambda op, xs, ws: (torch.matmul(xs[0], xs[1]),),
        OpType.CACHE: lambda op, xs, ws: (xs[0].clone(),),
        **EXPERT_OPERATORS,
        **IMPORTED_OPERATORS,
        **SEQUENCE_OPERATORS,
        **dict.fromkeys(ACTIVATIONS, _unary),
        **dict.fromkeys(_BINARY, _binary),
    }
)
