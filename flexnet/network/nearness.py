"""How near servers can be to one another where each is linked to few."""

import numpy as np
import numpy.typing as npt

__all__ = ["least_hops"]


def least_hops(n_other: int, neighbours: int | None) -> npt.NDArray[np.int64]:
    """Links to the k-th nearest of other servers at least, as in a tree whose nodes have so many neighbours (Moore).

    Parameters
    ----------
    n_other : int
    neighbours : int or None
        None if one link does for any pair.

    Returns
    -------
    int64 (n_other,)

    Examples
    --------
    >>> least_hops(12, 3).tolist(), least_hops(2, None).tolist()
    ([1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3], [1, 1])
    """
    hops = np.ones(n_other, np.int64)
    if neighbours is None:
        return hops
    begin, level, near = 0, 1, neighbours
    while begin < n_other:
        hops[begin : begin + near] = level
        begin, level, near = begin + near, level + 1, near * max(neighbours - 1, 1)
    return hops
