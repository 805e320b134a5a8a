"""Networks of switches in tiers: a two-tier leaf-spine, and the fat-tree of k-port switches."""

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.topology.base import Topology

__all__ = ["kary_fat_tree", "kary_ports", "leaf_spine"]


def leaf_spine(n_server: int, servers_per_leaf: int, oversubscription: float) -> Topology:
    """Leaf switches with a link to each of their servers and one to each spine switch.

    Parameters
    ----------
    n_server : int
    servers_per_leaf : int
    oversubscription : float
        Links to servers over links to spines of a full leaf, which has ``servers_per_leaf / oversubscription`` of
        these: as many spines there are.  1 is a network without bottlenecks, but for colliding flows.

    Returns
    -------
    Topology
        Leaves are the first switches, spines the last.  One leaf needs no spine.

    Raises
    ------
    FlexNetError
        If there is no server, or the ratio does not give a whole number of spines.

    >>> leaf_spine(4, 2, 2.0).links[4:, :]
    array([[1, 1, 0, 0, 0, 0, 1],
           [0, 0, 1, 1, 0, 0, 1],
           [0, 0, 0, 0, 1, 1, 0]])
    """
    if n_server < 1 or servers_per_leaf < 1:
        raise FlexNetError(f"a leaf-spine of {n_server} servers, {servers_per_leaf} a leaf; both must be at least 1")
    n_spine = round(servers_per_leaf / oversubscription) if oversubscription > 0 else 0
    if n_spine < 1 or abs(n_spine * oversubscription - servers_per_leaf) > 1e-9 * servers_per_leaf:
        raise FlexNetError(
            f"an oversubscription of {oversubscription:g} with {servers_per_leaf} servers a leaf leaves "
            f"{servers_per_leaf / oversubscription if oversubscription else np.inf:g} links up; it must be a whole "
            "number of 1 or more"
        )
    n_leaf = -(-n_server // servers_per_leaf)
    n_spine = n_spine if n_leaf > 1 else 0
    leaf = n_server + np.arange(n_server) // servers_per_leaf
    links = np.zeros((n_server + n_leaf + n_spine,) * 2, np.int64)
    links[np.arange(n_server), leaf] = 1
    links[n_server : n_server + n_leaf, n_server + n_leaf :] = 1
    return Topology("leaf-spine", n_server, n_leaf + n_spine, links + links.T, {})


def kary_ports(n_server: int) -> int:
    """Fewest ports of the switches of a fat-tree that has room for ``n_server``: even, with k^3 / 4 servers.

    >>> kary_ports(16), kary_ports(17), kary_ports(128), kary_ports(1024)
    (4, 6, 8, 16)
    """
    k = 2
    while k**3 // 4 < n_server:
        k += 2
    return k


def kary_fat_tree(n_server: int, ports: int | None = None) -> Topology:
    """Three tiers of k-port switches (Al-Fares et al., SIGCOMM 2008): full bisection if flows spread evenly.

    k pods of k/2 edge and k/2 aggregation switches, every edge switch with k/2 servers; (k/2)^2 core switches, the
    i-th k/2 of which link to the i-th aggregation switch of every pod.

    Parameters
    ----------
    n_server : int
        Servers fill edge switches in order; places may stay empty.
    ports : int, optional
        k; the least that has room if None.

    Returns
    -------
    Topology
        Switches in order: edge, aggregation, core.

    Raises
    ------
    FlexNetError
        If there is no server, or the switches have an odd number of ports or too few.

    >>> kary_fat_tree(16).n_switch, int(kary_fat_tree(16).links.sum()) // 2
    (20, 48)
    """
    if n_server < 1:
        raise FlexNetError(f"a fat-tree of {n_server} servers; it needs at least 1")
    k = kary_ports(n_server) if ports is None else ports
    if k < 2 or k % 2 or k**3 // 4 < n_server:
        raise FlexNetError(
            f"a fat-tree of {k}-port switches for {n_server} servers; ports must be even and at least "
            f"{kary_ports(n_server)}"
        )
    half = k // 2
    n_edge = k * half
    n_switch = 2 * n_edge + half * half
    links = np.zeros((n_server + n_switch,) * 2, np.int64)
    links[np.arange(n_server), n_server + np.arange(n_server) // half] = 1
    edge, up = np.divmod(np.arange(n_edge * half), half)  # every upward port of an edge or aggregation switch
    aggregation = edge // half * half + up
    links[n_server + edge, n_server + n_edge + aggregation] = 1
    links[n_server + n_edge + edge, n_server + 2 * n_edge + edge % half * half + up] = 1
    return Topology("k-ary fat-tree", n_server, n_switch, links + links.T, {})
