"""Cost terms of measured operators on a cluster: what every config computes, reduces and transfers.

An additive model of an iteration: every operator after the other, compute, then all-reduce, then transfers; of several
micro-batches, one after the other.  Placement is fixed: the parts of an operator lie side by side from server 0, or
evenly spread, partial sums of the same elements next to each other; operators that cannot be cut are dealt out round
the servers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from flexnet.exact.kernels.pairs import PairWork, pair_bytes
from flexnet.exact.tables import CostTables, Shared
from flexnet.interrupts import check
from flexnet.model.cutting import partial_sums, side_by_side
from flexnet.plan.arrays import ProblemArrays
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config

__all__ = ["Terms", "edge_rows", "measured_terms", "pair_elements", "place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Terms by operator, and by pair of operators that share tensors; one entry per choice or pair of choices.

    Parameters
    ----------
    degrees : tuple of tuple of degrees
        The choices of every operator.
    compute : tuple of float64 (n_choice,)
        Seconds of one part, forward and backward, of all micro-batches.
    reduced : tuple of float64 (n_choice,)
        Bytes each server of a group sends to all-reduce the weights, added over weights.
    memory : tuple of float64 (n_choice,)
        Bytes of a server, with one micro-batch under way.
    moved : Mapping of (n_choice, n_choice)
        Bytes the busiest server receives or sends, forward and backward, in all micro-batches, as placed; what another
        operator may have brought there already counts all the same.
    """

    degrees: tuple[tuple[tuple[int, ...], ...], ...]
    compute: tuple[Floats, ...]
    reduced: tuple[Floats, ...]
    memory: tuple[Floats, ...]
    moved: dict[tuple[int, int], Floats]

    def tables(self, per_byte: float, *, reduce: float = 1.0, move: float = 1.0) -> CostTables:
        """Seconds: compute, plus shares of the time that all-reduces and transfers would take alone.

        Equal tables are one array, so that of equal layers of a model one is solved (`flexnet.exact.solver`).

        Parameters
        ----------
        per_byte : float
            Seconds a server takes to send a byte.
        reduce, move : float
            Shares of communication that compute does not hide.
        """
        pairs = zip(self.compute, self.reduced, strict=True)
        one = Shared()
        vertices = tuple(one(compute + reduce * per_byte * reduced) for compute, reduced in pairs)
        return CostTables(vertices, {ends: one(move * per_byte * table) for ends, table in self.moved.items()})


def measured_terms(problem: Problem, *, strided: bool, at_once: bool = False) -> Terms:
    """Terms of every operator of a problem.

    Parameters
    ----------
    problem : Problem
    strided : bool
        Spread the parts of an operator evenly over the servers; otherwise side by side.
    at_once : bool
        As if operators that read the same tensor in the same way were cut alike, and it were brought to all of them at
        once: each counts its share.

    Raises
    ------
    GivenUp
        If nobody waits for them any more (`flexnet.interrupts`).
    """
    arrays = problem.arrays
    n_server = problem.cluster.n_server
    rows = [_choices(problem, op) for op in range(len(problem.graph.operators))]
    degrees = tuple(tuple(problem.candidates[op][row].degrees for row in chosen) for op, chosen in enumerate(rows))
    flat = [arrays.candidate_ptr[op] + np.array(chosen) for op, chosen in enumerate(rows)]
    compute = tuple(problem.micro_batches * (arrays.forward[at] + arrays.backward[at]) for at in flat)
    reduced = []
    for op, at in enumerate(flat):
        sent = np.zeros(len(at))
        for w in range(arrays.weight_ptr[op], arrays.weight_ptr[op + 1]):
            if arrays.weight_is_tied[w]:  # as if it lay as that of the first operator, whose gradient takes it along
                continue
            cut, reduction = arrays.weight_cut[w], arrays.rank[op]
            shards = np.where(cut, arrays.degrees[at], 1).prod(axis=1)
            groups = shards if cut[reduction] else shards * arrays.degrees[at, reduction]
            members = arrays.parts[at] // groups
            sent += 2.0 * (members - 1) / members * (arrays.weight_bytes[w] // shards)
        reduced.append(sent)
    moved: dict[tuple[int, int], Floats] = {}
    known: dict[tuple[object, ...], Floats] = {}
    brought = set[tuple[object, ...]]()
    first = _first_edges(arrays)
    homes = _homes(problem, degrees)
    readers = _readers(arrays) if at_once else [1] * len(arrays.edge_src)
    for e, (u, v) in enumerate(zip(arrays.edge_src.tolist(), arrays.edge_dst.tolist(), strict=True)):
        edge = edge_rows(arrays, e)
        if (first[e], v, edge.tobytes()) in brought:  # an operator that reads it twice
            continue
        brought.add((first[e], v, edge.tobytes()))
        size = int(arrays.edge_element_bytes[e])
        key = (edge.tobytes(), size, degrees[u], degrees[v], int(arrays.rank[v]), homes[u], homes[v])
        if key not in known:
            check()
            ends = arrays.degrees[flat[u]], arrays.degrees[flat[v]], homes[u], homes[v], int(arrays.rank[v])
            elements = pair_elements(edge, *ends, n_server, strided=strided)
            known[key] = 2.0 * problem.micro_batches * size * elements  # there and back
        share = known[key] / readers[e] if readers[e] > 1 else known[key]
        moved[u, v] = moved[u, v] + share if (u, v) in moved else share
    return Terms(
        degrees,
        compute,
        tuple(reduced),
        tuple(arrays.memory[at] * float(gpu) for at, gpu in zip(flat, problem.gpus_of_part, strict=True)),
        moved,
    )


def place(problem: Problem, terms: Terms, choices: Sequence[int], *, strided: bool) -> list[Config]:
    """Configs of a selection, placed as the terms assume."""
    homes = _homes(problem, terms.degrees)
    configs = []
    for op, choice in enumerate(choices):
        degrees = terms.degrees[op][choice]
        servers = _servers(prod(degrees), problem.cluster.n_server, strided, homes[op]).tolist()
        sums = partial_sums(degrees, problem.graph.operators[op].rank)
        configs.append(Config(degrees, tuple(side_by_side(servers, sums))))
    return configs


def _first_edges(arrays: ProblemArrays) -> list[int]:
    """Of each edge the first one that carries the same tensor."""
    first: list[int] = []
    for e, before in enumerate(arrays.edge_before.tolist()):
        first.append(e if before < 0 else first[before])
    return first


def _readers(arrays: ProblemArrays) -> list[int]:
    """Of each edge how many operators read the same tensor in the same way."""
    ways = [(first, edge_rows(arrays, e).tobytes()) for e, first in enumerate(_first_edges(arrays))]
    ops: dict[tuple[int, bytes], set[int]] = {}
    for way, op in zip(ways, arrays.edge_dst.tolist(), strict=True):
        ops.setdefault(way, set()).add(op)
    return [len(ops[way]) for way in ways]


def edge_rows(arrays: ProblemArrays, e: int) -> Ints:
    """Of each dimension of an edge what `flexnet.exact.kernels.pairs.pair_bytes` takes, (rank, 6)."""
    rank = int(arrays.edge_rank[e])
    windows = arrays.edge_extent, arrays.edge_stride, arrays.edge_window, arrays.edge_padding
    return np.stack([c[e, :rank] for c in (arrays.edge_dims, arrays.edge_split, *windows)], axis=1)


def pair_elements(
    edge: Ints,
    producer: Ints,
    consumer: Ints,
    producer_home: int,
    consumer_home: int,
    consumer_rank: int,
    n_server: int,
    *,
    strided: bool,
) -> Floats:
    """As of `flexnet.exact.kernels.pairs.pair_bytes`, with room to work in."""
    n, rank = len(producer), len(edge)
    degrees = np.unique(np.concatenate([[1], producer.ravel(), consumer.ravel()]))
    number = np.zeros(degrees[-1] + 1, np.int32)
    number[degrees] = np.arange(len(degrees))
    work = PairWork(
        held=np.empty((n, n_server, rank), np.int32),
        holds=np.empty((2, n, n_server, rank), np.int64),
        sender_of=np.empty((2, n, n_server), np.int32),
        ranges=np.empty((2, n_server, rank), np.int64),
        reader_of=np.empty((2, n_server), np.int32),
        amounts=np.empty(n_server),
        number=number,
        sent=np.empty((rank, len(degrees), len(degrees), degrees[-1])),
        most=np.empty((rank, len(degrees), len(degrees))),
    )
    moved = np.zeros((n, len(consumer)))
    homes = producer_home, consumer_home, consumer_rank
    pair_bytes(edge, producer, consumer, *homes, n_server, strided, work, moved)
    return moved


def _choices(problem: Problem, op: int) -> list[int]:
    """Candidates without repetitions."""
    seen: dict[tuple[int, ...], int] = {}
    for row, entry in enumerate(problem.candidates[op]):
        seen.setdefault(entry.degrees, row)
    return list(seen.values())


def _homes(problem: Problem, degrees: Sequence[tuple[tuple[int, ...], ...]]) -> list[int]:
    """First server of every operator: those that cannot be cut are spread evenly, or dealt out in turn if many.

    On dlrm128, 64 tables on every second server instead of the first 64 make an iteration 4 % shorter.
    """
    n_server = problem.cluster.n_server
    whole = [all(prod(d) == 1 for d in options) for options in degrees]
    step = max(n_server // max(sum(whole), 1), 1)
    homes, dealt = [], 0
    for alone in whole:
        homes.append(dealt * step % n_server if alone else 0)
        dealt += alone
    return homes


def _servers(parts: int, n_server: int, strided: bool, home: int) -> Ints:
    step = max(n_server // parts, 1) if strided else 1
    return (home + step * np.arange(parts)) % n_server
