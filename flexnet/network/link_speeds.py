"""Speeds of links that are not all alike."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LinkSpeeds"]


@dataclass(frozen=True, slots=True, eq=False)
class LinkSpeeds:
    """Speeds of a topology whose links are not all alike.

    Parameters
    ----------
    bandwidth : float64 (n_node, n_node)
        Bytes/s, each way, of all links between two nodes together; 0 where there are none.
    latency : float64 (n_node, n_node)
        Seconds.
    """

    bandwidth: npt.NDArray[np.float64]
    latency: npt.NDArray[np.float64]
