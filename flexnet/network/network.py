"""`Network`: a topology with speeds and chosen routes, as simulation kernels want it."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.csr import aranges, ends
from flexnet.network.cycle_layout import cycle_layout
from flexnet.network.implied import are_implied, with_pairs
from flexnet.network.topology import Topology, adjacency, by_members
from flexnet.units import bytes_per_s_to_gbps, s_to_us

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Network", "Routes", "connect", "gbps_text", "us_text"]

Routes = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""``(route_ptr, route)`` of a `Network`."""

MAX_BANDWIDTH = 1e200
"""Bytes/s of one link: whatever number of them run in parallel, their sum is a number."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Network:
    """A topology with speeds and chosen routes, as simulation kernels want it.

    Parameters
    ----------
    topology : Topology
    link_bandwidth : float
        Bytes/s of one link, each way; of the narrowest where they differ.
    latency : float
        Seconds per hop; of the fastest where they differ.
    link_from, link_to : int32 (n_link,)
        Directed links in ascending (from, to); parallel links are one fat pipe.
    bandwidth : float64 (n_link,)
        Bytes/s of all parallel links together.
    extra_latency : float64 (n_link,) or (0,)
        Seconds of every link above ``latency``; empty where there are none.
    link_id : int32 (n_node, n_node)
        Link of an ordered pair of nodes, -1 where there is none.
    route_ptr : int32 (n_server * n_server + 1,)
    route : int32
        Link ids of the one route of the ordered pair ``p = src * n_server + dst`` are
        ``route[route_ptr[p]:route_ptr[p + 1]]``; empty for ``src == dst``, and on large networks for pairs that have
        not needed one yet (`routing`).
    ring_ptr : int32 (n_server + 2,)
        Rings of group size g are ``ring_ptr[g]:ring_ptr[g + 1]``; none: its collectives follow routes.
    ring_hops : int32 (n_ring + 1,)
    ring_links : int32
        Links that ring r's flow of member server m takes are ``ring_links[ring_hops[r] + m * h:][:h]``, with
        ``h = (ring_hops[r + 1] - ring_hops[r]) // n_server``.  A ring with hops (a, b, c) is walked b, c, a: the
        original rotates the list by one.
    cycle_ptr : int32 (n_set + 1,)
        Cycles of the topology, put together by the set of servers they visit: those of set s are
        ``cycle_ptr[s]:cycle_ptr[s + 1]``.
    cycle_member : bool (n_set, n_server)
        Who is in a set; the cycles of no other set visit the same servers.
    cycle_edge : int32 (n_cycle + 1,)
        Edges of cycle k are ``cycle_edge[k]:cycle_edge[k + 1]``, as many as servers.
    cycle_hops : int32 (n_edge + 1,)
    cycle_links : int32
        Links of edge e are ``cycle_links[cycle_hops[e]:cycle_hops[e + 1]]``: the route of its pair.
    """

    topology: Topology
    link_bandwidth: float
    latency: float
    link_from: npt.NDArray[np.int32]
    link_to: npt.NDArray[np.int32]
    bandwidth: npt.NDArray[np.float64]
    extra_latency: npt.NDArray[np.float64]
    link_id: npt.NDArray[np.int32]
    route_ptr: npt.NDArray[np.int32]
    route: npt.NDArray[np.int32]
    ring_ptr: npt.NDArray[np.int32]
    ring_hops: npt.NDArray[np.int32]
    ring_links: npt.NDArray[np.int32]
    cycle_ptr: npt.NDArray[np.int32]
    cycle_member: npt.NDArray[np.bool_]
    cycle_edge: npt.NDArray[np.int32]
    cycle_hops: npt.NDArray[np.int32]
    cycle_links: npt.NDArray[np.int32]

    @property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """Cycles of the topology, set by set as in ``cycle_ptr``."""
        return tuple(cycle for cycles in by_members(self.topology.cycles).values() for cycle in cycles)

    @property
    def link_ptr(self) -> npt.NDArray[np.int32]:
        """Links that leave node v are ``link_ptr[v]:link_ptr[v + 1]``; int32 (n_node + 1,)."""
        n_node = len(self.topology.links)
        return np.searchsorted(self.link_from, np.arange(n_node + 1, dtype=np.int32)).astype(np.int32)

    @property
    def implies_routes(self) -> bool:
        """Whether pairs get a route only when they need one (`flexnet.network.implied`)."""
        return are_implied(self.topology.n_server, self.topology.n_switch)

    def routing(self, pairs: npt.NDArray[np.int64]) -> "Network":
        """The network with routes for these ordered pairs ``src * n_server + dst`` too; the same if all have one."""
        if not self.implies_routes:
            return self
        held = self.route_ptr, self.route
        routes = with_pairs(self.topology.n_server, self.link_from, self.link_to, held, pairs)
        return self if routes is held else replace(self, route_ptr=routes[0], route=routes[1])

    def with_routes(self, routes: Routes) -> "Network":
        """The same links, rings and cycles with other routes (``(route_ptr, route)``); the rest is not computed again.

        Raises
        ------
        FlexNetError
            If the routes are not for this network.
        """
        checked = _checked_routes(self.topology, len(self.link_from), routes)
        return replace(self, **_cycle_arrays(self.topology, self.link_from, self.link_to, checked))

    def with_cycles(self, cycles: tuple[tuple[int, ...], ...]) -> "Network":
        """The same links and routes with these cycles in place of those there are; see `Topology`.

        Raises
        ------
        FlexNetError
            If a cycle is not of distinct servers.
        """
        topology = replace(self.topology, cycles=cycles)
        held = self.route_ptr, self.route
        return replace(self, topology=topology, **_cycle_arrays(topology, self.link_from, self.link_to, held))

    def to_networkx(self) -> "nx.Graph":
        """The topology as a networkx graph, every link with its bandwidth and latency; routes are left out."""
        return self.topology.to_networkx(self.link_bandwidth, self.latency)


def connect(topology: Topology, link_bandwidth: float, latency: float, routes: Routes) -> Network:
    """Give a topology speeds and routes.

    Parameters
    ----------
    topology : Topology
    link_bandwidth : float
        Bytes/s of one link, each way.
    latency : float
        Seconds per hop.  A topology with speeds of its own has those instead of these two.
    routes : (route_ptr, route)
        From `flexnet.network.routes`.

    Returns
    -------
    Network

    Raises
    ------
    FlexNetError
        If a speed is out of range, the routes are not for this topology, or a ring needs a link that is missing.
    """
    if not 0 < link_bandwidth < MAX_BANDWIDTH:
        raise FlexNetError(
            f"the link bandwidth is {link_bandwidth} bytes/s; it must be above 0 and below {MAX_BANDWIDTH:g}"
        )
    if not 0 <= latency < float("inf"):
        raise FlexNetError(f"the latency of a hop is {latency} s; it must be 0 or more")
    n_node = len(topology.links)
    _, link_from, link_to = adjacency(topology.links)
    link_id = np.full((n_node, n_node), -1, np.int32)
    link_id[link_from, link_to] = np.arange(len(link_from), dtype=np.int32)
    bandwidth = topology.links[link_from, link_to].astype(np.float64) * link_bandwidth
    extra = np.zeros(0)
    if topology.speeds is not None and len(link_from):
        bandwidth = topology.speeds.bandwidth[link_from, link_to]
        link_bandwidth = float((bandwidth / topology.links[link_from, link_to]).min())
        latencies = topology.speeds.latency[link_from, link_to]
        latency = float(latencies.min())
        extra = latencies - latency if (latencies > latency).any() else extra
    checked = _checked_routes(topology, len(link_from), routes)
    ring_ptr, ring_hops, ring_links = _ring_links(topology, link_id)
    return Network(
        topology=topology,
        link_bandwidth=link_bandwidth,
        latency=latency,
        link_from=link_from,
        link_to=link_to,
        bandwidth=bandwidth,
        extra_latency=extra,
        link_id=link_id,
        ring_ptr=ring_ptr,
        ring_hops=ring_hops,
        ring_links=ring_links,
        **_cycle_arrays(topology, link_from, link_to, checked),
    )


def gbps_text(network: Network) -> str:
    """Bandwidth of its links, Gbps; from the narrowest to the widest if they differ."""
    least = bytes_per_s_to_gbps(network.link_bandwidth)
    if network.topology.speeds is None:
        return f"{least:g}"
    each = network.bandwidth / network.topology.links[network.link_from, network.link_to]
    widest = bytes_per_s_to_gbps(float(each.max()))
    return f"{least:g}" if widest <= least * (1 + 1e-9) else f"{least:g} to {widest:g}"


def us_text(network: Network) -> str:
    """Latency of its links, microseconds; from the fastest to the slowest if they differ."""
    least, extra = s_to_us(network.latency), s_to_us(float(network.extra_latency.max(initial=0.0)))
    return f"{least + extra:g}" if not extra else f"{least:g} to {least + extra:g}"


def _ring_links(
    topology: Topology, link_id: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    n = topology.n_server
    ring_ptr = np.zeros(n + 2, np.int32)
    if not topology.rings:
        return ring_ptr, np.zeros(1, np.int32), np.zeros(0, np.int32)
    walks = []  # rotated hop lists, by group size
    for size in sorted(topology.rings):
        if not 1 <= size <= n:
            raise FlexNetError(f"{topology.name}: rings for groups of {size}; group sizes are 1 to {n}")
        ring_ptr[size + 1] = len(topology.rings[size])
        walks += [ring[1:] + ring[:1] for ring in topology.rings[size]]
    ring_ptr = np.cumsum(ring_ptr, dtype=np.int32)
    hops, starts = [], []  # one entry per (ring, hop): the jump, and the jumps walked before it
    for walk in walks:
        walked = 0
        for hop in walk:
            hops.append(hop)
            starts.append(walked)
            walked += hop
    server = (np.arange(n)[:, None] + np.array(starts, np.int64)) % n
    links = link_id[server, (server + np.array(hops, np.int64)) % n]  # (n_server, sum of hops)
    if links.size and links.min() < 0:
        m, column = np.argwhere(links < 0)[0]
        raise FlexNetError(
            f"{topology.name}: a ring hops by {hops[column]} from server {server[m, column]}, where there is no link"
        )
    lengths = np.array([0] + [len(walk) for walk in walks], np.int64)
    at = np.cumsum(lengths).tolist()
    blocks = [links[:, begin:end].ravel() for begin, end in pairwise(at)]
    return ring_ptr, (np.cumsum(lengths) * n).astype(np.int32), np.concatenate(blocks)


def _cycle_arrays(
    topology: Topology, link_from: npt.NDArray[np.int32], link_to: npt.NDArray[np.int32], routes: Routes
) -> dict[str, Any]:
    """The arrays of `Network` that tell routes and cycles along them; edges have routes then."""
    n, cycles = topology.n_server, cycle_layout(topology)
    if are_implied(n, topology.n_switch):
        routes = with_pairs(n, link_from, link_to, routes, cycles.pair)
    route_ptr, route = routes
    begin = route_ptr[cycles.pair]
    counts = route_ptr[cycles.pair + 1] - begin
    return {
        "route_ptr": route_ptr,
        "route": route,
        "cycle_ptr": cycles.ptr,
        "cycle_member": cycles.member,
        "cycle_edge": cycles.edge,
        "cycle_hops": ends(counts),
        "cycle_links": route[aranges(begin, counts)],
    }


def _checked_routes(topology: Topology, n_link: int, routes: Routes) -> Routes:
    route_ptr, route = routes
    n_pair = topology.n_server**2
    if len(route_ptr) != n_pair + 1 or route_ptr[-1] != len(route):
        raise FlexNetError(
            f"{topology.name}: routes of {len(route_ptr) - 1} ordered server pairs; expected are {n_pair} for "
            f"{topology.n_server} servers"
        )
    if len(route) and not (route.min() >= 0 and route.max() < n_link):
        raise FlexNetError(f"{topology.name}: routes use links {route.min()} to {route.max()} of {n_link} links")
    return route_ptr.astype(np.int32, copy=False), route.astype(np.int32, copy=False)
