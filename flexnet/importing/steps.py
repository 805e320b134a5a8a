"""What a program computes, step by step, before it is put together to operators.

A front end (`flexnet.importing.aten`, `flexnet.importing.onnx_nodes`) tells a `Recorder` of each computation which
dimensions of what it reads are which of what it makes, by letters: equal letters are cut together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import NamedTuple

from flexnet.importing.values import Base, Factor, Role, Value, batch_axis, expanded, reshaped, split_factors

__all__ = ["MOST_DIMS", "Recorder", "Step", "Use", "Work"]

MOST_DIMS = 5
"""Of a tensor that an operator reads or makes; a config has one more, of a reduction."""

Letter = int


class Use(NamedTuple):
    """What a step reads: a value, and for each of its dimensions the letter; None where all of it is read."""

    value: Value
    letters: tuple[Letter | None, ...]


class Work(NamedTuple):
    """Operations of the products of a step.

    Parameters
    ----------
    name : str
        Of the product, as PyTorch calls it.
    forward, backward : int
        Operations, a multiply-add counted as two; of the gradients that are needed alone.
    counted : int
        What `torch.utils.flop_counter` counts for the backward pass: of convolutions in groups more than there is.
    """

    name: str
    forward: int
    backward: int
    counted: int


@dataclass(eq=False, slots=True)
class Step:
    """One computation.

    Parameters
    ----------
    index : int
    kind : str
        ``"light"`` for what works element by element, reduces or moves; else the name of a product or another kind.
    target : str
        What the program calls it.
    where : str
        Path of the module it belongs to.
    uses : tuple of Use
        Parameters and constants among them.
    letters : tuple of tuple of int
        Of each output, outermost first.
    sizes : mapping
        Size of every letter.
    outputs : tuple of Base
    private : frozenset of int
        Letters of outputs along which a part cannot be computed by itself.
    attrs : mapping
        What a product is, by kind.
    work : Work or None
    """

    index: int
    kind: str
    target: str
    where: str
    uses: tuple[Use, ...]
    letters: tuple[tuple[Letter, ...], ...]
    sizes: Mapping[Letter, int]
    outputs: tuple[Base, ...] = ()
    private: frozenset[Letter] = frozenset()
    attrs: dict[str, object] = field(default_factory=dict)
    work: Work | None = None

    @property
    def is_light(self) -> bool:
        """Whether it may be fused with its neighbours."""
        return self.kind == "light"


class Recorder:
    """Collects steps; values go in and come out."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.by_expert: set[Base] = set()
        """Tensors whose rows are in order of the experts they go to."""

    def record(
        self,
        kind: str,
        target: str,
        where: str,
        uses: Sequence[tuple[Value, Sequence[Letter | None]]],
        outputs: Sequence[tuple[Sequence[Letter], str]],
        sizes: Mapping[Letter, int],
        *,
        private: frozenset[Letter] = frozenset(),
        attrs: dict[str, object] | None = None,
        work: Work | None = None,
        no_grad: bool = False,
        exact: bool = False,
    ) -> list[Value]:
        """Add a step, and return its outputs.

        Parameters
        ----------
        uses
            Values with a letter for each dimension.
        outputs
            Letters and element type of each output; sizes by ``sizes``.
        private
            Letters that parts cannot compute by themselves; they stay whole.
        no_grad
            Nothing flows back.
        exact
            Outputs have just these dimensions; else those of size 1 are left out, and what stands for several is them.

        Returns
        -------
        list of Value
        """
        known = dict(sizes)
        finer = {} if exact else _refinement(uses, outputs, known, private)
        read = tuple(_refined(value, letters, finer, known) for value, letters in uses)
        batch = _batch_letter(read)
        made, letters_of, values = [], [], []
        grad = not no_grad and any(value.base.needs_grad for value, _ in read)
        for letters, dtype in outputs:
            order = [one for letter in letters for one in finer.get(letter, (letter,)) if exact or known[one] > 1]
            if batch in order and not exact:
                order.remove(batch)
                order.insert(0, batch)
            while len(order) < 2:  # a config has a batch and something else
                known[max(known, default=-1) + 1] = 1
                order.insert(1 if batch in order else 0, max(known))
            base = Base(
                tuple(known[letter] for letter in order),
                dtype,
                Role.COMPUTED,
                batched=batch is not None and order[0] == batch,
                needs_grad=grad and dtype in ("float", "double", "half", "bfloat16"),
            )
            place = {letter: k for k, letter in enumerate(order)}
            dims = tuple(
                tuple(Factor(place[one], known[one]) for one in finer.get(letter, (letter,)) if known[one] > 1)
                for letter in letters
            )
            made.append(base)
            letters_of.append(tuple(order))
            values.append(Value(base, dims))
        step = Step(
            len(self.steps),
            kind,
            target,
            where,
            read,
            tuple(letters_of),
            known,
            tuple(made),
            frozenset(one for letter in private for one in finer.get(letter, (letter,))),
            attrs or {},
            work,
        )
        self.steps.append(step)
        if any(value.base in self.by_expert for value, _ in read):
            self.by_expert.update(made)
        return values

    def elementwise(
        self,
        target: str,
        where: str,
        values: Sequence[Value],
        shape: Sequence[int],
        dtypes: Sequence[str],
        *,
        whole: Sequence[int] = (),
        no_grad: bool = False,
    ) -> list[Value]:
        """A light step of one shape, its inputs repeated where they are smaller; not to be cut along axes ``whole``."""
        groups = _adjacent(shape, whole)
        sizes = {k: prod(shape[axis] for axis in group) for k, group in enumerate(groups)}
        private = frozenset(k for k, group in enumerate(groups) if set(group) & set(whole))
        uses = []
        for value in values:
            wide = expanded(value, shape) if value.shape != tuple(shape) else value
            dims = tuple(tuple(factor for axis in group for factor in wide.dims[axis]) for group in groups)
            uses.append((Value(wide.base, dims), [None if k in private else k for k in sizes]))
        outputs = [(list(sizes), dtype) for dtype in dtypes]
        made = self.record("light", target, where, uses, outputs, sizes, private=private, no_grad=no_grad)
        return [found for value in made if (found := reshaped(value, shape)) is not None]


def _adjacent(shape: Sequence[int], whole: Sequence[int]) -> list[list[int]]:
    """Axes in groups that are one dimension together: as few as make a tensor that may be cut."""
    groups = [[axis] for axis in range(len(shape))]
    while sum(prod(shape[axis] for axis in group) > 1 for group in groups) > MOST_DIMS:
        pairs = range(len(groups) - 2, -1, -1)
        alike = [k for k in pairs if bool(set(groups[k]) & set(whole)) == bool(set(groups[k + 1]) & set(whole))]
        k = next(iter(alike), len(groups) - 2)
        groups[k : k + 2] = [groups[k] + groups[k + 1]]
    return groups


def _batch_letter(uses: Sequence[Use]) -> Letter | None:
    for value, letters in uses:
        axis = batch_axis(value)
        if axis is not None and letters[axis] is not None:
            return letters[axis]
    return None


def _refinement(
    uses: Sequence[tuple[Value, Sequence[Letter | None]]],
    outputs: Sequence[tuple[Sequence[Letter], str]],
    sizes: dict[Letter, int],
    private: frozenset[Letter],
) -> dict[Letter, tuple[Letter, ...]]:
    """Letters that stand for several dimensions of what is read, and the letters of these; adds their sizes."""
    finer: dict[Letter, tuple[Letter, ...]] = {}
    rank = max((sum(sizes[letter] > 1 for letter in letters) for letters, _ in outputs), default=0)
    in_outputs = {letter for letters, _ in outputs for letter in letters}
    fresh = max(sizes, default=0) + 1
    for letter in list(sizes):
        if letter in private or letter not in in_outputs:
            continue
        strides: set[int] = set()
        for value, letters in uses:
            for factors, one in zip(value.dims, letters, strict=True):
                if one == letter and len({factor.dim for factor in factors if factor.dim is not None}) > 1:
                    stride = 1
                    for factor in reversed(factors[1:]):
                        stride *= factor.size
                        strides.add(stride)
        chain = [sizes[letter], *sorted(strides, reverse=True)][: max(MOST_DIMS - rank, 0) + 1]
        if len(chain) < 2 or any(a % b for a, b in pairwise(chain)):
            continue
        pieces = [a // b for a, b in zip(chain, [*chain[1:], 1], strict=True)]
        finer[letter] = tuple(range(fresh, fresh + len(pieces)))
        sizes |= zip(finer[letter], pieces, strict=True)
        fresh += len(pieces)
        rank += len(pieces) - 1
    return finer


def _refined(
    value: Value,
    letters: Sequence[Letter | None],
    finer: Mapping[Letter, tuple[Letter, ...]],
    sizes: Mapping[Letter, int],
) -> Use:
    dims: list[tuple[Factor, ...]] = []
    new: list[Letter | None] = []
    for factors, letter in zip(value.dims, letters, strict=True):
        pieces = None
        if letter is not None and letter in finer and prod(f.size for f in factors) == sizes[letter]:
            pieces = split_factors(factors, [sizes[one] for one in finer[letter]])
        if pieces is not None and letter is not None:
            dims += pieces
            new += finer[letter]
        else:
            dims.append(factors)
            new.append(None if letter in finer else letter)
    return Use(Value(value.base, tuple(dims)), tuple(new))
