"""The contract of an operator kind: its layers, the work of a part, and how it is cut.

Everywhere in this room ``x``, ``y`` and ``w`` are the inputs, outputs and weights of one part of an operator, which is
what one GPU runs; weights are whole, for every part holds them all unless `OperatorKind.weight_split` says else.  One
multiply-add counts as two operations, and an element has the bytes of its type except where memory is counted.
Sources: the kernels and the ``measure_operator_cost`` functions of FlexFlow's ops/*.cu.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import gcd
from types import MappingProxyType
from typing import Any, NamedTuple

from flexnet.model.cutting import aligned_split, cut_tensor
from flexnet.model.graph import Operator, Tensor
from flexnet.model.operators.kernel import Kernels

__all__ = [
    "Arithmetic",
    "Axis",
    "CopyingKind",
    "Layer",
    "OperatorKind",
    "Passes",
    "Window",
    "elements",
    "image_axes",
    "tensor_bytes",
]


class Passes(NamedTuple):
    """A quantity of the forward and of the backward pass."""

    forward: int
    backward: int


class Axis(Enum):
    """What it means to cut along a dimension of a config: the space of SOAP (arXiv:1807.05358, section 4)."""

    SAMPLE = auto()
    """Every part has some samples, and all weights that are not cut otherwise."""
    ATTRIBUTE = auto()
    """Every part has all samples, of each a piece: rows of an image, steps of a sequence."""
    PARAMETER = auto()
    """Every part computes some output channels, and holds the weights of these."""
    REDUCTION = auto()
    """Every part sums over some input channels (or heads), and holds their weights; its output is a partial sum."""


class Window(NamedTuple):
    """What element ``e`` of an output reads along a dimension: ``size`` elements from ``e stride - padding`` on.

    ``joined`` if the input is one of several along this dimension of the output: others read elements it does not have.
    """

    stride: int = 1
    size: int = 1
    padding: int = 0
    joined: bool = False


class Arithmetic(Enum):
    """What the operations of a kind run on; in single precision, what the original's libraries choose."""

    PLAIN = auto()
    """Units of single precision, whatever a model is trained in: there are no products of matrices."""
    PRODUCT = auto()
    """Tensor cores where they take the precision; single precision without rounding, as cuBLAS does Linear."""
    TENSOR = auto()
    """Tensor cores; of single precision they round to TF32, as cuDNN does attention."""
    CONVOLUTION = auto()
    """As `PRODUCT`, or as `TENSOR`, by cuDNN's rules; the operator has the tensors of a Conv2D."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What a kind makes of its inputs: an operator without its place in a model; fields as of `Operator`."""

    key: str
    outputs: Sequence[Tensor]
    weights: Sequence[Tensor] = ()
    attrs: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    equation: str = ""


class OperatorKind(ABC):
    """A kind of operator, such as Linear or softmax.

    A kind sets ``number`` and ``name`` and defines `layer` and `flops`; the rest has the answers of one that streams
    its tensors through one kernel and may be cut along the batch.  Its methods are pure, and it holds nothing but the
    attributes below.  Registered in `flexnet.model.operators.OPERATORS`, it can be built, estimated and searched.

    Attributes
    ----------
    number : int
        What it is registered under, and its type in task graph files: an `OpType`, or from 2000 for one's own.
    name : str
        Its operators are called ``<name>_<guid>``.
    label : str
        How errors call its layers; ``name`` unless set.
    whole : bool
        Its operators are never cut: each lives on one GPU with its whole batch and all its weights, and is moved
        from server to server only.
    channel_parallel : bool
        The innermost dimension of its output may be cut too (``--enable-parameter-parallel``); then `input_split` and
        `weight_split` say what a part needs, and cut along it only what divides as it does.
    most_samples : int or None
        Most samples on one GPU that the original measures; None for any number.
    arithmetic : Arithmetic
        What it runs on.
    row_blocks : bool
        In the forward pass one block of threads works on one row (the innermost dimension), however short.
    """

    number: int
    name: str
    whole = False
    channel_parallel = False
    most_samples: int | None = None
    arithmetic = Arithmetic.PLAIN
    row_blocks = False

    @property
    def label(self) -> str:
        """How errors call its layers."""
        return self.name

    @abstractmethod
    def layer(self, *inputs: Any, **parameters: Any) -> Layer:
        """The shape rule: check what is given and say what the layer is.

        Parameters
        ----------
        inputs : Tensor
            What it reads, in order; dimensions innermost first, the batch last.
        parameters
            Its own, by name.  Shapes and axes among them are the user's: outermost first, the batch is axis 0.

        Returns
        -------
        Layer
            ``key`` must be equal for layers that a measurement file may take for the same, and ``attrs`` say what
            decides the work and shapes do not tell.

        Raises
        ------
        FlexNetError
            If a parameter is wrong or the inputs do not fit (`flexnet.model.operators.checks`).
        """

    def any_batch(self, i: int) -> bool:
        """Whether input ``i``, if it is data, may have another batch than the model."""
        return False

    def details(self, op: Operator) -> Mapping[str, int]:
        """What shape names tell beside key and shapes: all that decides the work of ``op``."""
        return op.attrs

    @abstractmethod
    def flops(self, op: Operator) -> Passes:
        """Arithmetic operations of ``op``, which has the shapes of one part, as in all methods about work.

        As a rule the backward pass has twice those of the forward pass where there are weights or two factors, else
        the same.
        """

    def moved_bytes(self, op: Operator) -> Passes:
        """Bytes read from and written to device memory, `irregular_bytes` included.

        Unless defined: x + w + y, back 2 (x + w) + y, for gradients are added to what is there.
        """
        x, y, w = tensor_bytes(op)
        return Passes(x + w + y, 2 * (x + w) + y)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The bytes of `moved_bytes` that do not stream, as of rows that are looked up; none unless defined."""
        return Passes(0, 0)

    def launches(self, op: Operator) -> Passes:
        """Kernels started one after the other, as FlexFlow's operators do; one a pass unless defined.

        Zero backward launches stand for no backward pass.
        """
        return Passes(1, 1)

    def kernels(self, op: Operator) -> Kernels | None:
        """What PyTorch starts for ``op``, as `flexnet.profiler` runs it; None where the methods above tell.

        Those tell what the original's kernels do, from which PyTorch's differ where it fuses more, or less.
        """
        return None

    def memory_bytes(self, op: Operator) -> int:
        """Bytes of device memory one part needs: the ``mem_req`` of measurement files.

        What the original's profiler allocates: activations, weights and their gradients, 4 bytes an element whatever
        its type.  Unless defined: 8 (x + y + w).
        """
        return 8 * sum(elements(op))

    def kept_elements(self, op: Operator) -> int:
        """Elements that ``op`` makes and keeps for the backward pass; its outputs unless defined."""
        return sum(tensor.volume for tensor in op.outputs)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Dimensions of a config that may be cut, and what that means; the batch alone unless defined.

        The dimensions of a config are those of output 0; one more, numbered as its rank, stands for a reduction.
        `input_split` and `weight_split` must say what a part then needs.
        """
        return {} if self.whole else {op.rank - 1: Axis.SAMPLE}

    def cut_sizes(self, op: Operator) -> Mapping[int, int]:
        """For each dimension of `axes` the size that its degrees must divide: of all tensors that are cut along it."""
        cuts = [pair for x in op.outputs for pair in zip(x.dims, aligned_split(op, x), strict=True)]
        cuts += [pair for i, w in enumerate(op.weights) for pair in zip(w.dims, self.weight_split(op, i), strict=True)]
        for i, source in enumerate(op.inputs):  # of windows the border is read twice, so sizes need not be divided
            places = zip(source.tensor.dims, self.input_split(op, i), self.reach(op, i), strict=True)
            cuts += [(size, k) for size, k, window in places if window == Window()]
            split = self.input_split(op, i)
            cuts += [(pieces, split[k]) for k, pieces in source.view or () if k >= 0]
        return {axis: gcd(*(size for size, k in cuts if k == axis)) for axis in self.axes(op)}

    def spatial(self, op: Operator) -> bool:
        """Whether ``op`` is on images (N, C, H, W) of which width and height may be cut."""
        axes = self.axes(op)
        return op.rank == 4 and axes.get(0) is axes.get(1) is Axis.ATTRIBUTE

    def size_limits(self, op: Operator) -> Sequence[tuple[Tensor, int]]:
        """Tensors of which the original's libraries take only so many bytes a part; none unless defined.

        ``op`` is not cut, and its tensors count 4 bytes an element.
        """
        return ()

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """For each dimension of input ``i`` the dimension of a config that cuts it, -1 where a part reads all of it.

        The dimensions of a config are those of output 0, then that of a reduction.  Unless defined, a tensor of the
        same rank is cut as output 0 is, and of another the batch alone.
        """
        return aligned_split(op, op.inputs[i].tensor)

    def reach(self, op: Operator, i: int) -> tuple[Window, ...]:
        """For each dimension of input ``i`` what an element of the output reads along it.

        Unless defined, the element at its own place: then a cut dimension must be as large as that of the output, or
        fall into pieces as it does.
        """
        return (Window(),) * len(op.inputs[i].tensor.dims)

    def joined(self, op: Operator) -> set[int]:
        """Dimensions along which ``op`` joins its inputs and may be cut, by what `reach` says."""
        return {k for i in range(len(op.inputs)) for k, window in enumerate(self.reach(op, i)) if window.joined}

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """For each dimension of weight ``i`` the dimension of a config that cuts it; all -1: every part holds it all.

        Parts that hold the same piece sum up its gradient, but for those of a reduction: each of these has all of the
        gradient of a weight that the reduction does not cut.
        """
        return (-1,) * len(op.weights[i].dims)

    def part(self, op: Operator, degrees: tuple[int, ...]) -> Operator:
        """The operator that computes one part of ``op``: of the same kind, with the shapes of the part.

        Parameters
        ----------
        op : Operator
        degrees : tuple of int
            Pieces per dimension of output 0, innermost first, the batch last, and maybe of a reduction behind it;
            pieces that do not come out even are rounded down.
        """
        degrees = (*degrees, 1)[: op.rank + 1]
        inputs = tuple(
            replace(source, tensor=cut_tensor(source.tensor, degrees, self.input_split(op, i)))
            for i, source in enumerate(op.inputs)
        )
        outputs = tuple(cut_tensor(tensor, degrees, aligned_split(op, tensor)) for tensor in op.outputs)
        weights = tuple(cut_tensor(tensor, degrees, self.weight_split(op, i)) for i, tensor in enumerate(op.weights))
        return replace(op, inputs=inputs, outputs=outputs, weights=weights)


class CopyingKind(OperatorKind):
    """A kind that moves elements and computes nothing."""

    def flops(self, op: Operator) -> Passes:
        """None."""
        return Passes(0, 0)


def image_axes(op: Operator) -> dict[int, Axis]:
    """All dimensions of output 0: channels (N, C), (N, S, C) or (N, C, H, W), samples, and what is between them."""
    channels = 0 if op.rank < 4 else op.rank - 2
    found = {k: Axis.PARAMETER if k == channels else Axis.ATTRIBUTE for k in range(op.rank - 1)}
    return {**found, op.rank - 1: Axis.SAMPLE}


def elements(op: Operator) -> tuple[int, int, int]:
    """Elements of all inputs, of all outputs and of all weights: x, y, w."""
    return (
        sum(source.tensor.volume for source in op.inputs),
        sum(tensor.volume for tensor in op.outputs),
        sum(tensor.volume for tensor in op.weights),
    )


def tensor_bytes(op: Operator) -> tuple[int, int, int]:
    """Bytes of all inputs, of all outputs and of all weights: x, y, w."""
    return (
        sum(source.tensor.n_byte for source in op.inputs),
        sum(tensor.n_byte for tensor in op.outputs),
        sum(tensor.n_byte for tensor in op.weights),
    )
