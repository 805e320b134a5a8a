"""What waits for a tower though not every part of what joins the towers does.

Where tensors are joined along an axis that is cut too, a part of the joined one reads nothing of inputs that lie in
other parts.  Whoever reads all of that axis, or a sum over it, waits for every input all the same: for some part of the
join that reads the input, and for some part of each operator in between.
"""

from collections.abc import Container
from dataclasses import dataclass

from flexnet.model.operators import kind_of
from flexnet.plan.problem import Problem

__all__ = ["Detour", "find_detours"]

MOST = 1000


@dataclass(frozen=True, slots=True)
class Detour:
    """Forward every part of ``last`` waits for some part of ``first``; backward every part of it is waited for by some.

    In between runs one part of each of ``middle``, one after the other.

    Parameters
    ----------
    first, last : int
        Operators.
    middle : tuple of int
        Operators.
    edges : tuple of (int, int)
        From the first of ``middle`` on to ``last``: producers and consumers.
    """

    first: int
    last: int
    middle: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


def find_detours(problem: Problem, unread: Container[tuple[int, int]]) -> list[Detour]:
    """Detours past the edges of which some part of the consumer may read nothing.

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
    found: dict[Detour, None] = {}
    for op in problem.graph.operators:
        for i, source in enumerate(op.inputs):
            along = [k for k, window in enumerate(kind_of(op).reach(op, i)) if window.joined]
            if source.op is None or (source.op, op.index) not in unread or len(along) != 1:
                continue
            ways: list[tuple[int, int, tuple[int, ...], tuple[tuple[int, int], ...]]]
            ways = [(op.index, along[0], (op.index,), ())]
            while ways and len(found) < MOST:
                x, dim, middle, edges = ways.pop()
                for e in leaving.get(x, []):
                    w, axis = ends[e][1], int(arrays.edge_split[e, dim])
                    reader, so_far = problem.graph.operators[w], (*edges, ends[e])
                    if axis < 0:
                        found[Detour(source.op, w, middle, so_far)] = None
                    elif axis == reader.rank:
                        for later in leaving.get(w, []):
                            if ends[later] not in unread:
                                found[Detour(source.op, ends[later][1], (*middle, w), (*so_far, ends[later]))] = None
                    elif len(reader.outputs) == 1 and arrays.edge_extent[e, dim] == reader.outputs[0].dims[axis]:
                        ways.append((w, axis, (*middle, w), so_far))
    return list(found)
