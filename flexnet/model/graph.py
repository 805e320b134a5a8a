"""Tensors, operators and model graphs: what a DNN is before anything is cut.

Dimensions are innermost first (the original's Legion order): ``dims[0]`` is channel-like, ``dims[-1]`` the
batch.  A user shape (N, C, H, W) is stored (W, H, C, N).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from types import MappingProxyType

__all__ = ["BINARY", "ELEMENT_BYTES", "UNARY", "ModelGraph", "OpType", "Operator", "RepeatedBlock", "Source", "Tensor"]

ELEMENT_BYTES = MappingProxyType({"float": 4, "double": 8, "int32": 4, "int64": 8, "bool": 1})

_NARROW_BYTES = MappingProxyType({"float16": 2, "float8": 1})  # what "float" becomes in another arithmetic


class OpType(IntEnum):
    """Operator kinds, numbered as in the original (they are in measurement keys and task graph files)."""

    CONV2D = 3
    DROPOUT = 4
    LINEAR = 5
    BATCH_MATMUL = 6
    POOL2D = 7
    RELU = 13
    IDENTITY = 14
    SIGMOID = 15
    TANH = 16
    ELU = 17
    FLAT = 18
    SOFTMAX = 19
    BATCH_NORM = 20
    CONCAT = 21
    SPLIT = 22
    EMBEDDING = 23
    GROUP_BY = 24
    CACHE = 25
    AGGREGATE = 26
    AGGREGATE_SPEC = 27
    RESHAPE = 28
    REVERSE = 29
    TRANSPOSE = 30
    ADD = 31
    MUL = 32
    SUB = 43
    DIV = 44
    TOPK = 60
    EXP = 64
    GELU = 73
    MULTI_HEAD_ATTENTION = 74
    # What the original has no operator for; numbers of our own, far above its.
    EINSUM = 1000
    LSTM = 1001
    LAYER_NORM = 1002
    REDUCE_MEAN = 1003
    STACK = 1004
    UNSTACK = 1005
    SOFTMAX_CROSS_ENTROPY = 1006
    RMS_NORM = 1007
    GROUP_NORM = 1008
    ROPE = 1009
    TOKEN_EMBEDDING = 1010
    SCALED_DOT_PRODUCT = 1011
    GATED = 1012
    DISPATCH = 1013
    COMBINE = 1014
    PERMUTE = 1015
    SLICE = 1016
    ADD_WEIGHT = 1017
    MUL_WEIGHT = 1018
    PREPEND = 1019
    SILU = 1020
    HARD_SIGMOID = 1021
    HARD_SWISH = 1022
    FUSION = 1023
    CONVOLUTION = 1024
    GROUPED_LINEAR = 1025


BINARY = (OpType.ADD, OpType.MUL, OpType.SUB, OpType.DIV)
"""Element-wise operators of two tensors."""

UNARY = (
    OpType.RELU,
    OpType.IDENTITY,
    OpType.SIGMOID,
    OpType.TANH,
    OpType.ELU,
    OpType.EXP,
    OpType.GELU,
    OpType.SILU,
    OpType.HARD_SIGMOID,
    OpType.HARD_SWISH,
)
"""Element-wise operators of one tensor; also the activations that other operators fuse."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense tensor; ``dims`` innermost first, batch last."""

    dims: tuple[int, ...]
    dtype: str = "float"

    @property
    def volume(self) -> int:
        """Number of elements."""
        return prod(self.dims)

    @property
    def n_byte(self) -> int:
        """Bytes of its elements."""
        return (ELEMENT_BYTES.get(self.dtype) or _NARROW_BYTES[self.dtype]) * self.volume

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes as users and PyTorch give them: outermost first, the batch first of all."""
        return self.dims[::-1]


@dataclass(frozen=True, slots=True)
class Source:
    """Where an operator's input comes from: output ``output`` of operator ``op``, or data if ``op`` is None.

    Parameters
    ----------
    op : int or None
    output : int
    tensor : Tensor
        As the operator reads it: of the shape that was put out, or another view of it.
    view : tuple of (int, int), optional
        Of a view, for each dimension of what was put out the dimension of ``tensor`` that cuts it, and into how many
        pieces at most: the degree must divide that.  Dimension -1 stands for none: every part reads all of it.
    """

    op: int | None
    output: int
    tensor: Tensor
    view: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One layer of the model.

    Parameters
    ----------
    index : int
        Position in the model, also creation order.
    kind : int
        Number of its kind in `flexnet.model.operators.OPERATORS`: an `OpType`, or one that a program added.
    name : str
        Unique name, ``<Type>_<guid>`` with guids from 100, as in strategy and task graph files.
    key : str
        Measurement name, equal for operators the original's profiler holds for the same.
    inputs, outputs, weights
        In the original's order (kernel before bias).
    attrs : Mapping[str, int]
        What shapes do not tell: kernel, stride, padding, heads, bag...
    equation : str
        Of an einsum, as numpy's, outermost dimension first: ``"bsd,de->bse"``; else empty.
    tied : Mapping[int, tuple[int, int]]
        Weights that are those of an earlier operator: number of the weight to that operator and its number there.
    """

    index: int
    kind: int
    name: str
    key: str
    inputs: tuple[Source, ...]
    outputs: tuple[Tensor, ...]
    weights: tuple[Tensor, ...] = ()
    attrs: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    equation: str = ""
    tied: Mapping[int, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def n_parameter(self) -> int:
        """Elements of its weights, less those that are an earlier operator's."""
        return sum(weight.volume for i, weight in enumerate(self.weights) if i not in self.tied)

    @property
    def rank(self) -> int:
        """Rank of output 0, which is also the number of dimensions of its configs."""
        return len(self.outputs[0].dims)


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """A run of operators that comes several times, as the layers of a network do.

    Parameters
    ----------
    first : int
        Its first operator.
    length : int
        Operators of one repetition.
    count : int
        Repetitions, which follow one another.
    """

    first: int
    length: int
    count: int

    @property
    def end(self) -> int:
        """The operator behind the last repetition."""
        return self.first + self.length * self.count

    @property
    def repetitions(self) -> tuple[range, ...]:
        """Operators of every repetition, in order."""
        begins = range(self.first, self.end, self.length)
        return tuple(range(begin, begin + self.length) for begin in begins)


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """Operators in creation order; every input comes from an earlier operator or is data.

    Parameters
    ----------
    name : str
    batch_size : int
        Samples.
    operators : tuple of Operator
    dtype : str or None
        Arithmetic that it is trained in unless another is asked for, a name in `flexnet.model.precision.PRECISIONS`;
        None as the original: single precision, of which its libraries round some products to TF32.
    blocks : tuple of RepeatedBlock
        Its repeated blocks, in order (`flexnet.model.repeats.find_repeats`).
    idle : int
        Elements of parameters that no operator reads, as an imported program may have.
    """

    name: str
    batch_size: int
    operators: tuple[Operator, ...]
    dtype: str | None = None
    blocks: tuple[RepeatedBlock, ...] = ()
    idle: int = 0

    @property
    def n_parameter(self) -> int:
        """Elements of all weights, each counted once, and of those that no operator reads."""
        return sum(op.n_parameter for op in self.operators) + self.idle

    def read_operators(self) -> frozenset[int]:
        """Operators of which another reads some output; the others' outputs are the model's."""
        return frozenset(source.op for op in self.operators for source in op.inputs if source.op is not None)

    def keys(self) -> tuple[str, ...]:
        """Distinct measurement names in order of first appearance."""
        return tuple(dict.fromkeys(op.key for op in self.operators))
