"""A lower bound on the iteration time of any strategy on any network of a kind.

An iteration takes at least as long as each of these, for the strategy it runs:

1. compute along one path of the model, forward and then backward, one part of each operator;
2. all compute, shared out evenly over the servers;
3. all bytes that must cross a link, over the bandwidth of all interfaces (with fair links only).

So does any weighted mean of the three.  Each is a sum over operators and edges, so the strategy with the least mean
is found exactly by elimination, and its mean is a bound for all strategies (Lagrangian duality); weights are improved
by cutting planes.  Transfers are taken as if every part lay on the server it takes most from.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.exact.solver import solve
from flexnet.exact.tables import CostTables
from flexnet.exact.terms import Terms
from flexnet.model.graph import ModelGraph

__all__ = ["heaviest_path", "lower_bound"]

Floats = npt.NDArray[np.float64]

ROUNDS = 12
STEPS = 20  # weights are multiples of 1/20


def lower_bound(graph: ModelGraph, terms: Terms, n_server: int, per_byte: float | None) -> float:
    """Seconds that an iteration takes at least.

    Parameters
    ----------
    graph : ModelGraph
    terms : Terms
    n_server : int
    per_byte : float or None
        Seconds per byte of all interfaces of a server together; None to leave communication out.
    """
    path = heaviest_path(graph, [float(costs.min()) for costs in terms.compute])
    on_path = [costs if op in path else 0.0 * costs for op, costs in enumerate(terms.compute)]
    work = [costs / n_server for costs in terms.work]
    sent = [0.0 * costs for costs in terms.work]
    moved = {ends: 0.0 * table for ends, table in terms.moved_least.items()}
    if per_byte is not None:
        sent = [costs * per_byte / n_server for costs in terms.reduced_total]
        moved = {ends: table * per_byte / n_server for ends, table in terms.moved_least.items()}
    grid = _simplex(3, STEPS)
    values = np.full(len(grid), np.inf)  # an upper bound of every weight's value, from the solutions seen
    best, tried = 0.0, set()
    for weights in (np.eye(3)[0], np.eye(3)[1], np.eye(3)[2], *[None] * ROUNDS):
        at = int(np.argmax(values)) if weights is None else int(np.argmin(np.abs(grid - weights).sum(axis=1)))
        if at in tried:
            break
        tried.add(at)
        a, b, c = grid[at]
        vertices = tuple(a * p + b * w + c * s for p, w, s in zip(on_path, work, sent, strict=True))
        solution = solve(CostTables(vertices, {ends: c * table for ends, table in moved.items()}))
        best = max(best, solution.cost)
        seen = [sum(float(t[i]) for t, i in zip(term, solution.choices, strict=True)) for term in (on_path, work, sent)]
        seen[2] += sum(float(table[solution.choices[u], solution.choices[v]]) for (u, v), table in moved.items())
        values = np.minimum(values, grid @ np.array(seen))
    return best * (1 - 1e-9)  # sums in another order than the simulator's


def heaviest_path(graph: ModelGraph, weights: Sequence[float]) -> set[int]:
    """Operators of the path with the largest sum of weights."""
    reach = list(weights)
    before: list[int | None] = [None] * len(weights)
    for op in graph.operators:
        for source in op.inputs:
            if source.op is not None and reach[source.op] + weights[op.index] > reach[op.index]:
                reach[op.index] = reach[source.op] + weights[op.index]
                before[op.index] = source.op
    at: int | None = int(np.argmax(reach))
    path = set()
    while at is not None:
        path.add(at)
        at = before[at]
    return path


def _simplex(n: int, steps: int) -> Floats:
    """All vectors of n non-negative multiples of 1/steps with sum 1."""
    counts = np.stack(np.meshgrid(*[np.arange(steps + 1)] * n, indexing="ij"), axis=-1).reshape(-1, n)
    return np.asarray(counts[counts.sum(axis=1) == steps] / steps)
