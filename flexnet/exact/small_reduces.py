"""What all-reduces send at least, where the packet simulator may cut small ones short.

FlexNetPacket runs a ring of up to 18000 (g - 1) bytes over g servers in one round, not in 2 (g - 1)
(`flexnet.simulate.protocol.Protocol.small_packet_bytes`), in which all that goes around is that of one round, or below
9000 g bytes 2 (g - 1) / g times as much (`flexnet.simulate.kernels.rings.ring_rounds`).  An all-reduce over several
rings is as many small ones.  No real network does so, but what its replay takes no bound may exceed.
"""

import numpy as np
import numpy.typing as npt

from flexnet.network.family import TopologyFamily
from flexnet.network.tours import MOST_TOURS

__all__ = ["most_rings", "ring_bytes", "rings_over"]

Floats = npt.NDArray[np.float64]


def most_rings(family: TopologyFamily, n_server: int) -> int:
    """Rings that one all-reduce is divided over at most on a network of a family."""
    return rings_over(family.interfaces(n_server))


def rings_over(interfaces: int) -> int:
    """Rings that one all-reduce is divided over at most where a server has so many interfaces.

    Edge-disjoint cycles, each both ways, are no more than interfaces, and tours along routes `MOST_TOURS`; changes of a
    network may join both.  Where servers have one interface, to a switch, there is one ring.
    """
    return max(2 * interfaces, MOST_TOURS) if interfaces > 1 else 1


def ring_bytes(
    size: npt.NDArray[np.number], members: npt.NDArray[np.number], small_packet_bytes: float, rings: int
) -> Floats:
    """Bytes that every member sends at least.

    Parameters
    ----------
    size : float64 or int64 (n,)
        Bytes of the tensor.
    members : float64 or int64 (n,)
    small_packet_bytes : float
        As of the protocol; 0 where nothing is cut short.
    rings : int
        That an all-reduce may be divided over.

    Examples
    --------
    >>> ring_bytes(np.array([1e6, 1e5, 1e3]), np.array([8, 8, 8]), 9000.0, 1).tolist()
    [1750000.0, 12500.0, 218.75]
    """
    rounds = 2.0 * (members - 1.0)
    told = np.where(size <= rings * rounds * small_packet_bytes, 1.0, rounds)
    told = np.where(size < small_packet_bytes * members, rounds / members, told)
    return np.where(members > 1, told * size / members, 0.0)
