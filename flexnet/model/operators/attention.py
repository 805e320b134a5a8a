"""Multi-head attention, as one operator with its projections and by itself."""

from collections.abc import Mapping
from math import gcd

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kernel import SORT, Kernel, Kernels
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Attention", "ScaledDotProduct"]

_CROWDED = 1.6  # times as long as rows that differ: few buckets are added to by all pairs


class Attention(OperatorKind):
    """Multi-head attention with kdim = vdim = embed/heads and no bias; one weight [sum of projections, heads]."""

    number = OpType.MULTI_HEAD_ATTENTION
    name = "MultiHeadAttention"
    label = "attention"
    most_samples = 432  # hard-coded in model.cc:2306
    arithmetic = Arithmetic.TENSOR

    def layer(self, query: Tensor, key: Tensor, value: Tensor, *, embed: int, heads: int) -> Layer:
        """(N, S, F) each to (N, S of the query, embed); ``MultiHeadAttention_<embed><heads>``, without a separator."""
        for x in (query, key, value):
            check_shape(self.label, x, "(N, S, F)")
        embed, heads = whole_number("attention: embed", embed), whole_number("attention: heads", heads)
        if embed % heads:
            raise FlexNetError(f"{heads} attention heads must divide the embedding size {embed}")
        head = embed // heads
        weight = Tensor((head * (query.dims[0] + key.dims[0] + value.dims[0] + embed), heads))
        output = Tensor((embed, *query.dims[1:]), query.dtype)
        return Layer(f"MultiHeadAttention_{embed}{heads}", [output], [weight], {"heads": heads})

    def flops(self, op: Operator) -> Passes:
        """Forward projections of query, key, value and output, scores and weighted sum of all pairs; back twice."""
        embed = _width(op)
        projections = sum(source.tensor.volume for source in op.inputs) * embed + op.outputs[0].volume * embed
        forward = 2 * projections + 4 * _pairs(op) * embed
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, the projections written and read, scores written and read twice; back twice as many."""
        query, key, value = (source.tensor for source in op.inputs)
        embed, heads = _width(op), op.weights[0].dims[1]
        rows = sum(tensor.volume // tensor.dims[0] for tensor in (query, key, value, query))
        element = op.outputs[0].n_byte // op.outputs[0].volume
        forward = sum(tensor_bytes(op)) + element * (2 * rows * embed + 4 * _pairs(op) * heads)
        return Passes(forward, 2 * forward)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Positions of the query, samples, and heads: the output projection sums over these."""
        return {1: Axis.ATTRIBUTE, 2: Axis.SAMPLE, 3: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the positions of the query attends to all of the key; each of the heads reads all features."""
        return (-1, 1, 2) if i == 0 else (-1, -1, 2)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Each part holds the projections of its heads, that of the output too."""
        return (-1, 3)

    def launches(self, op: Operator) -> Passes:
        """Three projections, scores, scaling, softmax, sum, output, and layout changes."""
        return Passes(12, 24)


class ScaledDotProduct(OperatorKind):
    """Scaled dot-product attention of heads that lie side by side, without projections, in one pass over the keys.

    Several heads of the query may share one of key and value (grouped queries, arXiv:2305.13245).  Scores stay in
    the registers (arXiv:2205.14135), so none are kept.  A causal mask saves nothing of `flops`, as in PyTorch's count
    of operations, but of what a GPU does (`kernels`); the last position of a query sees the last key.  With ``buckets``
    there is a weight [buckets, heads] of relative positions that is added to the scores (T5, arXiv:1910.10683).
    """

    number = OpType.SCALED_DOT_PRODUCT
    name = "ScaledDotProduct"
    label = "scaled_dot_product"
    arithmetic = Arithmetic.TENSOR

    def layer(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        heads: int,
        shared: int | None = None,
        causal: bool = False,
        buckets: int = 0,
    ) -> Layer:
        """(N, S, heads D), (N, T, shared D) and (N, T, shared V) to (N, S, heads V); ``ScaledDotProduct_<D>_<V>``.

        A mask that is computed, (N, S, T) or with heads side by side, is added to the scores.  As many heads are shared
        as there are, unless set; ``attrs`` has the sizes of a head.
        """
        for x in (query, key, value, *([] if mask is None else [mask])):
            check_shape(self.label, x, "(N, S, F)")
        heads = whole_number("scaled_dot_product: heads", heads)
        shared = whole_number("scaled_dot_product: shared", heads if shared is None else shared)
        buckets = whole_number("scaled_dot_product: buckets", buckets, 0)
        if heads % shared or query.dims[0] % heads or value.dims[0] % shared:
            raise FlexNetError(
                f"scaled_dot_product: {heads} heads, {shared} of key and value, do not divide shapes {query.shape} and "
                f"{value.shape}; the second number must divide the first, and both their features"
            )
        head, out = query.dims[0] // heads, value.dims[0] // shared
        if key.dims[0] != shared * head or key.dims[1:] != value.dims[1:] or key.dims[2] != query.dims[2]:
            raise FlexNetError(
                f"scaled_dot_product: key and value have shapes {key.shape} and {value.shape}; they must be (N, T, "
                f"{shared * head}) and (N, T, V) for a query of {query.shape}"
            )
        output = Tensor((heads * out, *query.dims[1:]), query.dtype)
        weights = [Tensor((heads, buckets))] if buckets else []
        attrs = {"head": head, "value": out, "causal": int(causal)}
        return Layer(f"ScaledDotProduct_{head}_{out}", [output], weights, attrs)

    def details(self, op: Operator) -> Mapping[str, int]:
        """Attributes, and how many buckets of relative positions there are, if any."""
        return {**op.attrs, "buckets": op.weights[0].dims[1]} if op.weights else op.attrs

    def flops(self, op: Operator) -> Passes:
        """Forward scores and weighted sum of all pairs, back twice."""
        keys = op.inputs[1].tensor.dims[1]
        forward = 2 * keys * (op.inputs[0].tensor.volume + op.outputs[0].volume)
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y): the gradients of all, too."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)

    def launches(self, op: Operator) -> Passes:
        """Back one more before for sums over rows, and one behind for the query's gradient."""
        return Passes(1, 3)

    def kernels(self, op: Operator) -> Kernels:
        """One; back sums over rows and zeros before it, and the query's gradient rounded behind it.

        Back scores are computed once more, and the query's gradient is added up in single precision.  Of causal
        attention without a bias or mask it leaves out what is hidden: about half of the pairs, but of a part of the
        query's positions those among themselves alone, for the last part sees all keys before it.  A bias is looked up
        for all pairs of positions; back its gradient is added up by buckets, as that of an embedding.
        """
        moved, work, (query, y) = sum(tensor_bytes(op)), self.flops(op).forward, (op.inputs[0].tensor, op.outputs[0])
        asking, asked = query.dims[1], op.inputs[1].tensor.dims[1]
        hidden = op.attrs["causal"] and not op.weights and len(op.inputs) == 3
        seen = 1 - min(asking, asked) / (2 * max(asking, asked)) if hidden else 1.0
        forward = [Kernel(moved, flops=seen * work)]
        attended, rounded = Kernel(3 * moved, flops=2.5 * seen * work), Kernel(3 * query.n_byte)
        back = [Kernel(2 * y.n_byte), Kernel(2 * query.n_byte), attended, rounded]
        for weight in op.weights:
            pairs = asking * asked
            forward[:0] = [Kernel(indexed=weight.dims[1] * pairs)] * 2
            back += [SORT, Kernel(rows=_CROWDED * pairs)]
        return Kernels(forward, back)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Heads, positions of the query, and samples."""
        return {0: Axis.PARAMETER, 1: Axis.ATTRIBUTE, 2: Axis.SAMPLE}

    def cut_sizes(self, op: Operator) -> Mapping[int, int]:
        """A head of key and value stays whole, with those of the query that share it."""
        sizes = super().cut_sizes(op)
        return {**sizes, 0: gcd(sizes[0], op.inputs[1].tensor.dims[0] // op.attrs["head"])}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the positions of the query attends to all of the key; of a mask (N, S, ...) it reads its own."""
        return ((0, 1, 2), (0, -1, 2), (0, -1, 2), (-1, 1, 2))[i]

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """As the heads."""
        return (0, -1)


def _width(op: Operator) -> int:
    """Features of all heads of a part together."""
    weight = op.weights[0]
    projected = sum(source.tensor.dims[0] for source in op.inputs) + op.outputs[0].dims[0]
    return weight.volume // projected


def _pairs(op: Operator) -> int:
    """Pairs of a position of the query and one of the key."""
    query, key, _ = (source.tensor for source in op.inputs)
    return query.volume // query.dims[0] * (key.volume // key.dims[0] // key.dims[-1])
