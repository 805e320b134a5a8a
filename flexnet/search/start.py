"""Where a search starts with ``--start dp``: strategies that are optimal under additive costs, and a lower bound.

Simulated time is not additive, for communication hides behind compute.  So several additive models are solved exactly,
which differ in how much communication they count; the simulator prices what they find, beside data parallelism, and
the fastest is the start.  Networks are built with random choices, so the fastest is tried on a few.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from flexnet.dp.bound import lower_bound
from flexnet.dp.frontier import FrontierPoint, frontier
from flexnet.dp.measured import Terms, measured_terms, place
from flexnet.dp.solver import solve
from flexnet.problem import Problem
from flexnet.strategy import Config

__all__ = ["DpStart", "dp_start"]

SHARES = ((1.0, 1.0), (0.5, 0.5), (0.25, 0.25), (0.0, 1.0), (0.0, 0.0))  # of all-reduces and transfers


@dataclass(frozen=True, slots=True, eq=False)
class DpStart:
    """What dynamic programming says of a problem.

    Parameters
    ----------
    strategies : tuple of tuple of Config
        Strategies to start from, without repetition.
    lower_bound : float
        Seconds that any strategy takes at least, on any network of the kind, whose parts of an operator lie on
        different servers.
    terms : Terms
    per_byte : float
        Seconds a server takes to send a byte.
    """

    strategies: tuple[tuple[Config, ...], ...]
    lower_bound: float
    terms: Terms
    per_byte: float

    def frontier(self) -> list[FrontierPoint]:
        """Trade-offs of additive time (seconds) and memory of all operators of a server (bytes)."""
        return frontier(self.terms.tables(self.per_byte), self.terms.memory)


def dp_start(problem: Problem, topology: str, *, strided: bool, memory_limit: float | None = None) -> DpStart:
    """Solve the additive models of a problem.

    Parameters
    ----------
    problem : Problem
    topology : {"topoopt", "fattree", "random", "fc"}
    strided : bool
        Spread the parts of an operator evenly over the servers.
    memory_limit : float, optional
        Bytes of a server; trade-offs that fit are among the strategies.
    """
    terms = measured_terms(problem, strided=strided)
    per_byte = 1.0 / server_bandwidth(problem, topology)
    counted = per_byte if problem.semantics.fair_links else None
    bound = lower_bound(problem.graph, terms, problem.cluster.n_server, counted)
    found: dict[tuple[Config, ...], None] = {}
    for choices in _selections(terms, per_byte, memory_limit):
        found[tuple(place(problem, terms, choices, strided=strided))] = None
    return DpStart(tuple(found), bound, terms, per_byte)


def server_bandwidth(problem: Problem, topology: str) -> float:
    """Bytes/s of all interfaces of a server."""
    cluster = problem.cluster
    links = {"fattree": 1, "fc": max(cluster.n_server - 1, 1)}.get(topology, cluster.degree)
    return links * cluster.link_bandwidth


def _selections(terms: Terms, per_byte: float, memory_limit: float | None) -> Iterator[tuple[int, ...]]:
    for reduce, move in SHARES:
        yield solve(terms.tables(per_byte, reduce=reduce, move=move)).choices
    if memory_limit is not None:
        points = frontier(terms.tables(per_byte), terms.memory)
        yield from [point.choices for point in points if point.memory <= memory_limit][-1:]
