"""In which order the packet simulator starts the tasks that wait for nothing."""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.kernels import hash_order

__all__ = ["BUCKET_COUNTS", "iteration_order", "root_ranks", "rows_in_order"]

# How libstdc++'s tables grow when entries come one by one (std::__detail::_Prime_rehash_policy): the first prime of
# its list that is at least twice the last number of buckets.
BUCKET_COUNTS = np.array(
    [
        *(13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061, 712697, 1447153),
        *(2938679, 5967347, 12117689, 24607243, 49969847, 101473717),
    ],
    np.int64,
)


def iteration_order(ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Positions of ``ids`` in the order in which FlexNetPacket's table of tasks gives them out.

    The table is a ``std::unordered_map`` of libstdc++ into which tasks are put in file order; starting them, the
    simulator goes through it.  Of 40 roots on one GPU it was seen to run 40, 39 ... 30, 13 ... 1, 14 ... 29.

    Parameters
    ----------
    ids : uint64 (n_task,)
        Distinct task ids in file order.

    Returns
    -------
    int64 (n_task,)

    Raises
    ------
    FlexNetError
        If there are more tasks than the largest table holds.

    >>> print(*iteration_order(np.arange(1, 41, dtype=np.uint64)) + 1)
    40 39 38 37 36 35 34 33 32 31 30 13 12 11 10 9 8 7 6 5 4 3 2 1 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
    """
    if len(ids) > BUCKET_COUNTS[-1]:
        raise FlexNetError(f"{len(ids)} tasks; the most that can be ordered are {BUCKET_COUNTS[-1]}")
    order = np.empty(len(ids), np.int64)
    hash_order(np.ascontiguousarray(ids), BUCKET_COUNTS, order)
    return order


def root_ranks(ids: npt.NDArray[np.uint64], waits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """Ranks (`flexnet.plan.task_graph.TaskGraph.rank`) that start tasks as the packet simulator does.

    Tasks that wait for nothing come in `iteration_order`, a picosecond apart; all others have equal rank, because
    there tasks that become ready at the same instant are served as their messages came in.

    Parameters
    ----------
    ids : uint64 (n_task,)
    waits : bool (n_task,)
        Whether a task waits for another one.

    Returns
    -------
    int32 (n_task,)
        Negative for tasks that wait for nothing, 0 for others.

    >>> print(root_ranks(np.arange(1, 4, dtype=np.uint64), np.array([False, False, True])))
    [-1 -2  0]
    """
    ranks = np.empty(len(ids), np.int32)
    ranks[iteration_order(ids)] = np.arange(-len(ids), 0, dtype=np.int32)
    ranks[waits] = 0
    return ranks


def rows_in_order(waits: npt.NDArray[np.bool_], rank: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Which task to write in every row of a file, so that the packet simulator starts tasks in order of rank.

    Tasks that wait for nothing change places among each other; the others stay where they are.

    Parameters
    ----------
    waits : bool (n_task,)
        Whether a task waits for another one.
    rank : int (n_task,)
        Lowest first, equal ones in creation order.

    Returns
    -------
    int64 (n_task,)

    >>> print(rows_in_order(np.array([False, False, False, True]), np.array([0, 1, 2, 0])))
    [2 1 0 3]
    """
    rows = np.arange(len(waits))
    started = iteration_order(np.arange(1, len(waits) + 1, dtype=np.uint64))
    roots = np.flatnonzero(~waits)
    rows[started[~waits[started]]] = roots[np.argsort(rank[roots], kind="stable")]
    return rows
