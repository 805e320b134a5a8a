"""Operators of fused light steps: layers with a name, or a `flexnet.model.operators.fusion.Fusion`."""

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from flexnet.importing.emit import LETTERS, Emitter
from flexnet.importing.emit_layers import MAKERS
from flexnet.importing.fuse import Group
from flexnet.importing.layouts import Placed, source_of_cuts, source_of_value, tensor_of
from flexnet.importing.patterns import activation_of, is_cross_entropy, is_gate, is_rms_norm, is_rotation, single
from flexnet.importing.values import Base, Cut, Role, Value
from flexnet.model.graph import Operator, OpType, Source
from flexnet.model.operators import OPERATORS

__all__ = ["emit"]

_FUSING = (OpType.LINEAR, OpType.CONV2D, OpType.ADD, OpType.MUL, OpType.SUB, OpType.DIV)


def emit(emitter: Emitter, group: Group, readers: Mapping[Base, int]) -> None:
    """Add the operator of a group, or fold it into the one before.

    Parameters
    ----------
    emitter : Emitter
    group : Group
    readers : mapping
        How many groups read each tensor.
    """
    make = MAKERS.get(group.exit.kind)
    made = make(emitter, group) if make is not None else light(emitter, group, readers)
    if not made:
        fusion(emitter, group)


def light(emitter: Emitter, group: Group, readers: Mapping[Base, int]) -> bool:
    if len(group.exit.outputs) != 1:
        return False
    shape, dtype = group.exit.outputs[0].sizes, group.exit.outputs[0].dtype
    scores = is_cross_entropy(group) if not readers[group.exit.outputs[0]] else None
    if scores is not None:
        source = source_of_value(Value.whole(scores), emitter.places)
        layer = OPERATORS[OpType.SOFTMAX_CROSS_ENTROPY].layer(source.tensor)
        return emitter.add(group, OpType.SOFTMAX_CROSS_ENTROPY, [source], layer, [])
    fused = activation_of(group)
    if fused is not None:
        if fold(emitter, group, fused, readers):
            return True
        return elementwise(emitter, group, fused)
    gate = is_gate(group)
    if gate is not None:
        sources = [source_of_value(Value.whole(base), emitter.places) for base in group.data]
        layer = OPERATORS[OpType.GATED].layer(*(source.tensor for source in sources), activation=gate)
        return emitter.add(group, OpType.GATED, sources, layer, [])
    binary = single(group)
    if binary is not None:
        return elementwise(emitter, group, *binary)
    if is_rms_norm(group):
        source = source_of_cuts(group.data[0], group.reads[group.data[0]], emitter.places, tensor_of(shape, dtype))
        layer = OPERATORS[OpType.RMS_NORM].layer(source.tensor)
        return emitter.add(group, OpType.RMS_NORM, [source], layer, group.parameters)
    if is_rotation(group):
        return rotation(emitter, group)
    return False


def rotation(emitter: Emitter, group: Group) -> bool:
    """Heads lie side by side: (N, S, heads features)."""
    base = group.data[0]
    n, heads, positions, features = group.exit.outputs[0].sizes
    place = {0: 0, 1: 2, 2: 1}
    cuts = [
        None if cut is None or cut.dim not in place else Cut(place[cut.dim], cut.pieces) for cut in group.reads[base]
    ]
    if prod(base.sizes) != n * heads * positions * features:
        return False
    tensor = tensor_of((n, positions, heads * features), group.exit.outputs[0].dtype)
    source = source_of_cuts(base, cuts, emitter.places, tensor)
    layer = OPERATORS[OpType.ROPE].layer(tensor, head=features)
    return emitter.add(group, OpType.ROPE, [source], layer, [], [[[0], [2], [1, 3]]])


def elementwise(emitter: Emitter, group: Group, kind: OpType, activation: OpType | None = None) -> bool:
    sources = [source_of_value(Value.whole(base), emitter.places) for base in group.data]
    behind = {} if activation is None else {"activation": activation}
    layer = OPERATORS[kind].layer(*(source.tensor for source in sources), inplace=False, **behind)
    return emitter.add(group, kind, sources, layer, [])


def fold(emitter: Emitter, group: Group, activation: OpType, readers: Mapping[Base, int]) -> bool:
    """Let the operator that alone is read apply an activation."""
    base = group.data[0]
    placed = emitter.places.get(base)
    if placed is None or readers[base] != 1 or not placed.is_plain:
        return False
    op = emitter.operators[placed.op]
    if op.kind not in _FUSING or op.attrs.get("activation", 0):
        return False
    attrs = MappingProxyType({**op.attrs, "activation": int(activation)})
    emitter.operators[placed.op] = Operator(
        op.index, op.kind, op.name, op.key, op.inputs, op.outputs, op.weights, attrs, op.equation, op.tied
    )
    emitter.places[group.exit.outputs[0]] = Placed(placed.op, placed.output, group.exit.outputs[0])
    return True


def fusion(emitter: Emitter, group: Group) -> bool:
    step = group.exit
    base = step.outputs[0]
    letters = [LETTERS[k] for k in range(len(base.sizes))]
    terms, inputs = [], []
    for read in group.data:
        source, term = as_put_out(emitter, read, group.reads[read], letters)
        terms.append(term)
        inputs.append(source)
    held: dict[str, tuple[tuple[int, ...], Sequence[Cut | None], Base]] = {}
    for read in group.parameters:
        pure = len(read.parameters) == 1 and prod(emitter.shapes[read.parameters[0]]) == prod(read.sizes)
        for name in read.parameters:
            if not prod(emitter.shapes[name]):
                continue
            whole = emitter.shapes[name], [None] * len(emitter.shapes[name])
            seen = (read.sizes, group.reads[read]) if pure else whole
            if name in held and held[name][:2] != seen:  # read twice: a weight is held once
                seen = whole
            held[name] = (*seen, read if len(read.parameters) == 1 else _named(name, read))
    for _, cuts, _ in held.values():
        terms.append("".join("." if cut is None or cut.dim in group.uncut else letters[cut.dim] for cut in cuts) or ".")
    weights = [tuple(shape) or (1,) for shape, _, _ in held.values()]
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
    return emitter.add(group, OpType.FUSION, inputs, layer, [base for _, _, base in held.values()])


def as_put_out(emitter: Emitter, base: Base, cuts: Sequence[Cut | None], letters: Sequence[str]) -> tuple[Source, str]:
    """An input with the dimensions that it was put out with, and its letters, outermost first."""
    placed = emitter.places.get(base)
    if placed is None:
        term = "".join("." if cut is None else letters[cut.dim] for cut in cuts)
        return Source(None, 0, tensor_of(base.sizes, base.dtype)), term
    tensor = tensor_of(placed.shape, base.dtype)
    own = [cuts[group[0]] if group else None for group in placed.groups]
    term = "".join("." if cut is None else letters[cut.dim] for cut in own)
    pieces = [(k, 1 if cut is None else cut.pieces) for k, cut in enumerate(reversed(own))]
    plain = all(cut is None or cut.pieces == n for cut, n in zip(own, placed.shape, strict=True))
    return Source(placed.op, placed.output, tensor, None if plain else tuple(pieces)), term


_MOVING = (
    "slice narrow select cat concat stack split chunk split_with_sizes unbind roll flip pad constant_pad_nd index "
    "gather scatter index_select index_put tril triu view reshape flatten _unsafe_view repeat tile copy"
)
_MOVES = frozenset(_MOVING.split())


def _named(name: str, base: Base) -> Base:
    return Base(base.sizes, base.dtype, Role.PARAMETER, parameters=(name,))
