"""Collectives as classes of flows: which links the rings of an all-reduce run over, in how many rounds."""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.plan.kernels.ring_parts import ring_part, turns_on
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.kernels.windows import LENGTHS, share_of

__all__ = [
    "edge_bytes",
    "edge_hops",
    "lay_out_rings",
    "ring_count",
    "ring_rounds",
    "ring_sizes",
    "ring_turns",
    "rings_apart",
    "whole_packets",
]


@inlined
def _edge_path(tasks, network, routes, start, n, m, phase):  # type: ignore[no-untyped-def]
    """Path of edge ``m`` of a collective whose ``n`` members begin at ``start``: to the next member of a ring.

    Of a parameter server (``phase`` 0 and 1): from member ``m`` to the first one, and back.
    """
    if routes.edge.shape[0] > 0:
        return routes.edge[start + m] if phase < 0 else routes.edge[2 * (start + m) + phase]
    group = tasks.group
    if phase < 0:
        return group[start + m] * network.n_server + group[start + (m + 1) % n]
    if phase == 0:
        return group[start + m] * network.n_server + group[start]
    return group[start] * network.n_server + group[start + m]


@called
def _own_rings(tasks, network, protocol, c):  # type: ignore[no-untyped-def]
    """Number of the topology's rings that join the members of all-reduce ``c``; 0 when it runs along routes.

    Rings are laid for the groups that start + i N/g make; others, like g servers side by side, are not joined by them.
    """
    n_server, group, start = network.n_server, tasks.group, tasks.group_ptr[c]
    n = tasks.group_ptr[c + 1] - start
    rings = network.ring_ptr[n + 1] - network.ring_ptr[n]
    if protocol.by_server or rings == 0 or protocol.rings_by_index:
        return 0 if protocol.by_server else rings
    if n_server % n != 0:
        return 0
    for m in range(n):
        if (group[start + m] - group[start]) % (n_server // n) != 0:
            return 0
    return rings


@called
def _own_cycles(tasks, network, protocol, c):  # type: ignore[no-untyped-def]
    """Set of servers, among those that have cycles, that are the members of all-reduce ``c``; -1 if none is."""
    if protocol.by_server:
        return -1
    group, start = tasks.group, tasks.group_ptr[c]
    n = tasks.group_ptr[c + 1] - start
    for s in range(network.cycle_ptr.shape[0] - 1):
        first = network.cycle_ptr[s]
        same = network.cycle_edge[first + 1] - network.cycle_edge[first] == n
        m = 0
        while same and m < n:
            same = network.cycle_member[s, group[start + m]]
            m += 1
        if same:
            return s
    return -1


@inlined
def _same_group(tasks, routes, c, d):  # type: ignore[no-untyped-def]
    """Whether all-reduces ``c`` and ``d`` have the same members, and paths between them."""
    group_ptr, group, edge = tasks.group_ptr, tasks.group, routes.edge
    start, other = group_ptr[c], group_ptr[d]
    n = group_ptr[c + 1] - start
    if group_ptr[d + 1] - other != n:
        return False
    per_member = edge.shape[0] // max(group.shape[0], 1)
    for m in range(n):
        if group[other + m] != group[start + m]:
            return False
        for e in range(per_member * m, per_member * (m + 1)):
            if edge[other * per_member + e] != edge[start * per_member + e]:
                return False
    return True


@kernel
def ring_sizes(tasks, network, routes, protocol, group_class):  # type: ignore[no-untyped-def]
    """Find equal groups, and how much room their rings need.

    ``group_class`` (n_allreduce,) receives, for every all-reduce, the first one with the same members and paths.
    Returns the number of rings over distinct groups, of links over all edges of these rings, and the most rings that
    the network has for one group; parameter servers, used instead if ``protocol`` says so, count as two.
    """
    group_ptr, route_ptr = tasks.group_ptr, network.route_ptr
    ring_ptr, ring_hops = network.ring_ptr, network.ring_hops
    n_ring = 0
    n_link = 0
    most = 2 if protocol.by_server else 1
    for size in range(ring_ptr.shape[0] - 1):
        most = max(most, ring_ptr[size + 1] - ring_ptr[size])
    for s in range(network.cycle_ptr.shape[0] - 1):
        most = max(most, network.cycle_ptr[s + 1] - network.cycle_ptr[s])
    for c in range(group_ptr.shape[0] - 1):
        start = group_ptr[c]
        n = group_ptr[c + 1] - start
        group_class[c] = c
        for d in range(c):
            if group_class[d] == d and _same_group(tasks, routes, c, d):
                group_class[c] = d
                break
        if group_class[c] < c or n == 1:
            continue
        own = _own_cycles(tasks, network, protocol, c)
        rings = _own_rings(tasks, network, protocol, c)
        if own >= 0:
            first, last = network.cycle_ptr[own], network.cycle_ptr[own + 1]
            rings = last - first
            n_link += network.cycle_hops[network.cycle_edge[last]] - network.cycle_hops[network.cycle_edge[first]]
        elif rings > 0:
            n_link += n * ((ring_hops[ring_ptr[n + 1]] - ring_hops[ring_ptr[n]]) // network.n_server)
        else:
            rings = 2 if protocol.by_server else 1
            for r in range(rings):
                for m in range(n):
                    path = _edge_path(tasks, network, routes, start, n, m, r if protocol.by_server else -1)
                    n_link += route_ptr[path + 1] - route_ptr[path]
        n_ring += rings
    return n_ring, n_link, most


@called
def ring_count(tasks, network, protocol, c):  # type: ignore[no-untyped-def]
    """Rings or cycles of the network that all-reduce ``c`` runs over; 0 where it runs along routes."""
    s = _own_cycles(tasks, network, protocol, c)
    if s >= 0:
        return network.cycle_ptr[s + 1] - network.cycle_ptr[s]
    return _own_rings(tasks, network, protocol, c)


@called
def edge_hops(tasks, network, routes, protocol, c, r, m, phase):  # type: ignore[no-untyped-def]
    """Where the links of edge ``m`` of ring ``r`` of all-reduce ``c`` begin and end.

    Counted through the links of all routes, then those of all rings, then those of all cycles.  ``phase`` is -1, or
    that of a parameter server, see `_edge_path`.
    """
    start = tasks.group_ptr[c]
    n = tasks.group_ptr[c + 1] - start
    if n == 1:
        return np.int64(0), np.int64(0)
    s = _own_cycles(tasks, network, protocol, c)
    if s >= 0:
        edge = network.cycle_edge[network.cycle_ptr[s] + r] + m
        base = network.route.shape[0] + network.ring_links.shape[0]
        return np.int64(base + network.cycle_hops[edge]), np.int64(base + network.cycle_hops[edge + 1])
    if _own_rings(tasks, network, protocol, c) > 0:
        ring = network.ring_ptr[n] + r
        hops = (network.ring_hops[ring + 1] - network.ring_hops[ring]) // network.n_server
        first = network.ring_hops[ring] + (m if protocol.rings_by_index else tasks.group[start + m]) * hops
        return np.int64(network.route.shape[0] + first), np.int64(network.route.shape[0] + first + hops)
    path = _edge_path(tasks, network, routes, start, n, m, phase)
    return np.int64(network.route_ptr[path]), np.int64(network.route_ptr[path + 1])


@inlined
def _lay_out_edges(tasks, network, routes, protocol, c, r, own, s, link, at):  # type: ignore[no-untyped-def]
    """Put the links of all edges of ring ``r`` of all-reduce ``c`` in ``link`` from ``at`` on.

    ``s`` of 0 or more: it is a cycle of that set; else ``own``: it is a ring of the topology.  Returns where the links
    end, hops of the longest edge, and what the latency of the slowest is above that of so many links.
    """
    start = tasks.group_ptr[c]
    n = tasks.group_ptr[c + 1] - start
    longest = 0
    slowest = 0.0
    for m in range(n):
        if s >= 0:
            edge = network.cycle_edge[network.cycle_ptr[s] + r] + m
            hops = network.cycle_hops[edge + 1] - network.cycle_hops[edge]
            for h in range(hops):
                link[at + h] = network.cycle_links[network.cycle_hops[edge] + h]
        elif own:
            ring = network.ring_ptr[n] + r
            hops = (network.ring_hops[ring + 1] - network.ring_hops[ring]) // network.n_server
            first = network.ring_hops[ring] + (m if protocol.rings_by_index else tasks.group[start + m]) * hops
            for h in range(hops):
                link[at + h] = network.ring_links[first + h]
        else:
            path = _edge_path(tasks, network, routes, start, n, m, r if protocol.by_server else -1)
            hops = network.route_ptr[path + 1] - network.route_ptr[path]
            for h in range(hops):
                link[at + h] = network.route[network.route_ptr[path] + h]
        latency = hops * network.latency
        if network.extra_latency.shape[0] > 0:
            for h in range(hops):
                latency += network.extra_latency[link[at + h]]
        at += hops
        longest = max(longest, hops)
        slowest = max(slowest, latency)
    return at, longest, slowest - longest * network.latency


@called
def lay_out_rings(tasks, network, routes, protocol, rings, classes):  # type: ignore[no-untyped-def]
    """Make classes of every ring of every distinct group, one for each length of rounds, with their links.

    And let rings that carry more than others take turns (`flexnet.plan.kernels.ring_parts`).
    """
    group_ptr = tasks.group_ptr
    rings.apart[0] = rings_apart(tasks, network, protocol)
    c = 0
    at = 0
    for g in range(group_ptr.shape[0] - 1):
        if rings.group_class[g] < g or group_ptr[g + 1] - group_ptr[g] == 1:
            continue
        own = _own_rings(tasks, network, protocol, g)
        s = _own_cycles(tasks, network, protocol, g)
        rings.first[g] = c
        rings.n_class[g] = own if own > 0 else (2 if protocol.by_server else 1)
        if s >= 0:
            rings.n_class[g] = network.cycle_ptr[s + 1] - network.cycle_ptr[s]
        for length in range(LENGTHS if protocol.by_window else 1):
            for r in range(rings.n_class[g]):
                classes.begin[c] = at
                at, longest, extra = _lay_out_edges(
                    tasks, network, routes, protocol, g, r, own > 0, s, classes.link, at
                )
                classes.end[c] = at
                classes.hops[c] = longest
                classes.extra_latency[c] = extra
                classes.weight[c] = share_of(length, longest) if protocol.by_window else 1.0
                c += 1
    classes.n[0] = c
    turn = np.int64(0)
    for t in range(tasks.kind.shape[0] if rings.apart[0] else 0):
        if tasks.kind[t] == ALLREDUCE:
            g = tasks.place[t]
            n = group_ptr[g + 1] - group_ptr[g]
            if n > 1:
                rings.turn[g] = turn
                n_ring = rings.n_class[rings.group_class[g]]
                turn += turns_on(n, tasks.bytes[t], n_ring, protocol.packet_bytes, protocol.small_packet_bytes)


@kernel
def rings_apart(tasks, network, protocol):  # type: ignore[no-untyped-def]
    """Whether some all-reduce runs over cycles of the network, or over regular rings of fewer than all servers.

    A file then tells every ring of every all-reduce as one of its own (`flexnet.taskgraph_file.cycles`), so that those
    of fewer servers begin where they are meant to (`flexnet.simulate.protocol.Protocol.rings_by_index`).
    """
    for c in range(tasks.group_ptr.shape[0] - 1):
        n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
        if n > 1 and _own_cycles(tasks, network, protocol, c) >= 0:
            return True
        if 1 < n < network.n_server and not protocol.rings_by_index and _own_rings(tasks, network, protocol, c) > 0:
            return True
    return False


@called
def whole_packets(size, protocol):  # type: ignore[no-untyped-def]
    """Bytes on the wire of a flow of ``size`` bytes, in whole packets if there are any: at least one."""
    if protocol.packet_bytes == 0.0:
        return 1.0 * size
    return max(np.ceil((size - 1.0) / protocol.packet_bytes), 1.0) * protocol.packet_bytes


@called
def ring_rounds(n, size, n_ring, ring, turn, apart, protocol):  # type: ignore[no-untyped-def]
    """Rounds of a ring of an all-reduce of ``size`` bytes over n servers, and bytes an edge carries in one.

    2(n-1) rounds of size/n, shared among ``n_ring`` rings: equally, or as packets if they are ``apart``
    (`rings_apart`), where those that carry more have moved on by ``turn``; no rounds of a ring that carries nothing.
    Up to 2(n-1) ``small_packet_bytes``, of a ring if they are ``apart``, there is one round only, as in FlexNetPacket:
    below n ``small_packet_bytes``, 2(n-1)/n times as much goes around in it.  A phase of a parameter server is one
    round of everything.
    """
    if protocol.by_server:
        return 1, 1.0 * size
    told = 1.0 * size
    own = told / n_ring / n
    if apart and n_ring > 1:
        place = (ring - turn) % n_ring
        told = 1.0 * ring_part(n, size, n_ring, place, protocol.packet_bytes, protocol.small_packet_bytes)
        own = told / n
        if told < 0.0:
            return 0, 0.0
    if told <= 2 * (n - 1) * protocol.small_packet_bytes:
        return 1, 2.0 * (n - 1) / n * own if told < protocol.small_packet_bytes * n else own
    return 2 * (n - 1), own


@kernel
def ring_turns(tasks, network, protocol, turns):  # type: ignore[no-untyped-def]
    """By how many rings those that carry more have moved on, of every all-reduce: ``turns`` (n_allreduce,)."""
    turn = np.int64(0)
    turns[:] = 0
    for t in range(tasks.kind.shape[0] if rings_apart(tasks, network, protocol) else 0):
        if tasks.kind[t] == ALLREDUCE:
            c = tasks.place[t]
            n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
            if n > 1:
                turns[c] = turn
                n_ring = max(ring_count(tasks, network, protocol, c), 1)
                turn += turns_on(n, tasks.bytes[t], n_ring, protocol.packet_bytes, protocol.small_packet_bytes)


@kernel
def edge_bytes(tasks, network, protocol, turns, carried):  # type: ignore[no-untyped-def]
    """Bytes all-reduces put on an edge, in all rounds: ``carried`` (n_allreduce, most rings of one) receives them.

    ``turns`` are those of `ring_turns`.  Rings that are not there have 0.
    """
    apart = rings_apart(tasks, network, protocol)
    carried[:] = 0.0
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] == ALLREDUCE:
            c = tasks.place[t]
            n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
            n_ring = max(ring_count(tasks, network, protocol, c), 1)
            for r in range(n_ring):
                rounds, own = ring_rounds(n, tasks.bytes[t], n_ring, r, turns[c], apart, protocol)
                carried[c, r] = rounds * own
