"""All-reduces so small that the packet simulator runs one round of them alone: which, and what is said of them."""

import numpy as np
import numpy.typing as npt

from flexnet.errors import counted
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.simulate.protocol import PACKET, Protocol

__all__ = ["cut_short", "short_cuts"]


def cut_short(n: npt.NDArray[np.integer], size: npt.NDArray[np.number], protocol: Protocol) -> npt.NDArray[np.bool_]:
    """Whether ring all-reduces of ``size`` bytes over ``n`` servers carry the bytes of one round alone.

    The rule of `flexnet.simulate.kernels.rings.ring_rounds`, for arrays.
    """
    small = protocol.small_packet_bytes
    found: npt.NDArray[np.bool_] = (n > 1) & (size >= small * n) & (size <= 2 * (n - 1) * small)
    return found


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
