"""What ``flexnet simulate`` was asked to do, checked."""

from dataclasses import dataclass
from pathlib import Path

from flexnet.errors import FlexNetError
from flexnet.flag_values import FlagReader
from flexnet.flags import Given
from flexnet.protocol import FLUID, PACKET, Protocol

__all__ = ["TOPOLOGY_NAMES", "ReplayConfig", "make_replay_config"]

TOPOLOGY_NAMES = ("file", "star", "fattree", "leafspine", "kary", "fc", "random", "topoopt")
# The packet simulator's published runs have 1 us a hop (its -rtt 1000); files say nothing.
LATENCY_US = 1.0
_MAX_DRAWS = 10_000
_MAX_INTEGER = 2**63 - 1

# Flags that mean something for some topologies only.
_ONLY_FOR = {
    "--node-degree": ("random", "topoopt"),
    "--servers-per-leaf": ("leafspine",),
    "--oversubscription": ("leafspine",),
    "--ports": ("kary",),
    "--rings": ("file", "topoopt"),
}


@dataclass(frozen=True, slots=True)
class ReplayConfig:
    """A replay to run, in SI units.

    Parameters
    ----------
    path : Path
    topology : str
        One of `TOPOLOGY_NAMES`.
    link_bandwidth : float or None
        Bytes/s; None for the file's.
    latency : float
        Seconds per hop.
    latency_given : bool
        Whether the user said so; files hold none.
    degree, servers_per_leaf, oversubscription, ports
        Of the topologies that have them; ``ports`` None for the fewest that have room.
    protocol : Protocol
    fifo : bool
        First-in-first-out links instead of fair ones.
    segment_bytes : int
        Messages of the former; 0 for whole transfers.
    draws, seed : int
    json : bool
    """

    path: Path
    topology: str
    link_bandwidth: float | None
    latency: float
    latency_given: bool
    degree: int
    servers_per_leaf: int
    oversubscription: float
    ports: int | None
    protocol: Protocol
    fifo: bool
    segment_bytes: int
    draws: int
    seed: int
    json: bool


def make_replay_config(path: str, given: Given) -> ReplayConfig:
    """Check the flags of a replay.

    Raises
    ------
    FlexNetError
        If a value is malformed or out of range, or flags contradict each other.
    """
    read = FlagReader(given)
    topology = read.name("--topology", TOPOLOGY_NAMES, "file")
    for flag, names in _ONLY_FOR.items():
        if flag in given and topology not in names:
            raise FlexNetError(f"{flag} is for --topology {' and '.join(names)}; the topology is {topology}")
    fifo = read.name("--network", ("fair", "fifo"), "fair") == "fifo"
    protocol = FLUID if read.name("--protocol", ("packet", "fluid"), "packet") == "fluid" else PACKET
    by_server = read.name("--allreduce", ("ring", "ps"), "ring") == "ps"
    by_index = read.name("--rings", ("member", "index"), "member") == "index"
    for flag, wrong, right in (
        ("--segment-bytes", not fifo, "--network fifo"),
        ("--protocol", fifo, "--network fair"),
        ("--allreduce", fifo, "--network fair"),
        ("--rings", fifo, "--network fair"),
    ):
        if flag in given and wrong:
            raise FlexNetError(f"{flag} is for {right} only")
    if by_server:  # its connections are fresh, but there is one round, not many
        protocol = protocol._replace(by_server=True, ring_weight=1.0)
    has_ports = "--ports" in given
    return ReplayConfig(
        path=Path(path),
        topology=topology,
        link_bandwidth=read.bandwidth("--interface-bandwidth"),
        latency=read.latency(LATENCY_US),
        latency_given="--network-latency" in given,
        degree=read.integer("--node-degree", 4, least=1, most=1024),
        servers_per_leaf=read.integer("--servers-per-leaf", 16, least=1, most=1 << 16),
        oversubscription=read.number("--oversubscription", 1.0, least=1e-3, most=1e3),
        ports=read.integer("--ports", 4, least=2, most=1024) if has_ports else None,
        protocol=protocol._replace(rings_by_index=by_index),
        fifo=fifo,
        segment_bytes=read.segment_bytes(),
        draws=read.integer("--draws", 5, least=1, most=_MAX_DRAWS),
        seed=read.integer("--seed", 0, least=0, most=_MAX_INTEGER - _MAX_DRAWS),
        json="--json" in given,
    )
