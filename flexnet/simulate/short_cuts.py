"""All-reduces so small that the packet simulator runs one round of them alone: which, and what that does to a time."""

import numpy as np
import numpy.typing as npt

from flexnet.errors import counted
from flexnet.network.network import Network
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fabric import Fabric
from flexnet.simulate.protocol import PACKET, Protocol
from flexnet.simulate.replay import replay
from flexnet.simulate.replay_report import Replay

__all__ = ["all_rounds", "any_in_one_round", "cut_short", "short_cuts"]

MANY_TRANSFERS = 100_000
WINDOW = 1 / 200  # of what the busiest server computes, for which rates stay where transfers are so many
TOLERANCE = 0.01

WHOLE = PACKET._replace(small_packet_bytes=0.0)
"""The packet simulator, if it ran all rounds."""


def cut_short(n: npt.NDArray[np.integer], size: npt.NDArray[np.number], protocol: Protocol) -> npt.NDArray[np.bool_]:
    """Whether ring all-reduces of ``size`` bytes over ``n`` servers carry the bytes of one round alone.

    The rule of `flexnet.simulate.kernels.rings.ring_rounds`, for arrays.
    """
    small = protocol.small_packet_bytes
    found: npt.NDArray[np.bool_] = (n > 1) & (size >= small * n) & (size <= 2 * (n - 1) * small)
    return found


def any_in_one_round(graph: TaskGraph) -> bool:
    """Whether FlexNetPacket runs one round of some all-reduce, be it that it carries as much as it should in that."""
    reduces = graph.kind == ALLREDUCE
    others = np.diff(graph.group_ptr)[graph.place[reduces]] - 1
    return bool((graph.bytes[reduces] <= 2 * others * PACKET.small_packet_bytes).any())


def short_cuts(graph: TaskGraph) -> list[str]:
    """What to say of all-reduces so small that the packet simulator runs one round instead of 2 (g - 1)."""
    reduces = graph.kind == ALLREDUCE
    size = graph.bytes[reduces]
    g = np.diff(graph.group_ptr)[graph.place[reduces]]
    n = int(cut_short(g, size, PACKET).sum())
    if not n:
        return []
    return [
        f"of {counted(n, 'small all-reduce')} (9000 g to 18000 (g - 1) bytes over g servers) FlexNetPacket runs one "
        "round in place of 2 (g - 1), so its time is too short by the other rounds"
    ]


def all_rounds(graph: TaskGraph, network: Network | Fabric, cut: Replay | None = None, *, fair: bool = False) -> float:
    """How many times as long an iteration takes with all rounds of small all-reduces, by the same link model.

    Parameters
    ----------
    graph : TaskGraph
    network : Network or Fabric
    cut : Replay, optional
        Without them, if that is known.
    fair : bool
        Share links fairly, which takes next to nothing, where packets would be followed; by what tasks send together
        where transfers are more than `MANY_TRANSFERS`, each of which would take its time.
    """
    if not fair:
        once, full = cut or replay(graph, network), replay(graph, network, protocol=WHOLE)
        if once.links == full.links:
            return full.seconds / once.seconds
    # or too many packets with all rounds
    return _shared(graph, network, WHOLE) / _shared(graph, network, PACKET)


def _shared(graph: TaskGraph, network: Network | Fabric, protocol: Protocol) -> float:
    """Seconds of an iteration on links that are shared fairly."""
    links = None
    if np.count_nonzero(graph.kind == NOMINAL_COMM) > MANY_TRANSFERS:
        computes = graph.kind <= BACKWARD
        busiest = np.bincount(graph.place[computes], graph.seconds[computes]).max(initial=0.0)
        links = BundledLinks(WINDOW * float(busiest), TOLERANCE, protocol)
    return replay(graph, network, links=links, protocol=protocol._replace(by_packet=False)).seconds
