"""What simulation kernels read of a network; when this page changes, they are compiled anew."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.plan.arrays import TaskArrays
from flexnet.structs import struct

__all__ = ["FlowRoutes", "NetworkArrays", "network_arrays", "only_routes"]

Floats = npt.NDArray[np.float64]

NO_PTR = np.zeros(1, np.int32)
NO_EDGES = np.zeros(0, np.int32)


@struct
class NetworkArrays(NamedTuple):
    """What simulation kernels read of a `flexnet.network.Network`; shapes are documented there."""

    n_server: int
    latency: float
    bandwidth: Floats
    extra_latency: Floats
    route_ptr: npt.NDArray[np.int32]
    route: npt.NDArray[np.int32]
    ring_ptr: npt.NDArray[np.int32]
    ring_hops: npt.NDArray[np.int32]
    ring_links: npt.NDArray[np.int32]
    cycle_ptr: npt.NDArray[np.int32] = NO_PTR
    cycle_member: npt.NDArray[np.bool_] = np.zeros((0, 0), np.bool_)
    cycle_edge: npt.NDArray[np.int32] = NO_PTR
    cycle_hops: npt.NDArray[np.int32] = NO_PTR
    cycle_links: npt.NDArray[np.int32] = np.zeros(0, np.int32)


@struct
class FlowRoutes(NamedTuple):
    """Which route of `NetworkArrays` every flow takes, where pairs of servers have several.

    Parameters
    ----------
    transfer : int32 (n_task,)
        Of every transfer; anything for other tasks.
    edge : int32 (n_member,), (2 * n_member,) or (0,)
        Of every member of every group, the route to the next one; for parameter servers, the routes to and from the
        first member.  Empty: the route of the ordered pair ``src * n_server + dst``.
    """

    transfer: npt.NDArray[np.int32]
    edge: npt.NDArray[np.int32]


def only_routes(tasks: TaskArrays) -> FlowRoutes:
    """The routes of flows where every pair of servers has one."""
    return FlowRoutes(tasks.place, NO_EDGES)


def network_arrays(network: Network) -> NetworkArrays:
    """Arrays of a network for the kernels."""
    return NetworkArrays(
        network.topology.n_server,
        float(network.latency),
        network.bandwidth,
        network.extra_latency,
        network.route_ptr,
        network.route,
        network.ring_ptr,
        network.ring_hops,
        network.ring_links,
        network.cycle_ptr,
        network.cycle_member,
        network.cycle_edge,
        network.cycle_hops,
        network.cycle_links,
    )
