"""Puts light steps together: each runs with those that alone read what it makes, as one operator.

A group has one step whose outputs are read from outside, its exit, and what its inputs' dimensions are of those of the
exit's first output.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from flexnet.importing.steps import Step
from flexnet.importing.values import Base, Cut, Role, Value, cuts_of

__all__ = ["Group", "fused"]


@dataclass(eq=False, slots=True)
class Group:
    """Steps that become one operator.

    Parameters
    ----------
    steps : list of Step
        In order; the last is the exit.
    reads : dict
        Of each tensor that comes from outside, for each of its dimensions the dimension of the exit's first output
        that cuts it, or None; in order of first use.
    values : dict
        The first value seen of each of these.
    uncut : frozenset of int
        Dimensions of the exit's first output along which parts cannot be computed by themselves.
    """

    steps: list[Step]
    reads: dict[Base, tuple[Cut | None, ...]]
    values: dict[Base, Value]
    uncut: frozenset[int]

    @property
    def exit(self) -> Step:
        """The step whose outputs are the group's."""
        return self.steps[-1]

    @property
    def targets(self) -> set[str]:
        """What the program calls its steps."""
        return {step.target for step in self.steps}

    @property
    def data(self) -> list[Base]:
        """What it reads that is neither a parameter nor a constant."""
        return [base for base in self.reads if base.role in (Role.DATA, Role.COMPUTED)]

    @property
    def parameters(self) -> list[Base]:
        """What it reads of parameters."""
        return [base for base in self.reads if base.role is Role.PARAMETER]


def fused(steps: Sequence[Step], results: Iterable[Value]) -> list[Group]:
    """Groups of all steps that results hang on, in order of their exits."""
    makers = {base: step for step in steps for base in step.outputs}
    wanted = {value.base for value in results}
    readers: dict[Step, list[Step]] = {step: [] for step in steps}
    for step in steps:
        for value, _ in step.uses:
            maker = makers.get(value.base)
            if maker is not None and (not readers[maker] or readers[maker][-1] is not step):
                readers[maker].append(step)
    names = {name.removeprefix("module.") for step in steps for value, _ in step.uses for name in value.base.parameters}
    owners = {name.rpartition(".")[0] for name in names}
    exit_of: dict[Step, Step] = {}
    members: dict[Step, list[Step]] = {}
    for step in reversed(steps):
        exits = {exit_of[reader] for reader in readers[step] if reader in exit_of}
        is_result = any(base in wanted for base in step.outputs)
        if not exits and not is_result:
            continue  # nothing hangs on it
        joined = next(iter(exits)) if len(exits) == 1 and not is_result and step.is_light else step
        if not joined.is_light or _are_apart(step.where, joined.where, owners):
            joined = step
        exit_of[step] = joined
        members.setdefault(joined, []).append(step)
    return [_group(members[step][::-1]) for step in steps if step in members]


def _are_apart(one: str, other: str, owners: set[str]) -> bool:
    """Whether steps of two modules stay apart: a module with parameters is joined by what is inside of it alone."""

    def leaves(owner: str, where: str) -> bool:
        return owner in owners and where != owner and not where.startswith(owner + ".")

    return leaves(one, other) or leaves(other, one)


def _group(steps: list[Step]) -> Group:
    made: dict[Base, tuple[Cut | None, ...]] = {}
    reads: dict[Base, tuple[Cut | None, ...]] = {}
    values: dict[Base, Value] = {}
    uncut: set[int] = set()
    inside = {base for step in steps for base in step.outputs}
    for step in reversed(steps):
        along: dict[int, Cut | None] = {}
        if step is steps[-1]:
            first = step.letters[0]
            along = {letter: Cut(k, step.sizes[letter]) for k, letter in enumerate(first)}
        else:
            for base, letters in zip(step.outputs, step.letters, strict=True):
                for letter, cut in zip(letters, made.get(base, (None,) * len(letters)), strict=True):
                    if letter in along and along[letter] != cut:
                        cut = _agreed(along[letter], cut, uncut)
                    along[letter] = cut
        uncut |= {cut.dim for letter in step.private if (cut := along.get(letter)) is not None}
        for value, seen in step.uses:
            found: list[Cut | None] = []
            for own in cuts_of(value):
                one = None if own is None else seen[own.dim]
                cut = None if one is None else along.get(one)
                found.append(None if cut is None or own is None else Cut(cut.dim, gcd(cut.pieces, own.pieces)))
            known = made if value.base in inside else reads
            values.setdefault(value.base, value)
            if value.base not in known:
                known[value.base] = tuple(found)
            else:
                pairs = zip(known[value.base], found, strict=True)
                known[value.base] = tuple(_agreed(a, b, uncut) for a, b in pairs)
    reads = {base: reads[base] for base in reversed(reads)}
    clean = {
        base: tuple(None if cut is None or cut.dim in uncut else cut for cut in cuts) for base, cuts in reads.items()
    }
    return Group(steps, clean, values, frozenset(uncut))


def _agreed(a: Cut | None, b: Cut | None, uncut: set[int]) -> Cut | None:
    """What cuts a dimension that is read twice; along what one reads in pieces and the other whole, nothing is cut."""
    if a is not None and b is not None and a.dim == b.dim:
        return Cut(a.dim, gcd(a.pieces, b.pieces))
    uncut |= {cut.dim for cut in (a, b) if cut is not None}
    return None
