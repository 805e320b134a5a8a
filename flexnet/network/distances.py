"""Distances between all nodes of the graphs that were looked at last: one change of a network asks for them thrice."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.hops import hops_to

__all__ = ["all_hops"]

Ints32 = npt.NDArray[np.int32]

KNOWN = 2  # graphs, whose distances take 2 bytes for every pair of nodes


def all_hops(ptr: Ints32, neighbor: Ints32) -> npt.NDArray[np.int16]:
    """Links from every node to every node, as `flexnet.network.kernels.hops.hops_to` has them; not to be written to.

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
        Neighbours in CSR.

    Returns
    -------
    int16 (n_node, n_node)
        By target; -1 where there is no way.
    """
    return _all_hops(ptr.tobytes(), neighbor.tobytes())


@lru_cache(maxsize=KNOWN)
def _all_hops(ptr: bytes, neighbor: bytes) -> npt.NDArray[np.int16]:
    first = np.frombuffer(ptr, np.int32).copy()
    hops: npt.NDArray[np.int16] = hops_to(first, np.frombuffer(neighbor, np.int32).copy(), np.arange(len(first) - 1))
    return hops
