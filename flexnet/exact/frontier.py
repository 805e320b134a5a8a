"""Frontier tracking: all trade-offs of two additive costs, by the elimination that finds the least of one.

Every cell of a table holds the pairs (time, memory) that no other pair of the cell beats in both (TensorOpt: Cai et
al., arXiv:2004.10856; the cells of `flexnet.exact.solver` hold the least time alone).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from flexnet.exact.order import best_order
from flexnet.exact.tables import CostTables

__all__ = ["FrontierPoint", "frontier"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHOICES = 12
"""Choices of a vertex that are tried; a cell of three vertices has as many cubed."""


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A selection that no other beats in both costs."""

    time: float
    memory: float
    choices: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """Pairs by ascending memory, the choice of the vertex removed, and the pairs of earlier tables they are made of."""

    time: Floats
    memory: Floats
    choice: Ints
    parts: Ints  # (n_pair, n_earlier)


@dataclass(frozen=True, slots=True, eq=False)
class _Message:
    vertex: int
    scope: tuple[int, ...]
    cells: dict[tuple[int, ...], _Cell]
    earlier: tuple["_Message", ...]


def frontier(tables: CostTables, memory: Sequence[Floats], *, most: int = 64) -> list[FrontierPoint]:
    """The trade-offs between the cost of the tables and a second cost of the vertices.

    Parameters
    ----------
    tables : CostTables
        First cost.
    memory : sequence of float64 (n_choice,)
        Second cost of every vertex; it adds up too.
    most : int
        Pairs kept in a cell; where there are more, they are thinned out evenly, ends kept, so the points found are
        selections with just these costs, but some on the frontier may be missing.  So it is with choices: of a vertex
        that has more than `CHOICES`, those that no other beats by itself are tried, and the cheapest of the rest.

    Returns
    -------
    list of FrontierPoint
        By ascending memory and descending time.

    Examples
    --------
    >>> tables = CostTables((np.array([3.0, 1.0, 2.0]),), {})
    >>> [(p.time, p.memory) for p in frontier(tables, [np.array([1.0, 5.0, 7.0])])]
    [(3.0, 1.0), (1.0, 5.0)]
    """
    kept = [_tried(costs, second) for costs, second in zip(tables.vertices, memory, strict=True)]
    if any(len(some) < len(costs) for some, costs in zip(kept, tables.vertices, strict=True)):
        fewer = CostTables(
            tuple(costs[some] for costs, some in zip(tables.vertices, kept, strict=True)),
            {(u, v): table[np.ix_(kept[u], kept[v])] for (u, v), table in tables.edges.items()},
        )
        found = frontier(fewer, [second[some] for second, some in zip(memory, kept, strict=True)], most=most)
        return [
            replace(point, choices=tuple(int(some[i]) for some, i in zip(kept, point.choices, strict=True)))
            for point in found
        ]
    sizes = [len(costs) for costs in tables.vertices]
    edges: list[dict[int, Floats]] = [{} for _ in sizes]
    for (u, v), table in tables.edges.items():
        edges[u][v], edges[v][u] = table, table.T
    alive: list[_Message] = []
    removed: set[int] = set()
    for v in best_order(sizes, tables.edges.keys()).vertices:
        earlier = tuple(message for message in alive if v in message.scope)
        near = {u: table for u, table in edges[v].items() if u not in removed}
        scope = tuple(sorted(set(near).union(*(message.scope for message in earlier)) - {v}))
        cells = {}
        for at in product(*(range(sizes[u]) for u in scope)):
            known = dict(zip(scope, at, strict=True))
            options = []
            for choice in range(sizes[v]):
                known[v] = choice
                time = tables.vertices[v][choice] + sum(table[choice, known[u]] for u, table in near.items())
                options.append(_joined(earlier, known, choice, float(time), float(memory[v][choice])))
            cells[at] = _best(options, most)
        alive = [message for message in alive if message not in earlier]
        alive.append(_Message(v, scope, cells, earlier))
        removed.add(v)
    whole = _best([_joined(tuple(alive), {}, 0, 0.0, 0.0)], most)
    points = []
    for i in range(len(whole.time)):
        choices = [-1] * len(sizes)
        for message, pair in zip(alive, whole.parts[i].tolist(), strict=True):
            _trace(message, pair, choices)
        points.append(FrontierPoint(float(whole.time[i]), float(whole.memory[i]), tuple(choices)))
    return points


def _tried(costs: Floats, second: Floats) -> Ints:
    """Choices of a vertex that are tried, ascending: all if they are few."""
    if len(costs) <= CHOICES:
        return np.arange(len(costs))
    best = _undominated(costs, second)
    best = best[np.unique(np.linspace(0, len(best) - 1, CHOICES).round().astype(np.int64))]
    rest = np.setdiff1d(np.argsort(costs, kind="stable"), best, assume_unique=True)
    cheapest = rest[np.argsort(costs[rest], kind="stable")][: CHOICES - len(best)]
    return np.sort(np.concatenate([best, cheapest]))


def _joined(messages: tuple[_Message, ...], known: dict[int, int], choice: int, time: float, memory: float) -> _Cell:
    """All sums of one pair of every table."""
    times, memories = np.array([time]), np.array([memory])
    parts = np.zeros((1, 0), np.int64)
    for message in messages:
        cell = message.cells[tuple(known[u] for u in message.scope)]
        n = len(cell.time)
        parts = np.column_stack([np.repeat(parts, n, axis=0), np.tile(np.arange(n), len(times))])
        times = (times[:, None] + cell.time).ravel()
        memories = (memories[:, None] + cell.memory).ravel()
        if len(messages) > 2:  # what is beaten in part is beaten in whole
            keep = _undominated(times, memories)
            times, memories, parts = times[keep], memories[keep], parts[keep]
    return _Cell(times, memories, np.full(len(times), choice), parts)


def _best(options: list[_Cell], most: int) -> _Cell:
    times, memories = (np.concatenate([getattr(o, name) for o in options]) for name in ("time", "memory"))
    keep = _undominated(times, memories)
    if len(keep) > most:
        keep = keep[np.unique(np.linspace(0, len(keep) - 1, most).round().astype(np.int64))]
    choice = np.concatenate([o.choice for o in options])
    parts = np.concatenate([o.parts for o in options])
    return _Cell(times[keep], memories[keep], choice[keep], parts[keep])


def _undominated(times: Floats, memories: Floats) -> Ints:
    """Pairs that no other beats, by ascending memory."""
    order = np.lexsort((times, memories))
    least = np.minimum.accumulate(times[order])
    first = np.r_[True, least[1:] < least[:-1]]
    return np.asarray(order[first])


def _trace(message: _Message, pair: int, choices: list[int]) -> None:
    """Choices of a vertex and of all removed into it; neighbours are removed later, so theirs are known first."""
    stack = [(message, pair)]
    while stack:
        at, i = stack.pop()
        cell = at.cells[tuple(choices[u] for u in at.scope)]
        choices[at.vertex] = int(cell.choice[i])
        stack += zip(at.earlier, cell.parts[i].tolist(), strict=True)
