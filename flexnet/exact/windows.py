"""What an iteration takes at least: chains of tasks, and what must fit in between.

A pass of an operator, forward or backward, is cut in parts.  Pass x leads pass y if every part of y waits for some
part of x, directly or not; x feeds y if for every part of x some part of y waits.  Edges of the model give both,
except that an unread part of a producer waits for no gradient, and nothing forward waits for it.

A head of x is a chain of passes, each leading the next, up to x: no part of x ends before the parts of the chain have
run one after the other, and each has received what it needs from other servers.  A tail of x is a chain of passes,
each fed by the one before, down from x: whichever part of x ends, some part of each runs after it, for a part's last
reader is not served before the others; a tail may end with an all-reduce.  Both may take detours past what joins
towers (`flexnet.exact.detours`): one part of each operator passed by runs in between, and no bytes count, for that part
may be served first.  So an iteration takes at least

* a head of a pass, and a tail from there (`path`);
* a head of a pass a, the compute of all passes that a leads and that feed b, shared out over the servers, and a tail
  from b; either may be missing;
* the same with the bytes of all-reduces and transfers that wait for a and that b waits for, over the bandwidth of all
  servers;
* a head of a, the compute of what a leads and what feeds k backward, shared out, and then the bytes of the all-reduces
  of k and of all operators before it: each waits for all parts of its operator, so for all of that compute.  Counted
  are weights that one group holds; of several groups, each waits for its own members alone.

Besides the mean server some may be looked at: for each of a few operators, some server with a part of it.  Which other
operators have a part there is a choice like that of a config, so all this holds of its compute, and of the bytes it
sends or receives: of a tensor whose other end has no part there, all that its own part needs.

Of several micro-batches heads and tails are those of one, for each has its own; compute and bytes between are of all.

Each is a sum over operators and edges of what choices need (`flexnet.exact.needs`), with coefficients that do not
depend on the choices, so it holds in the mean over several selections as for one.  `Windows.worst` finds those that
are longest for given sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.exact.detours import Detour
from flexnet.exact.tables import CostTables

__all__ = ["HERE_OF_EDGE", "HERE_OF_OP", "HERE_REDUCED", "EdgeSeconds", "Term", "Windows"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

FORWARD, BACKWARD, FORWARD_WORK, BACKWARD_WORK, LAST_REDUCE, REDUCED = range(6)  # of an operator
ONCE_REDUCED = 6  # of an operator, of weights that one group holds
RECEIVE, SEND, TOTAL = range(3)  # of an edge
OF_OP, OF_EDGE = 7, 3  # so many of these; then, for every server that is looked at, come those of it:
HERE_FORWARD, HERE_BACKWARD, HERE_REDUCED, HERE_ONCE_REDUCED = range(4)  # of an operator
HERE_IN, HERE_OUT = range(2)  # of an edge
HERE_OF_OP, HERE_OF_EDGE = 4, 2
TWO_WAYS = ((HERE_OUT, HERE_IN), (HERE_IN, HERE_OUT))  # what goes out forward comes in backward

MOST_PATHS = 16  # told at a time
MOST_PASSES = 512  # from which, and up to which, windows are looked at: twice as many take eight times as long
SMALLEST = 1e-300

EVERYWHERE = (FORWARD_WORK, BACKWARD_WORK)

PATH = "path"
PATH_REDUCE = "path and last all-reduce"
COMPUTE = "mean compute"
PATH_COMPUTE = "mean compute beside a path"
BYTES = "mean bytes sent"
PATH_BYTES = "bytes sent beside a path"
BARRIER = "mean compute, then bytes reduced"
COMPUTE_HERE = "compute of one server"
BYTES_HERE = "bytes of one server"
BARRIER_HERE = "compute, then bytes reduced by one server"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One thing that an iteration takes at least.

    Parameters
    ----------
    words : str
        What it is.
    coefficients : float64 (n_op * of_op + n_edge * of_edge,)
        Of what operators need, then of what edges need; the order of `Windows.needs`.
    """

    words: str
    coefficients: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EdgeSeconds:
    """What an edge needs, for the choices of its producer and of its consumer: float64 (n_choice, n_choice) each.

    Parameters
    ----------
    receive, send, total
        Seconds that any part needs to receive, and to send, in a micro-batch, and of all bytes over all bandwidth.
    receive_here, send_here
        Seconds that a part needs in all micro-batches.
    receive_all, send_all
        The same of one that has no part of the other operator on its server.
    """

    receive: Floats
    send: Floats
    total: Floats
    receive_here: Floats
    send_here: Floats
    receive_all: Floats
    send_all: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Chains:
    """Longest chains from (heads) or to (tails) every pass, and how they go on."""

    start: Floats  # without the pass itself
    end: Floats  # with it
    next: list[int]  # the pass before (or after), -1 where the chain ends there, -2 where an all-reduce follows
    edge: list[int]  # to it, or from the number of edges on, a detour


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The terms of a model; passes are numbered forward by operator, then backward by operator.

    Parameters
    ----------
    n_op, n_here : int
        Operators, and servers that are looked at.
    ends : tuple of (int, int)
        Producer and consumer of every edge.
    vertices : tuple of tuple of float64 (n_choice,)
        For every operator, seconds: of a part forward, backward; of all parts over all servers forward, backward; of
        the all-reduces of its weights alone; of all bytes they send over the bandwidth of all servers; of those
        all-reduced by one group each.  Then, on every server that is looked at, of compute forward, backward, of
        all-reduces, and of those by one group each.  A part's forward and backward are of one micro-batch, all else of
        all.
    edges : tuple of EdgeSeconds
        Of choices of needs.
    options : tuple of int64 (n_option, 1 + n_here)
        What the choices of every operator are: a choice of its needs, and whether it has a part on each server that is
        looked at.
    leads, feeds : bool (2 n_op, 2 n_op)
        ``leads[x, y]``: x leads y, or is y; ``feeds[x, y]``: x feeds y, or is y.
    covered, read : tuple of bool
        Of every edge.
    detours : tuple of Detour
    """

    n_op: int
    n_here: int
    ends: tuple[tuple[int, int], ...]
    vertices: tuple[tuple[Floats, ...], ...]
    edges: tuple[EdgeSeconds, ...]
    options: tuple[npt.NDArray[np.int64], ...]
    leads: Bools
    feeds: Bools
    covered: tuple[bool, ...]
    read: tuple[bool, ...]
    detours: tuple[Detour, ...]

    @property
    def of_op(self) -> int:
        """Sums of an operator."""
        return OF_OP + HERE_OF_OP * self.n_here

    @property
    def of_edge(self) -> int:
        """Sums of an edge: of any part, of all, and of what every server that is looked at receives, and sends."""
        return OF_EDGE + HERE_OF_EDGE * self.n_here

    @property
    def n_cell(self) -> int:
        """Entries of all edges' tables in `costs`."""
        return sum(len(self.options[u]) * len(self.options[v]) for u, v in self.ends)

    def split(self, sums: Floats) -> tuple[Floats, Floats]:
        """What is told of operators, float64 (n_op, of_op), and of edges, float64 (n_edge, of_edge)."""
        n = self.n_op * self.of_op
        return sums[:n].reshape(self.n_op, self.of_op), sums[n:].reshape(-1, self.of_edge)

    def needs(self, choices: Sequence[int]) -> Floats:
        """What a selection needs: seconds of operators, then of edges, as in `Term.coefficients`."""
        picked = [options[choice] for choice, options in zip(choices, self.options, strict=True)]
        of_ops = [[table[choice] for table in tables] for choice, tables in zip(choices, self.vertices, strict=True)]
        of_edges = np.zeros((len(self.ends), self.of_edge))
        for row, (u, v), edge in zip(of_edges, self.ends, self.edges, strict=True):
            at = int(picked[u][0]), int(picked[v][0])
            row[:OF_EDGE] = edge.receive[at], edge.send[at], edge.total[at]
            for h in range(self.n_here):
                sends, receives = picked[u][1 + h], picked[v][1 + h]
                into, out = edge.receive_all, edge.send_all
                if sends and receives:
                    into, out = edge.receive_here, edge.send_here
                row[OF_EDGE + HERE_OF_EDGE * h :][:HERE_OF_EDGE] = receives * into[at], sends * out[at]
        return np.concatenate([np.ravel(of_ops), np.ravel(of_edges)])

    def costs(self, weights: Floats) -> CostTables:
        """What selections need, in sums that count for ``weights``: `needs` of each times those."""
        of_op, of_edge = self.split(weights)
        vertices = tuple(np.asarray(w @ np.array(t)) for w, t in zip(of_op, self.vertices, strict=True))
        edges = {}
        for (u, v), w, edge in zip(self.ends, of_edge, self.edges, strict=True):
            first, second = self.options[u], self.options[v].T
            at = np.ix_(first[:, 0], second[0])
            table = (w[RECEIVE] * edge.receive + w[SEND] * edge.send + w[TOTAL] * edge.total)[at]
            for h in range(self.n_here):
                into, out = w[OF_EDGE + HERE_OF_EDGE * h :][:HERE_OF_EDGE]
                if into or out:
                    apart = np.zeros_like(edge.total), into * edge.receive_all, out * edge.send_all
                    by_mark = np.array([*apart, into * edge.receive_here + out * edge.send_here])
                    table += by_mark[(2 * first[:, 1 + h, None] + second[None, 1 + h], *at)]
            edges[u, v] = table
        return CostTables(vertices, edges)

    def widened(self, term: Term, fewer: "Windows") -> Term:
        """A term of windows in which fewer servers, the first of these, are looked at."""
        op, edge = fewer.split(term.coefficients)
        op = np.pad(op, [(0, 0), (0, self.of_op - fewer.of_op)])
        return Term(term.words, _flat(op, np.pad(edge, [(0, 0), (0, self.of_edge - fewer.of_edge)])))

    def marked(self, choices: Sequence[int], marks: Sequence[int], fewer: "Windows") -> tuple[int, ...]:
        """A selection of windows with one server less, where ``marks`` tells which operators have a part on that."""
        rows = [[*options[choice], mark] for options, choice, mark in zip(fewer.options, choices, marks, strict=True)]
        found = [(options == row).all(axis=1).argmax() for options, row in zip(self.options, rows, strict=True)]
        return tuple(map(int, found))

    def first(self) -> list[Term]:
        """Mean compute, and mean bytes."""
        compute, sent = np.zeros((self.n_op, self.of_op)), np.zeros((self.n_op, self.of_op))
        compute[:, [FORWARD_WORK, BACKWARD_WORK]] = 1.0
        sent[:, REDUCED] = 1.0
        moved = np.zeros((len(self.ends), self.of_edge))
        moved[:, TOTAL] = 2.0
        return [Term(COMPUTE, _flat(compute, 0.0 * moved)), Term(BYTES, _flat(sent, moved))]

    def worst(self, needs: Floats) -> list[tuple[float, Term]]:
        """The longest terms of every kind for given needs of a selection, or mean needs of several."""
        n = self.n_op
        of_op, of_edge = self.split(needs)
        head, tail = self._heads(of_op, of_edge), self._tails(of_op, of_edge)
        found = self._paths(of_op, head, tail)
        begin = np.append(head.end, 0.0)  # the last one stands for no pass
        finish = np.append(tail.end, 0.0)
        after = np.vstack([self.leads & ~np.eye(2 * n, dtype=np.bool_), np.ones((1, 2 * n), np.bool_)])
        before = np.vstack([self.feeds.T & ~np.eye(2 * n, dtype=np.bool_), np.ones((1, 2 * n), np.bool_)])
        held = before[n : 2 * n] | np.eye(2 * n, dtype=np.bool_)[n:]
        here = [(OF_OP + HERE_OF_OP * h, OF_EDGE + HERE_OF_EDGE * h) for h in range(self.n_here)]
        for passes in (EVERYWHERE, *((op + HERE_FORWARD, op + HERE_BACKWARD) for op, _ in here)):
            work = np.concatenate([of_op[:, column] for column in passes])
            if not work.any():
                continue
            for seconds, a, b in _longest(begin, after, work, before, [finish])[0]:
                found.append((seconds, self._compute(a, b, after[a] & before[b], head, tail, passes)))
            once = (ONCE_REDUCED, *(op + HERE_ONCE_REDUCED for op, _ in here))
            reduced = [self.feeds[n:, n:] @ of_op[:, column] for column in once]
            for column, longest in zip(once, _longest(begin, after, work, held, reduced), strict=True):
                for seconds, a, k in longest:
                    found.append((seconds, self._barrier(a, k, after[a] & held[k], head, passes, column)))
        flows = [(TOTAL, TOTAL, REDUCED)]
        for op, edge in here:
            flows += [(edge + there, edge + back, op + HERE_REDUCED) for there, back in TWO_WAYS]
        for columns in flows:
            found += self._bytes(of_op, of_edge, begin, finish, head, tail, columns)
        return found

    def _heads(self, of_op: Floats, of_edge: Floats) -> _Chains:
        n = self.n_op
        chains = _Chains(np.zeros(2 * n), np.zeros(2 * n), [-1] * (2 * n), [-1] * (2 * n))
        arcs: list[list[tuple[int, int, float]]] = [[] for _ in range(2 * n)]
        for e, (u, v) in enumerate(self.ends):
            if self.read[e]:
                arcs[v].append((u, e, of_edge[e, RECEIVE]))
            if self.covered[e]:
                arcs[n + u].append((n + v, e, of_edge[e, SEND]))
        for d, detour in enumerate(self.detours, len(self.ends)):
            arcs[detour.last].append((detour.first, d, sum(of_op[x, FORWARD] for x in detour.middle)))
        for v in range(n):
            arcs[n + v].append((v, -1, 0.0))
        _chain(chains, [*range(n), *range(2 * n - 1, n - 1, -1)], arcs, of_op)
        return chains

    def _tails(self, of_op: Floats, of_edge: Floats) -> _Chains:
        n = self.n_op
        chains = _Chains(np.zeros(2 * n), np.zeros(2 * n), [-1] * (2 * n), [-1] * (2 * n))
        arcs: list[list[tuple[int, int, float]]] = [[] for _ in range(2 * n)]
        for e, (u, v) in enumerate(self.ends):
            if self.read[e]:
                arcs[n + v].append((n + u, e, of_edge[e, RECEIVE]))
            if self.covered[e]:
                arcs[u].append((v, e, of_edge[e, SEND]))
        for d, detour in enumerate(self.detours, len(self.ends)):
            arcs[n + detour.last].append((n + detour.first, d, sum(of_op[x, BACKWARD] for x in detour.middle)))
        for v in range(n):
            arcs[v].append((n + v, -1, 0.0))
            chains.start[n + v] = of_op[v, LAST_REDUCE]
            chains.next[n + v] = -2
        _chain(chains, [*range(n, 2 * n), *range(n - 1, -1, -1)], arcs, of_op)
        return chains

    def _paths(self, of_op: Floats, head: _Chains, tail: _Chains) -> list[tuple[float, Term]]:
        """The longest path, the longest through a pass that is not on it, and so on."""
        n = self.n_op
        found: list[tuple[float, Term]] = []
        value = head.end + tail.start
        told = np.zeros(2 * n, np.bool_)  # passes on paths found
        for x in np.argsort(-value, kind="stable").tolist():
            if told[x]:
                continue
            op, edge = np.zeros((n, self.of_op)), np.zeros((len(self.ends), self.of_edge))
            self._add_head(x, head, op, edge)
            self._add_tail(x, tail, op, edge, whole=False)
            term = Term(PATH_REDUCE if op[:, LAST_REDUCE].any() else PATH, _flat(op, edge))
            found.append((float(value[x]), term))
            told |= np.concatenate([op[:, FORWARD], op[:, BACKWARD]]) > 0
            if len(found) == MOST_PATHS:
                break
        return found

    def _compute(self, a: int, b: int, between: Bools, head: _Chains, tail: _Chains, passes: tuple[int, int]) -> Term:
        n = self.n_op
        op, edge = np.zeros((n, self.of_op)), np.zeros((len(self.ends), self.of_edge))
        op[:, passes[0]] = between[:n]
        op[:, passes[1]] = between[n:]
        self._add_head(a, head, op, edge)
        self._add_tail(b, tail, op, edge, whole=True)
        words = COMPUTE_HERE if passes != EVERYWHERE else COMPUTE if a == b == 2 * n else PATH_COMPUTE
        return Term(words, _flat(op, edge))

    def _barrier(self, a: int, k: int, between: Bools, head: _Chains, passes: tuple[int, int], reduced: int) -> Term:
        n = self.n_op
        op, edge = np.zeros((n, self.of_op)), np.zeros((len(self.ends), self.of_edge))
        op[:, passes[0]] = between[:n]
        op[:, passes[1]] = between[n:]
        op[:, reduced] = self.feeds[n + k, n:]
        self._add_head(a, head, op, edge)
        return Term(BARRIER if reduced == ONCE_REDUCED else BARRIER_HERE, _flat(op, edge))

    def _bytes(
        self,
        of_op: Floats,
        of_edge: Floats,
        begin: Floats,
        finish: Floats,
        head: _Chains,
        tail: _Chains,
        columns: tuple[int, int, int],
    ) -> list[tuple[float, Term]]:
        """Windows of bytes; ``columns``: of edges forward, of edges backward, of operators."""
        there, back, reduced = columns
        if not of_edge[:, there].any() and not of_op[:, reduced].any():
            return []
        n, n_edge = self.n_op, len(self.ends)
        u, v = np.array(self.ends, np.int64).reshape(-1, 2).T
        none = np.ones((1, 2 * n_edge + n), np.bool_)
        after = np.vstack([np.hstack([self.leads[:, u], self.leads[:, n + v], self.leads[:, n:]]), none])
        never = np.zeros((2 * n, n), np.bool_)
        before = np.vstack([np.hstack([self.feeds.T[:, v], self.feeds.T[:, n + u], never]), none])
        size = np.concatenate([of_edge[:, there], of_edge[:, back], of_op[:, reduced]])
        found = []
        for seconds, a, b in _longest(begin, after, size, before, [finish])[0]:
            x = (after[a] & before[b]).astype(np.float64)
            op, edge = np.zeros((n, self.of_op)), np.zeros((n_edge, self.of_edge))
            op[:, reduced] = x[2 * n_edge :]
            edge[:, there] += x[:n_edge]
            edge[:, back] += x[n_edge : 2 * n_edge]
            self._add_head(a, head, op, edge)
            self._add_tail(b, tail, op, edge, whole=True)
            words = BYTES_HERE if reduced != REDUCED else BYTES if a == b == 2 * n else PATH_BYTES
            found.append((seconds, Term(words, _flat(op, edge))))
        return found

    def _add_head(self, x: int, head: _Chains, op: Floats, edge: Floats) -> None:
        """Count the head of pass x, with x."""
        if x == 2 * self.n_op:
            return
        while x >= 0:
            op[x % self.n_op, FORWARD if x < self.n_op else BACKWARD] += 1.0
            if head.edge[x] >= len(self.ends):
                op[list(self.detours[head.edge[x] - len(self.ends)].middle), FORWARD] += 1.0
            elif head.edge[x] >= 0:
                edge[head.edge[x], RECEIVE if x < self.n_op else SEND] += 1.0
            x = head.next[x]

    def _add_tail(self, x: int, tail: _Chains, op: Floats, edge: Floats, *, whole: bool) -> None:
        """Count the tail of pass x; with x if ``whole``."""
        if x == 2 * self.n_op:
            return
        while True:
            if whole:
                op[x % self.n_op, FORWARD if x < self.n_op else BACKWARD] += 1.0
            whole = True
            if tail.next[x] == -2:
                op[x % self.n_op, LAST_REDUCE] += 1.0
            if tail.next[x] < 0:
                return
            if tail.edge[x] >= len(self.ends):
                op[list(self.detours[tail.edge[x] - len(self.ends)].middle), BACKWARD] += 1.0
            elif tail.edge[x] >= 0:
                edge[tail.edge[x], SEND if x < self.n_op else RECEIVE] += 1.0
            x = tail.next[x]


def _chain(chains: _Chains, order: list[int], arcs: list[list[tuple[int, int, float]]], of_op: Floats) -> None:
    """Longest chains along arcs (pass, edge, seconds) that lead to passes done before."""
    n = len(of_op)
    for x in order:
        for y, e, seconds in arcs[x]:
            reach = chains.end[y] + seconds
            if reach > chains.start[x] or (chains.next[x] == -1 and reach == chains.start[x]):
                chains.start[x], chains.next[x], chains.edge[x] = reach, y, e
        chains.end[x] = chains.start[x] + of_op[x % n, FORWARD if x < n else BACKWARD]


def _longest(
    begin: Floats, after: Bools, size: Floats, before: Bools, finishes: Sequence[Floats], most: int = 4
) -> list[list[tuple[float, int, int]]]:
    """For every one of ``finishes`` the longest windows (seconds, a, b), at most one from any a.

    From ``begin[a]`` on, all of ``size`` that is ``after`` a and ``before`` b, then ``finish[b]``.
    """
    rows, columns_of = _told_apart(begin), [_told_apart(finish) for finish in finishes]
    every = np.unique(np.concatenate(columns_of))
    product = (after[rows] * size) @ before[every].T.astype(np.float64)
    longest = []
    for finish, columns in zip(finishes, columns_of, strict=True):
        between = product if np.array_equal(columns, every) else product[:, np.searchsorted(every, columns)]
        value = begin[rows, None] + between + finish[columns]
        value[between <= 0] = 0.0
        best = value.argmax(axis=1)
        order = np.argsort(-value[np.arange(len(value)), best], kind="stable")[:most]
        found = [(float(value[at, best[at]]), int(rows[at]), int(columns[best[at]])) for at in order]
        longest.append([window for window in found if window[0] > 0])
    return longest


def _told_apart(values: Floats) -> Ints:
    """Places to look at: all, or of thousands those of values that differ, as far as there is room; the last, too."""
    if len(values) <= MOST_PASSES:
        return np.arange(len(values))
    rounded = np.round(values / max(float(np.abs(values).max()), SMALLEST), 9)
    places = np.unique(rounded[:-1], return_index=True)[1]
    if len(places) > MOST_PASSES:
        places = places[np.linspace(0, len(places) - 1, MOST_PASSES).astype(np.int64)]
    return np.append(places, len(values) - 1)


def _flat(op: Floats, edge: Floats) -> Floats:
    return np.concatenate([op.ravel(), edge.ravel()])
