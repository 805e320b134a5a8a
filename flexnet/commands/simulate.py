"""``flexnet simulate FILE.fbuf``: a task graph file and a network in, one replayed iteration out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say, warn
from flexnet.commands.requests.flags import Command, given_flags
from flexnet.commands.requests.limits import check_degree
from flexnet.commands.requests.simulate import SIMULATE_FLAGS, SimulateRequest, simulate_request
from flexnet.simulate import LINK_MODELS
from flexnet.units import bytes_per_s_to_gbps, s_to_ms, s_to_us

if TYPE_CHECKING:
    import numpy as np

    from flexnet.network.topology import Topology
    from flexnet.plan.task_graph import TaskGraph
    from flexnet.simulate.fabric import Fabric
    from flexnet.simulate.link_model import LinkModel
    from flexnet.simulate.replay_report import Replay
    from flexnet.taskgraph_file.contents import TaskGraphFile

__all__ = ["simulate"]


@click.pass_context
def _simulate(ctx: click.Context, /, words: tuple[str, ...], **values: Any) -> int:
    """Replays one training iteration of a task graph file, this program's or the original's.

    Tells how long it takes, where the time goes, and which links are busiest.
    """
    request = simulate_request(words, values, given_flags(ctx))

    from flexnet.commands.runs.taskgraphs import read_tasks
    from flexnet.plan.task_kinds import BACKWARD
    from flexnet.simulate.replay import replays

    file, graph = read_tasks(Path(request.file), network=request.topology is None)
    compute = graph.seconds[graph.kind <= BACKWARD]
    if len(compute) and not compute.any():
        warn(f"none of the {len(compute)} compute tasks of {file.source} takes any time; is the file damaged?")
    graph, fabric = _on_network(request, file, graph)
    seeds = [request.seed + i for i in range(request.draws if fabric.several else 1)]
    found = sorted(
        replays(graph, fabric, seeds, links=_links(request), protocol=request.protocol), key=lambda one: one.seconds
    )
    median, draws = found[(len(found) - 1) // 2], [one.seconds for one in found]
    if request.links is None and request.protocol.by_packet and median.links == "fair":
        warn("there are too many packets to follow in a minute, so links are shared fairly; see --network packet")
    say(_document(request, graph, fabric, median, draws) if request.as_json else _text(request, fabric, median, draws))
    return 0


simulate = Command(
    "simulate",
    params=[click.Argument(["words"], nargs=-1, metavar="FILE", required=False, type=click.Path()), *SIMULATE_FLAGS],
    callback=_simulate,
    help=_simulate.__doc__,
)


def _text(request: SimulateRequest, fabric: "Fabric", median: "Replay", draws: list[float]) -> str:
    from flexnet.simulate.replay_report import network_text

    name = "the file's network" if request.topology is None else str(request.topology) + _anew(request)
    told = request.latency is not None or fabric.network.topology.speeds is not None
    origin = "" if told else " (not in the file; see --network-latency)"
    return median.summary(f"{network_text(fabric.network, name)}{origin}; {request.links or median.links}", draws)


def _anew(request: SimulateRequest) -> str:
    """That it is not the network that a search may have built of the same kind."""
    from flexnet.network.topologies import TOPOLOGIES

    if not isinstance(request.topology, str):
        return ""
    family = TOPOLOGIES[request.topology]
    if family.random:
        return f" (drawn with seed {request.seed})"
    return " (wired anew for what the file sends)" if family.follows_demand else ""


def _document(
    request: SimulateRequest, graph: "TaskGraph", fabric: "Fabric", median: "Replay", draws: list[float]
) -> str:
    import orjson

    from flexnet.files import printable

    document = {
        **median.to_dict(),
        "draws_ms": [s_to_ms(seconds) for seconds in draws],
        "file": printable(request.file),
        "servers": graph.n_server,
        "tasks": graph.n_task,
        "topology": printable(str(request.topology or "file")),
        "network": request.links or median.links,
        "interface_bandwidth_gbps": bytes_per_s_to_gbps(fabric.network.link_bandwidth),
        "network_latency_us": s_to_us(fabric.network.latency),
        "protocol": request.protocol._asdict(),
        "seed": request.seed,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _links(request: SimulateRequest) -> "LinkModel | None":
    """The link model that was asked for; None for the one a replay has by itself."""
    if request.links is None:
        return None
    given: dict[str, Any] = {"packet": {"protocol": request.protocol}, "fair": {"protocol": request.protocol}}
    given["fifo"] = {"segment_bytes": request.segment_bytes}
    return LINK_MODELS[request.links](**given.get(request.links, {}))


def _on_network(request: SimulateRequest, file: "TaskGraphFile", graph: "TaskGraph") -> "tuple[TaskGraph, Fabric]":
    """The tasks on the network that was asked for, with all-reduces over the rings there."""
    import numpy as np

    from flexnet.commands.runs.taskgraphs import fabric_of, link_speed, on_drawing
    from flexnet.network.cycles import add_cycles
    from flexnet.network.demand import demand_of
    from flexnet.network.network import connect
    from flexnet.network.routes import routes_for
    from flexnet.plan.semantics import CORRECTED
    from flexnet.simulate.fabric import Fabric, unrouted
    from flexnet.taskgraph_file.cycles import put_together

    if request.topology is None:
        return graph, fabric_of(file, request.bandwidth, request.latency)
    rng = np.random.default_rng(request.seed)
    whole = put_together(graph)
    topology = _topology(request, whole, rng)
    if isinstance(request.topology, Path) and (drawn := on_drawing(Path(request.file), topology)) is not None:
        return graph, drawn
    bandwidth, latency = link_speed(file, request.bandwidth, request.latency)
    if topology.n_switch:
        return whole, unrouted(topology, bandwidth, latency)
    network = connect(topology, bandwidth, latency, routes_for(topology, CORRECTED, rng))
    if not topology.rings:
        network = add_cycles(network, demand_of(whole.arrays(), whole.n_server).groups, rng)
    return whole, Fabric.of(network)


def _topology(request: SimulateRequest, graph: "TaskGraph", rng: "np.random.Generator") -> "Topology":
    """The topology that was asked for, wired for the servers and the demand of the task graph."""
    from flexnet.network.build import family_of
    from flexnet.network.demand import demand_of
    from flexnet.network.graph_file import read_topology

    name, n = request.topology, graph.n_server
    assert name is not None
    if isinstance(name, Path):
        family = family_of(read_topology(name))
    else:
        family = family_of(name, **request.parameters)
        if "degree" in family.parameters():
            check_degree(name, request.parameters["degree"], n, f"there are {n} servers")
    return family.build(n, demand_of(graph.arrays(), n) if family.follows_demand else None, rng)
