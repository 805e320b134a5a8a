"""Other cuts of the heaviest operators, and of those between them."""

from collections.abc import Iterator
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np

from flexnet.model.operators.kind import tensor_bytes
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.search.moves.blocks import Ints, across, copy_of, spread
from flexnet.search.moves.space import MoveSpace

__all__ = ["heavy_operators", "heavy_recuts", "one_holds_most"]

MOST_HEAVY = 8  # shapes of operators
ENOUGH = 0.95  # of all weights are theirs


class _Recut(NamedTuple):
    choices: tuple[tuple[int, int], ...]  # operators, and their candidates
    servers: Ints


def heavy_recuts(rng: np.random.Generator, space: MoveSpace, strategy: Strategy) -> Iterator[Strategy]:
    """The strategy with heavy operators all cut alike; then with one, or one beside it, cut in another way.

    The latter alone, or with all of its shape.  Beside it are operators without weights whose output it reads, or which
    read its own.  Which groups reduce most bytes, and so which rings a network needs, is up to these few operators; a
    cut that takes another network looks bad on the one there is, and is not found by changing one of both at a time;
    nor is one that several of them have to share.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the order of the latter.
    space : MoveSpace
    strategy : Strategy
    """
    heavy = heavy_operators(space)
    recuts = _recuts(space, strategy, heavy)
    for recut in chain(_cut_alike(space, heavy), (recuts[i] for i in rng.permutation(len(recuts)).tolist())):
        changed = copy_of(strategy)
        for op, choice in recut.choices:
            space.blocks.lay(changed, op, choice, recut.servers)
        if not same_strategy(changed, strategy):
            yield changed


def heavy_operators(space: MoveSpace) -> list[int]:
    """Operators that can be cut and have most weights, the heaviest first; one of every shape."""
    weights = _weights(space)
    total, held, heavy = sum(weights.values()), 0, list[int]()
    for op in sorted(weights, key=lambda op: (-weights[op], op)):
        twins = _all_alike(space, op)
        if any(twin in heavy for twin in twins):
            continue
        if held >= ENOUGH * total or len(heavy) == MOST_HEAVY:
            break
        held += sum(weights[twin] for twin in twins)
        heavy.append(op)
    return heavy


def one_holds_most(space: MoveSpace) -> bool:
    """Whether one operator has half or more of all weights but tables; how it is cut may decide all."""
    weights = _weights(space)
    return 2 * max(weights.values(), default=0) >= sum(weights.values()) > 0


def _weights(space: MoveSpace) -> dict[int, int]:
    """Bytes of the weights of every operator that can be cut."""
    operators = space.problem.graph.operators
    return {op.index: tensor_bytes(op)[2] for op in operators if not space.blocks.whole[op.index]}


def _recuts(space: MoveSpace, strategy: Strategy, heavy: list[int]) -> list[_Recut]:
    blocks, found = space.blocks, list[_Recut]()
    beside = {other for op in heavy for other in blocks.neighbours[op] if not blocks.weighted[other]}
    for op in (*heavy, *sorted(beside)):
        for block in dict.fromkeys(((op,), _all_alike(space, op))):
            for choice, (n, degrees) in enumerate(zip(space.parts[op], space.degrees[op], strict=True)):
                choices = tuple((member, choice) for member in block)
                for servers in _homes(space, strategy, op, n):
                    found += [_Recut(choices, laid) for laid in (servers, *across(servers, degrees))]
    return found


def _cut_alike(space: MoveSpace, heavy: list[int]) -> Iterator[_Recut]:
    """All heavy operators that can be are cut alike; two shapes or more."""
    n_server = space.problem.cluster.n_server
    ways = {op: {degrees: choice for choice, degrees in enumerate(space.degrees[op])} for op in heavy}
    for degrees in sorted({degrees for op in heavy for degrees in ways[op]}):
        able, n = [op for op in heavy if degrees in ways[op]], prod(degrees)
        if len(able) < 2 or n == 1 or n_server % n:
            continue
        choices = tuple((twin, ways[op][degrees]) for op in able for twin in _all_alike(space, op))
        for servers in _spread_or_not(n_server, n):
            yield _Recut(choices, servers)


def _all_alike(space: MoveSpace, op: int) -> tuple[int, ...]:
    """All operators of its shape."""
    return next((alike for alike in space.blocks.alike if op in alike), (op,))


def _homes(space: MoveSpace, strategy: Strategy, op: int, n: int) -> list[Ints]:
    """Servers for ``n`` parts: those the operator has, of these each k-th or the first ones, or of all if it has fewer.

    None where ``n`` divides neither.
    """
    own, n_server = space.blocks.servers_of(strategy, op), space.problem.cluster.n_server
    if n == len(own):
        return [own]
    if n < len(own) and len(own) % n == 0:
        return _distinct(own[:: len(own) // n], own[:n])
    return _spread_or_not(n_server, n) if n_server % n == 0 else []


def _spread_or_not(n_server: int, n: int) -> list[Ints]:
    """Every k-th of all servers, and the first ones."""
    return _distinct(spread(n_server, n, 0, strided=True), spread(n_server, n, 0, strided=False))


def _distinct(one: Ints, other: Ints) -> list[Ints]:
    return [one] if np.array_equal(one, other) else [one, other]
