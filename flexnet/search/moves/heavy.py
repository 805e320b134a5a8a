"""Other cuts of the heaviest operators, and of those between them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from flexnet.model.operators import kind_of
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.search.moves.blocks import Ints, copy_of, spread
from flexnet.search.moves.space import MoveSpace

__all__ = ["heavy_operators", "heavy_recuts"]

MOST_HEAVY = 8  # shapes of operators
ENOUGH = 0.95  # of all weights are theirs


class _Recut(NamedTuple):
    block: tuple[int, ...]
    choice: int
    servers: Ints


def heavy_recuts(rng: np.random.Generator, space: MoveSpace, strategy: Strategy) -> Iterator[Strategy]:
    """The strategy with a heavy operator, or one beside it, cut in another way; alone, or with all of its shape.

    Beside it are operators without weights whose output it reads, or which read its own.  Which groups reduce most
    bytes, and so which rings a network needs, is up to these few operators; a cut that takes another network looks bad
    on the one there is, and is not found by changing one of both at a time.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws their order.
    space : MoveSpace
    strategy : Strategy
    """
    recuts = _recuts(space, strategy)
    for i in rng.permutation(len(recuts)).tolist():
        changed = copy_of(strategy)
        for op in recuts[i].block:
            space.blocks.lay(changed, op, recuts[i].choice, recuts[i].servers)
        if not same_strategy(changed, strategy):
            yield changed


def heavy_operators(space: MoveSpace) -> list[int]:
    """Operators that can be cut and have most weights, the heaviest first; one of every shape."""
    operators = space.problem.graph.operators
    weights = {op.index: sum(weight.n_byte for weight in op.weights) for op in operators if not kind_of(op).whole}
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


def _recuts(space: MoveSpace, strategy: Strategy) -> list[_Recut]:
    blocks, heavy, found = space.blocks, heavy_operators(space), list[_Recut]()
    beside = {other for op in heavy for other in blocks.neighbours[op] if not blocks.weighted[other]}
    for op in (*heavy, *sorted(beside)):
        for block in dict.fromkeys(((op,), _all_alike(space, op))):
            for choice, n in enumerate(space.parts[op]):
                found += [_Recut(block, choice, servers) for servers in _homes(space, strategy, op, n)]
    return found


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
        homes = [own[:: len(own) // n], own[:n]]
    elif n_server % n == 0:
        homes = [spread(n_server, n, 0, strided=True), spread(n_server, n, 0, strided=False)]
    else:
        return []
    return homes[:1] if np.array_equal(homes[0], homes[1]) else homes
