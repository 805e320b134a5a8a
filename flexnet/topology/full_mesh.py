"""A link between every two servers."""

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.topology.base import Topology

__all__ = ["full_mesh"]


def full_mesh(n_server: int) -> Topology:
    """One link per pair of servers, however many interfaces that takes (the original's ``fc``).

    Parameters
    ----------
    n_server : int

    Returns
    -------
    Topology

    Raises
    ------
    FlexNetError
        If there is no server.

    >>> full_mesh(3).links.sum(axis=1)
    array([2, 2, 2])
    """
    if n_server < 1:
        raise FlexNetError(f"a full mesh of {n_server} servers; it needs at least 1")
    return Topology("full mesh", n_server, 0, 1 - np.eye(n_server, dtype=np.int64), {})
