"""Branches on sets of servers of their own, all operators cut as is best there under additive costs.

Where branches are cut along the batch alone, all of a set's servers reduce all weights of the branch; where every
operator may lie on all servers, one branch waits for the other.  On 128 servers CANDLE takes 36 ms so, at 100 Gbps on a
fat-tree, when branches of 16 servers are cut along channels and inputs too; the other starts take 60 to 70 ms.
"""

from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.exact.solver import solve
from flexnet.exact.tables import CostTables, Shared
from flexnet.exact.terms import Terms, measured_terms
from flexnet.model.cutting import divisors
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.search.moves.blocks import copy_of, spread
from flexnet.search.moves.deal import heaviest_first
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.ranked import most_promising
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["CutGroups"]

MOST = 48  # strategies
MOST_SOLVED = 10_000  # operators in all models, half a second
MOST_TASKS = 1_000_000  # of all that are compared, about a second
FEWEST = 8  # if no more can be compared, models of so many servers are not worth their time either
OVERLAPPED = 0.5  # share of all-reduces that compute does not hide, in every second model
HOPS = 4  # links of a transfer in the models, from one to those between any two servers; or by the size of its set

Ints = npt.NDArray[np.int64]


class CutGroups(Start):
    """For every size of the sets of the largest kind of branches, and of the set of all others, an additive optimum."""

    name: ClassVar[str] = "cut-groups"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The first by what they take at least on any network of the family.

        None where there are no branches, or plans are so large that few could be compared.
        """
        if not space.blocks.branches:
            return StartPoints(())
        problem = space.problem
        base = make_strategy(problem, data_parallel(rng, space))
        most = MOST_TASKS // build(problem, base).n_task
        if most < FEWEST:
            return StartPoints(())
        found: dict[tuple[bytes, bytes], Strategy] = {}
        for strategy in _optima(space, base, family):
            if len(found) >= most:
                break
            found.setdefault((strategy.choice.tobytes(), strategy.devices.tobytes()), strategy)
        return StartPoints(most_promising(problem, family, list(found.values()), MOST))


def _optima(space: MoveSpace, base: Strategy, family: TopologyFamily) -> Iterator[Strategy]:
    """An optimum for all sizes of sets, and for both shares of communication; those over all servers first."""
    cluster = space.problem.cluster
    n, per_byte = cluster.n_server, 1.0 / family.server_bandwidth(cluster)
    far = {size: _mean_hops(size, family.neighbours(n)) for size in divisors(n, n)}
    terms = measured_terms(space.problem, strided=False)
    branches = heaviest_first(space.blocks)[0]
    branch_of = {op: i for i, chain in enumerate(branches) for op in chain}
    sizes, n_op = divisors(n, n)[::-1], len(terms.degrees)
    everywhere = dict.fromkeys(far[n] ** (i / (HOPS - 1)) for i in range(HOPS))
    whole = [terms.tables(per_byte, reduce=reduce) for reduce in (1.0, OVERLAPPED)]
    models = product(whole, (None, *everywhere), sizes, sizes)
    for every, hops, n_rest, n_branch in islice(models, MOST_SOLVED // n_op):
        size_of = [n_branch if op in branch_of else n_rest for op in range(n_op)]
        kept = [_within(terms, op, size) for op, size in enumerate(size_of)]
        tables = _cut(every, kept, [hops or far[size] for size in size_of])
        rows = [int(fitting[i]) for fitting, i in zip(kept, solve(tables).choices, strict=True)]
        yield _laid(space, base, terms, rows, branch_of, n_branch, n_rest)


def _mean_hops(n_server: int, neighbours: int | None) -> float:
    """Links to another server, on the mean, at least (Moore's bound)."""
    if neighbours is None or n_server < 3:
        return 1.0
    left, level, near, total = n_server - 1, 1, neighbours, 0
    while left > 0:
        total += level * min(near, left)
        left, level, near = left - near, level + 1, near * max(neighbours - 1, 1)
    return total / (n_server - 1)


def _within(terms: Terms, op: int, n: int) -> Ints:
    """Choices of an operator into as many parts as divide ``n``; those of fewest parts if there are none."""
    parts = np.array([prod(degrees) for degrees in terms.degrees[op]])
    fitting = np.flatnonzero(n % parts == 0)
    return fitting if len(fitting) else np.flatnonzero(parts == parts.min())


def _cut(tables: CostTables, kept: list[Ints], hops: list[float]) -> CostTables:
    """The tables of the choices kept, where what is sent to an operator takes so many links."""
    one = Shared()
    vertices = tuple(one(costs[rows]) for costs, rows in zip(tables.vertices, kept, strict=True))
    edges = {(u, v): one(hops[v] * table[np.ix_(kept[u], kept[v])]) for (u, v), table in tables.edges.items()}
    return CostTables(vertices, edges)


def _laid(
    space: MoveSpace,
    base: Strategy,
    terms: Terms,
    choices: list[int],
    branch_of: dict[int, int],
    n_branch: int,
    n_rest: int,
) -> Strategy:
    """The strategy with these choices: branches side by side, the rest evenly spread, tables as they were."""
    blocks, n, strategy = space.blocks, space.problem.cluster.n_server, copy_of(base)
    for op, choice in enumerate(choices):
        if blocks.whole[op]:
            continue
        degrees = terms.degrees[op][choice]
        row = next(i for i, entry in enumerate(space.problem.candidates[op]) if entry.degrees == degrees)
        parts = prod(degrees)
        if op in branch_of:
            servers = spread(n, n_branch, branch_of[op] % (n // n_branch), strided=False)[:parts]
        else:
            servers = spread(n, n_rest, 0, strided=True)[:: max(n_rest // parts, 1)][:parts]
        if len(servers) < parts:  # it cannot be cut into so few
            servers = np.arange(parts)
        blocks.lay(strategy, op, row, servers)
    return strategy
