"""Builds model graphs layer by layer, with the original's shape rules, names and measurement keys.

Shapes at this border are the user's, batch first: ``(N, C, H, W)``, ``(N, F)``; tensors are stored innermost
first.  Sources: reference shapes of FlexFlow's operators (model.cc and ops/*.cu).
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from flexnet.einsum import letter_sizes, parse_equation
from flexnet.errors import FlexNetError
from flexnet.graph import ModelGraph, Operator, OpType, Source, Tensor

__all__ = ["GraphBuilder"]

FIRST_GUID = 100

_BINARY = {OpType.ADD: "Add", OpType.MUL: "Mul", OpType.SUB: "Sub", OpType.DIV: "Div"}
_UNARY = {
    OpType.RELU: "ReLU",
    OpType.IDENTITY: "Identity",
    OpType.SIGMOID: "Sigmoid",
    OpType.TANH: "Tanh",
    OpType.ELU: "ELU",
    OpType.EXP: "Exp",
    OpType.GELU: "GELU",
}


class GraphBuilder:
    """Collects operators; each method adds one and returns the source its consumers take.

    >>> b = GraphBuilder("mlp", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> b.build().operators[0].key, x.tensor.dims
    ('Dense_16_4', (4, 8))
    """

    def __init__(self, name: str, batch_size: int) -> None:
        if batch_size < 1:
            raise FlexNetError(f"batch size is {batch_size}; it must be at least 1")
        self.name = name
        self.batch_size = batch_size
        self._operators: list[Operator] = []

    def build(self) -> ModelGraph:
        """Return the graph built so far."""
        return ModelGraph(self.name, self.batch_size, tuple(self._operators))

    def input(self, *shape: int, dtype: str = "float") -> Source:
        """Data of per-sample shape ``shape`` (outermost first, without the batch)."""
        return Source(None, 0, Tensor((*reversed(shape), self.batch_size), dtype))

    def _add(
        self,
        kind: OpType,
        type_name: str,
        key: str,
        inputs: Sequence[Source],
        outputs: Sequence[Tensor],
        weights: Sequence[Tensor] = (),
        equation: str = "",
        **attrs: int,
    ) -> tuple[Source, ...]:
        index = len(self._operators)
        for tensor in (*outputs, *weights):
            if min(tensor.dims) < 1:
                raise FlexNetError(
                    f"operator {index} ({key}) has a tensor of shape {tuple(reversed(tensor.dims))}; "
                    "every size must be at least 1"
                )
        op = Operator(
            index,
            kind,
            f"{type_name}_{FIRST_GUID + index}",
            key,
            tuple(inputs),
            tuple(outputs),
            tuple(weights),
            MappingProxyType(attrs),
            equation,
        )
        self._operators.append(op)
        return tuple(Source(index, i, tensor) for i, tensor in enumerate(op.outputs))

    def dense(self, x: Source, out: int, *, bias: bool = True, activation: OpType | None = None) -> Source:
        """Linear layer over the innermost dimension, optionally with a fused activation."""
        fan_in, *rest = x.tensor.dims
        weights = [Tensor((fan_in, out))] + ([Tensor((out,))] if bias else [])
        output = Tensor((out, *rest), x.tensor.dtype)
        key = f"Dense_{fan_in}_{out}"
        return self._add(OpType.LINEAR, "Dense", key, [x], [output], weights, activation=int(activation or 0))[0]

    def embedding(self, x: Source, entries: int, out: int) -> Source:
        """Sum-aggregated embedding bag: (N, bag) indices to (N, out)."""
        bag, batch = x.tensor.dims
        key = f"Embed_{entries}x{out}"
        weights = [Tensor((out, entries))]
        return self._add(OpType.EMBEDDING, "Embedding", key, [x], [Tensor((out, batch))], weights, bag=bag)[0]

    def concat(self, xs: Sequence[Source], axis: int) -> Source:
        """Join along ``axis``, counted with the batch as 0."""
        first = xs[0].tensor
        k = len(first.dims) - 1 - axis
        for x in xs[1:]:
            if x.tensor.dims[:k] + x.tensor.dims[k + 1 :] != first.dims[:k] + first.dims[k + 1 :]:
                raise FlexNetError(f"cannot join tensors of shapes {first.dims} and {x.tensor.dims} along axis {axis}")
        dims = (*first.dims[:k], sum(x.tensor.dims[k] for x in xs), *first.dims[k + 1 :])
        return self._add(OpType.CONCAT, "Concat", f"Concat_{axis}", xs, [Tensor(dims, first.dtype)], axis=axis)[0]

    def conv2d(
        self,
        x: Source,
        out: int,
        kernel: tuple[int, int],
        *,
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int] = (0, 0),
        groups: int = 1,
        activation: OpType | None = None,
    ) -> Source:
        """2-D convolution with bias; ``kernel``, ``stride``, ``padding`` are (height, width)."""
        w, h, channels, batch = x.tensor.dims
        kh, kw = kernel
        dims = (_window(w, kw, stride[1], padding[1]), _window(h, kh, stride[0], padding[0]), out, batch)
        weights = [Tensor((kw, kh, channels // groups, out)), Tensor((out,))]
        attrs: dict[str, Any] = {"kernel_h": kh, "kernel_w": kw, "stride_h": stride[0], "stride_w": stride[1]}
        attrs |= {"padding_h": padding[0], "padding_w": padding[1], "groups": groups}
        attrs |= {"activation": int(activation or 0)}
        key = f"Conv2D_{kh}_{kw}_{out}"
        return self._add(OpType.CONV2D, "Conv2D", key, [x], [Tensor(dims, x.tensor.dtype)], weights, **attrs)[0]

    def pool2d(
        self,
        x: Source,
        kernel: tuple[int, int],
        *,
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int] = (0, 0),
        average: bool = False,
    ) -> Source:
        """2-D max (or average) pooling."""
        w, h, channels, batch = x.tensor.dims
        kh, kw = kernel
        dims = (_window(w, kw, stride[1], padding[1]), _window(h, kh, stride[0], padding[0]), channels, batch)
        attrs: dict[str, Any] = {"kernel_h": kh, "kernel_w": kw, "stride_h": stride[0], "stride_w": stride[1]}
        attrs |= {"padding_h": padding[0], "padding_w": padding[1], "average": int(average)}
        return self._add(
            OpType.POOL2D, "Pool2D", f"Pool2D_{kh}_{kw}", [x], [Tensor(dims, x.tensor.dtype)], (), **attrs
        )[0]

    def flat(self, x: Source) -> Source:
        """Flatten everything but the batch."""
        *inner, batch = x.tensor.dims
        width = Tensor(tuple(inner)).volume
        return self._add(OpType.FLAT, "Flat", "Flat", [x], [Tensor((width, batch), x.tensor.dtype)])[0]

    def softmax(self, x: Source) -> Source:
        """Softmax over the innermost dimension."""
        return self._add(OpType.SOFTMAX, "Softmax", "Softmax", [x], [x.tensor])[0]

    def attention(self, query: Source, key: Source, value: Source, embed: int, heads: int) -> Source:
        """Multi-head attention with kdim = vdim = embed/heads and no bias (weight [sum of projections, heads])."""
        if heads < 1 or embed % heads:
            raise FlexNetError(f"{heads} attention heads must divide the embedding size {embed}")
        head = embed // heads
        q, k, v = (s.tensor.dims[0] for s in (query, key, value))
        weight = Tensor((head * (q + k + v + embed), heads))
        output = Tensor((embed, *query.tensor.dims[1:]), query.tensor.dtype)
        name = f"MultiHeadAttention_{embed}{heads}"  # no separator in the original's key either
        return self._add(
            OpType.MULTI_HEAD_ATTENTION,
            "MultiHeadAttention",
            name,
            [query, key, value],
            [output],
            [weight],
            heads=heads,
        )[0]

    def binary(
        self,
        kind: OpType,
        a: Source,
        b: Source,
        *,
        inplace: bool = True,
        name: str | None = None,
        activation: OpType | None = None,
    ) -> Source:
        """Element-wise ADD, MUL, SUB or DIV of two equal shapes, optionally with a fused activation."""
        if a.tensor.dims != b.tensor.dims:
            raise FlexNetError(f"{kind.name} needs equal shapes; got {a.tensor.dims} and {b.tensor.dims}")
        key = f"ElementBinary_{int(kind)}"
        attrs: dict[str, Any] = {"inplace": int(inplace)} | ({"activation": int(activation)} if activation else {})
        return self._add(kind, name or _BINARY[kind], key, [a, b], [a.tensor], **attrs)[0]

    def unary(self, kind: OpType, x: Source, *, inplace: bool = True) -> Source:
        """Element-wise activation of ``x``."""
        return self._add(kind, _UNARY[kind], f"ElementUnary_{int(kind)}", [x], [x.tensor], inplace=int(inplace))[0]

    def topk(self, x: Source, k: int) -> tuple[Source, Source]:
        """The ``k`` largest values along the innermost dimension, and their indices."""
        dims = (k, *x.tensor.dims[1:])
        values, indices = self._add(OpType.TOPK, "TopK", "TopK", [x], [Tensor(dims), Tensor(dims, "int32")], k=k)
        return values, indices

    def cache(self, x: Source) -> Source:
        """Keep a tensor from one iteration to the next."""
        return self._add(OpType.CACHE, "Cache", "Cache", [x], [x.tensor])[0]

    def group_by(self, x: Source, assignment: Source, experts: int, alpha: float) -> tuple[Source, ...]:
        """Route samples to ``experts`` buffers of ceil(alpha * k / experts * batch) rows each."""
        *inner, batch = x.tensor.dims
        k = assignment.tensor.dims[0]
        rows = -int(-(alpha * k * batch) // experts)
        outputs = [Tensor((*inner, rows), x.tensor.dtype)] * experts
        return self._add(OpType.GROUP_BY, "Group_by", "Group_by", [x, assignment], outputs, experts=experts)

    def aggregate(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """Weighted sum of the experts' rows, back in sample order."""
        k, batch = gate.tensor.dims
        output = Tensor((*experts[0].tensor.dims[:-1], batch), gate.tensor.dtype)
        return self._add(OpType.AGGREGATE, "Aggregate", "Aggregate", [gate, assignment, *experts], [output], k=k)[0]

    def aggregate_spec(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """The experts' rows in sample order, k rows a sample (for speculative labels)."""
        k, batch = gate.tensor.dims
        output = Tensor((*experts[0].tensor.dims[:-1], k * batch), gate.tensor.dtype)
        inputs = [gate, assignment, *experts]
        return self._add(OpType.AGGREGATE_SPEC, "AggregateSpec", "AggregateSpec", inputs, [output], k=k)[0]

    def batch_norm(self, x: Source) -> Source:
        """Batch normalization with scale and shift for each channel."""
        weights = [Tensor((x.tensor.dims[-2],))] * 2
        return self._add(OpType.BATCH_NORM, "BatchNorm", "BatchNorm", [x], [x.tensor], weights)[0]

    def layer_norm(self, x: Source) -> Source:
        """Normalization over the innermost dimension, with scale and shift."""
        weights = [Tensor((x.tensor.dims[0],))] * 2
        return self._add(OpType.LAYER_NORM, "LayerNorm", "LayerNorm", [x], [x.tensor], weights)[0]

    def einsum(self, equation: str, x: Source, other: Source | tuple[int, ...], *, pointwise: int = 0) -> Source:
        """Contract ``x`` with a tensor, or a weight of this shape (outermost first); fuse element-wise operators."""
        parsed = parse_equation(equation)
        weights = [Tensor(tuple(reversed(other)))] if isinstance(other, tuple) else []
        second = other if isinstance(other, tuple) else tuple(reversed(other.tensor.dims))
        sizes = letter_sizes(parsed, tuple(reversed(x.tensor.dims)), second)
        output = Tensor(tuple(sizes[letter] for letter in reversed(parsed.result)), x.tensor.dtype)
        key = f"Einsum_{equation}_" + "x".join(map(str, sizes.values()))
        inputs = [x] if isinstance(other, tuple) else [x, other]
        return self._add(OpType.EINSUM, "Einsum", key, inputs, [output], weights, equation, pointwise=pointwise)[0]

    def lstm(self, x: Source, units: int, layers: int) -> Source:
        """A stack of LSTM layers over (batch, sequence, features), one operator for all steps and layers."""
        features, steps, batch = x.tensor.dims
        widths = [features, *[units] * (layers - 1)]
        weights = [Tensor((4 * units, width + units)) for width in widths] + [Tensor((4 * units,))] * layers
        output = Tensor((units, steps, batch), x.tensor.dtype)
        key = f"LSTM_{features}_{units}x{layers}"
        return self._add(OpType.LSTM, "LSTM", key, [x], [output], weights, layers=layers)[0]

    def reduce_mean(self, x: Source, axes: Sequence[int]) -> Source:
        """Mean over ``axes``, counted with the batch as 0; they disappear."""
        rank = len(x.tensor.dims)
        dims = tuple(size for k, size in enumerate(x.tensor.dims) if rank - 1 - k not in axes)
        key = "ReduceMean_" + "_".join(map(str, axes))
        output = Tensor(dims, x.tensor.dtype)
        return self._add(OpType.REDUCE_MEAN, "ReduceMean", key, [x], [output], axes=sum(1 << a for a in axes))[0]

    def stack(self, xs: Sequence[Source]) -> Source:
        """Put equal tensors side by side along a new outermost dimension."""
        if len({x.tensor.dims for x in xs}) != 1:
            raise FlexNetError(f"stack needs equal shapes; got {', '.join(str(x.tensor.dims) for x in xs)}")
        output = Tensor((*xs[0].tensor.dims, len(xs)), xs[0].tensor.dtype)
        return self._add(OpType.STACK, "Stack", f"Stack_{len(xs)}", xs, [output])[0]

    def unstack(self, x: Source) -> tuple[Source, ...]:
        """Take a tensor apart along its outermost dimension."""
        *inner, count = x.tensor.dims
        outputs = [Tensor(tuple(inner), x.tensor.dtype)] * count
        return self._add(OpType.UNSTACK, "Unstack", f"Unstack_{count}", [x], outputs)

    def reshape(self, x: Source, *shape: int) -> Source:
        """The same elements in another shape, outermost first."""
        output = Tensor(tuple(reversed(shape)), x.tensor.dtype)
        if output.volume != x.tensor.volume:
            raise FlexNetError(f"cannot reshape {tuple(reversed(x.tensor.dims))} to {shape}: sizes differ")
        return self._add(OpType.RESHAPE, "Reshape", "Reshape_" + "x".join(map(str, shape)), [x], [output])[0]

    def cross_entropy(self, x: Source) -> Source:
        """Softmax over the innermost dimension and its cross entropy with the labels."""
        return self._add(OpType.SOFTMAX_CROSS_ENTROPY, "CrossEntropy", "CrossEntropy", [x], [x.tensor])[0]


def _window(size: int, kernel: int, stride: int, padding: int) -> int:
    """Output size of a sliding window: 1 + floor((size + 2 padding - kernel) / stride)."""
    return 1 + (size + 2 * padding - kernel) // stride
