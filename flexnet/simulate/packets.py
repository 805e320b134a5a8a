"""Links on which every packet is followed."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.interrupts import check
from flexnet.kernels import STOP
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays, only_routes
from flexnet.simulate.edge_bytes import most_rings_laid
from flexnet.simulate.fair_work import make_queues
from flexnet.simulate.kernels.packet_queues import CHUNK
from flexnet.simulate.kernels.packet_state import (
    Connections,
    Events,
    Lockstep,
    PacketLinks,
    Packets,
    PacketWork,
    Reduces,
    Transport,
)
from flexnet.simulate.kernels.packets import simulate_packets
from flexnet.simulate.kernels.rings import ring_turns, rings_apart
from flexnet.simulate.link_model import LinkModel, Timeline
from flexnet.simulate.lockstep import find_lockstep, followed
from flexnet.simulate.protocol import PACKET, Protocol

__all__ = ["PICOSECONDS", "FollowedPackets", "byte_picoseconds", "followed_edges_and_links"]

Ints = npt.NDArray[np.int64]

PICOSECONDS = 1e12
FOREVER = 2**62


@dataclass(slots=True)
class FollowedPackets(LinkModel):
    """Every packet followed; see `flexnet.simulate.kernels.packets.simulate_packets` for the model and its sources.

    Parameters
    ----------
    protocol : Protocol
    """

    name: ClassVar[str] = "packet"
    routes_by_flow: ClassVar[bool] = True

    protocol: Protocol = PACKET
    _room: float = 1.0  # times what should do
    _timeouts: int = 0

    @property
    def timeouts(self) -> int:
        """Timers that went off in the iteration simulated last."""
        return self._timeouts

    def seconds(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        limit: float = np.inf,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> float:
        """Iteration time in seconds; when it is above ``limit``, some time above ``limit``."""
        return self._run(tasks, network, limit, routes)[0]

    def timeline(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> Timeline:
        """Iteration time with the start and end of every task."""
        seconds, work = self._run(tasks, network, np.inf, routes)
        return Timeline(seconds, work.start, work.end)

    def _run(
        self, tasks: TaskArrays, network: NetworkArrays, limit: float, routes: FlowRoutes | None
    ) -> tuple[float, PacketWork]:
        routes = only_routes(tasks) if routes is None else routes
        transport = _transport(self.protocol)
        most = FOREVER if np.isinf(limit) else int(limit * PICOSECONDS)
        hops, links = _hops(network), _links(network, self.protocol)
        lockstep = find_lockstep(tasks, network, routes, self.protocol, hops, links)
        edges, _ = followed(tasks, network, routes, self.protocol, hops, lockstep)
        while True:
            work = _reserve(tasks, network, self.protocol, hops, links, lockstep, edges, self._room)
            end = simulate_packets(tasks, network, routes, self.protocol, transport, most, work)
            check()
            if end >= 0:
                self._timeouts = int(work.connections.timeouts[0])
                return float(end) / PICOSECONDS, work
            self._room *= 2.0


def byte_picoseconds(bandwidth: npt.NDArray[np.floating]) -> Ints:
    """Picoseconds that a byte takes on links of so many bytes/s: whole ones, rounded down, as in FlexNetPacket.

    >>> byte_picoseconds(np.array([3.125e9, 17.28e9])).tolist()
    [320, 57]
    """
    # 1e12 / bandwidth is a whole number up to rounding where it should be one
    found: Ints = np.maximum(np.floor(PICOSECONDS / bandwidth * (1.0 + 1e-9)), 1.0).astype(np.int64)
    return found


def followed_edges_and_links(
    tasks: TaskArrays, network: NetworkArrays, protocol: Protocol, routes: FlowRoutes
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Edges of every collective's rings, and links, on which packets are followed: see `flexnet.simulate.lockstep`."""
    hops = _hops(network)
    lockstep = find_lockstep(tasks, network, routes, protocol, hops, _links(network, protocol))
    return followed(tasks, network, routes, protocol, hops, lockstep)


def _hops(network: NetworkArrays) -> npt.NDArray[np.int32]:
    """Links of all routes, then of all rings, then of all cycles."""
    return np.concatenate([network.route, network.ring_links, network.cycle_links]).astype(np.int32)


def _transport(protocol: Protocol) -> Transport:
    """The protocol in whole bytes, packets and picoseconds."""
    return Transport(
        packet_bytes=int(protocol.packet_bytes),
        first_window=protocol.first_window,
        slow_start=protocol.slow_start,
        gain=protocol.gain,
        first_patience=round(protocol.first_patience * PICOSECONDS),
        first_ring_patience=round(protocol.first_ring_patience * PICOSECONDS),
        least_patience=round(protocol.least_patience * PICOSECONDS),
        tick=round(protocol.tick * PICOSECONDS),
    )


def _links(network: NetworkArrays, protocol: Protocol) -> PacketLinks:
    """A byte takes whole picoseconds, as in FlexNetPacket, where 640 Gbps are 4 % fast."""
    n = len(network.bandwidth)
    latency = np.full(n, round(network.latency * PICOSECONDS), np.int64)
    if len(network.extra_latency):
        latency += np.rint(network.extra_latency * PICOSECONDS).astype(np.int64)
    unmarked = np.full(n, int(protocol.mark_packets * protocol.packet_bytes), np.int64)
    if not protocol.host_marks:
        unmarked[network.route[network.route_ptr[:-1][np.diff(network.route_ptr) > 0]]] = FOREVER
    return PacketLinks(
        byte_picoseconds(network.bandwidth), latency, unmarked, *(np.zeros(n, np.int64) for _ in range(6))
    )


def _reserve(
    tasks: TaskArrays,
    network: NetworkArrays,
    protocol: Protocol,
    hops: npt.NDArray[np.int32],
    links: PacketLinks,
    lockstep: Lockstep,
    edges_followed: Ints,
    room: float,
) -> PacketWork:
    """Memory for the first window of every flow that is followed at once, ``room`` times.

    ``edges_followed`` (n_collective,) is how many edges of a ring of each are.
    """
    n_task, n_server = len(tasks.kind), network.n_server
    reduces, transfers = tasks.kind == ALLREDUCE, tasks.kind == NOMINAL_COMM
    members = np.diff(tasks.group_ptr)[tasks.place[reduces]]
    edges = edges_followed[tasks.place[reduces]]
    most = most_rings_laid(network)
    window = float(protocol.first_window)
    first = np.minimum(np.ceil(tasks.bytes[transfers] / protocol.packet_bytes), window).sum() + len(members)
    if len(members):
        ring = np.ceil(tasks.bytes[reduces] / (1 if protocol.by_server else members) / protocol.packet_bytes)
        first += (np.minimum(ring, window) * edges).sum() * most
    n_chunk = len(network.bandwidth) + int(room * (64 + 2 * len(network.bandwidth) + 1.25 * first / CHUNK))
    n_connection = int(room * (64 + np.count_nonzero(transfers) + 2 * int(edges.sum()) * most))
    n_event = n_task + n_connection + 64
    n_place = 2 << max(len(network.bandwidth) - 1, 0).bit_length()
    rings = np.where(reduces, most, 0)
    roots = np.flatnonzero(tasks.n_pred == 0)
    turn = _ints(len(tasks.group_ptr) - 1)
    ring_turns(tasks, network, protocol, turn)
    return PacketWork(
        events=Events(
            *(_ints(n_event), _ints(n_event), _ints(n_event), _ints(1)),
            *(_ints(n_place), _ints(n_place), _ints(n_place), _ints(1)),
            full=np.zeros(1, np.bool_),
        ),
        start=np.zeros(n_task),
        end=np.zeros(n_task),
        waiting=_ints(n_task),
        roots=roots[np.argsort(tasks.rank[roots], kind="stable")],
        queues=make_queues(n_task, n_server),
        hops=hops,
        packets=_columns(
            Packets,
            n_chunk * CHUNK,
            connection=np.int32,
            hop=np.int32,
            marked=np.bool_,
            others={"next_chunk": n_chunk, "unused": 1},
        ),
        links=links,
        connections=_columns(
            Connections,
            n_connection,
            open=np.bool_,
            recovering=np.bool_,
            done=np.bool_,
            fraction=np.float64,
            others={"unused": 1, "n": 1, "timeouts": 1},
        ),
        reduces=Reduces(
            first=np.cumsum(rings) - rings,
            round=_ints(int(rings.sum())),
            open=_ints(int(rings.sum())),
            rings_open=_ints(n_task),
            apart=np.array([rings_apart(tasks, network, protocol)]),
            turn=turn,
        ),
        lockstep=lockstep,
        stop=STOP,
    )


def _ints(n: int) -> Ints:
    return np.zeros(n, np.int64)


def _columns(struct: Any, n: int, others: dict[str, int], **kinds: type[np.generic]) -> Any:
    """A struct of ``n`` zeros a column, of 64-bit integers or other kinds; of other lengths in some.

    What is said of one packet or connection lies side by side in memory: with a column in a place of its own, replays
    with 1.6 million packets at a time took a tenth longer.
    """
    fields = [(name, kinds.get(name, np.int64)) for name in struct._fields if name not in others]
    table = np.zeros(n, np.dtype(fields, align=True))
    return struct(*(_ints(others[name]) if name in others else table[name] for name in struct._fields))
