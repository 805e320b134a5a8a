"""Transfers between two servers take turns, where what waits for the second one needs the first one anyway.

Servers that exchange what every layer puts out fall out of step: the one ahead sends for the next layer while what it
sends for this one is still on its way, the two share the link, and so the other server falls back further.  What it
needs first is the first of these.  So a transfer waits until the one for the last operator on the way to its own is
there (forward; the other way round backward), as on one connection that keeps order.  Of DLRM on 128 servers, with
layers cut over pairs and fours, that takes 3 to 26 % off replays.  Transfers of which neither needs the other, for
towers side by side, go at once.  `flexnet.plan.kernels.turns` lets them wait.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.plan.cluster import Cluster

__all__ = ["MOST_SERVERS", "least_bytes", "needs"]

LATENCIES = 20.0
"""A transfer that a link carries in less than so many latencies takes no turn: one that waits for another starts two
latencies after its last byte has left."""

MOST_SERVERS = 1000
"""Of more no transfer takes turns: who sends to whom is looked up in a table of all pairs for every plan."""


def least_bytes(cluster: Cluster) -> float:
    """Bytes of the smallest transfer that takes turns."""
    return LATENCIES * cluster.latency * cluster.link_bandwidth


def needs(n_op: int, edges: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Which operators need which others, of what they read or further back.

    Parameters
    ----------
    n_op : int
    edges : sequence of (int, int)
        Producer and consumer, by ascending consumers.

    Returns
    -------
    bool (n_op, n_op)

    >>> needs(3, [(0, 1), (1, 2)]).astype(int)
    array([[0, 0, 0],
           [1, 0, 0],
           [1, 1, 0]])
    """
    needed = np.zeros((n_op, n_op), np.bool_)
    for producer, consumer in edges:
        needed[consumer] |= needed[producer]
        needed[consumer, producer] = True
    return needed
