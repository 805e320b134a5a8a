"""Multi-head attention."""

from collections.abc import Mapping

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Attention"]


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
        forward = sum(tensor_bytes(op)) + 4 * (2 * rows * embed + 4 * _pairs(op) * heads)
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


def _width(op: Operator) -> int:
    """Features of all heads of a part together."""
    weight = op.weights[0]
    projected = sum(source.tensor.dims[0] for source in op.inputs) + op.outputs[0].dims[0]
    return weight.volume // projected


def _pairs(op: Operator) -> int:
    """Pairs of a position of the query and one of the key."""
    query, key, _ = (source.tensor for source in op.inputs)
    return query.volume // query.dims[0] * (key.volume // key.dims[0] // key.dims[-1])
