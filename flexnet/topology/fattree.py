"""A fat-tree without oversubscription: one ideal switch."""

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.topology.base import Topology

__all__ = ["fat_tree"]


def fat_tree(n_server: int) -> Topology:
    """Every server linked once to one switch (network.cc:565); only interfaces can be contended.

    Parameters
    ----------
    n_server : int

    Returns
    -------
    Topology
        The switch is node ``n_server``.

    Raises
    ------
    FlexNetError
        If there is no server.

    >>> fat_tree(2).links
    array([[0, 0, 1],
           [0, 0, 1],
           [1, 1, 0]])
    """
    if n_server < 1:
        raise FlexNetError(f"a fat-tree of {n_server} servers; it needs at least 1")
    links = np.zeros((n_server + 1, n_server + 1), np.int64)
    links[n_server, :n_server] = links[:n_server, n_server] = 1
    return Topology("fat-tree", n_server, 1, links, {})
