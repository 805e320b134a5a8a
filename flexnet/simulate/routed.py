"""Large networks get routes for the pairs of servers that a task graph sends between."""

import numpy as np

from flexnet.network.network import Network
from flexnet.plan.arrays import TaskArrays
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.kernels.missing import find_missing
from flexnet.simulate.protocol import Protocol

__all__ = ["routed"]


def routed(tasks: TaskArrays, network: Network, protocol: Protocol) -> Network:
    """The network with routes for all that a task graph sends; the same if none is missing.

    Parameters
    ----------
    tasks : TaskArrays
    network : Network
        One that holds all its routes stays as it is (`flexnet.network.implied`).
    protocol : Protocol
        Says whether all-reduces go through servers, and which of them run over the network's rings.
    """
    if not network.implies_routes:
        return network
    arrays = network_arrays(network)
    missing = np.empty(len(tasks.kind) + 2 * len(tasks.group), np.int64)  # mostly room, which is not touched
    n_missing = find_missing(tasks, arrays, protocol, missing)
    return network.routing(missing[:n_missing]) if n_missing else network
