"""What a replay found: time, phases, what every link carried; and how that is told."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.errors import counted
from flexnet.network.network import Network, gbps_text, us_text
from flexnet.network.topology import Topology
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.phases import Phase
from flexnet.units import bytes_per_s_to_gbps, bytes_text, s_to_ms

__all__ = ["Replay", "network_text"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHOWN_LINKS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """One iteration.

    Parameters
    ----------
    graph : TaskGraph
    network : Network
    timeline : Timeline
    phases : tuple of Phase
        See `flexnet.simulate.phases.phases_of`.
    demand : float
        Bytes all servers have to send.
    sent : float
        Bytes that leave servers, forwarded ones included.
    link_bytes : float64 (n_link,)
        Bytes over every link of the network.
    links : str
        The link model, by its name in `flexnet.simulate.LINK_MODELS`.
    """

    graph: TaskGraph
    network: Network
    timeline: Timeline
    phases: tuple[Phase, ...]
    demand: float
    sent: float
    link_bytes: Floats
    links: str

    @property
    def seconds(self) -> float:
        """Iteration time."""
        return self.timeline.seconds

    @property
    def compute(self) -> float:
        """Computing time of the server that computes longest, seconds."""
        return sum(phase.compute for phase in self.phases)

    @property
    def exposed(self) -> float:
        """Time that server does not compute, seconds."""
        return sum(phase.exposed for phase in self.phases)

    @property
    def bandwidth_tax(self) -> float:
        """Bytes servers send, own and forwarded, over bytes they have to send (TopoOpt section 5.4); 1 is none."""
        return self.sent / self.demand if self.demand else 1.0

    @property
    def utilisation(self) -> Floats:
        """Share of the iteration every link needs for its bytes, float64 (n_link,)."""
        if not self.seconds > 0:
            return np.zeros(len(self.link_bytes))
        return self.link_bytes / self.network.bandwidth / self.seconds

    @property
    def busiest_links(self) -> Ints:
        """Links that carry something, busiest first, ties by id: int64 (n_busy,)."""
        order = np.argsort(-self.utilisation, kind="stable")
        return order[self.link_bytes[order] > 0]

    def summary(self, network: str | None = None, draws: Iterable[float] = ()) -> str:
        """What a person reads: phases, busiest links, traffic; the last line tells the iteration time.

        Parameters
        ----------
        network : str, optional
            What is said of the network; its topology and speeds if None.
        draws : iterable of float
            Seconds of all draws of routes, ascending, this being their median.
        """
        return "\n".join(_summary_lines(self, network, list(draws)))

    def to_dict(self) -> dict[str, Any]:
        """The figures, as ``flexnet simulate --json`` has them; times in ms."""
        network, share = self.network, self.utilisation.tolist()
        return {
            "iteration_ms": s_to_ms(self.seconds),
            "compute_ms": s_to_ms(self.compute),
            "exposed_communication_ms": s_to_ms(self.exposed),
            "bandwidth_tax": self.bandwidth_tax,
            "phases": [
                {
                    "name": phase.name,
                    "ms": s_to_ms(phase.seconds),
                    "compute_ms": s_to_ms(phase.compute),
                    "exposed_communication_ms": s_to_ms(phase.exposed),
                }
                for phase in self.phases
            ],
            "bytes_demanded": self.demand,
            "bytes_sent_by_servers": self.sent,
            "bytes_on_links": float(self.link_bytes.sum()),
            "links": [
                {
                    "from": int(network.link_from[link]),
                    "to": int(network.link_to[link]),
                    "gbps": bytes_per_s_to_gbps(float(network.bandwidth[link])),
                    "bytes": float(self.link_bytes[link]),
                    "utilisation": share[link],
                }
                for link in self.busiest_links.tolist()
            ],
        }


def _summary_lines(found: Replay, network: str | None, draws: list[float]) -> list[str]:
    """What `Replay.summary` says, line by line."""
    graph, topology = found.graph, found.network.topology
    n_transfer = int(np.count_nonzero(graph.kind == NOMINAL_COMM))
    n_reduce = int(np.count_nonzero(graph.kind == ALLREDUCE))
    lines = [
        f"tasks      {graph.n_task - n_transfer - n_reduce} compute, {n_transfer} transfers, {n_reduce} all-reduces on "
        f"{graph.n_server} servers",
        f"network    {network or network_text(found.network, topology.name)}",
        f"{'phase':<12}{'ms':>12}{'compute':>12}{'exposed':>12}",
    ]
    for phase in found.phases:
        lines.append(f"{phase.name:<12}{_ms(phase.seconds):>12}{_ms(phase.compute):>12}{_ms(phase.exposed):>12}")
    if draws and draws[-1] > draws[0]:
        lines.append(f"paths      {len(draws)} draws: {_ms(draws[0])} to {_ms(draws[-1])} ms; shown is the median")
    share = found.utilisation
    for link in found.busiest_links[:SHOWN_LINKS].tolist():
        ends = f"{_node(topology, found.network.link_from[link])} -> {_node(topology, found.network.link_to[link])}"
        lines.append(f"link       {ends:<26}{bytes_text(found.link_bytes[link]):>15}{share[link]:>8.1%} busy")
    return [
        *lines,
        f"traffic    {bytes_text(found.demand)} to send, {bytes_text(found.sent)} sent with what is forwarded; "
        f"bandwidth tax {found.bandwidth_tax:.3f}",
        f"iteration  {_ms(found.seconds)} ms: {_ms(found.compute)} compute, {_ms(found.exposed)} exposed communication",
    ]


def network_text(network: Network, name: str) -> str:
    """Links, switches and speeds of a network called ``name``."""
    n_link, n_switch = network.topology.n_link, network.topology.n_switch
    speeds = f"{gbps_text(network)} Gbps, {counted(n_switch, 'switch')}, {us_text(network)} us a hop"
    return f"{name}: {counted(n_link, 'link')} of {speeds}"


def _node(topology: Topology, node: int) -> str:
    return f"server {node}" if node < topology.n_server else f"switch {node - topology.n_server}"


def _ms(seconds: float) -> str:
    return f"{s_to_ms(seconds):.3f}"
