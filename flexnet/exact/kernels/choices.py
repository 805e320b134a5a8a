"""Kernels of elimination: which choices are dominated, and the best of them for their neighbours'."""

import numpy as np

from flexnet.kernels import kernel

__all__ = ["least_of_sums", "mark_undominated"]

ROUNDING = 1e-12  # of costs, within which the first test of `mark_undominated` does not decide


@kernel
def least_of_sums(one, other, least):  # type: ignore[no-untyped-def]
    """Of every two columns the least sum over rows: a product of matrices with sums for products, minima for sums.

    Parameters
    ----------
    one, other : float64 (n_choice, n_one), (n_choice, n_other)
    least : float64 (n_one, n_other)
        To be filled.
    """
    least[:] = np.inf
    for a in range(one.shape[1]):
        for choice in range(one.shape[0]):
            own = one[choice, a]
            for b in range(other.shape[1]):
                total = own + other[choice, b]
                least[a, b] = total if total < least[a, b] else least[a, b]


@kernel
def mark_undominated(costs, edges, edge_ptr, most, least, alive):  # type: ignore[no-untyped-def]
    """Set ``alive`` to whether no other choice that is alive beats a choice, from the last one to the first.

    Parameters
    ----------
    costs : float64 (n_choice,)
    edges : float64 (n_choice, n_column)
        The tables of all edges side by side, those of edge e in columns ``edge_ptr[e]:edge_ptr[e + 1]``.
    edge_ptr : int64 (n_edge + 1,)
    most, least : float64 (n_choice, n_edge)
        The largest and the smallest entry of every choice's row of an edge.
    alive : bool (n_choice,)
        To be filled.
    """
    alive[:] = True
    n_edge = edge_ptr.shape[0] - 1
    for a in range(costs.shape[0] - 1, -1, -1):
        for b in range(costs.shape[0]):
            if not alive[b] or a == b:
                continue
            more = costs[b] - costs[a]
            for e in range(n_edge):  # at least so much, by the entries where b or a is largest, or smallest
                more += max(most[b, e] - most[a, e], least[b, e] - least[a, e])
            if more > ROUNDING * abs(costs[a]):
                continue
            more = costs[b] - costs[a]
            for e in range(n_edge):
                rise = -np.inf
                for x in range(edge_ptr[e], edge_ptr[e + 1]):
                    rise = max(rise, edges[b, x] - edges[a, x])
                more += rise
            if more <= 0:
                alive[a] = False
                break
