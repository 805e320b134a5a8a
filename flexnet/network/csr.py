"""Many slices of an array at once, as in CSR."""

import numpy as np
import numpy.typing as npt

__all__ = ["aranges", "ends"]


def aranges(begin: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """``begin[i]`` to ``begin[i] + counts[i] - 1`` for every i, one after the other.

    >>> aranges(np.array([7, 0, 3]), np.array([2, 0, 3]))
    array([7, 8, 3, 4, 5])
    """
    after = np.cumsum(counts, dtype=np.int64)
    at: npt.NDArray[np.int64] = np.repeat(begin - after + counts, counts) + np.arange(after[-1] if len(after) else 0)
    return at


def ends(counts: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """0, and where every one of ``counts`` ends when they stand one after the other.

    >>> ends([2, 0, 3])
    array([0, 2, 2, 5], dtype=int32)
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int32)
