"""Rotary position embedding."""

from collections.abc import Mapping
from math import gcd

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kernel import Kernel, Kernels, copied
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes

__all__ = ["Rope"]


class Rope(OperatorKind):
    """Pairs of features of each head turned by an angle that grows with the position (arXiv:2104.09864).

    One operator turns query and key, which have the same positions and maybe not the same number of heads.
    """

    number = OpType.ROPE
    name = "Rope"
    label = "rope"

    def layer(self, *inputs: Tensor, head: int) -> Layer:
        """(N, S, heads head) each; ``Rope_<head>``."""
        head = whole_number("rope: head", head)
        for x in inputs:
            check_shape(self.label, x, "(N, S, F)")
            if x.dims[0] % head or x.dims[1:] != inputs[0].dims[1:]:
                raise FlexNetError(f"rope: a tensor has shape {x.shape}; it must be heads of {head} at equal positions")
        return Layer(f"Rope_{head}", inputs, attrs={"head": head})

    def flops(self, op: Operator) -> Passes:
        """Forward 3 x, back the same."""
        forward = 3 * sum(source.tensor.volume for source in op.inputs)
        return Passes(forward, forward)

    def kernels(self, op: Operator) -> Kernels:
        """Of each tensor: half of it negated, both put side by side, two products with angles, and their sum.

        Back the same, in another order.
        """
        turned: list[Kernel] = []
        for source in op.inputs:
            x = source.tensor
            product = copied(x, strided=1.0)
            half = Kernel(x.n_byte, indexed=x.volume / 2)
            turned += [half, copied(x, strided=2.0), product, product, Kernel(3 * x.n_byte)]
        return Kernels(turned, turned)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Heads, positions and samples."""
        return {0: Axis.PARAMETER, 1: Axis.ATTRIBUTE, 2: Axis.SAMPLE}

    def cut_sizes(self, op: Operator) -> Mapping[int, int]:
        """A head stays whole."""
        sizes = super().cut_sizes(op)
        return {**sizes, 0: gcd(sizes[0], *(source.tensor.dims[0] // op.attrs["head"] for source in op.inputs))}
