"""A lower bound on the iteration time of any strategy on any network of a kind.

An iteration takes at least as long as each of many terms says (`flexnet.exact.windows`), so at least as long as any
weighted mean of them.  Each is a sum over operators and edges, so the strategy with the least mean is found exactly by
elimination, and its mean is a bound for all strategies (Lagrangian duality).  Terms and weights are improved together:
weights are those best against the strategies found so far, and the mixture of strategies that is best against the
terms so far is asked which further terms it violates (row and column generation).

A term may tell of one server that has a part of a given operator; what else is there is then chosen like a config.  On
transformer16 at 25 Gbps that makes 110 ms of 82: eight servers could otherwise reduce what sixteen have interfaces for.
One operator may lie apart from all others for little, several may not: servers of a few are looked at, each chosen for
what the mixture found before leaves it to send (`flexnet.exact.lookout`).  On ResNet-50, on a fat-tree of 32 servers at
25 Gbps, one makes 37 ms, four 58.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from flexnet.exact.game import play
from flexnet.exact.lookout import Lookout
from flexnet.exact.make_windows import make_windows
from flexnet.exact.needs import MOST_CHOICES, least_needs, n_classes
from flexnet.exact.order import make_order
from flexnet.exact.small_reduces import most_rings
from flexnet.exact.solver import solve
from flexnet.exact.windows import Term, Windows
from flexnet.interrupts import check
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem

__all__ = ["MOST_WORK", "SECONDS", "LowerBound", "lower_bound"]

Floats = npt.NDArray[np.float64]

ROUNDS = 120
SECONDS = float("inf")
MOST_WORK = 1e10  # operations of elimination after which no other round begins, some 10 s; the same on any machine
CLOSE = 4e-3  # stop where the bound is so near what terms and strategies so far allow
ROUNDING = 1e-7  # files hold times in float32, and FlexNetPacket sends a byte less where that saves a packet
RARE = 1e-3  # shares of selections in a mixture that are forgotten
PATIENCE = 16  # rounds without an improvement by a tenth of that

MORE_CHOICES = (1024, 512, 256)  # of an operator, if there is work for
FEW_ROUNDS = 30
MOST_CELLS = 5 * 10**7  # of tables of pairs of choices, 8 bytes each

MOST_SERVERS = 4  # that are looked at
WORTHWHILE = 0.01  # of the bound; where a server brings less, no other is looked at
LEAST_ROUNDS = 10  # for which there must be work left
GROWTH = 8  # of the work of a round, with twice as many choices of operators, of which three at a time are joined


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
    work: float = MOST_WORK,
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
    work : float
        Operations of elimination after which no other round begins; more than `MOST_WORK` are for looking at more
        servers than one.
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
    most = _most_choices(problem)
    needs = least_needs(
        problem,
        neighbours,
        most_choices=most,
        small_packet_bytes=small_packet_bytes,
        rings=rings,
        relays=problem.may_relay and family.forwards(n_server),
    )
    budget = _Budget(rounds, min(work, MOST_WORK), began + seconds)
    windows_of = partial(make_windows, needs, n_server, widest, average, micro_batches=problem.micro_batches)
    with threadpool_limits(1, user_api="blas"):  # many small products: beside another search 4 s, not 15
        proof = _proof(Lookout(needs, n_server, widest), windows_of, budget, work)
    shares: dict[str, float] = {}
    for term, share in zip(proof.terms, proof.weights, strict=True):
        shares[term.words] = shares.get(term.words, 0.0) + float(share)
    named = sorted(shares.items(), key=lambda item: -item[1])
    return LowerBound(proof.seconds * (1 - ROUNDING), tuple(item for item in named if item[1] > 0.005))


def _most_choices(problem: Problem) -> int:
    """How many choices of an operator are told apart: as many as leave work for some rounds, or `MOST_CHOICES`."""
    arrays = problem.arrays
    ends = set(zip(arrays.edge_src.tolist(), arrays.edge_dst.tolist(), strict=True))
    for most in MORE_CHOICES:
        sizes = [2 * n for n in n_classes(problem, most)]
        has_room = sum(sizes[u] * sizes[v] for u, v in ends) <= MOST_CELLS
        if has_room and FEW_ROUNDS * make_order("min-weight", sizes, ends).work <= MOST_WORK:
            return most
    return MOST_CHOICES


@dataclass(frozen=True, slots=True, eq=False)
class _Proof:
    """Terms and weights whose weighted mean is ``seconds`` at least, whatever is selected.

    ``mixture`` are the selections that come nearest to that together, with their shares, and ``work`` what elimination
    takes for one.
    """

    seconds: float
    terms: list[Term]
    weights: Floats
    mixture: list[tuple[float, tuple[int, ...]]]
    work: float


@dataclass(slots=True)
class _Budget:
    """What may still be done: rounds, operations of elimination, and until when."""

    rounds: int
    work: float
    until: float

    def allows(self, proof: _Proof) -> bool:
        """Whether so much is left that another server may be looked at, for which there are twice as many choices."""
        return self.rounds > 0 and self.work > LEAST_ROUNDS * GROWTH * proof.work and perf_counter() < self.until


def _proof(lookout: Lookout, windows_of: Callable[[Sequence[int]], Windows], budget: _Budget, work: float) -> _Proof:
    """The bound by terms of a server that is looked at, and of more servers as long as that is worth it."""
    of = [lookout.first()]
    windows = windows_of(of)
    proof = _prove(windows, windows.first(), np.array([0.5, 0.5]), [], budget)
    budget.work += work - min(work, MOST_WORK)
    while (
        len(of) < MOST_SERVERS
        and np.isfinite(lookout.widest)
        and budget.allows(proof)
        and 4 * windows.n_cell <= MOST_CELLS
    ):
        found = lookout.next(windows, proof.mixture, of)
        if found is None:
            break
        of.append(found.op)
        fewer, before = windows, proof.seconds
        windows = windows_of(of)
        terms = [windows.widened(term, fewer) for term in proof.terms]
        begun = [
            windows.marked(choices, marks, fewer)
            for (_, choices), marks in zip(proof.mixture, found.beside, strict=True)
        ]
        proof = _prove(windows, terms, proof.weights, begun, budget)
        if proof.seconds < before * (1 + WORTHWHILE):
            break
    return proof


def _prove(
    windows: Windows, terms: list[Term], weights: Floats, begun: Sequence[tuple[int, ...]], budget: _Budget
) -> _Proof:
    """Improve terms and weights together, from some selections that they are to hold for."""
    told = {term.coefficients.tobytes() for term in terms}
    columns = {choices: windows.needs(choices) for choices in begun}
    best, best_weights, best_terms = 0.0, weights, list(terms)
    strategies, number, last_gain, last_best, work = np.zeros(0), 0, 0, 0.0, 0.0
    while budget.rounds > 0:
        check()
        budget.rounds -= 1
        solution = solve(windows.costs(weights @ np.array([term.coefficients for term in terms])))
        work = float(sum(solution.order.work_of))
        budget.work -= work
        if solution.cost > last_best * (1 + CLOSE / 10):
            last_gain, last_best = number, solution.cost
        if solution.cost > best:
            best, best_weights, best_terms = solution.cost, weights, list(terms)
        column = windows.needs(solution.choices)
        columns[solution.choices] = column
        needed = np.array(list(columns.values()))
        rows = np.array([term.coefficients for term in terms])
        mixture, strategies = play(rows @ needed.T)
        mean = strategies @ needed
        value = float((rows @ mean).max())
        violated = _violated(windows, mean, value, told)
        if number < 5:
            violated += _violated(windows, column, value, told)
        terms += violated
        if perf_counter() > budget.until or budget.work < 0 or number >= last_gain + PATIENCE:
            break
        if not violated and value <= best * (1 + CLOSE):
            break
        if violated:
            rows = np.array([term.coefficients for term in terms])
            mixture, _ = play(rows @ needed.T)
        weights = mixture
        if number % 2:
            old = {id(term): share for term, share in zip(best_terms, best_weights, strict=True)}
            weights = 0.5 * weights + 0.5 * np.array([old.get(id(term), 0.0) for term in terms])
        number += 1
    used = [at for at, share in enumerate(best_weights) if share > 0]
    mixed = [(share, choices) for share, choices in zip(strategies.tolist(), columns, strict=True) if share > RARE]
    return _Proof(best, [best_terms[at] for at in used], best_weights[used], mixed, work)


def _violated(windows: Windows, needs: Floats, value: float, known: set[bytes]) -> list[Term]:
    """Terms not known that are longer than ``value`` for given needs."""
    found = []
    for seconds, term in sorted(windows.worst(needs), key=lambda item: -item[0])[:16]:
        key = term.coefficients.tobytes()
        if seconds > value * (1 + 1e-4) and key not in known:
            known.add(key)
            found.append(term)
    return found
