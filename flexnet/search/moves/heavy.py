"""Every other cut of the operators that hold most weights, and of those between them."""

import numpy as np

from flexnet.model.operators import kind_of
from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import Blocks, Ints, copy_of, spread
from flexnet.search.moves.space import MoveSpace

__all__ = ["heavy_recuts"]

MOST_HEAVY = 8  # operators
ENOUGH = 0.95  # of all weights are theirs


def heavy_recuts(space: MoveSpace, strategy: Strategy) -> list[Strategy]:
    """The strategy with a heavy operator or a neighbour, or all of its shape, cut in each other way, and where.

    Neighbours are those without weights whose output a heavy operator reads, or which read its own.
    Which groups reduce most bytes, and so which rings a network needs, is up to these few operators; a cut that takes
    another network looks bad on the one there is, and is not found by changing one of both at a time.
    """
    blocks = space.blocks
    found = []
    heavy = heavy_operators(space)
    beside = {other for op in heavy for other in blocks.neighbours[op] if not blocks.weighted[other]}
    for op in (*heavy, *sorted(beside)):
        together = [(op,), *(alike for alike in blocks.alike if op in alike and op == min(alike))]
        for block in together:
            for choice, n in enumerate(space.parts[op]):
                for servers in _homes(blocks, strategy, op, n):
                    changed = copy_of(strategy)
                    for member in block:
                        blocks.lay(changed, member, choice, servers)
                    if not _same_cuts(changed, strategy):
                        found.append(changed)
    return found


def heavy_operators(space: MoveSpace) -> list[int]:
    """Operators that can be cut and have the most weights, the heaviest first."""
    operators = space.problem.graph.operators
    weights = {op.index: sum(weight.n_byte for weight in op.weights) for op in operators if not kind_of(op).whole}
    total, held, heavy = sum(weights.values()), 0, list[int]()
    for op in sorted(weights, key=lambda op: (-weights[op], op))[:MOST_HEAVY]:
        if held >= ENOUGH * total:
            break
        held += weights[op]
        heavy.append(op)
    return heavy


def _homes(blocks: Blocks, strategy: Strategy, op: int, n: int) -> list[Ints]:
    """Servers for ``n`` parts: those the operator has, or of these each k-th or the first ones, or more than these."""
    own, n_server = blocks.servers_of(strategy, op), blocks.problem.cluster.n_server
    if n == len(own):
        return [own]
    if n < len(own) and len(own) % n == 0:
        return [own[:: len(own) // n], own[:n]]
    if n_server % n == 0:
        return [spread(n_server, n, 0, strided=True), spread(n_server, n, 0, strided=False)]
    return []


def _same_cuts(one: Strategy, other: Strategy) -> bool:
    return np.array_equal(one.choice, other.choice) and np.array_equal(one.devices, other.devices)
