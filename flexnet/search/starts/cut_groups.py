"""Branches on sets of servers of their own, all operators cut as is best there under additive costs.

Where branches are cut along the batch alone, all of a set's servers reduce all weights of the branch; where every
operator may lie on all servers, one branch waits for the other.  On a fat-tree of 128 servers at 100 Gbps CANDLE takes
36 ms by prices when branches of 16 servers are cut along channels and inputs too; a minute's search from the other
starts ended at 46.  Blocks of layers that follow each other, as ResNet's, and small branches, as Inception's, lie on
all servers, as the other operators do.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.exact.solver import solve
from flexnet.exact.terms import Terms
from flexnet.model.cutting import divisors
from flexnet.network.family import TopologyFamily
from flexnet.network.nearness import least_hops
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.plan.task_graph_builder import Builder
from flexnet.search.moves.blocks import copy_of, spread
from flexnet.search.moves.deal import heaviest_first
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.ranked import most_promising
from flexnet.search.starts.some_cuts import cuts_within, tables_of
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["CutGroups"]

MOST = 48  # strategies
MOST_SOLVED = 10_000  # operators in all models that are solved
MOST_TASKS = 100_000  # of data parallelism; with more, models of so many servers take longer than they bring
OVERLAPPED = 0.5  # share of all-reduces that compute does not hide, in every second model
LEAST_SHARE = 0.1  # of what is computed, by branches that are worth sets of their own
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
        if len(Builder(problem).arrays(base).kind) > MOST_TASKS:
            return StartPoints(())
        return StartPoints(most_promising(problem, family, _optima(space, base, family), MOST))


def _optima(space: MoveSpace, base: Strategy, family: TopologyFamily) -> Iterator[Strategy]:
    """An optimum for all sizes of sets, and for several shares of communication; some of them where there are many."""
    cluster = space.problem.cluster
    n, per_byte = cluster.n_server, 1.0 / family.server_bandwidth(cluster)
    neighbours = family.neighbours(n)
    far = {size: float(least_hops(max(size - 1, 1), neighbours).mean()) for size in divisors(n, n)}
    branches = heaviest_first(space.blocks)[0]
    branch_of = {op: i for i, chain in enumerate(branches) for op in chain}
    in_sets = _gain_by_sets(space, branch_of)
    terms = space.terms(strided=space.strided and not in_sets)
    sizes, n_op = divisors(n, n)[::-1], len(terms.degrees)
    everywhere = dict.fromkeys(far[n] ** (i / (HOPS - 1)) for i in range(HOPS))
    whole = [terms.tables(per_byte, reduce=reduce) for reduce in (1.0, OVERLAPPED)]
    within = {size: [cuts_within(terms, op, size) for op in range(n_op)] for size in sizes}
    pairs = list(product(sizes, sizes)) if in_sets else [(n, n)]
    models = [(hops, *pair, every) for hops in (None, *everywhere) for pair in pairs for every in whole]
    for hops, n_rest, n_branch, every in models[:: -(-len(models) * n_op // MOST_SOLVED)]:
        size_of = [n_branch if op in branch_of else n_rest for op in range(n_op)]
        kept = [within[size][op] for op, size in enumerate(size_of)]
        tables = tables_of(every, kept, [hops or far[size] for size in size_of])
        rows = [int(fitting[i]) for fitting, i in zip(kept, solve(tables).choices, strict=True)]
        yield _laid(space, base, terms, rows, branch_of, n_branch, n_rest)


def _gain_by_sets(space: MoveSpace, branch_of: Mapping[int, int]) -> bool:
    """Whether branches compute a good part of everything, and none needs another, as layers in a row do."""
    arrays = space.problem.arrays
    ops, branches = np.array(list(branch_of)), np.array(list(branch_of.values()))
    seconds = (arrays.forward + arrays.backward)[arrays.candidate_ptr[:-1]]
    side_by_side = not (arrays.needed[np.ix_(ops, ops)] & (branches[:, None] != branches)).any()
    return side_by_side and float(seconds[ops].sum()) >= LEAST_SHARE * float(seconds.sum())


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
        row, parts = space.problem.choice_of(op, degrees), prod(degrees)
        if op in branch_of:
            servers = spread(n, n_branch, branch_of[op] % (n // n_branch), strided=False)[:parts]
        else:
            servers = spread(n, n_rest, 0, strided=True)[:: max(n_rest // parts, 1)][:parts]
        if len(servers) < parts:  # it cannot be cut into so few
            servers = np.arange(parts)
        blocks.lay(strategy, op, row, servers)
    return strategy
