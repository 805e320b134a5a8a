"""Where a model is cut into stages: little goes from one to the next, and all servers compute about as long.

In the middle of a layer of a Llama eight times as much may go over as between two.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.model.graph import ModelGraph

__all__ = ["cut_anywhere", "cut_where_little_goes_over", "going_over"]

NEAR = 0.5  # stages that a border may lie from where all would be alike
PASSES = 10  # over all borders, to even out what sets of servers compute

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def going_over(graph: ModelGraph, ops: Sequence[int]) -> Ints:
    """Bytes that go over each border between consecutive operators, each tensor once: int64 (len(ops) - 1,)."""
    place = {op: i for i, op in enumerate(ops)}
    last: dict[tuple[int, int], int] = {}  # operator that reads a tensor, by producer and output
    for op in ops:
        for source in graph.operators[op].inputs:
            if source.op in place:
                last[source.op, source.output] = place[op]
    change = np.zeros(len(ops) + 1, np.int64)
    for (op, output), reader in last.items():
        size = graph.operators[op].outputs[output].n_byte
        change[place[op]] += size
        change[reader] -= size
    return np.cumsum(change)[: max(len(ops) - 1, 0)]


def cut_anywhere(load: Floats, n_stage: int) -> tuple[int, ...]:
    """Which stage every operator is in, by where the middle of its load lies; ``load`` (n,) as shares of all."""
    middle = np.cumsum(load) - load / 2
    stages = np.maximum.accumulate(np.minimum(middle * n_stage, n_stage - 1).astype(np.int64))
    return tuple(stages.tolist())


def cut_where_little_goes_over(load: Floats, over: Ints, n_stage: int, n_set: int) -> tuple[int, ...]:
    """The same, with borders where least goes over of all places near those of equal loads.

    Parameters
    ----------
    load : float64 (n,)
    over : int64 (n - 1,)
        See `going_over`.
    n_stage, n_set : int
        Stages, and sets of servers that have them by turns, whose loads are evened out.
    """
    until = np.cumsum(load)[:-1]  # of all before a border
    narrow = list[Ints]()
    for k in range(1, n_stage):
        near = np.flatnonzero(np.abs(until * n_stage - k) < NEAR)
        if not len(near):
            return cut_anywhere(load, n_stage)
        narrow.append(near[over[near] == over[near].min()])
    at = np.array([places[np.abs(until[places] * n_stage - k).argmin()] for k, places in enumerate(narrow, 1)], int)
    ends = np.concatenate([[0.0], until[at], [float(load.sum())]])
    loads = np.bincount(np.arange(n_stage) % n_set, np.diff(ends), n_set)
    for _ in range(PASSES if n_set > 1 else 0):
        before = ends.copy()
        for k, places in enumerate(narrow, 1):
            one, other = (k - 1) % n_set, k % n_set
            more = until[places] - ends[k]  # of the stage before the border
            best = int(((loads[one] + more) ** 2 + (loads[other] - more) ** 2).argmin())
            loads[one] += more[best]
            loads[other] -= more[best]
            at[k - 1], ends[k] = places[best], until[places[best]]
        if (ends == before).all():
            break
    return tuple(np.searchsorted(at, np.arange(len(load))).tolist())
