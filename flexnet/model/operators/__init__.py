"""Operator kinds: what flexnet knows of Linear, Conv2D, an embedding and the rest, one file for each family.

A kind says what its layers look like, what a part of them computes, moves and holds, and how they may be cut; the
contract is `flexnet.model.operators.kind.OperatorKind`.  In come tensors and operators (`flexnet.model.graph`), out go
layers, counts and parts.  A new kind is a new file here and a line in `OPERATORS`; a program adds its own by
``OPERATORS[2000] = MyKind()`` and builds with it by `flexnet.model.builder.GraphBuilder.add`.  Nothing here knows of
servers or imports PyTorch, of which `flexnet.model.operators.kernel` says what it starts; nothing is imported but
`flexnet.model.graph`, `flexnet.model.cutting` and `flexnet.errors`.
"""

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType
from flexnet.model.operators.attention import Attention, ScaledDotProduct
from flexnet.model.operators.checks import shown
from flexnet.model.operators.conv2d import Conv2D
from flexnet.model.operators.convolution import Convolution
from flexnet.model.operators.einsum import Einsum
from flexnet.model.operators.elementwise import Binary, Dropout, Gated, Unary
from flexnet.model.operators.embedding import Embedding, TokenEmbedding
from flexnet.model.operators.experts import Aggregate, AggregateSpec, Cache, Combine, Dispatch, GroupBy, TopK
from flexnet.model.operators.fusion import Fusion
from flexnet.model.operators.grouped_linear import GroupedLinear
from flexnet.model.operators.joining import Concat, Split, Stack, Unstack
from flexnet.model.operators.kind import OperatorKind
from flexnet.model.operators.linear import Linear
from flexnet.model.operators.lstm import LSTM
from flexnet.model.operators.matmul import BatchMatmul
from flexnet.model.operators.norm import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from flexnet.model.operators.parameters import Prepend, WeightedBinary
from flexnet.model.operators.pool2d import Pool2D
from flexnet.model.operators.reduce_mean import ReduceMean
from flexnet.model.operators.reshaping import Flat, Permute, Reshape, Reverse, Slice, Transpose
from flexnet.model.operators.rope import Rope
from flexnet.model.operators.softmax import CrossEntropy, Softmax

__all__ = ["OPERATORS", "find_kind", "kind_of", "type_name"]

OPERATORS: dict[int, OperatorKind] = {
    OpType.CONV2D: Conv2D(),
    OpType.DROPOUT: Dropout(),
    OpType.LINEAR: Linear(),
    OpType.BATCH_MATMUL: BatchMatmul(),
    OpType.POOL2D: Pool2D(),
    OpType.RELU: Unary(OpType.RELU, "ReLU"),
    OpType.IDENTITY: Unary(OpType.IDENTITY, "Identity"),
    OpType.SIGMOID: Unary(OpType.SIGMOID, "Sigmoid"),
    OpType.TANH: Unary(OpType.TANH, "Tanh"),
    OpType.ELU: Unary(OpType.ELU, "ELU"),
    OpType.FLAT: Flat(),
    OpType.SOFTMAX: Softmax(),
    OpType.BATCH_NORM: BatchNorm(),
    OpType.CONCAT: Concat(),
    OpType.SPLIT: Split(),
    OpType.EMBEDDING: Embedding(),
    OpType.GROUP_BY: GroupBy(),
    OpType.CACHE: Cache(),
    OpType.AGGREGATE: Aggregate(),
    OpType.AGGREGATE_SPEC: AggregateSpec(),
    OpType.RESHAPE: Reshape(),
    OpType.REVERSE: Reverse(),
    OpType.TRANSPOSE: Transpose(),
    OpType.ADD: Binary(OpType.ADD, "Add"),
    OpType.MUL: Binary(OpType.MUL, "Mul"),
    OpType.SUB: Binary(OpType.SUB, "Sub"),
    OpType.DIV: Binary(OpType.DIV, "Div"),
    OpType.TOPK: TopK(),
    OpType.EXP: Unary(OpType.EXP, "Exp"),
    OpType.GELU: Unary(OpType.GELU, "GELU"),
    OpType.MULTI_HEAD_ATTENTION: Attention(),
    OpType.EINSUM: Einsum(),
    OpType.LSTM: LSTM(),
    OpType.LAYER_NORM: LayerNorm(),
    OpType.REDUCE_MEAN: ReduceMean(),
    OpType.STACK: Stack(),
    OpType.UNSTACK: Unstack(),
    OpType.SOFTMAX_CROSS_ENTROPY: CrossEntropy(),
    OpType.RMS_NORM: RMSNorm(),
    OpType.GROUP_NORM: GroupNorm(),
    OpType.ROPE: Rope(),
    OpType.TOKEN_EMBEDDING: TokenEmbedding(),
    OpType.SCALED_DOT_PRODUCT: ScaledDotProduct(),
    OpType.GATED: Gated(),
    OpType.DISPATCH: Dispatch(),
    OpType.COMBINE: Combine(),
    OpType.PERMUTE: Permute(),
    OpType.SLICE: Slice(),
    OpType.ADD_WEIGHT: WeightedBinary(OpType.ADD_WEIGHT, "AddWeight"),
    OpType.MUL_WEIGHT: WeightedBinary(OpType.MUL_WEIGHT, "MulWeight"),
    OpType.PREPEND: Prepend(),
    OpType.SILU: Unary(OpType.SILU, "SiLU"),
    OpType.HARD_SIGMOID: Unary(OpType.HARD_SIGMOID, "HardSigmoid"),
    OpType.HARD_SWISH: Unary(OpType.HARD_SWISH, "HardSwish"),
    OpType.FUSION: Fusion(),
    OpType.CONVOLUTION: Convolution(),
    OpType.GROUPED_LINEAR: GroupedLinear(),
}
"""Every kind by its number; a plain dict, to which programs may add."""


def kind_of(op: Operator) -> OperatorKind:
    """The kind of an operator.

    Raises
    ------
    FlexNetError
        If no kind is registered under its number.
    """
    if op.kind not in OPERATORS:
        raise FlexNetError(
            f"operator {op.name} ({op.key}) is of kind {op.kind:d}, which is not registered; {_remedy(op.kind)}"
        )
    return OPERATORS[op.kind]


def find_kind(kind: int | OperatorKind) -> OperatorKind:
    """The kind registered under a number, or the one that was given, if its like is registered.

    Raises
    ------
    FlexNetError
        If it is neither a number nor a kind, or under its number another kind or none is registered.
    """
    if isinstance(kind, OperatorKind):
        if type(OPERATORS.get(kind.number)) is not type(kind):
            raise FlexNetError(
                f"kind {kind.name} has number {kind.number:d}, under which it is not registered; {_remedy(kind.number)}"
            )
        return kind
    if not isinstance(kind, int):
        raise FlexNetError(
            f"kind is {shown(kind)}; it must be an OpType, another number in OPERATORS, or an OperatorKind"
        )
    if kind not in OPERATORS:
        raise FlexNetError(f"no kind is registered under {kind:d}; {_remedy(kind)}")
    return OPERATORS[kind]


def type_name(op: Operator) -> str:
    """The kind of an operator as reports name it, ``MULTI_HEAD_ATTENTION``; the name of a kind that is no `OpType`."""
    return op.kind.name if isinstance(op.kind, OpType) else kind_of(op).name


def _remedy(number: int) -> str:
    return f"flexnet.model.operators.OPERATORS[{number:d}] = ... adds an OperatorKind"
