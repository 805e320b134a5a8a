"""What joins towers is cut along the axis they are joined along, and lies with them.

A part of the join then reads the towers of its slice, which lie on its servers or near; the matrix behind it is cut
along its inputs in the same way, and nothing but its sums moves.  Of CANDLE on 32 servers at 25 Gbps a server would
else receive what all towers put out: 52 ms, where two sets of servers that exchange sums take 40.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.model.cutting import divisors
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.search.moves.blocks import copy_of
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.ranked import most_promising
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["SplitJoins"]

MOST = 24  # strategies
MOST_JOINS = 4  # that are split, those of most elements first

TOGETHER, APART, EVERYWHERE = range(3)  # towers: on all servers of their slice, on some of these each, on some of all
SAMPLES, CHANNELS, ALL = range(3)  # what follows: on the servers of the join, along samples or channels, or on all

Ints = npt.NDArray[np.int64]


class SplitJoins(Start):
    """For every join that can be cut along its axis, every way to do so over so many servers a slice."""

    name: ClassVar[str] = "split-joins"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The first by what they take at least on any network of the family; none where there is nothing to split."""
        base = make_strategy(space.problem, data_parallel(rng, space))
        return StartPoints(most_promising(space.problem, family, _splits(space, base, rng), MOST))


@dataclass(frozen=True, slots=True)
class _Join:
    """An operator that joins towers.

    Parameters
    ----------
    op : Operator
    axis : int
        Dimension along which it joins them.
    towers : list of list of int
        For every input, the operators that nothing but that input needs.
    middles : list of float
        Where along the axis an input lies, as a share of it.
    """

    op: Operator
    axis: int
    towers: list[list[int]]
    middles: list[float]


def _splits(space: MoveSpace, base: Strategy, rng: np.random.Generator) -> Iterator[Strategy]:
    n = space.problem.cluster.n_server
    joins = sorted(_joins(space), key=lambda join: -join.op.outputs[0].volume)[:MOST_JOINS]
    for join in joins:
        slices = {entry.degrees[join.axis] for entry in space.problem.candidates[join.op.index]} - {1}
        for n_slice in sorted(slices):
            for each, towers, rest in product(
                divisors(n, n // n_slice), (TOGETHER, APART, EVERYWHERE), (SAMPLES, CHANNELS, ALL)
            ):
                split = _split(space, base, join, n_slice, each, towers, rest, rng)
                if split is not None:
                    yield split


def _joins(space: MoveSpace) -> Iterator[_Join]:
    """Operators that join several towers, along an axis that may be cut."""
    for op in space.problem.graph.operators:
        along = {k for i in range(len(op.inputs)) for k, w in enumerate(kind_of(op).reach(op, i)) if w.joined}
        if len(along) != 1:
            continue
        (axis,) = along
        needed = [_ancestors(space, source.op) for source in op.inputs]
        count = np.bincount([x for tower in needed for x in tower], minlength=len(space.problem.graph.operators))
        towers = [[x for x in tower if count[x] == 1] for tower in needed]
        if sum(bool(tower) for tower in towers) > 1:
            sizes = np.array([source.tensor.dims[axis] for source in op.inputs], np.float64)
            middles = (sizes.cumsum() - sizes / 2) / sizes.sum()
            yield _Join(op, axis, towers, middles.tolist())


def _ancestors(space: MoveSpace, op: int | None) -> set[int]:
    """An operator and all that it needs."""
    found: set[int] = set()
    border = [] if op is None else [op]
    while border:
        x = border.pop()
        if x not in found:
            found.add(x)
            border += [source.op for source in space.problem.graph.operators[x].inputs if source.op is not None]
    return found


def _split(
    space: MoveSpace,
    base: Strategy,
    join: _Join,
    n_slice: int,
    each: int,
    how: int,
    rest: int,
    rng: np.random.Generator,
) -> Strategy | None:
    """The join in so many slices of ``each`` servers; None if it cannot be cut so."""
    blocks, op, n = space.blocks, join.op, space.problem.cluster.n_server
    sets = np.arange(n_slice * each).reshape(n_slice, each)  # servers of every slice
    side_by_side: Ints = sets.T.ravel()  # those of the same samples are neighbours
    degrees = [1] * op.rank
    degrees[-1], degrees[join.axis] = each, n_slice
    cut = _candidate(space, op.index, tuple(degrees))
    if cut is None:
        return None
    strategy = copy_of(base)
    before = {x for tower in join.towers for x in tower}
    behind = [x for x in range(op.index + 1, len(blocks.whole)) if x not in before and not blocks.whole[x]]
    for x in behind if rest != ALL else []:
        wanted = _with(space, x, {0: n_slice, space.problem.graph.operators[x].rank - 1: each})
        blocks.assign(strategy, x, side_by_side, wanted if rest == CHANNELS else None, rng)
    for x in (x for x in blocks.neighbours[op.index] if x > op.index):
        rank = space.problem.graph.operators[x].rank
        reduced = _candidate(space, x, _with(space, x, {rank - 1: each, rank: n_slice}))
        if reduced is not None:
            blocks.lay(strategy, x, reduced, side_by_side)
    blocks.lay(strategy, op.index, cut, side_by_side)
    slice_of = [min(int(middle * n_slice), n_slice - 1) for middle in join.middles]
    towers = [i for i, tower in enumerate(join.towers) if tower]
    for place, i in enumerate(towers):
        beside = [k for k in towers if slice_of[k] == slice_of[i]]
        servers = sets[slice_of[i]]
        if how == APART:
            servers = _share(servers, beside.index(i), len(beside))
        elif how == EVERYWHERE:
            servers = _share(np.arange(n), place, len(towers))
        for x in join.towers[i]:
            blocks.assign(strategy, x, servers, None, rng)
    return strategy


def _share(servers: Ints, place: int, n: int) -> Ints:
    """Of ``n`` equal sets of neighbours the one of that place; where there are not so many servers, one server."""
    size = max(d for d in divisors(len(servers), max(len(servers) // n, 1)))
    first = place * size % len(servers)
    return servers[first : first + size]


def _with(space: MoveSpace, op: int, degrees: dict[int, int]) -> tuple[int, ...]:
    """Degrees of an operator that are 1 but for those given."""
    rank = space.problem.graph.operators[op].rank
    return tuple(degrees.get(k, 1) for k in range(max(rank, max(degrees) + 1)))


def _candidate(space: MoveSpace, op: int, degrees: tuple[int, ...]) -> int | None:
    """Which candidate of an operator is cut so."""
    return next((i for i, entry in enumerate(space.problem.candidates[op]) if entry.degrees == degrees), None)
