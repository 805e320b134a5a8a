"""Operators of products and layers: each of the kind that it is."""

from collections.abc import Sequence
from math import prod
from typing import Any

from flexnet.importing.emit import LETTERS, Emitter
from flexnet.importing.fuse import Group
from flexnet.importing.layouts import source_of_value
from flexnet.importing.steps import Use
from flexnet.importing.values import Base, Role, Value
from flexnet.model.graph import OpType, Source, Tensor
from flexnet.model.operators import OPERATORS
from flexnet.model.operators.kind import Layer

__all__ = ["MAKERS"]


def linear(emitter: Emitter, group: Group) -> bool:
    step = group.exit
    x, weight, *rest = step.uses
    letters = step.letters[0]
    inner = set(x.letters) & set(weight.letters) - set(letters)
    outer = [letter for letter in weight.letters if letter not in inner]
    rows = [letter for letter in letters if letter in x.letters]
    plain = [k for k, letter in enumerate(letters) if letter not in rows and step.sizes[letter] == 1]
    if len(inner) != 1 or len(outer) != 1 or not rows or outer[0] in x.letters:
        return einsum(emitter, group)
    if len(set(letters) - set(rows) - set(outer)) > len(plain) or any(
        use.value.base.role is not Role.PARAMETER for use in rest
    ):
        return einsum(emitter, group)
    source = emitter.source(x, [x.letters.index(one) for one in (*rows, inner.pop())])
    kind, out = OPERATORS[OpType.LINEAR], step.sizes[outer[0]]  # type: ignore[index]
    made = kind.layer(Tensor((source.tensor.dims[0], 1)), out=out, bias=bool(rest))
    layer = Layer(made.key, [Tensor((out, *source.tensor.dims[1:]))], made.weights, made.attrs)
    last = [letters.index(outer[0])] if outer[0] in letters else plain[:1]
    groups = [*([letters.index(one)] for one in rows), last]
    bases = [weight.value.base, *(use.value.base for use in rest)]
    return emitter.add(group, OpType.LINEAR, [source], layer, bases, [groups])


def einsum(emitter: Emitter, group: Group) -> bool:
    first, second, *added = group.exit.uses
    return product(emitter, group, first, second, added)


def product(emitter: Emitter, group: Group, first: Use, second: Use, added: Sequence[Use]) -> bool:
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
        kept = [k for k in kept if use.letters[k] == batch] + [k for k in kept if use.letters[k] != batch]
        value = Value(use.value.base, tuple(use.value.dims[k] for k in kept))
        letters = [letter for k in kept if (letter := use.letters[k]) is not None]
        terms.append("".join(names.setdefault(letter, LETTERS[len(names)]) for letter in letters))
        values.append(value)
    result = [one for one in step.letters[0] if one in names]
    if len(result) != len(step.outputs[0].sizes) or not all(terms):
        return False
    equation = f"{terms[0]},{terms[1]}->{''.join(names[one] for one in result)}"
    kind = OPERATORS[OpType.EINSUM]
    source = source_of_value(values[0], emitter.places)
    if values[1].base.role is Role.PARAMETER:
        layer = kind.layer(source.tensor, equation=equation, weight=values[1].shape)
        return emitter.add(group, OpType.EINSUM, [source], layer, [values[1].base])
    other = source_of_value(values[1], emitter.places)
    layer = kind.layer(source.tensor, other.tensor, equation=equation, pointwise=len(added))
    return emitter.add(group, OpType.EINSUM, [source, other], layer, [])


def experts(emitter: Emitter, group: Group) -> bool:
    x, weight = group.exit.uses
    value = Value(x.value.base, tuple(x.value.dims[k] for k in (1, 0, 2, 3)))
    source = source_of_value(value, emitter.places)
    out = group.exit.outputs[0].sizes[-1]
    experts = weight.value.shape[0]
    layer = OPERATORS[OpType.GROUPED_LINEAR].layer(source.tensor, experts=experts, out=out)
    return emitter.add(group, OpType.GROUPED_LINEAR, [source], layer, [weight.value.base])


def attention(emitter: Emitter, group: Group) -> bool:
    step = group.exit
    sources = [source_of_value(use.value, emitter.places) for use in step.uses[:3]]
    attrs: dict[str, Any] = step.attrs
    weights: list[Base] = []
    buckets = 0
    mask: list[Source] = []
    for use in step.uses[3:]:
        base = use.value.base
        if base.role is Role.PARAMETER:
            shape = emitter.shapes[base.parameters[0]]
            if len(base.parameters) == 1 and len(shape) == 2 and attrs["heads"] in shape:
                buckets = prod(shape) // attrs["heads"]
                weights = [base]
        else:
            mask.append(heads_aside(emitter, use.value))
    layer = OPERATORS[OpType.SCALED_DOT_PRODUCT].layer(
        *(source.tensor for source in (*sources, *mask)),
        heads=attrs["heads"],
        shared=attrs["shared"],
        causal=attrs["causal"],
        buckets=buckets,
    )
    return emitter.add(group, OpType.SCALED_DOT_PRODUCT, [*sources, *mask], layer, weights)


def heads_aside(emitter: Emitter, value: Value) -> Source:
    """A mask (N, heads, S, T) as (N, S, heads T), of what is not repeated."""
    dims = [tuple(f for f in factors if f.dim is not None) for factors in value.dims]
    n, heads, rows, columns = [()] * (4 - len(dims)) + dims
    found = Value(value.base, (n, rows, heads + columns))
    return source_of_value(found, emitter.places)


def convolution(emitter: Emitter, group: Group) -> bool:
    step = group.exit
    x, weight = step.uses[:2]
    attrs: dict[str, Any] = step.attrs
    source = emitter.source(x)
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
            return emitter.add(group, OpType.CONV2D, [source], layer, bases)
    layer = OPERATORS[OpType.CONVOLUTION].layer(
        source.tensor,
        shape=shape,
        weight=weight.value.shape,
        groups=attrs["groups"],
        transposed=attrs["transposed"],
        bias=attrs["bias"],
    )
    return emitter.add(group, OpType.CONVOLUTION, [source], layer, bases)


def pool(emitter: Emitter, group: Group) -> bool:
    step = group.exit
    attrs: dict[str, Any] = step.attrs
    source = emitter.source(step.uses[0])
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
    return emitter.add(group, OpType.POOL2D, [source], layer, [])


def embedding(emitter: Emitter, group: Group) -> bool:
    index, table = group.exit.uses
    if len(table.value.base.parameters) != 1 or index.value.base.role is Role.CONSTANT:
        return False
    source = emitter.source(index)
    entries, out = table.value.shape
    tensor = Tensor(source.tensor.dims, "int64")
    layer = OPERATORS[OpType.TOKEN_EMBEDDING].layer(tensor, entries=entries, out=out)
    return emitter.add(group, OpType.TOKEN_EMBEDDING, [source], layer, [table.value.base])


def norm(emitter: Emitter, group: Group) -> bool:
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
        source = emitter.source(x, [k for k in order if x.value.shape[k] > 1] if len(order) != len(shape) else order)
        if source.tensor.shape != shape:
            return False
        if step.target == "rms_norm" and len(bases) == 1:
            return emitter.add(group, OpType.RMS_NORM, [source], OPERATORS[OpType.RMS_NORM].layer(source.tensor), bases)
        layer = OPERATORS[OpType.LAYER_NORM].layer(source.tensor, scale=bool(bases), shift=len(bases) > 1)
        return emitter.add(group, OpType.LAYER_NORM, [source], layer, bases)
    if len(bases) != 2 or len(shape) < 2:
        return False
    source = emitter.source(x)
    if step.kind == "batch_norm":
        layer = OPERATORS[OpType.BATCH_NORM].layer(source.tensor)
        return emitter.add(group, OpType.BATCH_NORM, [source], layer, bases)
    if len(shape) not in (2, 3, 4):
        return False
    layer = OPERATORS[OpType.GROUP_NORM].layer(source.tensor, groups=step.attrs["groups"])
    return emitter.add(group, OpType.GROUP_NORM, [source], layer, bases)


MAKERS = {
    "linear": linear,
    "contract": einsum,
    "experts": experts,
    "attention": attention,
    "convolution": convolution,
    "pool": pool,
    "embedding": embedding,
    "norm": norm,
    "batch_norm": norm,
    "group_norm": norm,
}
"""By the kind of a step, what makes its operator; that says whether it could."""
