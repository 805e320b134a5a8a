"""Distances between nodes of a graph, in links."""

import numpy as np
from numba import njit

__all__ = ["hops_from", "hops_to"]

FAR = 32766  # nowhere is as far; one more is still a number of 16 bits
BLOCK = 128  # targets whose distances are told at once: those of thousands of nodes stay in the cache
MOST_SWEEPS = 24  # of longer paths every node is searched
DENSE = 64  # links of a node, in the mean: with more, a search soon has met all nodes


@njit(cache=True)
def hops_from(ptr, neighbor, source, hops, queue):  # type: ignore[no-untyped-def]
    """Fill ``hops`` (n_node,) with distances from ``source``, -1 where unreachable; ``queue`` (n_node,) is scratch."""
    hops[:] = -1
    hops[source] = 0
    queue[0] = source
    head = 0
    tail = 1
    n_node = hops.shape[0]
    while head < tail and tail < n_node:
        node = queue[head]
        head += 1
        for link in range(ptr[node], ptr[node + 1]):
            other = neighbor[link]
            if hops[other] < 0:
                hops[other] = hops[node] + 1
                queue[tail] = other
                tail += 1


@njit(cache=True)
def hops_to(ptr, neighbor, targets):  # type: ignore[no-untyped-def]
    """Distances from every node to some; links are symmetric.

    Parameters
    ----------
    ptr : int32 (n_node + 1,)
    neighbor : int32 (n_link,)
        Neighbours in CSR.
    targets : int64 (n_target,)
        Nodes.

    Returns
    -------
    int16 (n_target, n_node)
        -1 where there is no way; at most 32,765.
    """
    n_node = ptr.shape[0] - 1
    n_target = targets.shape[0]
    hops = np.empty((n_target, n_node), np.int16)
    queue = np.empty(n_node, np.int32)
    width = min(BLOCK, n_target)
    block = np.empty((n_node, width), np.int16)
    dense = neighbor.shape[0] > DENSE * n_node
    for begin in range(0, n_target, BLOCK):
        here = targets[begin : begin + BLOCK]
        if dense or not _settled(ptr, neighbor, here, block):
            for k in range(here.shape[0]):
                hops_from(ptr, neighbor, here[k], hops[begin + k], queue)
            continue
        for k in range(here.shape[0]):
            row = hops[begin + k]
            for node in range(n_node):
                row[node] = block[node, k] if block[node, k] < FAR else -1
    return hops


@njit(cache=True)
def _settled(ptr, neighbor, targets, hops):  # type: ignore[no-untyped-def]
    """Fill ``hops`` int16 (n_node, n_target) by what neighbours have until nothing changes; whether that came soon.

    All targets of a node are looked at side by side, which processors do many at a time.
    """
    n_node, n_target = hops.shape
    far, one = np.int16(FAR), np.int16(1)
    hops[:] = far
    for k in range(targets.shape[0]):
        hops[targets[k], k] = 0
    for sweep in range(MOST_SWEEPS):
        changed = np.int16(0)
        for i in range(n_node):
            node = i if sweep % 2 == 0 else n_node - 1 - i
            own = hops[node]
            for link in range(ptr[node], ptr[node + 1]):
                other = hops[neighbor[link]]
                for k in range(n_target):
                    over = np.int16(other[k] + one)
                    less = over if over < own[k] else own[k]
                    changed |= less ^ own[k]
                    own[k] = less
        if changed == 0:
            return True
    return False
