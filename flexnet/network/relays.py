"""Who hands on what several servers get of another: trees along the links between servers.

Where servers forward for others, a message that all of them need crosses a link for every server if those that have it
hand it on, and not for every hop to every server: 2.5 times less among 32 servers with four links each.  Sums go up the
same trees, and are added on the way.  So do collectives of NCCL and of the schedules that ForestColl (arXiv:2402.06787)
packs into a network: broadcast and reduction along spanning trees that share its links.  Messages go on as a whole.
"""

from typing import NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from flexnet.network.kernels.relays import grow_trees
from flexnet.network.network import Network
from flexnet.plan.task_graph_builder import NO_TREES, Trees

__all__ = ["relay_trees", "trees_on"]

PASSES = 2  # after which the busiest link of random networks has 1.0 to 1.4 times the mean

_known: dict[int, "_Known"] = {}


class _Known(NamedTuple):
    """Trees of the networks with these links, which may differ in routes and rings, and what task graphs need of them.

    ``needed`` are the trees, or `NO_TREES` where no server is on the way to another.
    """

    links: ref[npt.NDArray[np.int32]]
    bandwidth: ref[npt.NDArray[np.float64]]
    trees: npt.NDArray[np.int16]
    needed: npt.NDArray[np.int16]


def relay_trees(network: Network) -> npt.NDArray[np.int16]:
    """For every server a tree of shortest paths to all others along links between servers.

    Parameters
    ----------
    network : Network
        Of fewer than 32,768 servers.

    Returns
    -------
    int16 (n_server, n_server)
        From whom the server of a column gets what comes from that of a row: a neighbour, or the row's server itself,
        also where switches lie between them.  Told once for every network.

    Examples
    --------
    >>> from flexnet.network.network import connect
    >>> from flexnet.network.routes import shortest_routes
    >>> from flexnet.network.topology import Topology
    >>> near = np.roll(np.eye(5, dtype=np.int64), 1, axis=1)
    >>> ring = Topology("ring", 5, 0, near + near.T, {})
    >>> routes = shortest_routes(ring, np.random.default_rng(0))
    >>> relay_trees(connect(ring, 1e9, 1e-6, routes))[0].tolist()
    [0, 0, 1, 4, 0]
    """
    return _known_of(network).trees


def trees_on(network: Network) -> Trees:
    """`relay_trees` as task graphs are built with them: none where no server is on the way to another."""
    return lambda: _known_of(network).needed


def _known_of(network: Network) -> _Known:
    key = id(network.link_from)
    known = _known.get(key)
    if known is None or known.links() is not network.link_from or known.bandwidth() is not network.bandwidth:
        trees = _grown(network)
        needed = trees if (trees != np.arange(len(trees))[:, None]).any() else NO_TREES
        links = ref(network.link_from, lambda _: _known.pop(key, None))
        known = _known[key] = _Known(links, ref(network.bandwidth), trees, needed)
    return known


def _grown(network: Network) -> npt.NDArray[np.int16]:
    n = network.topology.n_server
    between = np.flatnonzero((network.link_from < n) & (network.link_to < n))
    between = between[np.argsort(network.link_to[between], kind="stable")]
    into_ptr = np.searchsorted(network.link_to[between], np.arange(n + 1)).astype(np.int32)
    parent = np.zeros((n, n), np.int16)
    room, load, link_of = np.zeros((2, n), np.int32), np.zeros(len(between)), np.zeros((n, n), np.int32)
    grow_trees(into_ptr, network.link_from[between], network.bandwidth[between], PASSES, room, load, link_of, parent)
    return parent
