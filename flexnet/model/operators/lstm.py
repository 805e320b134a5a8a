"""Recurrent layers."""

from flexnet.model.graph import Operator, OpType, Tensor
from flexnet.model.operators.checks import check_shape, whole_number
from flexnet.model.operators.kind import Arithmetic, Layer, OperatorKind, Passes, tensor_bytes

__all__ = ["LSTM"]


class LSTM(OperatorKind):
    """A stack of LSTM layers, one operator for all steps and layers."""

    number = OpType.LSTM
    name = "LSTM"
    label = "lstm"
    arithmetic = Arithmetic.PRODUCT

    def layer(self, x: Tensor, *, units: int, layers: int) -> Layer:
        """(N, S, F) to (N, S, units), four gates a layer; ``LSTM_<F>_<units>x<layers>``."""
        check_shape(self.label, x, "(N, S, F)")
        features, steps, batch = x.dims
        units, layers = whole_number("lstm: units", units), whole_number("lstm: layers", layers)
        widths = [features, *[units] * (layers - 1)]
        weights = [Tensor((4 * units, width + units)) for width in widths] + [Tensor((4 * units,))] * layers
        key = f"LSTM_{features}_{units}x{layers}"
        return Layer(key, [Tensor((units, steps, batch), x.dtype)], weights, {"layers": layers})

    def flops(self, op: Operator) -> Passes:
        """Forward 2 tokens w, the biases not counted; back twice."""
        tokens = op.inputs[0].tensor.volume // op.inputs[0].tensor.dims[0]
        forward = 2 * tokens * sum(weight.volume for weight in op.weights if len(weight.dims) == 2)
        return Passes(forward, 2 * forward)

    def moved_bytes(self, op: Operator) -> Passes:
        """Forward x + w + y, back 2 (x + w + y)."""
        forward = sum(tensor_bytes(op))
        return Passes(forward, 2 * forward)
