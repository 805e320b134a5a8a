"""Builds model graphs layer by layer, with the original's shape rules, names and measurement keys.

Shapes at this border are the user's, batch first: ``(N, C, H, W)``, ``(N, F)``; tensors are stored innermost
first.  Sources: reference shapes of FlexFlow's operators (model.cc and ops/*.cu).
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.model.graph import BINARY, UNARY, ModelGraph, Operator, OpType, Source, Tensor
from flexnet.model.operators import find_kind
from flexnet.model.operators.checks import check_dtype, check_op_type, shown, whole_number
from flexnet.model.operators.kind import Layer, OperatorKind
from flexnet.model.precision import find_precision
from flexnet.model.repeats import find_repeats
from flexnet.model.sequence_layers import SequenceLayers

__all__ = ["GraphBuilder"]

FIRST_GUID = 100


class GraphBuilder(SequenceLayers):
    """Collects operators; each method adds one and returns the source its consumers take.

    >>> b = GraphBuilder("mlp", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> b.build().operators[0].key, x.tensor.dims
    ('Dense_16_4', (4, 8))
    """

    def __init__(self, name: str, batch_size: int, *, dtype: str | None = None) -> None:
        self.name = name
        self.batch_size = whole_number("batch size", batch_size)
        self.dtype = None if dtype is None else find_precision(dtype).name
        self._operators: list[Operator] = []

    def build(self) -> ModelGraph:
        """Return the graph built so far."""
        if not self._operators:
            raise FlexNetError(f"model {self.name} has no operators; add at least one layer before build()")
        operators = tuple(self._operators)
        return ModelGraph(self.name, self.batch_size, operators, self.dtype, find_repeats(operators))

    def input(self, *shape: int, dtype: str = "float") -> Source:
        """Data of per-sample shape ``shape`` (outermost first, without the batch).

        ``dtype`` is ``"float"``, ``"double"``, ``"int32"``, ``"int64"`` or ``"bool"``; an embedding reads integers.
        """
        if not shape:
            raise FlexNetError("input needs the sizes of a sample, as in input(3, 224, 224)")
        check_dtype("input: dtype", dtype)
        sizes = [whole_number(f"input: size {i}", size) for i, size in enumerate(shape, 1)]
        return Source(None, 0, Tensor((*reversed(sizes), self.batch_size), dtype))

    def add(
        self,
        kind: int | OperatorKind,
        /,
        *inputs: Source,
        name: str | None = None,
        tied: Source | None = None,
        **parameters: Any,
    ) -> tuple[Source, ...]:
        """Add an operator of any kind in `flexnet.model.operators.OPERATORS`; the other methods are short for this.

        Parameters
        ----------
        kind : int or OperatorKind
            An `OpType`, another number of the registry, or a kind that is registered.
        inputs : Source
            What it reads, in order: data, or what this builder returned.
        name : str, optional
            What the operator is called before its number; as its kind unless given.
        tied : Source, optional
            What an operator put out of which the first weight is this one's, too.
        parameters
            Those that the `layer` of the kind takes.

        Returns
        -------
        tuple of Source
            Its outputs.

        Raises
        ------
        FlexNetError
            If the kind is not registered, an input is of another builder, or the layer is impossible.

        Examples
        --------
        >>> b = GraphBuilder("mlp", batch_size=8)
        >>> (x,) = b.add(OpType.DROPOUT, b.input(16))
        >>> b.build().operators[0].name, x.tensor.dims
        ('Dropout_100', (16, 8))
        """
        found = find_kind(kind)
        for i, x in enumerate(inputs):
            self._check_source(found.label, x, any_batch=found.any_batch(i))
        layer = found.layer(*(x.tensor for x in inputs), **parameters)
        index = len(self._operators)
        for tensor in (*layer.outputs, *layer.weights):
            if min(tensor.dims) < 1:
                raise FlexNetError(
                    f"operator {index} ({layer.key}) has a tensor of shape {tensor.shape}; "
                    "every size must be at least 1"
                )
        op = Operator(
            index,
            found.number,
            f"{name or found.name}_{FIRST_GUID + index}",
            layer.key,
            inputs,
            tuple(layer.outputs),
            tuple(layer.weights),
            MappingProxyType(dict(layer.attrs)),
            layer.equation,
            MappingProxyType({} if tied is None else {0: self._owner(layer, tied)}),
        )
        self._operators.append(op)
        return tuple(Source(index, i, tensor) for i, tensor in enumerate(op.outputs))

    def dense(
        self,
        x: Source,
        out: int,
        *,
        bias: bool = True,
        activation: OpType | None = None,
        tied: Source | None = None,
    ) -> Source:
        """Linear layer over the innermost dimension, optionally with a fused activation, or an embedding's weight."""
        return self.add(OpType.LINEAR, x, out=out, bias=bias, activation=activation, tied=tied)[0]

    def embedding(self, x: Source, entries: int, out: int) -> Source:
        """Sum-aggregated embedding bag: (N, bag) indices to (N, out)."""
        return self.add(OpType.EMBEDDING, x, entries=entries, out=out)[0]

    def concat(self, xs: Sequence[Source], axis: int) -> Source:
        """Join along ``axis``, counted with the batch as 0."""
        return self.add(OpType.CONCAT, *_listed("concat", xs), axis=axis)[0]

    def conv2d(
        self,
        x: Source,
        out: int,
        kernel: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        groups: int = 1,
        bias: bool = True,
        activation: OpType | None = None,
    ) -> Source:
        """2-D convolution; ``kernel``, ``stride``, ``padding`` are (height, width), or one number."""
        windows: dict[str, Any] = {"kernel": kernel, "stride": stride, "padding": padding}
        return self.add(OpType.CONV2D, x, **windows, out=out, groups=groups, bias=bias, activation=activation)[0]

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
        return self.add(OpType.POOL2D, x, kernel=kernel, stride=stride, padding=padding, average=average)[0]

    def flat(self, x: Source) -> Source:
        """Flatten everything but the batch."""
        return self.add(OpType.FLAT, x)[0]

    def softmax(self, x: Source) -> Source:
        """Softmax over the innermost dimension."""
        return self.add(OpType.SOFTMAX, x)[0]

    def attention(self, query: Source, key: Source, value: Source, embed: int, heads: int) -> Source:
        """Multi-head attention with kdim = vdim = embed/heads and no bias (weight [sum of projections, heads])."""
        return self.add(OpType.MULTI_HEAD_ATTENTION, query, key, value, embed=embed, heads=heads)[0]

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
        """Element-wise ADD, MUL, SUB or DIV of two equal shapes (or sizes of 1), optionally with a fused activation."""
        check_op_type("binary: kind", kind, BINARY)
        return self.add(kind, a, b, name=name, inplace=inplace, activation=activation)[0]

    def unary(self, kind: OpType, x: Source, *, inplace: bool = True) -> Source:
        """Element-wise activation of ``x``: one of `flexnet.model.graph.UNARY`."""
        check_op_type("unary: kind", kind, UNARY)
        return self.add(kind, x, inplace=inplace)[0]

    def topk(self, x: Source, k: int) -> tuple[Source, Source]:
        """The ``k`` largest values along the innermost dimension, and their indices."""
        values, indices = self.add(OpType.TOPK, x, k=k)
        return values, indices

    def cache(self, x: Source) -> Source:
        """Keep a tensor from one iteration to the next."""
        return self.add(OpType.CACHE, x)[0]

    def group_by(self, x: Source, assignment: Source, experts: int, alpha: float) -> tuple[Source, ...]:
        """Route samples to ``experts`` buffers of ceil(alpha * k / experts * batch) rows each."""
        return self.add(OpType.GROUP_BY, x, assignment, experts=experts, alpha=alpha)

    def aggregate(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """Weighted sum of the experts' rows, back in sample order."""
        return self.add(OpType.AGGREGATE, gate, assignment, *_listed("aggregate", experts))[0]

    def aggregate_spec(self, gate: Source, assignment: Source, experts: Sequence[Source]) -> Source:
        """The experts' rows in sample order, k rows a sample (for speculative labels)."""
        return self.add(OpType.AGGREGATE_SPEC, gate, assignment, *_listed("aggregate_spec", experts))[0]

    def batch_norm(self, x: Source) -> Source:
        """Batch normalization with scale and shift for each channel."""
        return self.add(OpType.BATCH_NORM, x)[0]

    def einsum(self, equation: str, x: Source, other: Source | tuple[int, ...], *, pointwise: int = 0) -> Source:
        """Contract ``x`` with a tensor, or a weight of this shape (outermost first); fuse element-wise operators."""
        if isinstance(other, tuple):
            return self.add(OpType.EINSUM, x, equation=equation, weight=other, pointwise=pointwise)[0]
        return self.add(OpType.EINSUM, x, other, equation=equation, pointwise=pointwise)[0]

    def reduce_mean(self, x: Source, axes: Sequence[int]) -> Source:
        """Mean over ``axes``, counted with the batch as 0; they disappear."""
        return self.add(OpType.REDUCE_MEAN, x, axes=axes)[0]

    def stack(self, xs: Sequence[Source]) -> Source:
        """Put equal tensors side by side along a new outermost dimension."""
        return self.add(OpType.STACK, *_listed("stack", xs))[0]

    def unstack(self, x: Source) -> tuple[Source, ...]:
        """Take a tensor apart along its outermost dimension."""
        return self.add(OpType.UNSTACK, x)

    def reshape(self, x: Source, *shape: int) -> Source:
        """The same elements in another shape, outermost first."""
        return self.add(OpType.RESHAPE, x, shape=shape)[0]

    def cross_entropy(self, x: Source) -> Source:
        """Softmax over the innermost dimension and its cross entropy with the labels."""
        return self.add(OpType.SOFTMAX_CROSS_ENTROPY, x)[0]

    def _owner(self, layer: Layer, tied: Source) -> tuple[int, int]:
        """The operator whose first weight that of ``layer`` is, and the number of the weight there."""
        self._check_source(layer.key, tied, any_batch=False)
        owner = None if tied.op is None else self._operators[tied.op]
        if owner is None or not owner.weights or not layer.weights or owner.weights[0] != layer.weights[0]:
            shape = layer.weights[0].shape if layer.weights else "of none"
            raise FlexNetError(f"{layer.key} cannot share a weight {shape}: the operator it names has another, or none")
        return owner.tied.get(0, (owner.index, 0))

    def _check_source(self, label: str, x: object, *, any_batch: bool) -> None:
        """Refuse what is neither data with the batch of this builder nor the output of one of its operators."""
        if not isinstance(x, Source):
            raise FlexNetError(f"{label} takes tensors that layers of its builder returned; got {shown(x)}")
        shape, made = x.tensor.shape, self._operators
        if x.op is None:
            ours = any_batch or shape[0] == self.batch_size
        else:
            ours = x.op < len(made) and any(x.tensor is output for output in made[x.op].outputs)
        if not ours:
            raise FlexNetError(
                f"{label} got a tensor of shape {shape} of another builder; build a model with one builder"
            )


def _listed(label: str, xs: Sequence[Source]) -> Sequence[Source]:
    if not isinstance(xs, Sequence) or not xs:
        raise FlexNetError(f"{label} takes a list of at least one tensor; got {xs!r:.60}")
    return xs
