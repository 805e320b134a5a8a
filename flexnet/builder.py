"""Builds model graphs layer by layer, with the original's shape rules, names and measurement keys.

Shapes at this border are the user's, batch first: ``(N, C, H, W)``, ``(N, F)``; tensors are stored innermost
first.  Sources: reference shapes of FlexFlow's operators (model.cc and ops/*.cu).
"""

from collections.abc import Sequence
from math import prod
from types import MappingProxyType
from typing import Any

from flexnet.einsum import letter_sizes, parse_equation
from flexnet.errors import FlexNetError
from flexnet.graph import ELEMENT_BYTES, ModelGraph, Operator, OpType, Source, Tensor
from flexnet.operands import (
    BINARY_NAMES,
    INTEGERS,
    UNARY_NAMES,
    activation_of,
    check_axis,
    check_dtype,
    check_kind,
    check_source,
    whole,
    windows,
)

__all__ = ["GraphBuilder"]

FIRST_GUID = 100


class GraphBuilder:
    """Collects operators; each method adds one and returns the source its consumers take.

    >>> b = GraphBuilder("mlp", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> b.build().operators[0].key, x.tensor.dims
    ('Dense_16_4', (4, 8))
    """

    def __init__(self, name: str, batch_size: int) -> None:
        self.name = name
        self.batch_size = whole("batch size", batch_size)
        self._operators: list[Operator] = []

    def build(self) -> ModelGraph:
        """Return the graph built so far."""
        if not self._operators:
            raise FlexNetError(f"model {self.name} has no operators; add at least one layer before build()")
        return ModelGraph(self.name, self.batch_size, tuple(self._operators))

    def input(self, *shape: int, dtype: str = "float") -> Source:
        """Data of per-sample shape ``shape`` (outermost first, without the batch).

        ``dtype`` is ``"float"``, ``"double"``, ``"int32"``, ``"int64"`` or ``"bool"``; an embedding reads integers.
        """
        if not shape:
            raise FlexNetError("input needs the sizes of a sample, as in input(3, 224, 224)")
        check_dtype(dtype)
        sizes = [whole(f"input: size {i}", size) for i, size in enumerate(shape, 1)]
        return Source(None, 0, Tensor((*reversed(sizes), self.batch_size), dtype))

    def _read(
        self, layer: str, x: Source, *shapes: str, dtypes: Sequence[str] = tuple(ELEMENT_BYTES)
    ) -> tuple[int, ...]:
        """Sizes of what a layer reads, innermost first."""
        return check_source(layer, x, self._operators, self.batch_size, shapes, dtypes).dims

    def _read_all(self, layer: str, xs: Sequence[Source], *, any_batch: bool = False) -> None:
        if not isinstance(xs, Sequence) or not xs:
            raise FlexNetError(f"{layer} takes a list of at least one tensor; got {xs!r:.60}")
        for x in xs:
            check_source(layer, x, self._operators, None if any_batch else self.batch_size)

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
                    f"operator {index} ({key}) has a tensor of shape {tensor.shape}; every size must be at least 1"
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
        fan_in, *rest = self._read("dense", x, "(N, F)", "(N, S, F)")
        out, fused = whole("dense: out", out), activation_of("dense", activation)
        weights = [Tensor((fan_in, out))] + ([Tensor((out,))] if bias else [])
        output = Tensor((out, *rest), x.tensor.dtype)
        key = f"Dense_{fan_in}_{out}"
        return self._add(OpType.LINEAR, "Dense", key, [x], [output], weights, activation=fused)[0]

    def embedding(self, x: Source, entries: int, out: int) -> Source:
        """Sum-aggregated embedding bag: (N, bag) indices to (N, out)."""
        bag, batch = self._read("embedding", x, "(N, bag)", dtypes=INTEGERS)
        entries, out = whole("embedding: entries", entries), whole("embedding: out", out)
        key = f"Embed_{entries}x{out}"
        weights = [Tensor((out, entries))]
        return self._add(OpType.EMBEDDING, "Embedding", key, [x], [Tensor((out, batch))], weights, bag=bag)[0]

    def concat(self, xs: Sequence[Source], axis: int) -> Source:
        """Join along ``axis``, counted with the batch as 0."""
        self._read_all("concat", xs)
        first = xs[0].tensor
        axis = check_axis("concat: axis", axis, len(first.dims))
        k = len(first.dims) - 1 - axis
        for x in xs[1:]:
            if x.tensor.dims[:k] + x.tensor.dims[k + 1 :] != first.dims[:k] + first.dims[k + 1 :]:
                both = f"{first.shape} and {x.tensor.shape}"
                raise FlexNetError(
                    f"concat cannot join tensors of shapes {both} along axis {axis}; all other sizes must agree"
                )
        dims = (*first.dims[:k], sum(x.tensor.dims[k] for x in xs), *first.dims[k + 1 :])
        return self._add(OpType.CONCAT, "Concat", f"Concat_{axis}", xs, [Tensor(dims, first.dtype)], axis=axis)[0]

    def conv2d(
        self,
        x: Source,
        out: int,
        kernel: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        groups: int = 1,
        activation: OpType | None = None,
    ) -> Source:
        """2-D convolution with bias; ``kernel``, ``stride``, ``padding`` are (height, width), or one number."""
        w, h, channels, batch = self._read("conv2d", x, "(N, C, H, W)")
        out, groups = whole("conv2d: out", out), whole("conv2d: groups", groups)
        if channels % groups or out % groups:
            raise FlexNetError(f"conv2d: groups is {groups}; it must divide the channels, {channels} in and {out} out")
        (width, height), attrs = windows("conv2d", (w, h), kernel, stride, padding)
        kh, kw = attrs["kernel_h"], attrs["kernel_w"]
        weights = [Tensor((kw, kh, channels // groups, out)), Tensor((out,))]
        attrs |= {"groups": groups, "activation": activation_of("conv2d", activation)}
        output = Tensor((width, height, out, batch), x.tensor.dtype)
        return self._add(OpType.CONV2D, "Conv2D", f"Conv2D_{kh}_{kw}_{out}", [x], [output], weights, **attrs)[0]

    def pool2d(
        self,
        x: Source,
        kernel: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        average: bool = False,
    ) -> Source:
        """2-D max (or average) pooling; sizes as in `conv2d`."""
        w, h, channels, batch = self._read("pool2d", x, "(N, C, H, W)")
        (width, height), attrs = windows("pool2d", (w, h), kernel, stride, padding)
        output = Tensor((width, height, channels, batch), x.tensor.dtype)
        key = f"Pool2D_{attrs['kernel_h']}_{attrs['kernel_w']}"
        return self._add(OpType.POOL2D, "Pool2D", key, [x], [output], **attrs, average=int(average))[0]

    def flat(self, x: Source) -> Source:
        """Flatten everything but the batch."""
        *inner, batch = self._read("flat", x)
        return self._add(OpType.FLAT, "Flat", "Flat", [x], [Tensor((prod(inner), batch), x.tensor.dtype)])[0]

    def softmax(self, x: Source) -> Source:
        """Softmax over the innermost dimension."""
        self._read("softmax", x)
        return self._add(OpType.SOFTMAX, "Softmax", "Softmax", [x], [x.tensor])[0]

    def attention(self, query: Source, key: Source, value: Source, embed: int, heads: int) -> Source:
        """Multi-head attention with kdim = vdim = embed/heads and no bias (weight [sum of projections, heads])."""
        q, k, v = (self._read("attention", x, "(N, S, F)")[0] for x in (query, key, value))
        embed, heads = whole("attention: embed", embed), whole("attention: heads", heads)
        if embed % heads:
            raise FlexNetError(f"{heads} attention heads must divide the embedding size {embed}")
        head = embed // heads
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
        check_kind("binary", kind, BINARY_NAMES)
        if self._read("binary", a) != self._read("binary", b):
            raise FlexNetError(f"{kind.name} needs equal shapes; got {a.tensor.shape} and {b.tensor.shape}")
        key = f"ElementBinary_{int(kind)}"
        fused = activation_of("binary", activation)
        attrs: dict[str, Any] = {"inplace": int(inplace)} | ({"activation": fused} if fused else {})
        return self._add(kind, name or BINARY_NAMES[kind], key, [a, b], [a.tensor], **attrs)[0]

    def unary(self, kind: OpType, x: Source, *, inplace: bool = True) -> Source:
        """Element-wise activation of ``x``: RELU, IDENTITY, SIGMOID, TANH, ELU, EXP or GELU."""
        check_kind("unary", kind, UNARY_NAMES)
        self._read("unary", x)
        return self._add(kind, UNARY_NAMES[kind], f"ElementUnary_{int(kind)}", [x], [x.tensor], inplace=int(inplace))[0]

    def topk(self, x: Source, k: int) -> tuple[Source, Source]:
        """The ``k`` largest values along the innermost dimension, and their indices."""
        width, *rest = self._read("topk", x)
        if whole("topk: k", k) > width:
            raise FlexNetError(f"topk: k is {k}; it must be at most {width}, the size of the innermost dimension")
        dims = (k, *rest)
        values, indices = self._add(OpType.TOPK, "TopK", "TopK", [x], [Tensor(dims), Tensor(dims, "int32")], k=k)
        return values, indices

    def cache(self, x: Source) -> Source:
        """Keep a tensor from one iteration to the next."""
        self._read("cache", x)
        return self._add(OpType.CACHE, "Cache", "Cache", [x], [x.tensor])[0]

    def group_by(self, x: Source, assignment: Source, experts: int, alpha: float) -> tuple[Source, ...]:
        """Route samples to ``experts`` buffers of ceil(alpha * k / experts * batch) rows each."""
        *inner, batch = self._read("group_by", x)
        k, _ = self._read("group_by", assignment, "(N, k)", dtypes=INTEGERS)
        experts = whole("group_by: experts", experts)
        if not 0 < alpha < float("inf"):
            raise FlexNetError(f"group_by: alpha is {alpha!r}; it must be a finite number above 0")
        rows = -int(-(alpha * k * batch) // experts)
        outputs = [Tensor((*inner, rows), x.tensor.dtype)] * experts
        return self._add(OpType.GROUP_BY, "Group_by", "Group_by", [x, assignment], outputs, experts=experts)

    def aggregate(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """Weighted sum of the experts' rows, back in sample order."""
        k, batch = self._read_experts("aggregate", gate, assignment, experts)
        output = Tensor((*experts[0].tensor.dims[:-1], batch), gate.tensor.dtype)
        return self._add(OpType.AGGREGATE, "Aggregate", "Aggregate", [gate, assignment, *experts], [output], k=k)[0]

    def aggregate_spec(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """The experts' rows in sample order, k rows a sample (for speculative labels)."""
        k, batch = self._read_experts("aggregate_spec", gate, assignment, experts)
        output = Tensor((*experts[0].tensor.dims[:-1], k * batch), gate.tensor.dtype)
        inputs = [gate, assignment, *experts]
        return self._add(OpType.AGGREGATE_SPEC, "AggregateSpec", "AggregateSpec", inputs, [output], k=k)[0]

    def _read_experts(self, layer: str, gate: Source, assignment: Source, experts: Sequence[Source]) -> tuple[int, ...]:
        self._read(layer, assignment, "(N, k)", dtypes=INTEGERS)
        self._read_all(layer, experts, any_batch=True)
        return self._read(layer, gate, "(N, k)")

    def batch_norm(self, x: Source) -> Source:
        """Batch normalization with scale and shift for each channel."""
        weights = [Tensor((self._read("batch_norm", x)[-2],))] * 2
        return self._add(OpType.BATCH_NORM, "BatchNorm", "BatchNorm", [x], [x.tensor], weights)[0]

    def layer_norm(self, x: Source) -> Source:
        """Normalization over the innermost dimension, with scale and shift."""
        weights = [Tensor((self._read("layer_norm", x)[0],))] * 2
        return self._add(OpType.LAYER_NORM, "LayerNorm", "LayerNorm", [x], [x.tensor], weights)[0]

    def einsum(self, equation: str, x: Source, other: Source | tuple[int, ...], *, pointwise: int = 0) -> Source:
        """Contract ``x`` with a tensor, or a weight of this shape (outermost first); fuse element-wise operators."""
        parsed = parse_equation(equation)
        self._read_all("einsum", [x] if isinstance(other, tuple) else [x, other])
        if isinstance(other, tuple):
            other = tuple(whole("einsum: a size of the weight", size) for size in other)
        weights = [Tensor(tuple(reversed(other)))] if isinstance(other, tuple) else []
        second = other if isinstance(other, tuple) else other.tensor.shape
        sizes = letter_sizes(parsed, x.tensor.shape, second)
        output = Tensor(tuple(sizes[letter] for letter in reversed(parsed.result)), x.tensor.dtype)
        key = f"Einsum_{equation}_" + "x".join(map(str, sizes.values()))
        inputs = [x] if isinstance(other, tuple) else [x, other]
        return self._add(OpType.EINSUM, "Einsum", key, inputs, [output], weights, equation, pointwise=pointwise)[0]

    def lstm(self, x: Source, units: int, layers: int) -> Source:
        """A stack of LSTM layers over (batch, sequence, features), one operator for all steps and layers."""
        features, steps, batch = self._read("lstm", x, "(N, S, F)")
        units, layers = whole("lstm: units", units), whole("lstm: layers", layers)
        widths = [features, *[units] * (layers - 1)]
        weights = [Tensor((4 * units, width + units)) for width in widths] + [Tensor((4 * units,))] * layers
        output = Tensor((units, steps, batch), x.tensor.dtype)
        key = f"LSTM_{features}_{units}x{layers}"
        return self._add(OpType.LSTM, "LSTM", key, [x], [output], weights, layers=layers)[0]

    def reduce_mean(self, x: Source, axes: Sequence[int]) -> Source:
        """Mean over ``axes``, counted with the batch as 0; they disappear."""
        rank = len(self._read("reduce_mean", x))
        axes = [check_axis("reduce_mean: axis", axis, rank) for axis in axes]
        dims = tuple(size for k, size in enumerate(x.tensor.dims) if rank - 1 - k not in axes)
        if not dims:
            raise FlexNetError(f"reduce_mean: axes are {axes}; at least one dimension must remain")
        key = "ReduceMean_" + "_".join(map(str, axes))
        output = Tensor(dims, x.tensor.dtype)
        return self._add(OpType.REDUCE_MEAN, "ReduceMean", key, [x], [output], axes=sum(1 << a for a in axes))[0]

    def stack(self, xs: Sequence[Source]) -> Source:
        """Put equal tensors side by side along a new outermost dimension."""
        self._read_all("stack", xs)
        if len({x.tensor.dims for x in xs}) != 1:
            raise FlexNetError(f"stack needs equal shapes; got {', '.join(str(x.tensor.shape) for x in xs)}")
        output = Tensor((*xs[0].tensor.dims, len(xs)), xs[0].tensor.dtype)
        return self._add(OpType.STACK, "Stack", f"Stack_{len(xs)}", xs, [output])[0]

    def unstack(self, x: Source) -> tuple[Source, ...]:
        """Take a tensor apart along its outermost dimension."""
        *inner, count = self._read("unstack", x)
        outputs = [Tensor(tuple(inner), x.tensor.dtype)] * count
        return self._add(OpType.UNSTACK, "Unstack", f"Unstack_{count}", [x], outputs)

    def reshape(self, x: Source, *shape: int) -> Source:
        """The same elements in another shape, outermost first."""
        self._read("reshape", x)
        shape = tuple(whole("reshape: a size", size) for size in shape)
        output = Tensor(tuple(reversed(shape)), x.tensor.dtype)
        if output.volume != x.tensor.volume:
            raise FlexNetError(f"cannot reshape {x.tensor.shape} to {shape}: sizes differ")
        return self._add(OpType.RESHAPE, "Reshape", "Reshape_" + "x".join(map(str, shape)), [x], [output])[0]

    def cross_entropy(self, x: Source) -> Source:
        """Softmax over the innermost dimension and its cross entropy with the labels."""
        self._read("cross_entropy", x)
        return self._add(OpType.SOFTMAX_CROSS_ENTROPY, "CrossEntropy", "CrossEntropy", [x], [x.tensor])[0]
