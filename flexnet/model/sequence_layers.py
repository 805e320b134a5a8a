"""Layers of sequences and of experts, as `flexnet.model.builder.GraphBuilder` has them."""

from abc import ABC, abstractmethod
from typing import Any

from flexnet.model.graph import OpType, Source
from flexnet.model.operators.kind import OperatorKind

__all__ = ["SequenceLayers"]


class SequenceLayers(ABC):
    """Methods that add an operator each and return the source its consumers take."""

    @abstractmethod
    def add(self, kind: int | OperatorKind, /, *inputs: Source, **parameters: Any) -> tuple[Source, ...]:
        """Add an operator, as `flexnet.model.builder.GraphBuilder.add`."""

    def token_embedding(self, x: Source, entries: int, out: int) -> Source:
        """One row of a table for every token: (N, S) indices to (N, S, out)."""
        return self.add(OpType.TOKEN_EMBEDDING, x, entries=entries, out=out)[0]

    def scaled_dot_product(
        self, query: Source, key: Source, value: Source, heads: int, *, shared: int | None = None, causal: bool = False
    ) -> Source:
        """Attention of heads that lie side by side, without projections; ``shared`` heads of key and value."""
        return self.add(OpType.SCALED_DOT_PRODUCT, query, key, value, heads=heads, shared=shared, causal=causal)[0]

    def rope(self, *xs: Source, head: int) -> tuple[Source, ...]:
        """Rotary positions of tensors whose innermost dimension is heads of ``head`` features."""
        return self.add(OpType.ROPE, *xs, head=head)

    def gated(
        self, gate: Source, up: Source | None = None, *, activation: OpType = OpType.SILU, paired: bool = False
    ) -> Source:
        """``activation(gate) up``; of one tensor the halves of its innermost dimension.

        ``paired``: what puts them out may have them in any order, so that both halves are cut together.
        """
        return self.add(OpType.GATED, gate, *([] if up is None else [up]), activation=activation, paired=paired)[0]

    def dispatch(self, x: Source, assignment: Source, experts: int, *, capacity: float = 1.0) -> Source:
        """Tokens (N, S, F) to the rows (N, experts, rows, F) of the experts they are assigned to (N, S, k)."""
        return self.add(OpType.DISPATCH, x, assignment, experts=experts, capacity=capacity)[0]

    def combine(self, gate: Source, assignment: Source, rows: Source) -> Source:
        """Weighted sum of the rows (N, experts, rows, F) of each token, back in order (N, S, F)."""
        return self.add(OpType.COMBINE, gate, assignment, rows)[0]

    def layer_norm(self, x: Source, *, scale: bool = True, shift: bool = True) -> Source:
        """Normalization over the innermost dimension, with scale and shift."""
        return self.add(OpType.LAYER_NORM, x, scale=scale, shift=shift)[0]

    def rms_norm(self, x: Source) -> Source:
        """Division by the root mean square over the innermost dimension, with scale."""
        return self.add(OpType.RMS_NORM, x)[0]

    def lstm(self, x: Source, units: int, layers: int) -> Source:
        """A stack of LSTM layers over (batch, sequence, features), one operator for all steps and layers."""
        return self.add(OpType.LSTM, x, units=units, layers=layers)[0]
