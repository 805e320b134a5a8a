"""Mixtures of experts: choosing experts, sending samples to them, and taking their rows back.

The original's profiler cannot measure these; their memory is ours, 8 (x + y).
"""

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_indices, check_shape, whole_number
from flexnet.model.operators.embedding import row_bytes
from flexnet.model.operators.kind import CopyingKind, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["Aggregate", "AggregateSpec", "Cache", "GroupBy", "TopK"]


class TopK(OperatorKind):
    """The k largest values along the innermost dimension, and their indices."""

    number = OpType.TOPK
    name = "TopK"
    label = "topk"

    def layer(self, x: Tensor, *, k: int) -> Layer:
        """(..., F) to values and indices (..., k); ``TopK``."""
        width, *rest = x.dims
        if whole_number("topk: k", k) > width:
            raise FlexNetError(f"topk: k is {k}; it must be at most {width}, the size of the innermost dimension")
        return Layer("TopK", [Tensor((k, *rest)), Tensor((k, *rest), "int32")], attrs={"k": k})

    def flops(self, op: Operator) -> Passes:
        """Forward k x, back the same."""
        forward = op.attrs["k"] * op.inputs[0].tensor.volume
        return Passes(forward, forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back the same."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, x + y)


class Cache(CopyingKind):
    """A tensor kept from one iteration to the next; it has no gradient."""

    number = OpType.CACHE
    name = "Cache"
    label = "cache"

    def layer(self, x: Tensor) -> Layer:
        """Any shape; ``Cache``."""
        return Layer("Cache", [x])

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + y, back nothing."""
        x, y, _ = tensor_bytes(op)
        return Passes(x + y, 0)

    def launches(self, op: Operator) -> Passes:
        """No backward pass."""
        return Passes(1, 0)


class GroupBy(CopyingKind):
    """Samples sent to buffers, one for each expert, of ceil(alpha k / experts batch) rows each."""

    number = OpType.GROUP_BY
    name = "Group_by"
    label = "group_by"

    def layer(self, x: Tensor, assignment: Tensor, *, experts: int, alpha: float) -> Layer:
        """(N, ...) and (N, k) indices to (rows, ...) for each expert; ``Group_by``."""
        *inner, batch = x.dims
        check_shape(self.label, assignment, "(N, k)")
        check_indices(self.label, assignment)
        experts = whole_number("group_by: experts", experts)
        if not 0 < alpha < float("inf"):
            raise FlexNetError(f"group_by: alpha is {alpha!r}; it must be a finite number above 0")
        rows = -int(-(alpha * assignment.dims[0] * batch) // experts)
        return Layer("Group_by", [Tensor((*inner, rows), x.dtype)] * experts, attrs={"experts": experts})

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward y twice, back the same."""
        _, y, _ = tensor_bytes(op)
        return Passes(2 * y, 2 * y)


class _Gather(OperatorKind):
    """Takes k rows of the experts for each sample; reads gates (N, k), the assignment (N, k) and all experts' rows."""

    def any_batch(self, i: int) -> bool:
        """Experts have as many rows as there is room for."""
        return i > 1

    def check(self, gate: Tensor, assignment: Tensor) -> None:
        """Refuse gates and assignments of other shapes."""
        check_shape(self.label, assignment, "(N, k)")
        check_indices(self.label, assignment)
        check_shape(self.label, gate, "(N, k)")

    def flops(self, op: Operator) -> Passes:
        """Forward 2 rows read, back twice."""
        forward = 2 * op.inputs[0].tensor.volume * (op.outputs[0].volume // op.outputs[0].dims[-1])
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward rows read + y, back 2 rows read + y."""
        _, y, _ = tensor_bytes(op)
        rows = self.irregular_bytes(op)
        return Passes(rows.forward + y, rows.backward + y)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The rows read, one for each gate."""
        return row_bytes(op)


class Aggregate(_Gather):
    """The weighted sum of the experts' rows, back in sample order."""

    number = OpType.AGGREGATE
    name = "Aggregate"
    label = "aggregate"

    def layer(self, gate: Tensor, assignment: Tensor, *experts: Tensor) -> Layer:
        """(N, ...); ``Aggregate``."""
        self.check(gate, assignment)
        k, batch = gate.dims
        return Layer("Aggregate", [Tensor((*experts[0].dims[:-1], batch), gate.dtype)], attrs={"k": k})


class AggregateSpec(_Gather):
    """The experts' rows in sample order, k rows a sample (for speculative labels)."""

    number = OpType.AGGREGATE_SPEC
    name = "AggregateSpec"
    label = "aggregate_spec"

    def layer(self, gate: Tensor, assignment: Tensor, *experts: Tensor) -> Layer:
        """(k N, ...); ``AggregateSpec``."""
        self.check(gate, assignment)
        k, batch = gate.dims
        return Layer("AggregateSpec", [Tensor((*experts[0].dims[:-1], k * batch), gate.dtype)], attrs={"k": k})
