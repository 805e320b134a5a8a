"""Memory that a part of an operator needs in training in a given arithmetic.

The original counts everything that an operator reads and writes, with gradients, for each operator by itself
(`OperatorKind.memory_bytes`), so what one operator hands to the next counts four times.  Here counts what is there at
once at the end of a forward pass: what every operator keeps for the backward pass, weights, and their gradients.
"""

from collections.abc import Sequence
from dataclasses import replace

from flexnet.cost.parts import part_of
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import Entry
from flexnet.model.graph import ModelGraph, Operator
from flexnet.model.operators import kind_of
from flexnet.model.precision import Precision

__all__ = ["as_held", "held_bytes", "kept_bytes", "readers_of"]

Entries = tuple[Entry, ...]


def held_bytes(
    op: Operator, degrees: tuple[int, ...], big_gpu: int, precision: Precision, readers: tuple[int, ...]
) -> int:
    """Bytes that a GPU holds for one part of ``op`` between its forward and its backward pass.

    An output is kept by whoever made it (`OperatorKind.kept_elements`), a partial sum by the parts in equal shares.  A
    part that reads more than its share of a tensor keeps a copy of the rest, which operators that read the same share.

    Parameters
    ----------
    op : Operator
        Not cut.
    degrees : tuple of int
        Config.
    big_gpu : int
        GPUs of a server acting as one.
    precision : Precision
    readers : tuple of int
        How many operators read each input.
    """
    kind, part = kind_of(op), part_of(op, degrees, big_gpu)
    reduction = degrees[op.rank] if len(degrees) > op.rank else 1
    pieces = op.outputs[0].volume // part.outputs[0].volume * reduction
    kept = kind.kept_elements(part) // reduction
    if len(part.inputs) == len(op.inputs):  # of more towers than parts it reads fewer, its share of all
        for whole, source, n_reader in zip(op.inputs, part.inputs, readers, strict=True):
            if source.tensor.dtype == "float":
                kept += max(source.tensor.volume - whole.tensor.volume // pieces, 0) // n_reader
    weights = sum(weight.volume for weight in part.weights)  # of a tied one, every operator has a copy
    return precision.activation_bytes * kept + _per_weight(precision) * weights


def _per_weight(precision: Precision) -> int:
    return precision.weight_bytes + precision.gradient_bytes


def kept_bytes(op: Operator, degrees: tuple[int, ...], held: int, big_gpu: int, precision: Precision) -> int:
    """Bytes of a part's memory that every micro-batch under way needs anew: all but weights and their gradients.

    Parameters
    ----------
    op : Operator
        Not cut.
    degrees : tuple of int
        Config.
    held : int
        Memory of a part.
    big_gpu, precision : int, Precision
        As of `held_bytes`.
    """
    part = part_of(op, degrees, big_gpu)
    return max(held - _per_weight(precision) * sum(weight.volume for weight in part.weights), 0)


def readers_of(graph: ModelGraph) -> tuple[tuple[int, ...], ...]:
    """How many operators read each input of every operator."""
    count: dict[tuple[int, int], set[int]] = {}
    for op in graph.operators:
        for source in op.inputs:
            if source.op is not None:
                count.setdefault((source.op, source.output), set()).add(op.index)
    return tuple(
        tuple(1 if source.op is None else len(count[source.op, source.output]) for source in op.inputs)
        for op in graph.operators
    )


def as_held(
    graph: ModelGraph, candidates: Sequence[Entries], big_gpu: int, precision: Precision
) -> tuple[Entries, ...]:
    """The configs of every operator with the memory that `held_bytes` counts, in place of what was measured.

    What is measured is the most that an operator takes by itself.  Gradients of activations and scratch memory are
    among it, which all operators have one after the other, so the sum over a model is two to four times what it takes.
    """
    known: dict[tuple[str, tuple[int, ...], Entries], Entries] = {}
    found = []
    for op, readers, entries in zip(graph.operators, readers_of(graph), candidates, strict=True):
        same = shape_name(op), readers, entries
        if same not in known:
            known[same] = tuple(
                replace(entry, memory=held_bytes(op, entry.degrees, big_gpu, precision, readers)) for entry in entries
            )
        found.append(known[same])
    return tuple(found)
