"""Lays out what is known of operators and edges for bounds: seconds of every choice, and who waits for whom."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexnet.exact.needs import Needs
from flexnet.exact.windows import EdgeSeconds, Windows

__all__ = ["make_windows"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def make_windows(
    needs: Needs, n_server: int, widest: float, mean: float, of: Sequence[int] = (), *, micro_batches: int = 1
) -> Windows:
    """Lay out the terms of a model.

    Parameters
    ----------
    needs : Needs
    n_server : int
    widest, mean : float
        Bytes/s of all interfaces of any server together at most, and on the mean over servers; infinite to leave
        communication out.
    of : sequence of int
        Look at some server that has a part of each of these operators.
    micro_batches : int
        That an iteration runs; ``needs`` are of one.
    """
    n, time, share = len(needs.forward), 1.0 / widest, 1.0 / (mean * n_server)
    all_time = micro_batches * time
    options = tuple(_options(parts, n_server, [op == at for at in of]) for op, parts in enumerate(needs.parts))
    vertices = []
    for op in range(n):
        at, marked = options[op][:, 0], options[op][:, 1:].T
        inside, rings = needs.in_server[op] * (time > 0), needs.reduced[op] * time
        alone = np.zeros(len(needs.forward[op]))
        if len(rings):
            alone = np.maximum((inside + rings).max(axis=0), inside.min(axis=0) + rings.sum(axis=0))
        columns = [
            needs.forward[op][at],
            needs.backward[op][at],
            micro_batches * needs.forward_work[op][at] / n_server,
            micro_batches * needs.backward_work[op][at] / n_server,
            alone[at],
            needs.reduced_total[op][at] * share,
            needs.once_total[op][at] * share,
        ]
        for here in marked:
            columns += [
                micro_batches * needs.forward[op][at] * here,
                micro_batches * needs.backward[op][at] * here,
                needs.reduced[op].sum(axis=0)[at] * (time * here),
                needs.once[op][at] * (time * here),
            ]
        vertices.append(tuple(columns))
    ends = tuple(needs.edges)
    edges = tuple(
        EdgeSeconds(
            e.receive * time,
            e.send * time,
            micro_batches * e.total * share,
            e.receive * all_time,
            e.send * all_time,
            e.receive_all * all_time,
            e.send_all * all_time,
        )
        for e in needs.edges.values()
    )
    covered = tuple(e.covered for e in needs.edges.values())
    read = tuple(e.read for e in needs.edges.values())
    leads, feeds = np.eye(2 * n, dtype=np.bool_), np.eye(2 * n, dtype=np.bool_)
    arriving: list[list[tuple[int, bool, bool]]] = [[] for _ in range(n)]
    leaving: list[list[tuple[int, bool, bool]]] = [[] for _ in range(n)]
    for (u, v), whole, some in zip(ends, covered, read, strict=True):
        arriving[v].append((u, whole, some))
        leaving[u].append((v, whole, some))
    for first, last, _ in needs.detours:  # as edges that some of the consumer reads
        arriving[last].append((first, False, True))
        leaving[first].append((last, False, True))
    for v in range(n):  # columns: what leads v, or feeds it
        for u, whole, some in arriving[v]:
            if some:
                leads[:, v] |= leads[:, u]
            if whole:
                feeds[:, v] |= feeds[:, u]
    for u in range(n - 1, -1, -1):
        leads[:, n + u] |= leads[:, u]
        feeds[:, n + u] |= feeds[:, u]
        for v, whole, some in leaving[u]:
            if some:
                feeds[:, n + u] |= feeds[:, n + v]
            if whole:
                leads[:, n + u] |= leads[:, n + v]
    return Windows(n, len(of), ends, tuple(vertices), edges, options, leads, feeds, covered, read, tuple(needs.detours))


def _options(parts: Floats, n_server: int, is_here: Sequence[bool]) -> Ints:
    """Choices, with all ways to have a part or none on servers that are looked at; ``is_here``: they are its own."""
    options = np.arange(len(parts))[:, None]
    for here in is_here:
        apart = options[:0] if here else options[parts[options[:, 0]] < n_server]
        options = np.vstack(
            [np.insert(some, some.shape[1], mark, axis=1) for mark, some in enumerate((apart, options))]
        )
    return options
