"""What an iteration takes at least: chains of tasks, and what must fit in between.

A pass of an operator, forward or backward, is cut in parts.  Pass x leads pass y if every part of y waits for some
part of x, directly or not; x feeds y if for every part of x some part of y waits.  Edges of the model give both,
except that an unread part of a producer waits for no gradient, and nothing forward waits for it.

A head of x is a chain of passes, each leading the next, up to x: no part of x ends before the parts of the chain have
run one after the other, and each has received what it needs from other servers.  A tail of x is a chain of passes,
each fed by the one before, down from x: whichever part of x ends, some part of each runs after it, for a part's last
reader is not served before the others; a tail may end with an all-reduce.  So an iteration takes at least

* a head of a pass, and a tail from there (`path`);
* a head of a pass a, the compute of all passes that a leads and that feed b, shared out over the servers, and a tail
  from b; either may be missing;
* the same with the bytes of all-reduces and transfers that wait for a and that b waits for, over the bandwidth of all
  servers;
* a head of a, the compute of what a leads and what feeds k backward, shared out, and then the bytes of the all-reduces
  of k and of all operators before it: each waits for all parts of its operator, so for all of that compute.

Each is a sum over operators and edges of what choices need (`flexnet.exact.needs`), with coefficients that do not
depend on the choices, so it holds in the mean over several selections as for one.  `Windows.worst` finds those that
are longest for given sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.exact.needs import Needs

__all__ = ["Term", "Windows", "make_windows"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FORWARD, BACKWARD, FORWARD_WORK, BACKWARD_WORK, LAST_REDUCE, REDUCED = range(6)  # of an operator
RECEIVE, SEND, TOTAL = range(3)  # of an edge

PATH = "path"
PATH_REDUCE = "path and last all-reduce"
COMPUTE = "mean compute"
PATH_COMPUTE = "mean compute beside a path"
BYTES = "mean bytes sent"
PATH_BYTES = "bytes sent beside a path"
BARRIER = "mean compute, then bytes reduced"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One thing that an iteration takes at least.

    Parameters
    ----------
    words : str
        What it is.
    coefficients : float64 (6 * n_op + 3 * n_edge,)
        Of what operators need, then of what edges need; the order of `Windows.needs`.
    """

    words: str
    coefficients: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Chains:
    """Longest chains from (heads) or to (tails) every pass, and how they go on."""

    start: Floats  # without the pass itself
    end: Floats  # with it
    next: list[int]  # the pass before (or after), -1 where the chain ends there, -2 where an all-reduce follows
    edge: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The terms of a model; passes are numbered forward by operator, then backward by operator.

    Parameters
    ----------
    n_op : int
    ends : tuple of (int, int)
        Producer and consumer of every edge.
    vertices : tuple of tuple of float64 (n_choice,)
        For every operator, seconds: of a part forward, backward; of all parts over all servers forward, backward; of
        the all-reduces of its weights alone; of all bytes they send over the bandwidth of all servers.
    edges : tuple of tuple of float64 (n_choice, n_choice)
        For every edge, seconds that any part needs to receive, and to send, and of all bytes over all bandwidth.
    leads, feeds : bool (2 n_op, 2 n_op)
        ``leads[x, y]``: x leads y, or is y; ``feeds[x, y]``: x feeds y, or is y.
    covered : tuple of bool
        Of every edge.
    """

    n_op: int
    ends: tuple[tuple[int, int], ...]
    vertices: tuple[tuple[Floats, ...], ...]
    edges: tuple[tuple[Floats, ...], ...]
    leads: Bools
    feeds: Bools
    covered: tuple[bool, ...]

    def needs(self, choices: Sequence[int]) -> Floats:
        """What a selection needs: seconds of operators, then of edges, as in `Term.coefficients`."""
        of_ops = [[table[choice] for table in tables] for choice, tables in zip(choices, self.vertices, strict=True)]
        of_edges = [
            [table[choices[u], choices[v]] for table in tables]
            for (u, v), tables in zip(self.ends, self.edges, strict=True)
        ]
        return np.concatenate([np.ravel(of_ops), np.ravel(of_edges)])

    def first(self) -> list[Term]:
        """Mean compute, and mean bytes."""
        compute, sent = np.zeros((self.n_op, 6)), np.zeros((self.n_op, 6))
        compute[:, [FORWARD_WORK, BACKWARD_WORK]] = 1.0
        sent[:, REDUCED] = 1.0
        moved = np.zeros((len(self.ends), 3))
        moved[:, TOTAL] = 2.0
        return [Term(COMPUTE, _flat(compute, 0.0 * moved)), Term(BYTES, _flat(sent, moved))]

    def worst(self, needs: Floats) -> list[tuple[float, Term]]:
        """The longest terms of every kind for given needs of a selection, or mean needs of several."""
        n = self.n_op
        of_op, of_edge = needs[: 6 * n].reshape(n, 6), needs[6 * n :].reshape(-1, 3)
        head, tail = self._heads(of_op, of_edge), self._tails(of_op, of_edge)
        found = self._paths(of_op, head, tail)
        begin = np.append(head.end, 0.0)  # the last one stands for no pass
        finish = np.append(tail.end, 0.0)
        after = np.vstack([self.leads & ~np.eye(2 * n, dtype=np.bool_), np.ones((1, 2 * n), np.bool_)])
        before = np.vstack([self.feeds.T & ~np.eye(2 * n, dtype=np.bool_), np.ones((1, 2 * n), np.bool_)])
        work = np.concatenate([of_op[:, FORWARD_WORK], of_op[:, BACKWARD_WORK]])
        between = (after * work) @ before.T.astype(np.float64)
        value = begin[:, None] + between + finish
        value[between <= 0] = 0.0
        for a, b in _largest(value):
            found.append((float(value[a, b]), self._compute(a, b, after[a] & before[b], head, tail)))
        reduced = of_op[:, REDUCED]
        held = before[n : 2 * n] | np.eye(2 * n, dtype=np.bool_)[n:]
        between = (after * work) @ held.T.astype(np.float64)
        value = begin[:, None] + between + (self.feeds[n:, n:] @ reduced)
        value[between <= 0] = 0.0
        for a, k in _largest(value):
            found.append((float(value[a, k]), self._barrier(a, k, after[a] & held[k], head)))
        return found + self._bytes(of_op, of_edge, begin, finish, head, tail)

    def _heads(self, of_op: Floats, of_edge: Floats) -> _Chains:
        n = self.n_op
        chains = _Chains(np.zeros(2 * n), np.zeros(2 * n), [-1] * (2 * n), [-1] * (2 * n))
        arcs: list[list[tuple[int, int, float]]] = [[] for _ in range(2 * n)]
        for e, (u, v) in enumerate(self.ends):
            arcs[v].append((u, e, of_edge[e, RECEIVE]))
            if self.covered[e]:
                arcs[n + u].append((n + v, e, of_edge[e, SEND]))
        for v in range(n):
            arcs[n + v].append((v, -1, 0.0))
        _chain(chains, [*range(n), *range(2 * n - 1, n - 1, -1)], arcs, of_op)
        return chains

    def _tails(self, of_op: Floats, of_edge: Floats) -> _Chains:
        n = self.n_op
        chains = _Chains(np.zeros(2 * n), np.zeros(2 * n), [-1] * (2 * n), [-1] * (2 * n))
        arcs: list[list[tuple[int, int, float]]] = [[] for _ in range(2 * n)]
        for e, (u, v) in enumerate(self.ends):
            arcs[n + v].append((n + u, e, of_edge[e, RECEIVE]))
            if self.covered[e]:
                arcs[u].append((v, e, of_edge[e, SEND]))
        for v in range(n):
            arcs[v].append((n + v, -1, 0.0))
            chains.start[n + v] = of_op[v, LAST_REDUCE]
            chains.next[n + v] = -2
        _chain(chains, [*range(n, 2 * n), *range(n - 1, -1, -1)], arcs, of_op)
        return chains

    def _paths(self, of_op: Floats, head: _Chains, tail: _Chains) -> list[tuple[float, Term]]:
        """The longest path through every pass."""
        n = self.n_op
        found: dict[bytes, tuple[float, Term]] = {}
        value = head.end + tail.start
        for x in np.argsort(-value)[: 2 * n].tolist():
            op, edge = np.zeros((n, 6)), np.zeros((len(self.ends), 3))
            self._add_head(x, head, op, edge)
            self._add_tail(x, tail, op, edge, whole=False)
            term = Term(PATH_REDUCE if op[:, LAST_REDUCE].any() else PATH, _flat(op, edge))
            found.setdefault(term.coefficients.tobytes(), (float(value[x]), term))
        return list(found.values())

    def _compute(self, a: int, b: int, between: Bools, head: _Chains, tail: _Chains) -> Term:
        n = self.n_op
        op, edge = np.zeros((n, 6)), np.zeros((len(self.ends), 3))
        op[:, FORWARD_WORK] = between[:n]
        op[:, BACKWARD_WORK] = between[n:]
        self._add_head(a, head, op, edge)
        self._add_tail(b, tail, op, edge, whole=True)
        return Term(COMPUTE if a == b == 2 * n else PATH_COMPUTE, _flat(op, edge))

    def _barrier(self, a: int, k: int, between: Bools, head: _Chains) -> Term:
        n = self.n_op
        op, edge = np.zeros((n, 6)), np.zeros((len(self.ends), 3))
        op[:, FORWARD_WORK] = between[:n]
        op[:, BACKWARD_WORK] = between[n:]
        op[:, REDUCED] = self.feeds[n + k, n:]
        self._add_head(a, head, op, edge)
        return Term(BARRIER, _flat(op, edge))

    def _bytes(
        self, of_op: Floats, of_edge: Floats, begin: Floats, finish: Floats, head: _Chains, tail: _Chains
    ) -> list[tuple[float, Term]]:
        n, n_edge = self.n_op, len(self.ends)
        u, v = np.array(self.ends, np.int64).reshape(-1, 2).T
        none = np.ones((1, 2 * n_edge + n), np.bool_)
        after = np.vstack([np.hstack([self.leads[:, u], self.leads[:, n + v], self.leads[:, n:]]), none])
        never = np.zeros((2 * n, n), np.bool_)
        before = np.vstack([np.hstack([self.feeds.T[:, v], self.feeds.T[:, n + u], never]), none])
        size = np.concatenate([of_edge[:, TOTAL], of_edge[:, TOTAL], of_op[:, REDUCED]])
        between = (after * size) @ before.T.astype(np.float64)
        value = begin[:, None] + between + finish
        value[between <= 0] = 0.0
        found = []
        for a, b in _largest(value):
            x = (after[a] & before[b]).astype(np.float64)
            op, edge = np.zeros((n, 6)), np.zeros((n_edge, 3))
            op[:, REDUCED] = x[2 * n_edge :]
            edge[:, TOTAL] = x[:n_edge] + x[n_edge : 2 * n_edge]
            self._add_head(a, head, op, edge)
            self._add_tail(b, tail, op, edge, whole=True)
            found.append((float(value[a, b]), Term(BYTES if a == b == 2 * n else PATH_BYTES, _flat(op, edge))))
        return found

    def _add_head(self, x: int, head: _Chains, op: Floats, edge: Floats) -> None:
        """Count the head of pass x, with x."""
        if x == 2 * self.n_op:
            return
        while x >= 0:
            op[x % self.n_op, FORWARD if x < self.n_op else BACKWARD] += 1.0
            if head.edge[x] >= 0:
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
            if tail.edge[x] >= 0:
                edge[tail.edge[x], SEND if x < self.n_op else RECEIVE] += 1.0
            x = tail.next[x]


def make_windows(needs: Needs, n_server: int, widest: float, mean: float) -> Windows:
    """Lay out the terms of a model.

    Parameters
    ----------
    needs : Needs
    n_server : int
    widest, mean : float
        Bytes/s of all interfaces of any server together at most, and on the mean over servers; infinite to leave
        communication out.
    """
    n, time, share = len(needs.forward), 1.0 / widest, 1.0 / (mean * n_server)
    vertices = []
    for op in range(n):
        inside, rings = needs.in_server[op] * (time > 0), needs.reduced[op] * time
        alone = np.zeros(len(needs.forward[op]))
        if len(rings):
            alone = np.maximum((inside + rings).max(axis=0), inside.min(axis=0) + rings.sum(axis=0))
        vertices.append(
            (
                needs.forward[op],
                needs.backward[op],
                needs.forward_work[op] / n_server,
                needs.backward_work[op] / n_server,
                alone,
                needs.reduced_total[op] * share,
            )
        )
    ends = tuple(needs.edges)
    edges = tuple((e.receive * time, e.send * time, e.total * share) for e in needs.edges.values())
    covered = tuple(e.covered for e in needs.edges.values())
    leads, feeds = np.eye(2 * n, dtype=np.bool_), np.eye(2 * n, dtype=np.bool_)
    arriving: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    leaving: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for (u, v), whole in zip(ends, covered, strict=True):
        arriving[v].append((u, whole))
        leaving[u].append((v, whole))
    for v in range(n):  # columns: what leads v, or feeds it
        for u, whole in arriving[v]:
            leads[:, v] |= leads[:, u]
            if whole:
                feeds[:, v] |= feeds[:, u]
    for u in range(n - 1, -1, -1):
        leads[:, n + u] |= leads[:, u]
        feeds[:, n + u] |= feeds[:, u]
        for v, whole in leaving[u]:
            feeds[:, n + u] |= feeds[:, n + v]
            if whole:
                leads[:, n + u] |= leads[:, n + v]
    return Windows(n, ends, tuple(vertices), edges, leads, feeds, covered)


def _chain(chains: _Chains, order: list[int], arcs: list[list[tuple[int, int, float]]], of_op: Floats) -> None:
    """Longest chains along arcs (pass, edge, seconds) that lead to passes done before."""
    n = len(of_op)
    for x in order:
        for y, e, seconds in arcs[x]:
            reach = chains.end[y] + seconds
            if reach > chains.start[x] or (chains.next[x] == -1 and reach == chains.start[x]):
                chains.start[x], chains.next[x], chains.edge[x] = reach, y, e
        chains.end[x] = chains.start[x] + of_op[x % n, FORWARD if x < n else BACKWARD]


def _largest(value: Floats, most: int = 4) -> list[tuple[int, int]]:
    """Places of the largest values, at most one in a row."""
    columns = value.argmax(axis=1)
    rows = np.argsort(-value[np.arange(len(value)), columns], kind="stable")[:most]
    return [(int(row), int(columns[row])) for row in rows if value[row, columns[row]] > 0]


def _flat(op: Floats, edge: Floats) -> Floats:
    return np.concatenate([op.ravel(), edge.ravel()])
