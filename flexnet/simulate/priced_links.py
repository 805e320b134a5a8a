"""Which link model plans are priced and replayed with."""

import numpy as np

from flexnet.plan.arrays import TaskArrays
from flexnet.plan.semantics import Semantics
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays, only_routes
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.link_model import LinkModel
from flexnet.simulate.packets import FollowedPackets, followed_edges_and_links
from flexnet.simulate.protocol import PACKET, Protocol

__all__ = ["MOST_HOPS", "flow_hops", "packet_hops", "priced_links", "replayed_links"]

MOST_HOPS = 100_000_000
"""Hops of packets that a replay follows at most: 20 to 60 seconds of one core."""


# Resolution of fair sharing beyond that, and up to how many hops of flows: with more, rates are solved more seldom.
COARSE_WINDOW = 1e-3
COARSE_TOLERANCE = 0.01
COARSE_HOPS = 400_000.0

MOST_FLOWS = 2**20  # that links are asked about one by one: of 16 million each has 300 bytes of memory to work in


def priced_links(semantics: Semantics, segment_bytes: int, protocol: Protocol) -> LinkModel:
    """The link model of a semantics, at full resolution; ``segment_bytes`` is for first in, first out, 0 for whole."""
    return FairLinks(protocol=protocol) if semantics.fair_links else FifoLinks(semantics, segment_bytes)


def replayed_links(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None = None
) -> LinkModel:
    """The link model that a protocol replays a task graph with.

    Every packet is followed if the protocol says so and there are no more than `MOST_HOPS` hops of packets; otherwise
    links are shared fairly, with more hops than that, or more of transfers than `COARSE_HOPS`, at a resolution of a
    thousandth of what the busiest link takes, or coarser where transfers have so many more.
    """
    hops, least = _hops_and_least(tasks, network, protocol, routes)
    if protocol.by_packet and hops <= MOST_HOPS:
        return FollowedPackets(protocol)
    coarser = flow_hops(tasks, network, routes) / COARSE_HOPS
    if hops <= MOST_HOPS and coarser <= 1.0:
        return FairLinks(protocol=protocol)
    return FairLinks(COARSE_WINDOW * max(1.0, coarser) * least, COARSE_TOLERANCE, protocol)


def packet_hops(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None = None
) -> float:
    """Hops of all packets of an iteration: what following them takes."""
    return _hops_and_least(tasks, network, protocol, routes)[0]


def flow_hops(tasks: TaskArrays, network: NetworkArrays, routes: FlowRoutes | None = None) -> float:
    """Hops of all transfers of an iteration, whatever their size: what solving the rates of all at once takes."""
    path = tasks.place[tasks.kind == NOMINAL_COMM] if routes is None else routes.transfer[tasks.kind == NOMINAL_COMM]
    return float((network.route_ptr[path + 1] - network.route_ptr[path]).sum())


def _hops_and_least(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes | None
) -> tuple[float, float]:
    """Hops of all packets that are followed, and seconds that the busiest server or link takes."""
    bundled = len(tasks.kind) > MOST_FLOWS and not protocol.by_server
    links = BundledLinks(protocol=protocol) if bundled else FairLinks(protocol=protocol)
    least = links.seconds(tasks, network, limit=0.0, routes=routes)  # adds up loads only
    packet = protocol.packet_bytes or PACKET.packet_bytes
    carried = links.link_bytes(len(network.bandwidth))
    members = np.diff(tasks.group_ptr)
    edges = members
    if protocol.by_packet:
        edges, followed = followed_edges_and_links(tasks, network, protocol, routes or only_routes(tasks))
        carried = carried[followed]
    flows = np.count_nonzero(tasks.kind == NOMINAL_COMM)
    place = tasks.place[tasks.kind == ALLREDUCE]
    return float(carried.sum()) / packet + flows + float((2.0 * members * edges)[place].sum()), least
