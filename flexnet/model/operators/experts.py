"""Mixtures of experts: choosing experts, sending samples or tokens to them, and taking their rows back.

The original's profiler cannot measure these; their memory is ours, 8 (x + y).  `GroupBy` and `Aggregate` are the
original's, of whole samples and with one tensor for each expert.  `Dispatch` and `Combine` are of tokens, with one
tensor for all experts, as in GShard (arXiv:2006.16668, section 3.2) with every sample a group: between them stand
products that may be cut along the experts, and what moves then is an all-to-all there and another back.
"""

from collections.abc import Mapping
from math import ceil

from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_indices, check_shape, whole_number
from flexnet.model.operators.embedding import row_bytes
from flexnet.model.operators.kernel import Kernel, Kernels
from flexnet.model.operators.kind import Axis, CopyingKind, Layer, OperatorKind, Passes, image_axes, tensor_bytes

__all__ = ["Aggregate", "AggregateSpec", "Cache", "Combine", "Dispatch", "GroupBy", "TopK"]

_BESIDE = Kernel(n=7)  # what else a choice takes, 8 us on an H100


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

    def kernels(self, op: Operator) -> Kernels:
        """A block of threads for every row, however short; back zeros, into which values are put."""
        x = op.inputs[0].tensor
        chosen = Kernel(x.n_byte, rows=2.5 * x.volume / x.dims[0])
        return Kernels((_BESIDE, chosen), (_BESIDE, Kernel(x.n_byte)))

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """All but the innermost dimension."""
        return {k: axis for k, axis in image_axes(op).items() if k > 0}


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


class Dispatch(CopyingKind):
    """Tokens sent to buffers of the experts they are assigned to; what finds no room is dropped."""

    number = OpType.DISPATCH
    name = "Dispatch"
    label = "dispatch"

    def layer(self, x: Tensor, assignment: Tensor, *, experts: int, capacity: float = 1.0) -> Layer:
        """(N, S, F) and (N, S, k) indices to (N, experts, rows, F); ``Dispatch_<experts>``.

        An expert has ``ceil(capacity k S / experts)`` rows for each sample.
        """
        check_shape(self.label, x, "(N, S, F)")
        check_shape(self.label, assignment, "(N, S, k)")
        check_indices(self.label, assignment)
        features, steps, batch = x.dims
        k, experts = assignment.dims[0], whole_number("dispatch: experts", experts)
        if assignment.dims[1:] != x.dims[1:]:
            raise FlexNetError(
                f"dispatch: the assignment has shape {assignment.shape}; it must be (N, S, k) of {x.shape}"
            )
        if not 0 < capacity < float("inf"):
            raise FlexNetError(f"dispatch: capacity is {capacity!r}; it must be a finite number above 0")
        rows = ceil(capacity * k * steps / experts)
        return Layer(f"Dispatch_{experts}", [Tensor((features, rows, experts, batch), x.dtype)])

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward indices, rows read and written; back rows read, and added to x."""
        y, indices = op.outputs[0].n_byte, op.inputs[1].tensor.n_byte
        return Passes(indices + 2 * y, indices + 2 * y + op.inputs[0].tensor.n_byte)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The rows, read or added up wherever their tokens stand."""
        return Passes(op.outputs[0].n_byte, op.outputs[0].n_byte)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Features and samples; any token of a sample may go to any expert."""
        return {0: Axis.PARAMETER, 3: Axis.SAMPLE}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """All indices of a sample are read."""
        return (0, -1, 3) if i == 0 else (-1, -1, 3)


class Combine(OperatorKind):
    """The weighted sum of the rows that experts made of each token, back in their order."""

    number = OpType.COMBINE
    name = "Combine"
    label = "combine"

    def layer(self, gate: Tensor, assignment: Tensor, rows: Tensor) -> Layer:
        """Gates and indices (N, S, k) and (N, experts, rows, F) to (N, S, F); ``Combine``."""
        check_shape(self.label, gate, "(N, S, k)")
        check_shape(self.label, assignment, "(N, S, k)")
        check_indices(self.label, assignment)
        check_shape(self.label, rows, "(N, E, rows, F)")
        return Layer("Combine", [Tensor((rows.dims[0], *gate.dims[1:]), rows.dtype)])

    def flops(self, op: Operator) -> Passes:
        """Forward 2 k y, back twice."""
        forward = 2 * op.inputs[0].tensor.dims[0] * op.outputs[0].volume
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward rows read + y, back 2 rows read + y."""
        y, (once, twice) = op.outputs[0].n_byte, self.irregular_bytes(op)
        return Passes(once + y, twice + y)

    def irregular_bytes(self, op: Operator) -> Passes:
        """The rows read, one for each gate."""
        once = op.inputs[0].tensor.dims[0] * op.outputs[0].n_byte
        return Passes(once, 2 * once)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        """Features and samples; a token's rows may be any of its sample's."""
        return {0: Axis.PARAMETER, 2: Axis.SAMPLE}

    def input_split(self, op: Operator, i: int) -> tuple[int, ...]:
        """All gates, and features of all rows of a sample."""
        return (-1, -1, 2) if i < 2 else (0, -1, -1, 2)
