"""How fast links are where packets are followed: a byte takes whole picoseconds in FlexNetPacket, rounded down.

At 25 or 100 Gbps that is exact; at 138 Gbps links are 1.5 % faster than asked, three parallel ones of 25 Gbps 0.6 %,
and bounds must allow for it.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.plan.cluster import Cluster
from flexnet.simulate.packets import PICOSECONDS, byte_picoseconds

__all__ = ["packet_cluster", "packet_network"]


def packet_cluster(cluster: Cluster, interfaces: int) -> Cluster:
    """The cluster with links as fast as the fastest of up to so many parallel ones is, for its number."""
    asked = cluster.link_bandwidth * np.arange(1.0, max(interfaces, 1) + 1.0)
    return replace(cluster, link_bandwidth=cluster.link_bandwidth * float((_faster(asked) / asked).max()))


def packet_network(network: Network) -> Network:
    """The network with links as fast as packets find them."""
    return replace(network, bandwidth=_faster(network.bandwidth))


def _faster(bandwidth: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    rounded: npt.NDArray[np.float64] = PICOSECONDS / byte_picoseconds(bandwidth)
    return np.maximum(rounded, bandwidth.astype(np.float64))
