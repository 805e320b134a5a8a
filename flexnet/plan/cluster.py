"""The cluster a plan is made for: servers, GPUs in them, interfaces and links."""

from dataclasses import dataclass

from flexnet.errors import FlexNetError

__all__ = ["HOP_LATENCY", "Cluster"]

HOP_LATENCY = 1e-6
"""Seconds of a hop that commands take unless they are told, as FlexNetPacket's published runs (its -rtt 1000)."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Servers with equal GPUs and interfaces.

    Parameters
    ----------
    n_server : int
        Number of servers (``--nsimnode``).
    big_gpu : int
        GPUs of a server acting as one device (``--big-gpu``); 0 for one GPU a server.
    inter_gpu_bandwidth : float
        Bandwidth between the GPUs of a server, bytes/s; used for the intra-server part of an all-reduce.
    link_bandwidth : float
        Bandwidth of one interface and link, each way, bytes/s.
    latency : float
        Latency of one hop, seconds.
    degree : int
        Interfaces per server.

    Raises
    ------
    FlexNetError
        If a value is out of range.
    """

    n_server: int
    big_gpu: int = 0
    inter_gpu_bandwidth: float = 20_971_520e3
    link_bandwidth: float = 2_621_440e3
    latency: float = 0.0
    degree: int = 4

    @property
    def gpus(self) -> int:
        """GPUs of a server."""
        return max(self.big_gpu, 1)

    def __post_init__(self) -> None:
        if self.n_server < 1:
            raise FlexNetError(f"the cluster has {self.n_server} servers; it needs at least 1")
        if self.big_gpu < 0:
            raise FlexNetError(f"a server cannot have {self.big_gpu} GPUs; use 0 (one GPU) or more")
        if not 0 < self.link_bandwidth < float("inf"):
            raise FlexNetError(f"the interface bandwidth is {self.link_bandwidth} bytes/s; it must be above 0")
        if not 0 < self.inter_gpu_bandwidth < float("inf"):
            raise FlexNetError(f"the inter-GPU bandwidth is {self.inter_gpu_bandwidth} bytes/s; it must be above 0")
        if not 0 <= self.latency < float("inf"):
            raise FlexNetError(f"the network latency is {self.latency} s; it must be 0 or more")
        if self.degree < 1:
            raise FlexNetError(f"the degree is {self.degree}; a server needs at least 1 interface")
