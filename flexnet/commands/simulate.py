"""``flexnet simulate FILE.fbuf``: a task graph file and a network in, one replayed iteration out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command, Flag, Given, given_flags, switch
from flexnet.commands.requests.limits import MAX_INTEGER, check_degree
from flexnet.commands.requests.types import Name, Number, Segments, TopologyName, Whole
from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES
from flexnet.simulate import LINK_MODELS
from flexnet.units import gbps_to_bytes_per_s, s_to_ms, us_to_s

if TYPE_CHECKING:
    import numpy as np

    from flexnet.network.topology import Topology
    from flexnet.plan.task_graph import TaskGraph
    from flexnet.simulate.fabric import Fabric
    from flexnet.simulate.link_model import LinkModel
    from flexnet.simulate.protocol import Protocol
    from flexnet.taskgraph_file.contents import TaskGraphFile

__all__ = ["simulate"]

_MAX_DRAWS = 10_000
_MAX_NODES = 8192  # the matrix of links is held in memory
_PARAMETERS = {
    "--node-degree": "degree",
    "--servers-per-leaf": "servers_per_leaf",
    "--oversubscription": "oversubscription",
    "--ports": "ports",
}
"""Flags that are parameters of topology families."""

_FLAGS = [
    Flag(
        ["network", "--network"],
        type=Name(LINK_MODELS),
        default="fair",
        metavar="NAME",
        help="fair (default): flows share links max-min fairly; fifo: the original's link model",
    ),
    Flag(
        ["topology", "--topology"],
        type=TopologyName(lambda: ("file", *TOPOLOGIES)),
        default="file",
        metavar="NAME|FILE",
        help="file (default), star or fattree (an ideal switch), leafspine, kary (fat-tree of k-port switches), fc "
        "(full mesh), random, topoopt, or a network in a .graphml or node-link .json file",
    ),
    Flag(
        ["interface_bandwidth", "--interface-bandwidth"],
        type=Number(1e-6, 1e6, "Gbps"),
        metavar="GBPS",
        help="bandwidth of one interface (default: the file's)",
    ),
    Flag(
        ["network_latency", "--network-latency"],
        type=Number(0.0, 1e9, "microseconds"),
        default=1.0,  # the packet simulator's published runs have 1 us a hop (its -rtt 1000); files say nothing
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
    Flag(
        ["servers_per_leaf", "--servers-per-leaf"],
        type=Whole(1, 1 << 16),
        default=16,
        metavar="N",
        help="servers of a leaf switch, for leafspine (default 16)",
    ),
    Flag(
        ["oversubscription", "--oversubscription"],
        type=Number(1e-3, 1e3),
        default=1.0,
        metavar="R",
        help="links down over links up of a leaf switch, for leafspine (default 1)",
    ),
    Flag(
        ["ports", "--ports"],
        type=Whole(2, 1024),
        metavar="K",
        help="ports of a switch, for kary (default: the fewest that have room)",
    ),
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
        default="member",
        metavar="NAME",
        help="rings of a flat network start at each member (default) or, as in FlexNetPacket, at each member's index",
    ),
    Flag(
        ["protocol", "--protocol"],
        type=Name(("packet", "fluid")),
        default="packet",
        metavar="NAME",
        help="packet (default): connections and packets take time; fluid: they do not",
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


@click.pass_context
def _simulate(ctx: click.Context, /, words: tuple[str, ...], **values: Any) -> int:
    """Replays one training iteration of a task graph file, this program's or the original's.

    Tells how long it takes, where the time goes, and which links are busiest.
    """
    if not words:
        raise FlexNetError("no task graph given; use flexnet simulate FILE.fbuf")
    if len(words) > 1:
        raise FlexNetError(f"unexpected argument {words[1]!r}; flexnet simulate takes one file")
    given = given_flags(ctx)
    _check_link_model(values["network"], given)

    from flexnet.simulate.replay import replays
    from flexnet.simulate.replayed import network_text
    from flexnet.taskgraph_file.convert import to_task_graph
    from flexnet.taskgraph_file.read import read_taskgraph

    _check_parameters(values["topology"], given)
    protocol = _protocol(values)
    file = read_taskgraph(Path(words[0]), network=values["topology"] == "file")
    if not len(file.tasks.kind):
        raise FlexNetError(f"{file.source}: there are no tasks; a task graph has at least one")
    graph = to_task_graph(file)
    fabric = _fabric(values, file, graph)
    seeds = [values["seed"] + i for i in range(values["draws"] if fabric.several else 1)]
    links = _links(values["network"], values["segment_bytes"])
    found = sorted(replays(graph, fabric, seeds, links=links, protocol=protocol), key=lambda one: one.seconds)
    median, draws = found[(len(found) - 1) // 2], [one.seconds for one in found]
    if values["as_json"]:
        import orjson

        from flexnet.files import printable

        document = {
            **median.to_dict(),
            "draws_ms": [s_to_ms(seconds) for seconds in draws],
            "file": printable(words[0]),
            "servers": graph.n_server,
            "tasks": graph.n_task,
            "topology": printable(str(values["topology"])),
            "network": values["network"],
            "interface_bandwidth_gbps": fabric.network.link_bandwidth * 8e-9,
            "network_latency_us": fabric.network.latency * 1e6,
            "protocol": protocol._asdict(),
            "seed": values["seed"],
        }
        say(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
        return 0
    name = "the file's network" if values["topology"] == "file" else str(values["topology"])
    told = "--network-latency" in given or fabric.network.topology.speeds is not None
    origin = "" if told else " (not in the file; see --network-latency)"
    say(median.summary(f"{network_text(fabric.network, name)}{origin}; {values['network']}", draws))
    return 0


simulate = Command(
    "simulate",
    params=[click.Argument(["words"], nargs=-1, metavar="FILE", required=False, type=click.Path()), *_FLAGS],
    callback=_simulate,
    help=_simulate.__doc__,
)


def _check_link_model(name: str, given: Given) -> None:
    """Refuse flags that mean something for another link model only."""
    for flag, right in (("--segment-bytes", "fifo"), *((f, "fair") for f in ("--protocol", "--allreduce", "--rings"))):
        if flag in given and name != right:
            raise FlexNetError(f"{flag} is for --network {right} only")


def _check_parameters(topology: "str | Path", given: Given) -> None:
    """Refuse flags that the topology does not have."""
    if isinstance(topology, Path):
        flag = next((f for f in (*_PARAMETERS, "--interface-bandwidth", "--network-latency") if f in given), None)
        if flag is not None:
            raise FlexNetError(
                f"{flag} has no meaning for the network in {topology}: it has links and speeds of its own"
            )
    for flag, parameter in _PARAMETERS.items():
        names = [name for name in TOPOLOGIES if flag in given and parameter in TOPOLOGIES[name].parameters()]
        if flag in given and topology not in names:
            raise FlexNetError(f"{flag} is for --topology {' and '.join(names)}; the topology is {topology}")
    if "--rings" in given and topology not in ("file", "topoopt"):
        raise FlexNetError(f"--rings is for --topology file and topoopt; the topology is {topology}")


def _protocol(values: dict[str, Any]) -> "Protocol":
    from flexnet.simulate.protocol import FLUID, PACKET

    protocol = FLUID if values["protocol"] == "fluid" else PACKET
    if values["allreduce"] == "ps":  # its connections are fresh, but there is one round, not many
        protocol = protocol._replace(by_server=True, ring_weight=1.0)
    return protocol._replace(rings_by_index=values["rings"] == "index")


def _links(name: str, segment_bytes: int) -> "LinkModel | None":
    """The link model of this name; None for the one a replay has by itself."""
    if name == "fair":
        return None
    model = LINK_MODELS[name]
    return model(segment_bytes=segment_bytes) if name == "fifo" else model()  # type: ignore[call-arg]


def _fabric(values: dict[str, Any], file: "TaskGraphFile", graph: "TaskGraph") -> "Fabric":
    """The network that was asked for."""
    import numpy as np

    from flexnet.network.network import connect
    from flexnet.network.routes import routes_for
    from flexnet.plan.semantics import CORRECTED
    from flexnet.simulate.fabric import Fabric, unrouted
    from flexnet.taskgraph_file.convert import to_network, to_paths

    asked, latency = values["interface_bandwidth"], us_to_s(values["network_latency"])
    bandwidth = file.link_bytes_per_ms * 1e3 if asked is None else gbps_to_bytes_per_s(asked)
    if not bandwidth > 0:
        raise FlexNetError(f"{file.source} has link bandwidth {bandwidth:g}; give --interface-bandwidth")
    if file.n_server + file.n_switch > _MAX_NODES:
        raise FlexNetError(
            f"{file.source} has {file.n_server} servers and {file.n_switch} switches; at most {_MAX_NODES} nodes can "
            "be replayed"
        )
    if values["topology"] == "file":
        network = to_network(file, bandwidth, latency)
        return Fabric(network, to_paths(file, network))
    rng = np.random.default_rng(values["seed"])
    topology = _topology(values, graph, rng)
    if topology.n_switch:
        return unrouted(topology, bandwidth, latency)
    return Fabric.of(connect(topology, bandwidth, latency, routes_for(topology, CORRECTED, rng)))


def _topology(values: dict[str, Any], graph: "TaskGraph", rng: "np.random.Generator") -> "Topology":
    """The topology that was asked for, wired for the servers and the demand of the task graph."""
    from flexnet.network.build import family_of
    from flexnet.network.demand import demand_of
    from flexnet.network.graph_file import read_topology

    name, n = values["topology"], graph.n_server
    if isinstance(name, Path):
        family = family_of(read_topology(name))
    else:
        family = family_of(name, **{parameter: values[parameter] for parameter in _PARAMETERS.values()})
        if "degree" in family.parameters():
            check_degree(name, values["degree"], n, f"there are {n} servers")
    return family.build(n, demand_of(graph.arrays(), n) if family.follows_demand else None, rng)
