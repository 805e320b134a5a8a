"""Cycles of a topology as arrays: whom they visit, and the pairs of servers that follow each other on them."""

from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.csr import ends
from flexnet.network.topology import Topology, by_members, check_cycle

__all__ = ["CycleLayout", "cycle_layout"]

KNOWN = 64
"""Layouts that are remembered: routes of a network change more often than its cycles."""


class CycleLayout(NamedTuple):
    """Cycles one after the other, put together by the set of servers they visit.

    Parameters
    ----------
    ptr : int32 (n_set + 1,)
        Cycles of set s are ``ptr[s]:ptr[s + 1]``.
    member : bool (n_set, n_server)
    edge : int32 (n_cycle + 1,)
        Edges of cycle k are ``edge[k]:edge[k + 1]``.
    pair : int64 (n_edge,)
        Of every edge, ``source * n_server + target``.
    """

    ptr: npt.NDArray[np.int32]
    member: npt.NDArray[np.bool_]
    edge: npt.NDArray[np.int32]
    pair: npt.NDArray[np.int64]


def cycle_layout(topology: Topology) -> CycleLayout:
    """The cycles of a topology; not to be written to.

    Raises
    ------
    FlexNetError
        If a cycle does not visit two or more distinct servers.
    """
    return _layout(topology.name, topology.n_server, topology.cycles)


@lru_cache(maxsize=KNOWN)
def _layout(name: str, n: int, cycles: tuple[tuple[int, ...], ...]) -> CycleLayout:
    for cycle in cycles:
        check_cycle(name, n, cycle)
    sets = by_members(cycles)
    member = np.zeros((len(sets), n), np.bool_)
    for row, members in zip(member, sets, strict=True):
        row[list(members)] = True
    in_order = [cycle for same in sets.values() for cycle in same]
    edge = ends([len(cycle) for cycle in in_order])
    begin = np.fromiter(chain.from_iterable(in_order), np.int64, edge[-1])
    end = np.concatenate([begin[1:], begin[:1]])
    end[edge[1:] - 1] = begin[edge[:-1]]
    return CycleLayout(ends([len(same) for same in sets.values()]), member, edge, begin * n + end)
