"""A lower bound on the iteration time of any strategy on any network of a kind.

An iteration takes at least as long as each of many terms says (`flexnet.exact.windows`), so at least as long as any
weighted mean of them.  Each is a sum over operators and edges, so the strategy with the least mean is found exactly by
elimination, and its mean is a bound for all strategies (Lagrangian duality).  Terms and weights are improved together:
weights are those best against the strategies found so far, and the mixture of strategies that is best against the
terms so far is asked which further terms it violates (row and column generation).

A term may tell of one server that has a part of a given operator; what else is there is then chosen like a config.  On
transformer16 at 25 Gbps that makes 110 ms of 82: eight servers could otherwise reduce what sixteen have interfaces for.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from flexnet.exact.game import play
from flexnet.exact.needs import Needs, least_needs
from flexnet.exact.small_reduces import most_rings
from flexnet.exact.solver import Solution, solve
from flexnet.exact.tables import CostTables
from flexnet.exact.windows import OF_EDGE, OF_OP, Term, Windows, make_windows
from flexnet.interrupts import check
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem

__all__ = ["SECONDS", "LowerBound", "lower_bound"]

Floats = npt.NDArray[np.float64]

ROUNDS = 120
SECONDS = float("inf")
MOST_WORK = 1e10  # operations of elimination after which no other round begins, some 10 s; the same on any machine
CLOSE = 4e-3  # stop where the bound is so near what terms and strategies so far allow
ROUNDING = 1e-7  # files hold times in float32, and FlexNetPacket sends a byte less where that saves a packet
PATIENCE = 16  # rounds without an improvement by a tenth of that


@dataclass(frozen=True, slots=True)
class LowerBound:
    """What every plan takes at least.

    Parameters
    ----------
    seconds : float
        That any strategy takes at least, on any network of the kind, whose parts of an operator lie on different
        servers.
    terms : tuple of (str, float)
        What binds: kinds of terms with their weights, which add up to 1, heaviest first.
    """

    seconds: float
    terms: tuple[tuple[str, float], ...]


def lower_bound(
    problem: Problem,
    family: TopologyFamily,
    *,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    small_packet_bytes: float = 0.0,
) -> LowerBound:
    """What every plan of a problem on a network of a family takes at least.

    Parameters
    ----------
    problem : Problem
    family : TopologyFamily
    rounds : int
        Strategies to solve for at most.
    seconds : float
        To stop after, if not before; the bound depends on it only where this comes before the other ends, which are
        the same on any machine.
    small_packet_bytes : float
        Of the protocol that plans run by: small all-reduces may be cut short (`flexnet.exact.small_reduces`).

    Raises
    ------
    GivenUp
        If nobody waits for it any more (`flexnet.interrupts`).
    """
    began = perf_counter()
    n_server = problem.cluster.n_server
    widest, average = family.widest_server(problem.cluster), family.server_bandwidth(problem.cluster)
    if not problem.semantics.fair_links:  # messages on links that serve one after the other are left out
        widest = average = np.inf
    rings, neighbours = most_rings(family, n_server), family.neighbours(n_server)
    needs = least_needs(problem, neighbours, small_packet_bytes=small_packet_bytes, rings=rings)
    windows = make_windows(needs, n_server, widest, average, _heaviest(needs))
    terms = windows.first()
    known = {term.coefficients.tobytes() for term in terms}
    columns: list[Floats] = []
    best, best_weights, best_terms = 0.0, np.zeros(0), list(terms)
    weights = np.array([0.5, 0.5])
    tried: set[tuple[int, ...]] = set()
    last_gain, last_best, work = 0, 0.0, 0.0
    for number in range(rounds):
        check()
        solution = _least(windows, terms, weights)
        work += float(sum(solution.order.work_of))
        if solution.cost > last_best * (1 + CLOSE / 10):
            last_gain, last_best = number, solution.cost
        if solution.cost > best:
            best, best_weights, best_terms = solution.cost, weights, list(terms)
        column = windows.needs(solution.choices)
        if solution.choices not in tried:
            tried.add(solution.choices)
            columns.append(column)
        rows = np.array([term.coefficients for term in terms])
        mixture, strategies = play(rows @ np.array(columns).T)
        mean = strategies @ np.array(columns)
        value = float((rows @ mean).max())
        violated = _violated(windows, mean, value, known)
        if number < 5:
            violated += _violated(windows, column, value, known)
        terms += violated
        if perf_counter() - began > seconds or work > MOST_WORK or number >= last_gain + PATIENCE:
            break
        if not violated and value <= best * (1 + CLOSE):
            break
        if violated:
            rows = np.array([term.coefficients for term in terms])
            mixture, _ = play(rows @ np.array(columns).T)
        weights = mixture
        if number % 2 and len(best_weights):
            weights = weights.copy()
            old = {id(term): share for term, share in zip(best_terms, best_weights, strict=True)}
            weights = 0.5 * weights + 0.5 * np.array([old.get(id(term), 0.0) for term in terms])
    shares: dict[str, float] = {}
    for term, share in zip(best_terms, best_weights, strict=True):
        shares[term.words] = shares.get(term.words, 0.0) + float(share)
    named = sorted(shares.items(), key=lambda item: -item[1])
    return LowerBound(best * (1 - ROUNDING), tuple(item for item in named if item[1] > 0.005))


def _heaviest(needs: Needs) -> int:
    """The operator whose weights are most bytes to reduce, of several the middle one: a server of it is looked at.

    On transformer16 at 25 Gbps the middle layer gives 110 ms, the first 86, the last 85.
    """
    most = np.array([table.sum(axis=0).max(initial=0.0) for table in needs.reduced])
    alike = np.flatnonzero(most >= 0.999 * most.max())
    return int(alike[len(alike) // 2])


def _violated(windows: Windows, needs: Floats, value: float, known: set[bytes]) -> list[Term]:
    """Terms not known that are longer than ``value`` for given needs."""
    found = []
    for seconds, term in sorted(windows.worst(needs), key=lambda item: -item[0])[:16]:
        key = term.coefficients.tobytes()
        if seconds > value * (1 + 1e-4) and key not in known:
            known.add(key)
            found.append(term)
    return found


def _least(windows: Windows, terms: list[Term], weights: Floats) -> Solution:
    """The strategy whose weighted mean of terms is least."""
    n = windows.n_op
    mean = weights @ np.array([term.coefficients for term in terms])
    of_op, of_edge = mean[: OF_OP * n].reshape(n, OF_OP), mean[OF_OP * n :].reshape(-1, OF_EDGE)
    vertices = tuple(np.asarray(w @ np.array(t)) for w, t in zip(of_op, windows.vertices, strict=True))
    edges = {
        ends: np.asarray(sum(w * t for w, t in zip(of, tables, strict=True)))
        for ends, of, tables in zip(windows.ends, of_edge, windows.edges, strict=True)
    }
    return solve(CostTables(vertices, edges))
