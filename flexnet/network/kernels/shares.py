"""Interfaces dealt out to rings: the method of highest averages, with members that run out of them."""

import numpy as np
from numba import njit

__all__ = ["highest_averages"]


@njit(cache=True)
def highest_averages(ptr, member, sent, open_, left):  # type: ignore[no-untyped-def]
    """Rings of every group, int64 (n_group,).

    Parameters
    ----------
    ptr : int64 (n_group + 1,)
    member : int64 (n_member,)
        Members of the groups in CSR.
    sent : float64 (n_group,)
        Bytes around the rings of each.
    open_ : bool (n_group,)
        Which groups may have rings; is written to.
    left : int64 (n_server,)
        Interfaces; is written to.
    """
    shares = np.zeros(len(sent), np.int64)
    while True:
        best = -1
        for group in range(len(sent)):
            if not open_[group]:
                continue
            for i in range(ptr[group], ptr[group + 1]):
                if left[member[i]] < 2:
                    open_[group] = False
                    break
            if open_[group] and (best < 0 or sent[group] / (shares[group] + 1) > sent[best] / (shares[best] + 1)):
                best = group
        if best < 0:
            return shares
        shares[best] += 1
        for i in range(ptr[best], ptr[best + 1]):
            left[member[i]] -= 2
