"""The contract of a start, and what starts give."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from flexnet.exact.bound import MOST_WORK, SECONDS, lower_bound
from flexnet.exact.frontier import FrontierPoint, frontier
from flexnet.exact.terms import Terms
from flexnet.network.build import family_of
from flexnet.network.family import TopologyFamily
from flexnet.network.topology import Topology
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, Strategy
from flexnet.search.moves.space import MoveSpace
from flexnet.search.packet_speed import packet_cluster
from flexnet.simulate.protocol import PACKET, Protocol

__all__ = ["Bound", "Start", "StartPoints", "at_most", "bound_of"]

MOST_CELLS = 350_000_000  # of all strategies of a start, each of so many operators times servers: 2.8 GB


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What is proven of every plan of a problem on networks of a kind.

    Parameters
    ----------
    seconds : float
        That any strategy takes at least, on any network of the kind, whose parts of an operator lie on different
        servers.
    per_byte : float
        Seconds a server takes to send a byte.
    binding : tuple of (str, float)
        What the bound rests on, with weights that add up to 1, heaviest first (`flexnet.exact.bound.LowerBound`).
    terms : Terms or None
        The additive model that trade-offs are found in, if there is one.
    """

    seconds: float
    per_byte: float
    binding: tuple[tuple[str, float], ...]
    terms: Terms | None = None

    def frontier(self) -> list[FrontierPoint]:
        """Trade-offs of additive time (seconds) and memory of all operators of a server (bytes); none without terms."""
        return [] if self.terms is None else frontier(self.terms.tables(self.per_byte), self.terms.memory)


def bound_of(
    problem: Problem,
    topology: str | Topology | TopologyFamily,
    *,
    terms: Terms | None = None,
    seconds: float = SECONDS,
    work: float = MOST_WORK,
    protocol: Protocol = PACKET,
) -> Bound:
    """Prove a bound, whatever the search starts from.

    Parameters
    ----------
    problem : Problem
    topology : str, Topology or TopologyFamily
        What networks plans may have (`flexnet.network.build.family_of`).
    terms : Terms, optional
        To find trade-offs in.
    seconds : float
        To take at most, about; no limit unless given, as a bound that is cut short differs from machine to machine.
    work : float
        Operations that elimination may take.  Four times as many, some half a minute, raise the bound of convolutions
        with all their cuts by up to a half (`flexnet.exact.bound`); long searches take them.
    protocol : Protocol
        That plans run by: FlexNetPacket cuts small all-reduces short.
    """
    family = family_of(topology, degree=problem.cluster.degree, semantics=problem.semantics)
    small = protocol.small_packet_bytes if problem.semantics.fair_links else 0.0
    if protocol.by_packet and problem.semantics.fair_links:
        problem = replace(problem, cluster=packet_cluster(problem.cluster, family.interfaces(problem.cluster.n_server)))
    proven = lower_bound(problem, family, seconds=seconds, work=work, small_packet_bytes=small)
    return Bound(proven.seconds, 1.0 / family.server_bandwidth(problem.cluster), proven.terms, terms)


@dataclass(frozen=True, slots=True, eq=False)
class StartPoints:
    """Strategies beside data parallelism, as arrays or the config of every operator in model order."""

    strategies: tuple[Strategy | tuple[Config, ...], ...]


def at_most(problem: Problem, n: int) -> int:
    """As many of ``n`` strategies as there is room for on thousands of servers, one at least."""
    return max(min(n, MOST_CELLS // (len(problem.graph.operators) * problem.cluster.n_server)), 1)


class Start(ABC):
    """Where a search begins.  A new one is a subclass in a file of its own and a line in `STARTS`.

    Attributes
    ----------
    name : str
        As it is printed, before the word start.
    """

    name: ClassVar[str]

    @abstractmethod
    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """Strategies to begin with beside data parallelism: a portfolio with several, the original's with the fastest.

        Parameters
        ----------
        space : MoveSpace
            The problem, laid out for moves.
        family : TopologyFamily
            What networks the strategies will be priced on.
        memory_limit : float or None
            Bytes of a server; strategies that need more are passed over, and refused if there is no other.
        rng : numpy.random.Generator
            The only source of chance.
        """
