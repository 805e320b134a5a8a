"""One route per ordered server pair, as ``(route_ptr, route)`` of `flexnet.network.network.Network`."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.coinchange import coin_table
from flexnet.network.implied import are_implied, no_routes
from flexnet.network.kernels import routes as kernels
from flexnet.network.kernels.hops import hops_from, hops_to
from flexnet.network.network import Routes
from flexnet.network.topology import Topology, adjacency
from flexnet.plan.semantics import Semantics

__all__ = [
    "all_shortest_paths",
    "circulant_coins",
    "coin_change_routes",
    "mean_hops",
    "routes_by_target",
    "routes_for",
    "server_hops",
    "shortest_routes",
]


def routes_for(topology: Topology, semantics: Semantics, rng: np.random.Generator) -> Routes:
    """Routes as the semantics choose them.

    Coin change where `Semantics.coin_change_routes` is set and all links are those of regular rings (TopoOpt Alg. 1,
    step 4); by target among switches; random shortest paths everywhere else; none yet on a large network, see
    `flexnet.network.implied`.

    Parameters
    ----------
    topology : Topology
    semantics : Semantics
    rng : numpy.random.Generator

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
    """
    if are_implied(topology.n_server, topology.n_switch):
        return no_routes(topology.n_server)
    if semantics.coin_change_routes and topology.rings:
        coins = circulant_coins(topology)
        if coins:
            return coin_change_routes(topology, coins, rng)
    if semantics.coin_change_routes and topology.n_switch > 1:
        return routes_by_target(topology)
    return shortest_routes(topology, rng)


def routes_by_target(topology: Topology) -> Routes:
    """Shortest paths in which who receives tells which of several: destination mod k, as on fat-trees of InfiniBand.

    On a leaf-spine or a fat-tree without oversubscription no two servers' transfers share a link up or down, whenever
    all servers send to others that are as many further on, as in the rounds of a ring (Zahavi et al., Optimized
    InfiniBand fat-tree routing for shift all-to-all communication patterns, 2010).

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
    """
    ptr, _, link_to = adjacency(topology.links)
    route_ptr, route = kernels.shortest(ptr, link_to, hops_to(ptr, link_to, np.arange(topology.n_server)), 0)
    return route_ptr, route


def shortest_routes(topology: Topology, rng: np.random.Generator) -> Routes:
    """The direct link where there is one, else one of the shortest paths at random.

    The original (network.cc:256) searches breadth first in random order for every pair; we search once per server
    and then draw each pair's next hops uniformly and independently, which is the distribution of `all_shortest_paths`.

    Parameters
    ----------
    topology : Topology
    rng : numpy.random.Generator
        One number is drawn.

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
        Link ids; none for unreachable pairs, which `Topology.check` refuses.
    """
    ptr, _, link_to = adjacency(topology.links)
    hops = hops_to(ptr, link_to, np.arange(topology.n_server))
    route_ptr, route = kernels.shortest(ptr, link_to, hops, int(rng.integers(1, 1 << 32)))
    return route_ptr, route


def coin_change_routes(topology: Topology, coins: Sequence[int], rng: np.random.Generator) -> Routes:
    """Walk the difference of server ids coin by coin: a shortest path, and equal load on all links of a jump.

    Parameters
    ----------
    topology : Topology
        Every server must have a link by every coin.
    coins : sequence of int
        Jumps 1..n_server-1; see `circulant_coins`.
    rng : numpy.random.Generator
        One number is drawn.

    Returns
    -------
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32

    Raises
    ------
    FlexNetError
        If a coin has no links, or the coins do not reach every server.
    """
    n = topology.n_server
    server = np.arange(n)
    jumps = np.array(sorted(coins), np.int64)
    missing = topology.links[server[:, None], (server[:, None] + jumps) % n] == 0
    if missing.any():
        source, coin = np.argwhere(missing)[0]
        raise FlexNetError(f"{topology.name}: no link from server {source} by the jump {jumps[coin]} to route over")
    table = coin_table(n, jumps.tolist(), rng)
    link_id = np.cumsum(topology.links > 0, dtype=np.int32).reshape(topology.links.shape) - np.int32(1)
    route_ptr, route = kernels.coin_routes(table.n_coin, table.last, link_id)
    return route_ptr, route


def mean_hops(topology: Topology) -> float:
    """Links between two different servers along a shortest path, on the mean over all pairs; 0 for one server.

    >>> from flexnet.network.topologies.full_mesh import full_mesh
    >>> mean_hops(full_mesh(5))
    1.0
    """
    n = topology.n_server
    return float(server_hops(topology).sum()) / max(n * (n - 1), 1)


def server_hops(topology: Topology) -> npt.NDArray[np.int64]:
    """Links from every server to all others along shortest paths, summed up: int64 (n_server,).

    >>> from flexnet.network.topologies.full_mesh import full_mesh
    >>> server_hops(full_mesh(5))
    array([4, 4, 4, 4, 4])
    """
    n = topology.n_server
    ptr, _, link_to = adjacency(topology.links)
    hops: npt.NDArray[np.int64] = hops_to(ptr, link_to, np.arange(n))[:, :n].sum(axis=1, dtype=np.int64)
    return hops


def circulant_coins(topology: Topology) -> tuple[int, ...]:
    """Jumps whose links every server has alike, if those are all links there are; none otherwise.

    >>> from flexnet.network.topologies.full_mesh import full_mesh
    >>> circulant_coins(full_mesh(4))
    (1, 2, 3)
    """
    links = topology.links
    if topology.n_switch or (links[1:, 1:] != links[:-1, :-1]).any() or (links[1:, 0] != links[:-1, -1]).any():
        return ()
    return tuple(np.flatnonzero(links[0]).tolist())


def all_shortest_paths(
    topology: Topology, source: int, target: int, limit: int = 1024
) -> list[tuple[tuple[int, ...], float]]:
    """Equal-cost paths between two servers and the probability of each when every hop chooses uniformly (ECMP).

    Parameters
    ----------
    topology : Topology
    source, target : int
        Servers.
    limit : int
        Keep the first ``limit`` paths in ascending order of node ids; their probabilities then sum to less than 1.

    Returns
    -------
    list of (path, probability)
        Paths are node ids from source to target; empty if there is none.

    Raises
    ------
    FlexNetError
        If source or target is not a server.

    >>> from flexnet.network.topologies.fattree import fat_tree
    >>> all_shortest_paths(fat_tree(4), 0, 3)
    [((0, 4, 3), 1.0)]
    """
    for server in (source, target):
        if not 0 <= server < topology.n_server:
            raise FlexNetError(
                f"{topology.name}: there is no server {server}; servers are 0 to {topology.n_server - 1}"
            )
    ptr, _, link_to = adjacency(topology.links)
    left: npt.NDArray[np.int32] = np.empty(len(topology.links), np.int32)
    hops_from(ptr, link_to, target, left, np.empty(len(left), np.int32))
    paths: list[tuple[tuple[int, ...], float]] = []
    stack: list[tuple[tuple[int, ...], float]] = [((source,), 1.0)] if left[source] >= 0 else []
    while stack and len(paths) < limit:
        path, probability = stack.pop()
        node = path[-1]
        if node == target:
            paths.append((path, probability))
            continue
        neighbors = link_to[ptr[node] : ptr[node + 1]]
        nearer = neighbors[left[neighbors] == left[node] - 1].tolist()
        stack += [((*path, other), probability / len(nearer)) for other in reversed(nearer)]
    return paths
