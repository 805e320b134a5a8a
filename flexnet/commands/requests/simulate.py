"""What ``flexnet simulate`` is asked to do: its flags, and what they become in SI units, once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.commands.requests.flags import Flag, Given, only_word, switch
from flexnet.commands.requests.limits import FAMILY_PARAMETERS, MAX_INTEGER, check_drawing, check_parameters
from flexnet.commands.requests.shared_flags import OF_SWITCHES
from flexnet.commands.requests.types import Name, Number, Segments, TopologyName, Whole
from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES
from flexnet.simulate import LINK_MODELS
from flexnet.simulate.protocol import PROTOCOLS, Protocol
from flexnet.units import gbps_to_bytes_per_s, us_to_s

__all__ = ["SIMULATE_FLAGS", "SimulateRequest", "simulate_request"]

_MAX_DRAWS = 10_000

SIMULATE_FLAGS = [
    Flag(
        ["network", "--network"],
        type=Name(LINK_MODELS),
        metavar="NAME",
        help="packet: every packet is followed (default with --protocol flexnetpacket and dctcp, up to 100 million "
        "hops of packets); fair: flows share links max-min fairly (default otherwise); fifo: the original's link model",
    ),
    Flag(
        ["topology", "--topology"],
        type=TopologyName(lambda: ("file", *TOPOLOGIES)),
        default="file",
        metavar="NAME|FILE",
        help="{names}, or a network in a .graphml or node-link .json file (default file: the task graph's own; star "
        "and fattree: an ideal switch; kary: a fat-tree of k-port switches; fc: full mesh)",
    ),
    Flag(
        ["interface_bandwidth", "--interface-bandwidth"],
        type=Number(1e-6, 1e6, "Gbps"),
        metavar="GBPS",
        help="bandwidth of one interface (default: the file's)",
    ),
    Flag(
        ["network_latency", "--network-latency"],
        type=Number(0.0, 1e6, "microseconds"),
        metavar="US",
        help="latency of a hop in microseconds (default 1)",
    ),
    Flag(
        ["degree", "--node-degree", "--degree"],
        type=Whole(1, 1024),
        default=4,
        metavar="D",
        help="interfaces of a server, for random and topoopt (default 4)",
    ),
    *OF_SWITCHES,
    Flag(
        ["allreduce", "--allreduce"],
        type=Name(("ring", "ps")),
        default="ring",
        metavar="NAME",
        help="ring (default) or ps: through a parameter server, the first of the group",
    ),
    Flag(
        ["rings", "--rings"],
        type=Name(("member", "index")),
        metavar="NAME",
        help="rings of a flat network start at every member (member) or at its index in the group (index, as in "
        "FlexNetPacket and the default with --protocol flexnetpacket)",
    ),
    Flag(
        ["protocol", "--protocol"],
        type=Name(PROTOCOLS),
        default="flexnetpacket",
        metavar="NAME",
        help="flexnetpacket (default): as FlexNetPacket runs the file; dctcp: the same, every round of small "
        "all-reduces too; roce: connections stay open and share links fairly; fluid: bytes over bandwidth",
    ),
    Flag(
        ["segment_bytes", "--segment-bytes"],
        type=Segments(),
        default=0,
        metavar="N",
        help="cut transfers into messages; --network fifo only (default 0: whole)",
    ),
    Flag(
        ["draws", "--draws"],
        type=Whole(1, _MAX_DRAWS),
        default=5,
        metavar="N",
        help="draws of the paths flows take, where there are several; the median is shown (default 5)",
    ),
    Flag(
        ["seed", "--seed"],
        type=Whole(0, MAX_INTEGER - _MAX_DRAWS),
        default=0,
        metavar="N",
        help="same seed, same draws (default 0)",
    ),
    switch("as_json", "--json", "print one JSON object"),
]


@dataclass(frozen=True, slots=True)
class SimulateRequest:
    """A task graph to replay.

    Parameters
    ----------
    file : str
        The task graph file, as it was typed.
    links : str or None
        A name in `flexnet.simulate.LINK_MODELS`; None for what the protocol is replayed with.
    topology : str or Path or None
        A name in `flexnet.network.topologies.TOPOLOGIES`, a drawing, or None for the file's own network.
    parameters : Mapping
        Of topology families, by their names there.
    bandwidth : float or None
        Bytes/s of an interface; None: the file's.
    latency : float or None
        Seconds a hop; None: not given.
    protocol : Protocol
    segment_bytes : int
        0 for whole transfers.
    draws, seed : int
        Of the paths flows take.
    as_json : bool
    """

    file: str
    links: str | None
    topology: str | Path | None
    parameters: Mapping[str, Any]
    bandwidth: float | None
    latency: float | None
    protocol: Protocol
    segment_bytes: int
    draws: int
    seed: int
    as_json: bool


def simulate_request(words: Sequence[str], values: dict[str, Any], given: Given) -> SimulateRequest:
    """Make SI units of what was asked.

    Parameters
    ----------
    words : sequence of str
        The file, and what is too much.
    values : dict
        Of the flags, by name, defaults included.
    given : Given
        The flags that were given.

    Raises
    ------
    FlexNetError
        If there is not one file, or flags contradict each other.
    """
    path = only_word(words, "simulate", "file", "no task graph given; use flexnet simulate FILE.fbuf")
    _check_link_model(values, given)
    _check_parameters(values["topology"], given)
    gbps = values["interface_bandwidth"]
    return SimulateRequest(
        file=path,
        links=values["network"],
        topology=None if values["topology"] == "file" else values["topology"],
        parameters={parameter: values[parameter] for parameter in FAMILY_PARAMETERS.values()},
        bandwidth=None if gbps is None else gbps_to_bytes_per_s(gbps),
        latency=us_to_s(values["network_latency"]) if "--network-latency" in given else None,
        protocol=_protocol(values),
        segment_bytes=values["segment_bytes"],
        draws=values["draws"],
        seed=values["seed"],
        as_json=values["as_json"],
    )


def _protocol(values: dict[str, Any]) -> Protocol:
    protocol = PROTOCOLS[values["protocol"]]
    if values["allreduce"] == "ps":
        protocol = protocol._replace(by_server=True)
    return protocol if values["rings"] is None else protocol._replace(rings_by_index=values["rings"] == "index")


def _check_link_model(values: Mapping[str, Any], given: Given) -> None:
    """Refuse flags that mean something for another link model only."""
    name = values["network"]
    if "--segment-bytes" in given and name != "fifo":
        raise FlexNetError("--segment-bytes is for --network fifo only")
    for flag in ("--protocol", "--allreduce", "--rings"):
        if flag in given and name == "fifo":
            raise FlexNetError(f"{flag} is not for --network fifo, which is the original's link model as it is")
    if name == "packet" and not PROTOCOLS[values["protocol"]].by_packet:
        followed = " or ".join(one for one, protocol in PROTOCOLS.items() if protocol.by_packet)
        raise FlexNetError(
            f"--network packet is for --protocol {followed}; {values['protocol']} has no packets to follow"
        )


def _check_parameters(topology: str | Path, given: Given) -> None:
    """Refuse flags that the topology does not have."""
    if isinstance(topology, Path):
        check_drawing(topology, given)
    else:
        check_parameters(topology, given)
    if "--rings" in given and topology not in ("file", "topoopt"):
        raise FlexNetError(f"--rings is for --topology file and topoopt; the topology is {topology}")
