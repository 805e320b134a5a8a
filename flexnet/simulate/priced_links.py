"""Which link model plans are priced and replayed with."""

import numpy as np

from flexnet.plan.arrays import TaskArrays
from flexnet.plan.semantics import Semantics
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.link_model import LinkModel
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.protocol import Protocol

__all__ = ["MOST_HOPS", "packet_hops", "priced_links", "replayed_links"]

MOST_HOPS = 100_000_000
"""Hops of packets that a replay follows at most: 20 to 60 seconds of one core."""


def priced_links(semantics: Semantics, segment_bytes: int, protocol: Protocol) -> LinkModel:
    """The link model of a semantics, at full resolution; ``segment_bytes`` is for first in, first out, 0 for whole."""
    return FairLinks(protocol=protocol) if semantics.fair_links else FifoLinks(semantics, segment_bytes)


def replayed_links(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None = None
) -> LinkModel:
    """The link model that a protocol replays a task graph with.

    Every packet is followed if the protocol says so and there are no more than `MOST_HOPS` hops of packets; otherwise
    links are shared fairly.
    """
    if protocol.by_packet and packet_hops(tasks, network, protocol, routes) <= MOST_HOPS:
        return FollowedPackets(protocol)
    return FairLinks(protocol=protocol)


def packet_hops(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None = None
) -> float:
    """Hops of all packets of an iteration: what following them takes."""
    fair = FairLinks(protocol=protocol)
    fair.seconds(tasks, network, limit=0.0, routes=routes)  # adds up loads only
    carried = float(fair.link_loads(len(network.bandwidth)).bytes.sum()) / protocol.packet_bytes
    flows = np.count_nonzero(tasks.kind == NOMINAL_COMM)
    members = np.diff(tasks.group_ptr)[tasks.place[tasks.kind == ALLREDUCE]].astype(np.float64)
    return carried + flows + float((2.0 * members * members).sum())
