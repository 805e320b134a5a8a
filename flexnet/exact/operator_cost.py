"""What one training step of an operator costs under PaSE's model, in FLOP per device.

One multiply-add counts as one FLOP; a word sent counts as ``ratio`` FLOP.  There is no latency, overlap, sharing of
links or memory.  Source: baidu-research/PaSE, nn_ops.py, and V. Elango, IPDPS 2021, section II.
"""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.exact.domain import Domain
from flexnet.model.graph import BINARY, Operator, OpType
from flexnet.model.operators.einsum import parse_equation

__all__ = ["operator_cost"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FREE = frozenset({OpType.CONCAT, OpType.STACK, OpType.UNSTACK, OpType.RESHAPE})
_ACTIVATIONS = frozenset({OpType.RELU, OpType.SIGMOID, OpType.TANH, OpType.GELU})


def operator_cost(op: Operator, domain: Domain, configs: Ints, ratio: float) -> Floats:
    """Cost of every configuration.

    Parameters
    ----------
    op : Operator
    domain : Domain
    configs : int64 (n_config, n_dim)
    ratio : float
        FLOP a device computes in the time one word is sent.

    Returns
    -------
    float64 (n_config,)
        FLOP.

    Raises
    ------
    FlexNetError
        If the model has no such operator.
    """
    parts = configs.astype(np.float64)
    tile = np.array(domain.sizes, np.float64) / parts
    elements = np.prod(tile, axis=1)
    pointwise = op.attrs.get("pointwise", int(op.attrs.get("activation", 0) > 0))
    if op.kind in _FREE:
        return np.zeros(len(configs))
    if op.kind == OpType.CONV2D:
        return _product(tile, parts, ratio, [], [0, 2, 3], [6], [1, 4, 5], pointwise)
    if op.kind == OpType.LINEAR:
        rank = tile.shape[1]
        return _product(tile, parts, ratio, [], list(range(rank - 2)), [rank - 2], [rank - 1], pointwise)
    if op.kind == OpType.EINSUM:
        return _product(tile, parts, ratio, *_roles(op), pointwise)
    if op.kind == OpType.LSTM:
        return _lstm(tile, parts, domain.sizes, ratio)
    if op.kind == OpType.POOL2D:
        return np.asarray(elements + ratio * _halo(op, parts))
    if op.kind == OpType.BATCH_NORM:
        return _norm(tile, parts, elements, 0, ratio)
    if op.kind == OpType.LAYER_NORM:
        return _norm(tile, parts, elements, tile.shape[1] - 1, ratio)
    if op.kind == OpType.SOFTMAX:
        rest, size = elements / tile[:, -1], domain.sizes[-1]
        reduced = 2 * _allreduce(rest, parts[:, -1], ratio) + _allreduce(rest * size, parts[:, -1], ratio)
        return np.asarray(4 * elements + elements * size + reduced)
    if op.kind == OpType.SOFTMAX_CROSS_ENTROPY:
        rows = elements / tile[:, -1]
        return np.asarray(4 * elements + 2 * rows + ratio * 2 * rows * (parts[:, -1] > 1))
    if op.kind == OpType.REDUCE_MEAN:
        axes = [k for k in range(tile.shape[1]) if op.attrs["axes"] >> k & 1]
        return _allreduce(elements, np.prod(parts[:, axes], axis=1), ratio)
    if op.kind in BINARY:
        return np.asarray((1 + pointwise) * elements)
    if op.kind in _ACTIVATIONS:
        return np.asarray(elements)
    raise FlexNetError(f"operator {op.name} ({op.key}) has no costs under PaSE's model")


def _allreduce(words: Floats, parts: Floats, ratio: float) -> Floats:
    """Ring all-reduce of ``words`` a device over ``parts`` devices."""
    return ratio * 2 * (parts - 1) * words / parts


def _product(
    tile: Floats,
    parts: Floats,
    ratio: float,
    batch: list[int],
    m: list[int],
    n: list[int],
    k: list[int],
    pointwise: int,
) -> Floats:
    """A (batched) matrix product, forward and twice backward.

    All-reduces sum partial outputs over the parts of k, gradients of the first factor over those of n, and of the
    second (the weights) over those of m.
    """
    rows, columns, depth = (np.prod(tile[:, dims], axis=1) for dims in (m, n, k))
    c_m, c_n, c_k = (np.prod(parts[:, dims], axis=1) for dims in (m, n, k))
    compute = 3 * rows * columns * depth + 3 * pointwise * rows * columns
    outputs = _allreduce(rows * columns, c_k, ratio)
    gradients = _allreduce(rows * depth, c_n, ratio) + _allreduce(columns * depth, c_m, ratio)
    return np.asarray(np.prod(tile[:, batch], axis=1) * (compute + outputs + gradients))


def _roles(op: Operator) -> tuple[list[int], list[int], list[int], list[int]]:
    """Dimensions of an einsum that are batch, rows, columns and depth of a product."""
    first, second, result = equation = parse_equation(op.equation)
    letters = result + equation.summed
    both = set(first) & set(second)
    return (
        [i for i, letter in enumerate(letters) if letter in both and letter in result],
        [i for i, letter in enumerate(letters) if letter in first and letter not in both],
        [i for i, letter in enumerate(letters) if letter in second and letter not in both],
        [i for i, letter in enumerate(letters) if letter in both and letter not in result],
    )


def _lstm(tile: Floats, parts: Floats, sizes: tuple[int, ...], ratio: float) -> Floats:
    """Four gates from input and state at once; between steps the output tile becomes the input tile."""
    layers, steps, batch, n, k = tile.T
    gates = np.stack([layers, steps * batch, 4 * n, 2 * k], axis=1)
    cuts = np.stack([parts[:, 0], parts[:, 1] * parts[:, 2], parts[:, 3], parts[:, 4]], axis=1)
    product = _product(gates, cuts, ratio, [0], [1], [2], [3], 3)
    more_parts = parts[:, 4] > parts[:, 3]
    overlap = np.where(more_parts, 0.0, batch * np.minimum(n, k))
    return np.asarray(product + sizes[0] * sizes[1] * ratio * np.maximum(batch * k - overlap, 0.0))


def _halo(op: Operator, parts: Floats) -> Floats:
    """Words of the input that neighbours in a cut map exchange: a filter's size for each dimension that is cut."""
    tile = np.array(op.inputs[0].tensor.shape, np.float64) / parts
    batch, channels, height, width = tile.T
    wide = (height + op.attrs["kernel_h"] * (parts[:, 2] > 1)) * (width + op.attrs["kernel_w"] * (parts[:, 3] > 1))
    return np.asarray((wide - height * width) * batch * channels)


def _norm(tile: Floats, parts: Floats, elements: Floats, axis: int, ratio: float) -> Floats:
    """Statistics over ``axis`` forward and backward; scale and shift gradients over all other parts."""
    others = np.prod(parts, axis=1) / parts[:, axis]
    statistics = _allreduce(elements / tile[:, axis], parts[:, axis], ratio)
    return 16 * elements + 4 * statistics + 4 * _allreduce(tile[:, axis], others, ratio)
