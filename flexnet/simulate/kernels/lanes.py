"""Which rings run over the same lanes: the links of their edges, see `flexnet.simulate.kernels.lockstep`."""

import numpy as np

from flexnet.kernels import called, kernel
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.simulate.kernels.rings import edge_hops, ring_count

__all__ = ["count_edges", "find_lanes", "find_met"]


@kernel
def count_edges(tasks, network, routes, protocol, first):  # type: ignore[no-untyped-def]
    """Number the rings of all collectives; return how many edges they have, and how many links those.

    ``first`` (n_collective + 1,) receives the number of the first ring of each.
    """
    n_edge = 0
    n_link = 0
    first[0] = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
        count = max(ring_count(tasks, network, protocol, c), 1)
        first[c + 1] = first[c] + count
        if n > 1:
            for r in range(count):
                for m in range(n):
                    begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
                    n_edge += 1
                    n_link += end - begin
    return n_edge, n_link


@kernel
def find_lanes(tasks, network, routes, protocol, hops, links, used, lockstep, seen):  # type: ignore[no-untyped-def]
    """Find which rings run over the same lanes: fill ``lockstep`` but for what tracks have in common.

    ``used`` (n_collective,) are those that tasks run; ``seen`` (n_link,) is scratch.  Returns the number of tracks.
    """
    lanes = lockstep
    seen[:] = -1
    lanes.lane[:] = -1
    n_track = 0
    at = 0
    lanes.ptr[0] = 0
    for c in range(tasks.group_ptr.shape[0] - 1):
        n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
        for ring in range(lanes.first[c], lanes.first[c + 1]):
            r = ring - lanes.first[c]
            lanes.edge_ptr[ring] = at
            lanes.track[ring] = -1
            if n < 2 or not used[c] or not _alike(tasks, network, routes, protocol, hops, links, c, r, ring, seen):
                continue
            track, sum_of = _known_track(tasks, network, routes, protocol, hops, lanes, c, r, n_track)
            if track < 0:
                track = n_track
                n_track += 1
                lanes.sum_of[track] = sum_of
                _lay_track(tasks, network, routes, protocol, hops, lanes, c, r, track)
            lanes.track[ring] = track
            _number_edges(tasks, network, routes, protocol, hops, lanes, c, r, track, at)
            at += n
    return n_track


@called
def _alike(tasks, network, routes, protocol, hops, links, c, r, ring, seen):  # type: ignore[no-untyped-def]
    """Whether the edges of a ring have as many links each, none twice, that are alike from edge to edge."""
    n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
    like, like_end = edge_hops(tasks, network, routes, protocol, c, r, 0, -1)
    if like == like_end:
        return False
    for m in range(n):
        begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
        if end - begin != like_end - like:
            return False
        for h in range(end - begin):
            link, first = hops[begin + h], hops[like + h]
            if seen[link] == ring:
                return False
            seen[link] = ring
            if (
                links.byte[link] != links.byte[first]
                or links.latency[link] != links.latency[first]
                or links.most_unmarked[link] != links.most_unmarked[first]
            ):
                return False
    return True


@called
def _known_track(tasks, network, routes, protocol, hops, lanes, c, r, n_track):  # type: ignore[no-untyped-def]
    """The track with just the lanes of a ring, or -1; and a sum over its lanes, the same in any order of them."""
    n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
    sum_of = np.int64(0)
    n_hop = 0
    for m in range(n):
        begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
        n_hop = end - begin
        of_lane = np.int64(n_hop)
        for h in range(begin, end):
            of_lane = (of_lane * 1_000_003 + hops[h] + 1) % 2_147_483_647
        sum_of += of_lane * of_lane % 2_147_483_629
    for track in range(n_track):
        if lanes.sum_of[track] != sum_of or lanes.n_lane[track] != n or lanes.n_hop[track] != n_hop:
            continue
        _mark_lanes(lanes, track)
        same = True
        for m in range(n):
            begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
            lane = lanes.lane[hops[begin]]
            same = same and lane >= 0
            for h in range(end - begin):
                same = same and lanes.link[lanes.ptr[track] + lane * n_hop + h] == hops[begin + h]
        _unmark_lanes(lanes, track)
        if same:
            return track, sum_of
    return -1, sum_of


@called
def _mark_lanes(lanes, track):  # type: ignore[no-untyped-def]
    """Note at the first link of every lane of a track which one it is."""
    for lane in range(lanes.n_lane[track]):
        lanes.lane[lanes.link[lanes.ptr[track] + lane * lanes.n_hop[track]]] = lane


@called
def _unmark_lanes(lanes, track):  # type: ignore[no-untyped-def]
    for lane in range(lanes.n_lane[track]):
        lanes.lane[lanes.link[lanes.ptr[track] + lane * lanes.n_hop[track]]] = -1


@called
def _lay_track(tasks, network, routes, protocol, hops, lanes, c, r, track):  # type: ignore[no-untyped-def]
    """Write the lanes of a ring down as those of a track."""
    n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
    at = lanes.ptr[track]
    begin, end = edge_hops(tasks, network, routes, protocol, c, r, 0, -1)
    lanes.n_lane[track] = n
    lanes.n_hop[track] = end - begin
    for m in range(n):
        begin, end = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
        for h in range(begin, end):
            lanes.link[at] = hops[h]
            at += 1
    lanes.ptr[track + 1] = at


@called
def _number_edges(tasks, network, routes, protocol, hops, lanes, c, r, track, at):  # type: ignore[no-untyped-def]
    """Write down, from ``at`` on, which edge of a ring every lane of its track is."""
    _mark_lanes(lanes, track)
    for m in range(tasks.group_ptr[c + 1] - tasks.group_ptr[c]):
        begin, _ = edge_hops(tasks, network, routes, protocol, c, r, m, -1)
        lanes.edge[at + lanes.lane[hops[begin]]] = m
    _unmark_lanes(lanes, track)


@kernel
def find_met(tasks, network, routes, protocol, hops, used, lanes, met):  # type: ignore[no-untyped-def]
    """Mark in ``met`` (n_link,) the links of transfers and of rings without tracks."""
    met[:] = False
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] == NOMINAL_COMM:
            path = routes.transfer[task]
            for i in range(network.route_ptr[path], network.route_ptr[path + 1]):
                met[network.route[i]] = True
    for c in range(tasks.group_ptr.shape[0] - 1):
        n = tasks.group_ptr[c + 1] - tasks.group_ptr[c]
        for ring in range(lanes.first[c], lanes.first[c + 1]):
            if n < 2 or not used[c] or lanes.track[ring] >= 0:
                continue
            for m in range(n):
                begin, end = edge_hops(tasks, network, routes, protocol, c, ring - lanes.first[c], m, -1)
                for h in range(begin, end):
                    met[hops[h]] = True
