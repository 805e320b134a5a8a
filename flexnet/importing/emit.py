"""Makes operators of groups of steps: of the kind that they are, or a `Fusion`."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

from flexnet.importing.fuse import Group
from flexnet.importing.layouts import Placed, source_of_cuts, source_of_value, tensor_of
from flexnet.importing.patterns import activation_of, is_gate, is_rms_norm, is_rotation, single
from flexnet.importing.steps import Use
from flexnet.importing.values import Base, Cut, Role, Value
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

    def emit(self, group: Group, readers: Mapping[Base, int]) -> None:
        """Add the operator of a group, or fold it into the one before."""
        step = group.exit
        makers: dict[str, Callable[[Group], bool]] = {
            "linear": self._linear,
            "contract": self._einsum,
            "experts": self._experts,
            "attention": self._attention,
            "convolution": self._convolution,
            "pool": self._pool,
            "embedding": self._embedding,
            "norm": self._norm,
            "batch_norm": self._norm,
            "group_norm": self._norm,
        }
        made = makers[step.kind](group) if step.kind in makers else self._light(group, readers)
        if not made:
            self._fusion(group)

    def _add(
        self,
        group: Group,
        kind: OpType,
        inputs: Sequence[Source],
        layer: Layer,
        weights: Sequence[Base],
        placed: Sequence[Sequence[Sequence[int]] | None] = (),
    ) -> bool:
        index = len(self.operators)
        where = group.exit.where
        name = f"{where + '.' if where else ''}{OPERATORS[kind].name}_{FIRST_GUID + index}"
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

    def _source(self, use: Use, order: Sequence[int] | None = None) -> Source:
        """A use as an input, its dimensions in another order."""
        value = use.value
        if order is not None:
            value = Value(value.base, tuple(value.dims[k] for k in order))
        return source_of_value(value, self.places)

    def _linear(self, group: Group) -> bool:
        step = group.exit
        x, weight, *rest = step.uses
        letters = step.letters[0]
        inner = set(x.letters) & set(weight.letters) - set(letters)
        outer = [letter for letter in weight.letters if letter not in inner]
        rows = [letter for letter in letters if letter in x.letters]
        plain = [k for k, letter in enumerate(letters) if letter not in rows and step.sizes[letter] == 1]
        if len(inner) != 1 or len(outer) != 1 or not rows or outer[0] in x.letters:
            return self._einsum(group)
        if len(set(letters) - set(rows) - set(outer)) > len(plain) or any(
            use.value.base.role is not Role.PARAMETER for use in rest
        ):
            return self._einsum(group)
        source = self._source(x, [x.letters.index(one) for one in (*rows, inner.pop())])
        kind, out = OPERATORS[OpType.LINEAR], step.sizes[outer[0]]  # type: ignore[index]
        made = kind.layer(Tensor((source.tensor.dims[0], 1)), out=out, bias=bool(rest))
        layer = Layer(made.key, [Tensor((out, *source.tensor.dims[1:]))], made.weights, made.attrs)
        last = [letters.index(outer[0])] if outer[0] in letters else plain[:1]
        groups = [*([letters.index(one)] for one in rows), last]
        bases = [weight.value.base, *(use.value.base for use in rest)]
        return self._add(group, OpType.LINEAR, [source], layer, bases, [groups])

    def _einsum(self, group: Group) -> bool:
        first, second, *added = group.exit.uses
        return self._product(group, first, second, added)

    def _product(self, group: Group, first: Use, second: Use, added: Sequence[Use]) -> bool:
        step = group.exit
        if first.value.base.role is Role.PARAMETER and second.value.base.role is not Role.PARAMETER:
            first, second = second, first
        batch = step.letters[0][0]
        names: dict[int, str] = {}
        terms, values = [], []
        for use in (first, second):
            kept = [
                k
                for k, letter in enumerate(use.letters)
                if letter is not None and step.sizes[letter] > 1 and any(f.dim is not None for f in use.value.dims[k])
            ]
            kept.sort(key=lambda k, use=use: use.letters[k] != batch)
            value = Value(use.value.base, tuple(use.value.dims[k] for k in kept))
            terms.append("".join(names.setdefault(use.letters[k], LETTERS[len(names)]) for k in kept))
            values.append(value)
        result = [one for one in step.letters[0] if one in names]
        if len(result) != len(step.outputs[0].sizes) or not all(terms):
            return False
        equation = f"{terms[0]},{terms[1]}->{''.join(names[one] for one in result)}"
        kind = OPERATORS[OpType.EINSUM]
        source = source_of_value(values[0], self.places)
        if values[1].base.role is Role.PARAMETER:
            layer = kind.layer(source.tensor, equation=equation, weight=values[1].shape)
            return self._add(group, OpType.EINSUM, [source], layer, [values[1].base])
        other = source_of_value(values[1], self.places)
        layer = kind.layer(source.tensor, other.tensor, equation=equation, pointwise=len(added))
        return self._add(group, OpType.EINSUM, [source, other], layer, [])

    def _experts(self, group: Group) -> bool:
        x, weight = group.exit.uses
        value = Value(x.value.base, tuple(x.value.dims[k] for k in (1, 0, 2, 3)))
        source = source_of_value(value, self.places)
        out = group.exit.outputs[0].sizes[-1]
        experts = weight.value.shape[0]
        layer = OPERATORS[OpType.GROUPED_LINEAR].layer(source.tensor, experts=experts, out=out)
        return self._add(group, OpType.GROUPED_LINEAR, [source], layer, [weight.value.base])

    def _attention(self, group: Group) -> bool:
        step = group.exit
        sources = [source_of_value(use.value, self.places) for use in step.uses[:3]]
        attrs: dict[str, Any] = step.attrs
        weights: list[Base] = []
        buckets = 0
        mask: list[Source] = []
        for use in step.uses[3:]:
            base = use.value.base
            if base.role is Role.PARAMETER:
                shape = self.shapes[base.parameters[0]]
                if len(base.parameters) == 1 and len(shape) == 2 and attrs["heads"] in shape:
                    buckets = prod(shape) // attrs["heads"]
                    weights = [base]
            else:
                mask.append(self._mask(use.value, sources[0].tensor.dims[-1]))
        layer = OPERATORS[OpType.SCALED_DOT_PRODUCT].layer(
            *(source.tensor for source in (*sources, *mask)),
            heads=attrs["heads"],
            shared=attrs["shared"],
            causal=attrs["causal"],
            buckets=buckets,
        )
        return self._add(group, OpType.SCALED_DOT_PRODUCT, [*sources, *mask], layer, weights)

    def _mask(self, value: Value, samples: int) -> Source:
        """A mask (N, heads, S, T) as (N, S, heads T), of what is not repeated."""
        dims = [tuple(f for f in factors if f.dim is not None) for factors in value.dims]
        n, heads, rows, columns = [()] * (4 - len(dims)) + dims
        found = Value(value.base, (n, rows, heads + columns))
        return source_of_value(found, self.places)

    def _convolution(self, group: Group) -> bool:
        step = group.exit
        x, weight = step.uses[:2]
        attrs: dict[str, Any] = step.attrs
        source = self._source(x)
        bases = [use.value.base for use in step.uses[1:]]
        if any(base.role is not Role.PARAMETER for base in bases):
            return False
        shape = step.outputs[0].sizes
        if len(shape) == 4 and set(attrs["dilation"]) == {1} and not attrs["transposed"]:
            kernel, stride, padding = attrs["kernel"], attrs["stride"], attrs["padding"]
            layer = OPERATORS[OpType.CONV2D].layer(
                source.tensor,
                out=shape[1],
                kernel=kernel,
                stride=stride,
                padding=padding,
                groups=attrs["groups"],
                bias=attrs["bias"],
            )
            if tuple(layer.outputs[0].shape) == shape:
                return self._add(group, OpType.CONV2D, [source], layer, bases)
        layer = OPERATORS[OpType.CONVOLUTION].layer(
            source.tensor,
            shape=shape,
            weight=weight.value.shape,
            groups=attrs["groups"],
            transposed=attrs["transposed"],
            bias=attrs["bias"],
        )
        return self._add(group, OpType.CONVOLUTION, [source], layer, bases)

    def _pool(self, group: Group) -> bool:
        step = group.exit
        attrs: dict[str, Any] = step.attrs
        source = self._source(step.uses[0])
        if set(attrs["dilation"]) != {1}:
            return False
        layer = OPERATORS[OpType.POOL2D].layer(
            source.tensor,
            kernel=attrs["kernel"],
            stride=attrs["stride"],
            padding=attrs["padding"],
            average=attrs["average"],
        )
        if layer.outputs[0].shape != step.outputs[0].sizes:
            return False
        return self._add(group, OpType.POOL2D, [source], layer, [])

    def _embedding(self, group: Group) -> bool:
        index, table = group.exit.uses
        if len(table.value.base.parameters) != 1 or index.value.base.role is Role.CONSTANT:
            return False
        source = self._source(index)
        entries, out = table.value.shape
        tensor = Tensor(source.tensor.dims, "int64")
        layer = OPERATORS[OpType.TOKEN_EMBEDDING].layer(tensor, entries=entries, out=out)
        return self._add(group, OpType.TOKEN_EMBEDDING, [source], layer, [table.value.base])

    def _norm(self, group: Group) -> bool:
        step = group.exit
        x, *rest = step.uses
        bases = [use.value.base for use in rest]
        shape = step.outputs[0].sizes
        n = len(step.private)
        if any(base.role is not Role.PARAMETER for base in bases) or x.value.base.role is Role.PARAMETER:
            return False
        if step.kind == "norm":
            order = [x.letters.index(one) for one in step.letters[0] if one in x.letters]
            order += [k for k, letter in enumerate(x.letters) if letter is None]
            if n != 1 or len(order) != len(x.letters) or x.letters[-1] is not None:
                return False
            source = self._source(x, [k for k in order if x.value.shape[k] > 1] if len(order) != len(shape) else order)
            if source.tensor.shape != shape:
                return False
            if step.target == "rms_norm" and len(bases) == 1:
                return self._add(
                    group, OpType.RMS_NORM, [source], OPERATORS[OpType.RMS_NORM].layer(source.tensor), bases
                )
            layer = OPERATORS[OpType.LAYER_NORM].layer(source.tensor, scale=bool(bases), shift=len(bases) > 1)
            return self._add(group, OpType.LAYER_NORM, [source], layer, bases)
        if len(bases) != 2 or len(shape) < 2:
            return False
        source = self._source(x)
        if step.kind == "batch_norm":
            layer = OPERATORS[OpType.BATCH_NORM].layer(source.tensor)
            return self._add(group, OpType.BATCH_NORM, [source], layer, bases)
        if len(shape) not in (2, 3, 4):
            return False
        layer = OPERATORS[OpType.GROUP_NORM].layer(source.tensor, groups=step.attrs["groups"])
        return self._add(group, OpType.GROUP_NORM, [source], layer, bases)

    def _light(self, group: Group, readers: Mapping[Base, int]) -> bool:
        if len(group.exit.outputs) != 1:
            return False
        shape, dtype = group.exit.outputs[0].sizes, group.exit.outputs[0].dtype
        fused = activation_of(group)
        if fused is not None:
            if self._fold(group, fused, readers):
                return True
            return self._elementwise(group, fused)
        gate = is_gate(group)
        if gate is not None:
            sources = [source_of_value(Value.whole(base), self.places) for base in group.data]
            layer = OPERATORS[OpType.GATED].layer(*(source.tensor for source in sources), activation=gate)
            return self._add(group, OpType.GATED, sources, layer, [])
        binary = single(group)
        if binary is not None:
            return self._elementwise(group, *binary)
        if is_rms_norm(group):
            source = source_of_cuts(
                group.data[0], group.reads[group.data[0]], self.places, tensor_of(shape, dtype)
            )
            layer = OPERATORS[OpType.RMS_NORM].layer(source.tensor)
            return self._add(group, OpType.RMS_NORM, [source], layer, group.parameters)
        if is_rotation(group):
            return self._rotation(group)
        return False

    def _rotation(self, group: Group) -> bool:
        """Heads lie side by side: (N, S, heads features)."""
        base = group.data[0]
        n, heads, positions, features = group.exit.outputs[0].sizes
        place = {0: 0, 1: 2, 2: 1}
        cuts = [None if cut is None or cut.dim not in place else Cut(place[cut.dim], cut.pieces) for cut in group.reads[base]]
        if prod(base.sizes) != n * heads * positions * features:
            return False
        tensor = tensor_of((n, positions, heads * features), group.exit.outputs[0].dtype)
        source = source_of_cuts(base, cuts, self.places, tensor)
        layer = OPERATORS[OpType.ROPE].layer(tensor, head=features)
        return self._add(group, OpType.ROPE, [source], layer, [], [[[0], [2], [1, 3]]])

    def _elementwise(self, group: Group, kind: OpType, activation: OpType | None = None) -> bool:
        sources = [source_of_value(Value.whole(base), self.places) for base in group.data]
        behind = {} if activation is None else {"activation": activation}
        layer = OPERATORS[kind].layer(*(source.tensor for source in sources), inplace=False, **behind)
        return self._add(group, kind, sources, layer, [])

    def _fold(self, group: Group, activation: OpType, readers: Mapping[Base, int]) -> bool:
        """Let the operator that alone is read apply an activation."""
        base = group.data[0]
        placed = self.places.get(base)
        if placed is None or readers[base] != 1 or not placed.is_plain:
            return False
        op = self.operators[placed.op]
        if op.kind not in _FUSING or op.attrs.get("activation", 0):
            return False
        attrs = MappingProxyType({**op.attrs, "activation": int(activation)})
        self.operators[placed.op] = Operator(
            op.index, op.kind, op.name, op.key, op.inputs, op.outputs, op.weights, attrs, op.equation, op.tied
        )
        self.places[group.exit.outputs[0]] = Placed(placed.op, placed.output, group.exit.outputs[0])
        return True

    def _fusion(self, group: Group) -> bool:
        step = group.exit
        base = step.outputs[0]
        letters = [LETTERS[k] for k in range(len(base.sizes))]
        terms, inputs = [], []
        for read in group.data:
            source, term = self._as_put_out(read, group.reads[read], letters)
            terms.append(term)
            inputs.append(source)
        weights, held = [], []
        for read in group.parameters:
            pure = len(read.parameters) == 1 and prod(self.shapes[read.parameters[0]]) == prod(read.sizes)
            names = [read] if pure or len(read.parameters) == 1 else [_named(name, read) for name in read.parameters]
            for one in names:
                shape = read.sizes if pure else self.shapes[one.parameters[0]]
                cuts: Sequence[Cut | None] = group.reads[read] if pure else [None] * len(shape)
                terms.append(
                    "".join("." if cut is None or cut.dim in group.uncut else letters[cut.dim] for cut in cuts) or "."
                )
                weights.append(tuple(shape) or (1,))
                held.append(one)
        written = "".join("*" if k in group.uncut else letter for k, letter in enumerate(letters))
        if not inputs:
            inputs.append(Source(None, 0, tensor_of(base.sizes, base.dtype)))
            terms.insert(0, "." * len(base.sizes))
        operations = sum(one.target not in _MOVES for one in group.steps)
        layer = OPERATORS[OpType.FUSION].layer(
            *(source.tensor for source in inputs),
            equation=",".join(terms) + "->" + written,
            outputs=[one.sizes for one in step.outputs],
            dtypes=[one.dtype for one in step.outputs],
            weights=weights,
            operations=operations,
        )
        return self._add(group, OpType.FUSION, inputs, layer, held)

    def _as_put_out(self, base: Base, cuts: Sequence[Cut | None], letters: Sequence[str]) -> tuple[Source, str]:
        """An input with the dimensions that it was put out with, and its letters, outermost first."""
        placed = self.places.get(base)
        if placed is None:
            term = "".join("." if cut is None else letters[cut.dim] for cut in cuts)
            return Source(None, 0, tensor_of(base.sizes, base.dtype)), term
        tensor = tensor_of(placed.shape, base.dtype)
        own = [cuts[group[0]] if group else None for group in placed.groups]
        term = "".join("." if cut is None else letters[cut.dim] for cut in own)
        pieces = [(k, 1 if cut is None else cut.pieces) for k, cut in enumerate(reversed(own))]
        plain = all(cut is None or cut.pieces == n for cut, n in zip(own, placed.shape, strict=True))
        return Source(placed.op, placed.output, tensor, None if plain else tuple(pieces)), term


_MOVES = frozenset(
    "slice narrow select cat concat stack split chunk split_with_sizes unbind roll flip pad constant_pad_nd index gather "
    "scatter index_select index_put tril triu view reshape flatten _unsafe_view repeat tile copy".split()
)


def _named(name: str, base: Base) -> Base:
    return Base(base.sizes, base.dtype, Role.PARAMETER, parameters=(name,))
