"""Which rings of all-reduces run over the same links, so that one edge of them may be followed for all."""

import numpy as np
import numpy.typing as npt

from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays
from flexnet.simulate.kernels.lanes import count_edges, find_lanes, find_met
from flexnet.simulate.kernels.packet_state import Lockstep, PacketLinks
from flexnet.simulate.protocol import Protocol

__all__ = ["find_lockstep", "followed"]

Ints = npt.NDArray[np.int64]

MOST_NEAR = 1_000_000
"""Pairs of tracks that share a link, once a link: with more, every edge is followed by itself."""


def find_lockstep(
    tasks: TaskArrays,
    network: NetworkArrays,
    routes: FlowRoutes,
    protocol: Protocol,
    hops: npt.NDArray[np.int32],
    links: PacketLinks,
) -> Lockstep:
    """Tracks of all rings; see `flexnet.simulate.kernels.lockstep`.

    Parameters
    ----------
    tasks : TaskArrays
    network : NetworkArrays
    routes : FlowRoutes
    protocol : Protocol
        Parameter servers have no rings, and no tracks.
    hops : int32
        Links of all routes, rings and cycles, as in `flexnet.simulate.kernels.packet_state.PacketWork`.
    links : PacketLinks
    """
    n_link = len(links.byte)
    first = np.zeros(len(tasks.group_ptr), np.int64)
    n_edge, n_lane_link = count_edges(tasks, network, routes, protocol, first)
    n_ring = int(first[-1])
    lockstep = Lockstep(
        first=first,
        track=np.full(n_ring, -1, np.int64),
        edge_ptr=np.zeros(n_ring, np.int64),
        edge=np.zeros(n_edge, np.int64),
        n_lane=np.zeros(n_ring, np.int64),
        n_hop=np.zeros(n_ring, np.int64),
        ptr=np.zeros(n_ring + 1, np.int64),
        link=np.zeros(n_lane_link, np.int64),
        sum_of=np.zeros(n_ring, np.int64),
        lane=np.zeros(n_link, np.int64),
        of_link_ptr=np.zeros(n_link + 1, np.int64),
        of_link=np.zeros(0, np.int64),
        near_ptr=np.zeros(n_ring + 1, np.int64),
        near=np.zeros(0, np.int64),
        alive=np.zeros(n_ring, np.int64),
        begun_by=np.zeros(n_ring, np.int64),
        others=np.zeros(n_ring, np.int64),
    )
    if protocol.by_server or not n_edge:
        return lockstep
    seen = np.zeros(n_link, np.int64)
    n_track = find_lanes(tasks, network, routes, protocol, hops, links, _used(tasks), lockstep, seen)
    link = lockstep.link[: lockstep.ptr[n_track]]
    track = np.repeat(np.arange(n_track), np.diff(lockstep.ptr[: n_track + 1]))
    count = np.bincount(link, minlength=n_link)
    if (count * count).sum() > MOST_NEAR:
        lockstep.track[:] = -1
        return lockstep
    of_link = track[np.argsort(link, kind="stable")]
    of_link_ptr = np.concatenate([[0], np.cumsum(count)])
    near_ptr, near = _near(of_link, count, n_ring)
    return lockstep._replace(of_link_ptr=of_link_ptr, of_link=of_link, near_ptr=near_ptr, near=near)


def followed(
    tasks: TaskArrays,
    network: NetworkArrays,
    routes: FlowRoutes,
    protocol: Protocol,
    hops: npt.NDArray[np.int32],
    lockstep: Lockstep,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """How much is followed where rings stay together all the time, because their links carry nothing else.

    Parameters
    ----------
    tasks, network, routes, protocol, hops
        As in `find_lockstep`.
    lockstep : Lockstep
        What that found.

    Returns
    -------
    edges : int64 (n_collective,)
        Edges of a ring of every collective that are followed: all its members', or one.
    links : bool (n_link,)
        Links on which packets are followed, if there are any; others are like one of them.
    """
    n_link, n_track = len(lockstep.lane), int(lockstep.track.max(initial=-1)) + 1
    edges, links = np.diff(tasks.group_ptr).astype(np.int64), np.ones(n_link, np.bool_)
    if not n_track:
        return edges, links
    met = np.zeros(n_link, np.bool_)
    find_met(tasks, network, routes, protocol, hops, _used(tasks), lockstep, met)
    alone = np.diff(lockstep.near_ptr)[:n_track] == 0
    alone[lockstep.of_link[met[np.repeat(np.arange(n_link), np.diff(lockstep.of_link_ptr))]]] = False
    for track in np.flatnonzero(alone).tolist():
        links[lockstep.link[lockstep.ptr[track] + lockstep.n_hop[track] : lockstep.ptr[track + 1]]] = False
    together = (lockstep.track >= 0) & alone[np.maximum(lockstep.track, 0)]
    edges[np.logical_and.reduceat(together, lockstep.first[:-1])] = 1
    return edges, links


def _used(tasks: TaskArrays) -> npt.NDArray[np.bool_]:
    """Which collectives some task runs; bool (n_collective,)."""
    return np.bincount(tasks.place[tasks.kind == ALLREDUCE], minlength=len(tasks.group_ptr) - 1) > 0


def _near(of_link: Ints, count: Ints, n_track: int) -> tuple[Ints, Ints]:
    """Tracks that share a link with each, in CSR; ``of_link`` has those of every link, ``count`` how many."""
    each = np.repeat(count, count)  # for every track of a link, how many the link has
    one = np.repeat(of_link, each)
    start = np.repeat(np.cumsum(count) - count, count)
    within = np.arange(len(one)) - np.repeat(np.cumsum(each) - each, each)
    other = of_link[np.repeat(start, each) + within]
    pairs = np.unique(one[one != other] * n_track + other[one != other])
    ptr = np.concatenate([[0], np.cumsum(np.bincount(pairs // n_track, minlength=n_track))])
    return ptr, pairs % n_track
