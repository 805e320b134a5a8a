"""What joins towers is cut along the axis they are joined along, and lies with them.

A part of the join then reads the towers of its slice, which lie on its servers or near; the matrix behind it is cut
along its inputs in the same way, and nothing but its sums moves.  Of CANDLE on 32 servers at 25 Gbps a server would
else receive what all towers put out: 52 ms, where two sets of servers that exchange sums take 40.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
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

MOST, MOST_OF_FEW, FEW_SERVERS = 24, 64, 32  # strategies; more for up to so many servers
MOST_JOINS, MOST_TRIED = 4, 32  # that are split, and looked at, those of most elements first

TOWERS = TOGETHER, APART, EVERYWHERE, ALONE = range(4)
"""Each on all servers of its slice, on some of these, on some of all, or on one, where a slice has one too."""

REST = SAMPLES, CHANNELS, INPUTS, ALL, SUMS, WHOLE = range(6)
"""What follows: on the servers of the join along samples, channels or inputs, on all along samples or inputs, or on
one."""

Ints = npt.NDArray[np.int64]


class SplitJoins(Start):
    """For every join that can be cut along its axis, every way to do so over so many servers a slice."""

    name: ClassVar[str] = "split-joins"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The first by what they take at least on any network of the family; none where there is nothing to split."""
        base = make_strategy(space.problem, data_parallel(rng, space))
        most = MOST if space.problem.cluster.n_server > FEW_SERVERS else MOST_OF_FEW
        return StartPoints(most_promising(space.problem, family, _splits(space, base, rng), most))


@dataclass(frozen=True, slots=True)
class _Join:
    """An operator that joins towers.

    Parameters
    ----------
    op : Operator
    axis : int
        Dimension along which it joins them.
    towers : list of list of int
        For every input, the operators that it needs and no other input does.
    begins : list of int
        Where every input begins along the axis, and where the last one ends.
    readers : list of (int, int)
        What is cut with the axis, and along which dimension of a config: readers of it, and readers of those, up to
        matrices that sum over it.
    behind : list of int
        All that needs it.
    """

    op: Operator
    axis: int
    towers: list[list[int]]
    begins: list[int]
    readers: list[tuple[int, int]]
    behind: list[int]

    def slices(self, tower: int, n: int) -> range:
        """Which of ``n`` slices have some of an input."""
        whole = self.begins[-1]
        return range(self.begins[tower] * n // whole, -(-self.begins[tower + 1] * n // whole))


def _splits(space: MoveSpace, base: Strategy, rng: np.random.Generator) -> Iterator[Strategy]:
    n = space.problem.cluster.n_server
    for join in islice(_joins(space), MOST_JOINS):
        slices = {entry.degrees[join.axis] for entry in space.problem.candidates[join.op.index]} - {1}
        for n_slice in sorted(slices):
            for each, towers, rest in product(divisors(n, n // n_slice), TOWERS, REST):
                if towers == ALONE and each > 1:
                    continue
                split = _split(space, base, join, n_slice, each, towers, rest, rng)
                if split is not None:
                    yield split


def _joins(space: MoveSpace) -> Iterator[_Join]:
    """Operators that join several towers, along an axis that may be cut; those of most elements first."""
    operators = space.problem.graph.operators
    found = [(op, axes) for op in operators if len(axes := kind_of(op).joined(op)) == 1]
    for op, (axis,) in sorted(found, key=lambda one: -one[0].outputs[0].volume)[:MOST_TRIED]:
        needed = [_reached(space, source.op, forward=False) for source in op.inputs]
        count = np.bincount([x for tower in needed for x in tower], minlength=len(operators))
        towers = [[x for x in sorted(tower) if count[x] == 1] for tower in needed]
        if sum(bool(tower) for tower in towers) > 1:
            begins = np.cumsum([0, *(source.tensor.dims[axis] for source in op.inputs)]).tolist()
            behind = sorted(_reached(space, op.index, forward=True) - {op.index})
            yield _Join(op, axis, towers, begins, _readers(space, op.index, axis), behind)


def _reached(space: MoveSpace, op: int | None, *, forward: bool) -> set[int]:
    """An operator and all that needs it, if ``forward``, or else that it needs."""
    found: set[int] = set()
    border = [] if op is None else [op]
    while border:
        x = border.pop()
        if x not in found:
            found.add(x)
            border += [other for other in space.blocks.neighbours[x] if (other > x) == forward]
    return found


def _readers(space: MoveSpace, op: int, axis: int) -> list[tuple[int, int]]:
    arrays, operators = space.problem.arrays, space.problem.graph.operators
    found: dict[tuple[int, int], None] = {}
    border = [(op, axis)]
    while border:
        x, dim = border.pop()
        for e in np.flatnonzero(arrays.edge_src == x).tolist():
            reader, cut = int(arrays.edge_dst[e]), int(arrays.edge_split[e, dim])
            if cut >= 0 and (reader, cut) not in found:
                found[reader, cut] = None
                if cut < operators[reader].rank:
                    border.append((reader, cut))
    return list(found)


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
    beside: Ints = sets.T.ravel()  # those of the same samples are neighbours
    cut = _candidate(space, op.index, {join.axis: n_slice, op.rank - 1: each})
    if cut is None:
        return None
    strategy = copy_of(base)
    _lay_rest(space, strategy, join, beside, n_slice, each, rest, rng)
    for x, axis in join.readers:
        with_it = _candidate(space, x, {axis: n_slice, space.problem.graph.operators[x].rank - 1: each})
        if with_it is not None:
            blocks.lay(strategy, x, with_it, beside)
    blocks.lay(strategy, op.index, cut, beside)
    towers = [i for i, tower in enumerate(join.towers) if tower]
    first = {i: join.slices(i, n_slice)[0] for i in towers}
    for place, i in enumerate(towers):
        servers = sets[list(join.slices(i, n_slice))].ravel()
        if how == APART:
            alike = [k for k in towers if first[k] == first[i]]
            servers = _share(servers, alike.index(i), len(alike))
        elif how == EVERYWHERE:
            servers = _share(np.arange(n), place, len(towers))
        elif how == ALONE:
            servers = np.array([place % n])
        for x in join.towers[i]:
            blocks.assign(strategy, x, servers, None, rng)
    return strategy


def _lay_rest(
    space: MoveSpace,
    strategy: Strategy,
    join: _Join,
    beside: Ints,
    n_slice: int,
    each: int,
    rest: int,
    rng: np.random.Generator,
) -> None:
    """Lay what follows a join, which is cut in so many slices of ``each`` servers, ``beside`` each other."""
    blocks, n = space.blocks, space.problem.cluster.n_server
    for x in join.behind if rest != ALL else []:
        rank, servers = space.problem.graph.operators[x].rank, np.arange(n) if rest == SUMS else beside
        sums = _candidate(space, x, {rank: len(servers)}) if rest in (INPUTS, SUMS) else None
        if sums is not None:
            blocks.lay(strategy, x, sums, servers)
        elif rest != SUMS and not blocks.whole[x]:
            channels = _degrees(space, x, {0: n_slice, rank - 1: each}) if rest == CHANNELS else None
            blocks.assign(strategy, x, beside[:1] if rest == WHOLE else beside, channels, rng)


def _share(servers: Ints, place: int, n: int) -> Ints:
    """Of ``n`` equal sets of neighbours the one of that place; where there are not so many servers, one server."""
    size = max(divisors(len(servers), max(len(servers) // n, 1)))
    first = place * size % len(servers)
    return servers[first : first + size]


def _degrees(space: MoveSpace, op: int, degrees: dict[int, int]) -> tuple[int, ...]:
    """Degrees of an operator that are 1 but for those given."""
    rank = space.problem.graph.operators[op].rank
    return tuple(degrees.get(k, 1) for k in range(max(rank, max(degrees) + 1)))


def _candidate(space: MoveSpace, op: int, degrees: dict[int, int]) -> int | None:
    """Which candidate of an operator is cut so."""
    wanted = _degrees(space, op, degrees)
    return next((i for i, entry in enumerate(space.problem.candidates[op]) if entry.degrees == wanted), None)
