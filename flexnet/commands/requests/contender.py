"""One network of several that are compared or swept: what it is bought as, and the search that it becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.commands.requests.limits import FAMILY_PARAMETERS
from flexnet.commands.requests.search import SearchRequest, search_request
from flexnet.commands.requests.search_flags import parse_search
from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.network.topologies import DRAWINGS, TOPOLOGIES

if TYPE_CHECKING:  # heavy: only after all flags are read
    from flexnet.prices.fabrics import Fabric, Interfaces
    from flexnet.prices.table import PriceTable

__all__ = ["Contender", "Terms", "fabric_of"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What networks that are compared have in common.

    Parameters
    ----------
    asked : Interfaces
        Of a server, where the network leaves them free.
    same : str
        One of `flexnet.prices.READINGS`.
    prices : PriceTable or None
        None: networks are compared without prices.
    dollars : float
        The money, for ``cost``.
    reference : str
        The network whose price is the money, which has what is asked; none if empty.
    """

    asked: "Interfaces"
    same: str
    prices: "PriceTable | None"
    dollars: float = 0.0
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Contender:
    """One network.

    Parameters
    ----------
    fabric : Fabric
    interfaces : Interfaces
        Of a server.
    dollars, watts : float or None
        None where they are not known.
    """

    fabric: "Fabric"
    interfaces: "Interfaces"
    dollars: float | None
    watts: float | None

    @classmethod
    def of(cls, fabric: "Fabric", terms: Terms) -> "Contender":
        """The network that has with others in common what ``terms`` say, and its price.

        Raises
        ------
        NotToBeHadError
            If the money does not buy it, or it has other interfaces.
        FlexNetError
            If a speed has no price, or the network cannot be so.
        """
        from flexnet.prices.equal import equal_interfaces

        if fabric.name == terms.reference:
            interfaces = fabric.as_asked(terms.asked)
            fabric.check(interfaces)
        else:
            interfaces = equal_interfaces(fabric, terms.asked, terms.same, terms.prices, terms.dollars)
        if terms.prices is None:
            return cls(fabric, interfaces, None, None)
        try:
            bill = fabric.bill(interfaces)
            return cls(fabric, interfaces, bill.dollars(terms.prices), bill.watts(terms.prices))
        except FlexNetError as error:
            raise FlexNetError(f"{fabric.name} with {interfaces} a server: {error}") from None

    @property
    def remark(self) -> str:
        """What is to be known of how it is searched; nothing in most cases."""
        told = []
        if self.fabric.drawing is not None:
            told.append("taken as it is drawn, whatever the others have")
        if self.fabric.switched and self.fabric.drawing is None and self.interfaces.count > 1:
            told.append(f"the {self.interfaces.count} interfaces of a server carry equal shares of every flow")
        return "; ".join(told)

    def words(self, base: Sequence[str], seed: int) -> tuple[str, ...]:
        """Words of the ``flexnet search`` on this network: ``base`` and those that are its own."""
        own = ["--seed", str(seed)]
        if self.fabric.drawing is not None:
            return (*_without(base, "--network-latency"), "--topology", self.fabric.name, *own)
        name = self.fabric.name
        gbps = self.interfaces.total_gbps if self.fabric.switched else self.interfaces.gbps
        own += ["--interface-bandwidth", f"{gbps:.12g}", "--nsimnode", str(self.fabric.n_server)]
        parameters = {**self.fabric.parameters, "degree": self.interfaces.count}
        for flag, parameter in FAMILY_PARAMETERS.items():
            if parameter in TOPOLOGIES[name].parameters() and parameters.get(parameter) is not None:
                own += [flag, str(parameters[parameter])]
        return (*base, "--topology", name, *own)

    def searches(self, base: Sequence[str], seed: int, n: int) -> list[SearchRequest]:
        """As many searches, of seeds one after the other."""
        return [self.request(base, seed + i) for i in range(n)]

    def request(self, base: Sequence[str], seed: int) -> SearchRequest:
        """The search.

        Raises
        ------
        FlexNetError
            If it contradicts itself.
        """
        return search_request(parse_search(self.words(base, seed)))


def _without(words: Sequence[str], flag: str) -> list[str]:
    """The words without a flag and its value."""
    if flag not in words:
        return list(words)
    at = list(words).index(flag)
    return [*words[:at], *words[at + 2 :]]


def fabric_of(name: str, n_server: int | None, parameters: Mapping[str, Any], panel: str) -> "Fabric":
    """What a network is bought as.

    Parameters
    ----------
    name : str
        A topology, or a file that one is drawn in.
    n_server : int or None
        None: as many as the drawing has.
    parameters : Mapping
        Of topology families; those that this one has are taken.
    panel : str
        A name in `flexnet.prices.PANELS`.

    Raises
    ------
    FlexNetError
        If there is no such topology, or a drawing cannot be read or has another number of servers.
    """
    from flexnet.prices.fabrics import Fabric

    if Path(name).suffix.lower() in DRAWINGS:
        from flexnet.network.graph_file import read_topology

        drawing = read_topology(Path(name))
        if n_server not in (None, drawing.n_server):
            raise FlexNetError(f"{name} has {drawing.n_server} servers; the others are to have {n_server}")
        return Fabric(name, drawing.n_server, drawing=drawing, panel=panel)
    if name not in TOPOLOGIES:
        hint = did_you_mean(name, TOPOLOGIES) or f"choose {one_of(tuple(TOPOLOGIES))}, or a {one_of(DRAWINGS)} file"
        raise FlexNetError(f"unknown topology {name!r}; {hint}")
    has = TOPOLOGIES[name].parameters()
    return Fabric(name, n_server or 1, {key: value for key, value in parameters.items() if key in has}, panel=panel)
