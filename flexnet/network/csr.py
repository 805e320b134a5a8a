"""Many slices of an array at once, as in CSR."""

import numpy as np
import numpy.typing as npt

__all__ = ["aranges"]


def aranges(begin: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """``begin[i]`` to ``begin[i] + counts[i] - 1`` for every i, one after the other.

    >>> aranges(np.array([7, 0, 3]), np.array([2, 0, 3]))
    array([7, 8, 3, 4, 5])
    """
    ends = np.cumsum(counts, dtype=np.int64)
    at: npt.NDArray[np.int64] = np.repeat(begin - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
    return at
