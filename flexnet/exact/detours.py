"""What waits for a tower though not every part of what joins the towers does.

Where tensors are joined along an axis that is cut too, a part of the joined one reads nothing of inputs that lie in
other parts.  Whoever reads all of that axis, or a sum over it, waits for every input all the same: for some part of the
join that reads the input, and for some part of each operator in between.
"""

from collections import deque
from collections.abc import Container
from typing import NamedTuple

from flexnet.model.operators import kind_of
from flexnet.plan.problem import Problem

__all__ = ["Detour", "find_detours"]


class Detour(NamedTuple):
    """Operators that wait for each other though parts in between do not.

    Forward every part of ``last`` waits for some part of ``first``; backward, for every part of ``last`` some part of
    ``first`` waits.  In between runs one part of each of ``middle``, one after the other; what these receive may come
    before or after.

    Parameters
    ----------
    first, last : int
        Operators.
    middle : tuple of int
        Operators, from the join on.
    """

    first: int
    last: int
    middle: tuple[int, ...]


class _Way(NamedTuple):
    """An operator of which some parts wait for a tower: those in some pieces of this dimension of its output."""

    op: int
    dim: int
    middle: tuple[int, ...]


def find_detours(problem: Problem, unread: Container[tuple[int, int]]) -> list[Detour]:
    """The shortest detours past edges of which some part of the consumer may read nothing, one for each pair of ends.

    Parameters
    ----------
    problem : Problem
    unread : container of (int, int)
        Producers and consumers of such edges.
    """
    arrays = problem.arrays
    ends = list(zip(arrays.edge_src.tolist(), arrays.edge_dst.tolist(), strict=True))
    leaving: dict[int, list[int]] = {}
    for e, (u, _) in enumerate(ends):
        leaving.setdefault(u, []).append(e)
    found: dict[tuple[int, int], Detour] = {}

    def add(first: int, last: int, middle: tuple[int, ...]) -> None:
        found.setdefault((first, last), Detour(first, last, middle))

    for op in problem.graph.operators:
        joined = kind_of(op).joined(op)
        if len(joined) != 1:
            continue
        (along,) = joined
        for source in op.inputs:
            if source.op is None or (source.op, op.index) not in unread:
                continue
            ways, seen = deque([_Way(op.index, along, (op.index,))]), {(op.index, along)}
            while ways:
                way = ways.popleft()
                for e in leaving.get(way.op, []):
                    reader, axis = problem.graph.operators[ends[e][1]], int(arrays.edge_split[e, way.dim])
                    if ends[e] in unread:
                        continue
                    if axis < 0:
                        add(source.op, reader.index, way.middle)
                    elif axis == reader.rank:
                        for later in leaving.get(reader.index, []):
                            if ends[later] not in unread:
                                add(source.op, ends[later][1], (*way.middle, reader.index))
                    elif _reads_all(problem, e, way.dim, axis) and (reader.index, axis) not in seen:
                        seen.add((reader.index, axis))
                        ways.append(_Way(reader.index, axis, (*way.middle, reader.index)))
    return list(found.values())


def _reads_all(problem: Problem, edge: int, dim: int, axis: int) -> bool:
    """Whether the parts of a consumer together read all of a dimension, which they cut along ``axis``."""
    arrays, reader = problem.arrays, problem.graph.operators[int(problem.arrays.edge_dst[edge])]
    whole = arrays.edge_extent[edge, dim] == reader.outputs[0].dims[axis]
    return len(reader.outputs) == 1 and bool(whole and arrays.edge_stride[edge, dim] <= arrays.edge_window[edge, dim])
