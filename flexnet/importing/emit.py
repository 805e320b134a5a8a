"""Collects the operators of groups of steps: where what they make is put out, and which weights are one."""

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from flexnet.importing.fuse import Group
from flexnet.importing.layouts import Placed, source_of_value
from flexnet.importing.steps import Use
from flexnet.importing.values import Base, Value
from flexnet.model.graph import Operator, OpType, Source, Tensor
from flexnet.model.operators import OPERATORS
from flexnet.model.operators.kind import Layer

__all__ = ["Emitter"]

FIRST_GUID = 100
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FUSING = (OpType.LINEAR, OpType.CONV2D, OpType.ADD, OpType.MUL, OpType.SUB, OpType.DIV)


class Emitter:
    """Collects operators.

    Parameters
    ----------
    shapes : mapping
        Of parameters, by name.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = shapes
        self.operators: list[Operator] = []
        self.places: dict[Base, Placed] = {}
        self.weights: list[tuple[Base, ...]] = []
        """Of each operator, what its weights are."""
        self._owners: dict[object, tuple[int, int]] = {}
        self._ranks: dict[str, int] = {}

    def add(
        self,
        group: Group,
        kind: OpType,
        inputs: Sequence[Source],
        layer: Layer,
        weights: Sequence[Base],
        placed: Sequence[Sequence[Sequence[int]] | None] = (),
    ) -> bool:
        """Add an operator of a group; ``placed`` tells of its outputs which dimensions are one (`Placed`)."""
        index = len(self.operators)
        where = group.exit.where
        module = "".join(c if c.isprintable() else "_" for c in where)
        name = f"{module + '.' if module else ''}{OPERATORS[kind].name}_{FIRST_GUID + index}"
        tied = {i: owner for i, base in enumerate(weights) if (owner := self._owner(base, layer, i)) is not None}
        for i, base in enumerate(weights):
            self._owners.setdefault(self._identity(base, layer.weights[i]), (index, i))
        rank = len(layer.outputs[0].dims)
        plain = self._ranks.setdefault(layer.key, rank) == rank
        op = Operator(
            index,
            kind,
            name,
            layer.key if plain else f"{layer.key}_{rank}d",  # a measurement file has configs of one rank under a name
            tuple(inputs),
            tuple(layer.outputs),
            tuple(layer.weights),
            MappingProxyType(dict(layer.attrs)),
            layer.equation,
            MappingProxyType(tied),
        )
        self.operators.append(op)
        self.weights.append(tuple(weights))
        for i, base in enumerate(group.exit.outputs):
            self.places[base] = Placed(index, i, base, placed[i] if i < len(placed) else None)
        return True

    def _identity(self, base: Base, tensor: Tensor) -> object:
        """What is equal for weights that are one: a parameter as a whole, or the same tensor made of some."""
        if len(base.parameters) == 1 and prod(self.shapes[base.parameters[0]]) == tensor.volume:
            return base.parameters[0]
        return base

    def _owner(self, base: Base, layer: Layer, i: int) -> tuple[int, int] | None:
        return self._owners.get(self._identity(base, layer.weights[i]))

    def source(self, use: Use, order: Sequence[int] | None = None) -> Source:
        """A use as an input, its dimensions in another order."""
        value = use.value
        if order is not None:
            value = Value(value.base, tuple(value.dims[k] for k in order))
        return source_of_value(value, self.places)
