"""Iteration domains: which dimensions an operator may be cut along, and how its tensors are cut by them.

Dimensions are PaSE's, in PaSE's order (baidu-research/PaSE, nn_ops.py), outermost first:

====================================================  ==============================================================
operator                                              dimensions of its configuration
====================================================  ==============================================================
Conv2D                                                b, c in, h out, w out, kernel h, kernel w, n out; h, w whole
Linear                                                leading dimensions, n out, k in
Einsum                                                letters of the result, then the summed ones
LSTM                                                  layers, sequence (whole), batch, n out, k in
Concat, Stack, Unstack                                the tensor's, the joined one first for stacks and whole (1)
Reshape                                               those of the side with the higher rank
Pool2D, Softmax, norms, element-wise, mean, the rest  the tensor's
====================================================  ==============================================================
"""

from dataclasses import dataclass
from math import prod

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType
from flexnet.model.operators.einsum import letter_sizes, parse_equation

__all__ = ["Domain", "domain_of"]

Cuts = tuple[tuple[int, ...], ...]
"""For every dimension of a tensor, the dimensions of the domain whose parts multiply to its parts."""

_WHOLE_TENSOR = frozenset(
    {
        OpType.BATCH_NORM,
        OpType.LAYER_NORM,
        OpType.SOFTMAX,
        OpType.SOFTMAX_CROSS_ENTROPY,
        OpType.POOL2D,
        OpType.ADD,
        OpType.SUB,
        OpType.MUL,
        OpType.DIV,
        OpType.RELU,
        OpType.SIGMOID,
        OpType.TANH,
        OpType.GELU,
    }
)


@dataclass(frozen=True, slots=True)
class Domain:
    """The dimensions of an operator.

    Parameters
    ----------
    sizes : tuple of int
    cuttable : tuple of bool
    contiguous : bool
        Only cuts whose parts are contiguous in memory: leading dimensions in full, at most one in part, then none.
    inputs, outputs : tuple of Cuts
        How the tensors it reads and writes are cut.
    """

    sizes: tuple[int, ...]
    cuttable: tuple[bool, ...]
    contiguous: bool
    inputs: tuple[Cuts, ...]
    outputs: tuple[Cuts, ...]


def domain_of(op: Operator) -> Domain:
    """The domain of an operator.

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> domain_of(b.build().operators[0]).sizes
    (8, 4, 16)

    Raises
    ------
    FlexNetError
        If PaSE's cost model has no such operator.
    """
    shape = op.outputs[0].shape
    rank = len(shape)
    if op.kind == OpType.CONV2D and op.attrs["groups"] == 1:
        batch, out, height, width = shape
        filter_ = (op.inputs[0].tensor.dims[2], height, width, op.attrs["kernel_h"], op.attrs["kernel_w"], out)
        cuttable = (True, True, False, False, True, True, True)
        return Domain((batch, *filter_), cuttable, False, (_dims(0, 1, 2, 3),), (_dims(0, 6, 2, 3),))
    if op.kind == OpType.LINEAR:
        lead = range(rank - 1)
        return _domain((*shape, op.inputs[0].tensor.dims[0]), [_dims(*lead, rank)], [_dims(*lead, rank - 1)])
    if op.kind == OpType.EINSUM:
        return _einsum_domain(op)
    if op.kind == OpType.LSTM:
        batch, steps, units = shape
        sizes = (op.attrs["layers"], steps, batch, units, op.inputs[0].tensor.dims[0])
        return Domain(sizes, (True, False, True, True, True), False, (_dims(2, 1, 4),), (_dims(2, 1, 3),))
    if op.kind == OpType.REDUCE_MEAN:
        read = op.inputs[0].tensor.shape
        kept = [k for k in range(len(read)) if not op.attrs["axes"] >> k & 1]
        return _domain(read, [_dims(*range(len(read)))], [_dims(*kept)])
    if op.kind == OpType.CONCAT:
        axis = op.attrs["axis"]
        same = _dims(*range(rank))
        return _domain((*shape[:axis], 1, *shape[axis + 1 :]), [same] * len(op.inputs), [same])
    if op.kind == OpType.STACK:
        return _domain((1, *shape[1:]), [_dims(*range(1, rank))] * len(op.inputs), [_dims(*range(rank))])
    if op.kind == OpType.UNSTACK:
        one = _dims(*range(1, rank + 1))
        return _domain((1, *shape), [_dims(*range(rank + 1))], [one] * len(op.outputs))
    if op.kind == OpType.RESHAPE:
        return _reshape_domain(op)
    if op.kind in _WHOLE_TENSOR:
        same = _dims(*range(rank))
        return _domain(shape, [same] * len(op.inputs), [same])
    raise FlexNetError(f"operator {op.name} ({op.key}) has no costs under PaSE's model")


def _dims(*dims: int) -> Cuts:
    return tuple((dim,) for dim in dims)


def _domain(sizes: tuple[int, ...], inputs: list[Cuts], outputs: list[Cuts]) -> Domain:
    return Domain(sizes, (True,) * len(sizes), False, tuple(inputs), tuple(outputs))


def _einsum_domain(op: Operator) -> Domain:
    equation = parse_equation(op.equation)
    second = op.inputs[1].tensor if len(op.inputs) > 1 else op.weights[0]
    sizes = letter_sizes(equation, op.inputs[0].tensor.shape, second.shape)
    letters = equation.result + equation.summed
    terms = (equation.first, equation.second)[: len(op.inputs)]
    cuts = [_dims(*map(letters.index, term)) for term in (*terms, equation.result)]
    return _domain(tuple(sizes[letter] for letter in letters), cuts[:-1], cuts[-1:])


def _reshape_domain(op: Operator) -> Domain:
    """From or to one dimension only: that one is cut in as many parts as all of the other side's together."""
    read, written = op.inputs[0].tensor.shape, op.outputs[0].shape
    sizes = max(read, written, key=len)
    if min(len(read), len(written)) != 1:
        raise FlexNetError(f"operator {op.name} reshapes {read} to {written}; PaSE's model needs one of them flat")
    assert prod(read) == prod(written)
    every, flat = _dims(*range(len(sizes))), (tuple(range(len(sizes))),)
    inputs, outputs = (every, flat) if len(written) == 1 else (flat, every)
    return Domain(sizes, (True,) * len(sizes), True, (inputs,), (outputs,))
