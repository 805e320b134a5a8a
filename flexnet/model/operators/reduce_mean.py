"""Means over dimensions."""

from collections.abc import Sequence

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_axis
from flexnet.model.operators.kind import Layer, OperatorKind, Passes

__all__ = ["ReduceMean"]


class ReduceMean(OperatorKind):
    """The mean over axes, counted with the batch as 0; they disappear."""

    number = OpType.REDUCE_MEAN
    name = "ReduceMean"
    label = "reduce_mean"

    def layer(self, x: Tensor, *, axes: Sequence[int]) -> Layer:
        """``ReduceMean_<axis>_<axis>...``; ``attrs`` has the axes as bits of one number."""
        rank = len(x.dims)
        axes = [check_axis("reduce_mean: axis", axis, rank) for axis in axes]
        dims = tuple(size for k, size in enumerate(x.dims) if rank - 1 - k not in axes)
        if not dims:
            raise FlexNetError(f"reduce_mean: axes are {axes}; at least one dimension must remain")
        key = "ReduceMean_" + "_".join(map(str, axes))
        return Layer(key, [Tensor(dims, x.dtype)], attrs={"axes": sum(1 << axis for axis in axes)})

    def flops(self, op: Operator) -> Passes:
        """Forward x, back the same."""
        return Passes(op.inputs[0].tensor.volume, op.inputs[0].tensor.volume)
