"""How many components a kind of network takes."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexnet.errors import FlexNetError, counted
from flexnet.network.build import family_of
from flexnet.network.topology import Topology
from flexnet.prices import PANELS
from flexnet.prices.bill import Bill
from flexnet.units import bytes_per_s_to_gbps

__all__ = [
    "FORMULAS",
    "Fabric",
    "Interfaces",
    "NotToBeHadError",
    "bill_of_topology",
    "direct",
    "three_tiers",
    "two_tiers",
]

LEAST_LINKED = 2  # interfaces that join more than two servers directly


class NotToBeHadError(FlexNetError):
    """A network that cannot be had on the terms of a comparison: no wrong input, but an answer."""


@dataclass(frozen=True, slots=True)
class Interfaces:
    """Interfaces of a server: how many, and Gbps of each."""

    count: int
    gbps: float

    @property
    def total_gbps(self) -> float:
        """Of a server."""
        return self.count * self.gbps

    def __str__(self) -> str:
        return f"{self.count} x {self.gbps:g} Gbps"


def three_tiers(n: int, gbps: float) -> Bill:
    """A fat-tree of three tiers without oversubscription for ``n`` interfaces, ports in use only.

    Switch ports n + n + 2n + 2n (edge down, edge up, aggregation, core), a transceiver at every port and interface
    (``formulas`` of the price table; the calculator named there, after TopoOpt section 5.2).
    """
    return _switched(n, 6 * n, gbps)


def two_tiers(n: int, gbps: float) -> Bill:
    """The same without core switches: rails alone (``rail_only`` of the price table)."""
    return _switched(n, 4 * n, gbps)


def direct(n: int, gbps: float, panel: str = "patch") -> Bill:
    """Servers linked directly by ``n`` interfaces over a patch panel or an optical circuit switch.

    An interface takes a NIC, a transceiver, a port of the panel and a fibre (``topoopt`` of the price table).
    """
    return Bill({(part, gbps): n for part in ("nic", "transceiver", PANELS[panel], "fiber_per_m")})


def _switched(n: int, ports: int, gbps: float) -> Bill:
    transceivers = ports + n
    counts = {"nic": n, "transceiver": transceivers, "electrical_port": ports, "fiber_per_m": -(-transceivers // 2)}
    return Bill({(part, gbps): count for part, count in counts.items()})


FORMULAS: dict[str, Callable[[int, float], Bill]] = {
    "fattree": three_tiers,
    "star": three_tiers,
    "rail_optimized": three_tiers,
    "rail_only": two_tiers,
}
"""Networks of switches that are bought by a formula of so many interfaces at a speed; ideal ones as fat-trees."""


def bill_of_topology(topology: Topology, gbps: float, panel: str = "patch") -> Bill:
    """Components of one topology, link by link.

    An end at a server takes a NIC and a transceiver, one at a switch a port and a transceiver, and a link a fibre; a
    link between two servers goes over the panel, with a port and a fibre for each end, as in `direct`.

    Parameters
    ----------
    topology : Topology
    gbps : float
        Of a link, where the topology has no speeds of its own.
    panel : str
        A name in `PANELS`.
    """
    counts: Counter[tuple[str, float]] = Counter()
    for a, b, count in topology.link_counts:
        speed = gbps
        if topology.speeds is not None:
            speed = round(bytes_per_s_to_gbps(float(topology.speeds.bandwidth[a, b])) / count, 6)
        n_end = sum(end < topology.n_server for end in (a, b))
        counts["nic", speed] += n_end * count
        counts["transceiver", speed] += 2 * count
        counts["electrical_port", speed] += (2 - n_end) * count
        counts[PANELS[panel], speed] += 2 * count if n_end == 2 else 0
        counts["fiber_per_m", speed] += 2 * count if n_end == 2 else count
    return Bill(+counts)


@dataclass(frozen=True, slots=True)
class Fabric:
    """A kind of network for so many servers, as it is bought.

    Parameters
    ----------
    name : str
        A topology family, one of `FORMULAS`, or the name of a drawing.
    n_server : int
    parameters : Mapping[str, object]
        Of the family.
    drawing : Topology or None
        A network that is given, with its links; those that have no speeds are as fast as an interface.
    panel : str
        A name in `PANELS`, for servers that are linked directly.
    """

    name: str
    n_server: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    drawing: Topology | None = None
    panel: str = "patch"

    @property
    def switched(self) -> bool:
        """Whether servers are linked to switches: several interfaces of one are then as many equal networks."""
        if self.name in FORMULAS:
            return True
        topology = self._example()
        return topology is not None and topology.n_switch > 0

    @property
    def fixed(self) -> int | None:
        """Interfaces of a server that the kind of network prescribes; None where they are free to choose."""
        if self.drawing is not None:
            return int(self.drawing.links[: self.n_server].sum(axis=1).max())
        if self.switched or "degree" in family_of(self.name).parameters():
            return None
        return family_of(self.name, **self.parameters).interfaces(self.n_server)

    def as_asked(self, asked: Interfaces) -> Interfaces:
        """What is asked, but for what the network prescribes."""
        return self.drawn(asked.gbps) if self.drawing is not None else Interfaces(self.fixed or asked.count, asked.gbps)

    def drawn(self, gbps: float) -> Interfaces:
        """As many as the server that has most in the drawing, of the mean speed there, or ``gbps`` if it has none."""
        assert self.drawing is not None and self.fixed is not None
        if self.drawing.speeds is not None:
            of_servers = slice(self.n_server)
            total = float(self.drawing.speeds.bandwidth[of_servers].sum())
            gbps = round(bytes_per_s_to_gbps(total / max(int(self.drawing.links[of_servers].sum()), 1)), 6)
        return Interfaces(self.fixed, gbps)

    def bill(self, interfaces: Interfaces) -> Bill:
        """Components, where every server has these interfaces."""
        n = self.n_server * interfaces.count
        if self.drawing is not None:
            return bill_of_topology(self.drawing, interfaces.gbps, self.panel)
        if self.name in FORMULAS:
            return FORMULAS[self.name](n, interfaces.gbps)
        topology = self._example()
        if topology is None or not topology.n_switch:
            return direct(n, interfaces.gbps, self.panel)
        return bill_of_topology(topology, interfaces.gbps, self.panel).times(interfaces.count)

    def check(self, interfaces: Interfaces) -> None:
        """Refuse interfaces that do not join the servers.

        Raises
        ------
        FlexNetError
            If there are too few or too many.
        """
        if self.fixed is not None and interfaces.count != self.fixed:
            raise NotToBeHadError(
                f"{self.name} of {self.n_server} servers has {self.fixed} interfaces a server, not {interfaces.count}"
            )
        if self.switched or self.fixed is not None:
            return
        least, most = min(LEAST_LINKED, self.n_server - 1), self.n_server
        if not least <= interfaces.count <= most:
            raise FlexNetError(
                f"{self.name} of {counted(self.n_server, 'server')} needs {least} to {most} interfaces a server, not "
                f"{interfaces.count}"
            )

    def _example(self) -> Topology | None:
        """The drawing, or a network of a family whose links neither demand, chance nor a degree decides."""
        if self.drawing is not None:
            return self.drawing
        family = family_of(self.name, **self.parameters)
        if family.follows_demand or "degree" in family.parameters():
            return None
        return family.build(self.n_server, None, np.random.default_rng(0))
