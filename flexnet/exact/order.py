"""Elimination orders: which vertex to remove next, and what that costs.

Removing a vertex joins its neighbours to a clique, in which a table over all of them is kept.  The work is the size
of the joint table with the vertex, before its minimum is taken; that table itself is never stored as a whole.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod

__all__ = ["RULES", "Order", "best_order", "breadth_first_order", "make_order"]

Neighbours = list[set[int]]
Key = tuple[float, ...]
Rule = Callable[[int, Neighbours, Sequence[int]], Key]

SMALL_WORK = 10**8  # cells, some 0.1 s: below, trying other rules takes longer than they save


@dataclass(frozen=True, slots=True)
class Order:
    """An elimination order and its sizes.

    Parameters
    ----------
    rule : str
        What chose it.
    vertices : tuple of int
        In order of elimination.
    work : int
        Cells of all joint tables.
    peak : int
        Cells of the largest joint table.
    kept : int
        Cells of all tables that are kept: what is left of the joint ones after the minimum.
    largest_kept : int
        Cells of the largest of them.
    work_of : tuple of int
        Cells of all joint tables that a vertex is part of.
    """

    rule: str
    vertices: tuple[int, ...]
    work: int
    peak: int
    kept: int
    largest_kept: int
    work_of: tuple[int, ...]


def _few_neighbours(v: int, near: Neighbours, sizes: Sequence[int]) -> Key:
    return (len(near[v]), prod(sizes[u] for u in near[v]))


def _small_table(v: int, near: Neighbours, sizes: Sequence[int]) -> Key:
    return (prod(sizes[u] for u in near[v]) * sizes[v],)


def _small_rest(v: int, near: Neighbours, sizes: Sequence[int]) -> Key:
    return (prod(sizes[u] for u in near[v]), sizes[v])


def _little_fill(v: int, near: Neighbours, sizes: Sequence[int]) -> Key:
    """Weight of the pairs of neighbours that elimination would join, then the table's size."""
    ends = sorted(near[v])
    fill = sum(sizes[a] * sizes[b] for i, a in enumerate(ends) for b in ends[i + 1 :] if b not in near[a])
    return (fill, prod(sizes[u] for u in ends) * sizes[v])


RULES: Mapping[str, Rule] = {
    "min-degree": _few_neighbours,
    "min-weight": _small_table,
    "min-rest": _small_rest,
    "min-fill": _little_fill,
}


def make_order(rule: str, sizes: Sequence[int], edges: Collection[tuple[int, int]]) -> Order:
    """Eliminate greedily by a rule; ties go to the lowest vertex.

    Parameters
    ----------
    rule : str
        Key of `RULES`.
    sizes : sequence of int
        Choices of every vertex.
    edges : collection of (int, int)

    Examples
    --------
    >>> make_order("min-degree", [2, 3, 4], [(0, 1), (1, 2)]).vertices  # the tables of 1 and 2 are of 4 and 3 cells
    (0, 2, 1)
    """
    return _greedy(rule, RULES[rule], sizes, edges)


def breadth_first_order(sizes: Sequence[int], edges: Collection[tuple[int, int]]) -> Order:
    """Eliminate breadth first from vertex 0, as PaSE's ``--algo 1`` goes through the graph."""
    near = _neighbours(sizes, edges)
    place: dict[int, int] = {}
    for root in range(len(sizes)):
        queue = [] if root in place else [root]
        place.setdefault(root, len(place))
        for v in queue:
            for u in sorted(near[v]):
                if u not in place:
                    place[u] = len(place)
                    queue.append(u)
    return _greedy("breadth first", lambda v, near, sizes: (place[v],), sizes, edges)


def _neighbours(sizes: Sequence[int], edges: Collection[tuple[int, int]]) -> Neighbours:
    near: Neighbours = [set() for _ in sizes]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def _greedy(name: str, key: Rule, sizes: Sequence[int], edges: Collection[tuple[int, int]]) -> Order:
    near = _neighbours(sizes, edges)
    keys = [key(v, near, sizes) for v in range(len(sizes))]
    heap = [(keys[v], v) for v in range(len(sizes))]
    heapify(heap)
    done = [False] * len(sizes)
    order = []
    work_of = [0] * len(sizes)
    work = peak = kept = largest = 0
    while heap:
        known, v = heappop(heap)
        if done[v] or known != keys[v]:
            continue
        done[v] = True
        order.append(v)
        ends = near[v]
        rest = prod(sizes[u] for u in ends)
        work += rest * sizes[v]
        peak = max(peak, rest * sizes[v])
        kept += rest
        largest = max(largest, rest)
        work_of[v] += rest * sizes[v]
        for u in ends:
            work_of[u] += rest * sizes[v]
            near[u] |= ends
            near[u] -= {u, v}
        touched = ends if name != "min-fill" else ends.union(*(near[u] for u in ends))
        for u in touched:
            fresh = key(u, near, sizes)
            if fresh != keys[u]:
                keys[u] = fresh
                heappush(heap, (fresh, u))
    return Order(name, tuple(order), work, peak, kept, largest, tuple(work_of))


def best_order(sizes: Sequence[int], edges: Collection[tuple[int, int]], room: float = float("inf")) -> Order:
    """The order with the least work among those that keep at most ``room`` cells; if none does, the one closest.

    Other rules are tried only where the first leaves much work or too large tables.
    """
    first = make_order("min-degree", sizes, edges)
    if first.work <= SMALL_WORK and first.kept <= room:
        return first
    orders = [first, *(make_order(rule, sizes, edges) for rule in list(RULES)[1:])]
    fitting = [order for order in orders if order.kept <= room]
    if fitting:
        return min(fitting, key=lambda order: order.work)
    return min(orders, key=lambda order: order.kept)
