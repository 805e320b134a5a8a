"""One linear layer for each expert, over the rows that go to it."""

from collections.abc import Mapping

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["GroupedLinear"]


class GroupedLinear(OperatorKind):
    """Rows in order of groups of experts times one matrix for each expert, without bias.

    Rows of a group go to any of its experts; a part has the experts of some groups.
    """

    number = OpType.GROUPED_LINEAR
    name = "GroupedLinear"
    label = "grouped_linear"

    def layer(self, x: Tensor, *, experts: int, out: int) -> Layer:
        """(N, groups, rows, F) to (N, groups, rows, out); ``GroupedLinear_<experts>_<F>_<out>``."""
        check_shape(self.label, x, "(N, G, R, F)")
        fan_in, _, groups, _ = x.dims
        experts, out = whole_number("grouped_linear: experts", experts), whole_number("grouped_linear: out", out)
        if experts % groups:
            raise FlexNetError(f"grouped_linear: {groups} groups of rows must divide the {experts} experts")
        output = Tensor((out, *x.dims[1:]), x.dtype)
        return Layer(f"GroupedLinear_{experts}_{fan_in}_{out}", [output], [Tensor((out, fan_in, experts))])

    def flops(self, op: Operator) -> Passes:
        """Forward 2 x out, back twice."""
        forward = 2 * op.inputs[0].tensor.volume * op.outputs[0].dims[0]
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y)."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Output channels, rows, groups of experts, samples, and input channels."""
        return {0: Axis.PARAMETER, 1: Axis.ATTRIBUTE, 2: Axis.PARAMETER, 3: Axis.SAMPLE, 4: Axis.REDUCTION}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """A part of the input channels reads those."""
        return (4, 1, 2, 3)

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """Along both channels, and the experts as their groups."""
        return (0, 4, 2)
