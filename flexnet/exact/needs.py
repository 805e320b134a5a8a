"""What every choice of an operator, and every two choices along an edge, need at least, wherever the parts lie.

A placement may be any with the parts of an operator on different servers, so at most one part of a producer lies with
a given part of its consumer, and at most one of the consumer with a given part of the producer.  All that bounds need
of a pair of choices follows dimension by dimension, for parts are boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.exact.detours import Detour, find_detours
from flexnet.exact.small_reduces import ring_bytes
from flexnet.plan.problem import Problem

__all__ = ["MOST_CHOICES", "EdgeNeeds", "Needs", "least_needs", "n_classes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_CHOICES = 128  # of an operator; above that, choices are taken together


@dataclass(frozen=True, slots=True, eq=False)
class EdgeNeeds:
    """Bytes along the edges between two operators, forward; backward the same bytes go back.

    Parameters
    ----------
    receive : float64 (n_choice of producer, n_choice of consumer)
        Every part of the consumer receives so many at least from other servers.
    send : float64 (n_choice of producer, n_choice of consumer)
        Every part of the producer sends so many at least to other servers.
    receive_all, send_all : float64 (n_choice of producer, n_choice of consumer)
        The same for a part on whose server the other operator has none.
    total : float64 (n_choice of producer, n_choice of consumer)
        All parts together, every byte counted for each link it takes at least.
    covered : bool
        Whether every part of the producer is read, whatever the choices.
    read : bool
        Whether every part of the consumer reads something, whatever the choices.
    """

    receive: Floats
    send: Floats
    receive_all: Floats
    send_all: Floats
    total: Floats
    covered: bool
    read: bool

    def brought(self) -> "EdgeNeeds":
        """The same where an edge before may bring the bytes already, which then counts for both."""
        none = np.zeros_like(self.total)
        return EdgeNeeds(none, none, none, none, none, self.covered, self.read)


class _Dimension(NamedTuple):
    """A dimension of a tensor, and what its consumer reads of it; see `flexnet.plan.arrays.ProblemArrays`."""

    size: int
    extent: int
    stride: int
    window: int
    padding: int


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """What choices need at least; one entry per choice, or class of choices.

    Parameters
    ----------
    parts : tuple of float64 (n_choice,)
    forward, backward : tuple of float64 (n_choice,)
        Seconds of one part.
    forward_work, backward_work : tuple of float64 (n_choice,)
        Seconds of all parts.
    in_server : tuple of float64 (n_weight, n_choice)
        Seconds in which the GPUs of a server reduce a weight among themselves.
    reduced : tuple of float64 (n_weight, n_choice)
        Bytes a server that holds a part then sends to all-reduce the weight.
    reduced_total : tuple of float64 (n_choice,)
        Bytes all servers send to all-reduce weights.
    once, once_total : tuple of float64 (n_choice,)
        Bytes a server sends, and all servers, to all-reduce those weights that one group holds.
    edges : dict of EdgeNeeds
        By producer and consumer.
    detours : list of Detour
        Who waits for whom beside that.
    """

    parts: tuple[Floats, ...]
    forward: tuple[Floats, ...]
    backward: tuple[Floats, ...]
    forward_work: tuple[Floats, ...]
    backward_work: tuple[Floats, ...]
    in_server: tuple[Floats, ...]
    reduced: tuple[Floats, ...]
    reduced_total: tuple[Floats, ...]
    once: tuple[Floats, ...]
    once_total: tuple[Floats, ...]
    edges: dict[tuple[int, int], EdgeNeeds]
    detours: list[Detour]


def least_needs(
    problem: Problem,
    neighbours: int | None = None,
    *,
    most_choices: int = MOST_CHOICES,
    small_packet_bytes: float = 0.0,
    rings: int = 1,
    relays: bool = False,
) -> Needs:
    """Needs of every operator of a problem.

    Parameters
    ----------
    problem : Problem
    neighbours : int or None
        Servers that a server is linked to at most, where servers forward for others: its k-th nearest is as many hops
        away as in a tree whose nodes have so many neighbours (Moore's bound).  None if one link does for any pair.
    most_choices : int
        Where an operator has more choices, those with as many parts that are cut along the same dimensions count as one
        that needs, of everything, what the one of them needs that needs least; if these are too many, those with as
        many parts.
    small_packet_bytes, rings : float, int
        Which all-reduces may be cut short (`flexnet.exact.small_reduces`).
    relays : bool
        Whether servers may hand on what several get of one, and add up on the way what one gets of several: then one
        copy leaves, or one sum arrives, and every transfer takes one link at least.
    """
    arrays = problem.arrays
    rows = [_distinct(problem, op) for op in range(len(problem.graph.operators))]
    labels = [_classes(arrays.parts[at], arrays.degrees[at], most_choices) for at in rows]
    values: list[list[Floats]] = [[] for _ in range(10)]
    for op, at in enumerate(rows):
        parts = arrays.parts[at]
        passes = arrays.forward[at], arrays.backward[at]
        of_choices = (
            parts.astype(np.float64),
            *passes,
            *(np.asarray(seconds * parts, np.float64) for seconds in passes),
            *_reductions(problem, op, at, small_packet_bytes, rings),
        )
        for column, value in zip(values, of_choices, strict=True):
            column.append(_least(value, labels[op]))
    edges: dict[tuple[int, int], EdgeNeeds] = {}
    known: dict[tuple[object, ...], EdgeNeeds] = {}
    for e, (u, v) in enumerate(zip(arrays.edge_src.tolist(), arrays.edge_dst.tolist(), strict=True)):
        rank = int(arrays.edge_rank[e])
        size = int(arrays.edge_element_bytes[e])
        degrees = [
            tuple(tuple(row[: arrays.rank[op] + 1].tolist()) for row in arrays.degrees[rows[op]]) for op in (u, v)
        ]
        along = (arrays.edge_dims, arrays.edge_extent, arrays.edge_stride, arrays.edge_window, arrays.edge_padding)
        dims = tuple(_Dimension(*(int(column[e, k]) for column in along)) for k in range(rank))
        split = tuple(arrays.edge_split[e, :rank].tolist())
        key = (dims, split, size, *degrees)
        if key not in known:
            needs = _edge(dims, split, degrees[0], degrees[1], size, neighbours, relays)
            tables = (needs.receive, needs.send, needs.receive_all, needs.send_all, needs.total)
            receive, send, whole, whole_sent, total = (_least_pairs(t, labels[u], labels[v]) for t in tables)
            known[key] = EdgeNeeds(receive, send, whole, whole_sent, total, needs.covered, needs.read)
        needs = known[key] if arrays.edge_before[e] < 0 else known[key].brought()
        edges[u, v] = _joined(edges[u, v], needs) if (u, v) in edges else needs
    detours = find_detours(problem, {ends for ends, needs in edges.items() if not needs.read})
    of_parts, forward, backward, forward_work, backward_work, inside, reduced, of_all, once, all_once = map(
        tuple, values
    )
    sums = inside, reduced, of_all, once, all_once
    return Needs(of_parts, forward, backward, forward_work, backward_work, *sums, edges, detours)


def _distinct(problem: Problem, op: int) -> Ints:
    """Candidates of an operator without repetitions, as rows of all candidates."""
    seen: dict[tuple[int, ...], int] = {}
    for row, entry in enumerate(problem.candidates[op]):
        seen.setdefault(entry.degrees, row)
    return np.array(list(seen.values()), np.int64) + int(problem.arrays.candidate_ptr[op])


def _reductions(
    problem: Problem, op: int, at: Ints, small: float, rings: int
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Seconds inside of a server and bytes it sends, by weight, and bytes all send, for every candidate.

    Then bytes that a server sends, and that all send, of weights that one group holds.  Of those that operators share
    the first one's: all-reduces of smaller pieces may be cut short, run at once, and have more members, no fewer.
    """
    arrays = problem.arrays
    weights = [w for w in range(arrays.weight_ptr[op], arrays.weight_ptr[op + 1]) if not arrays.weight_is_tied[w]]
    inside, sent, total = np.zeros((len(weights), len(at))), np.zeros((len(weights), len(at))), np.zeros(len(at))
    once, once_total = np.zeros(len(at)), np.zeros(len(at))
    for i, w in enumerate(weights):
        cut, reduction = arrays.weight_cut[w], arrays.rank[op]
        shards = np.where(cut, arrays.degrees[at], 1).prod(axis=1)
        groups = shards if cut[reduction] else shards * arrays.degrees[at, reduction]
        members = arrays.parts[at] // groups
        size = arrays.weight_bytes[w] // shards
        sent[i] = ring_bytes(size, members, small, rings)
        is_shared = arrays.user_ptr[w] < arrays.user_ptr[w + 1]
        if is_shared and small:
            sent[i] = np.minimum(sent[i], size / problem.cluster.n_server)
        total += sent[i] * members * groups
        once += sent[i] * (groups == 1)
        once_total += sent[i] * members * (groups == 1)
        gpus, pieces = int(arrays.weight_gpus[w]), int(arrays.weight_pieces[w])
        if gpus and not is_shared:
            inside[i] = 2.0 * (gpus - 1) / gpus * (size / pieces) / problem.cluster.inter_gpu_bandwidth
    return inside, sent, total, once, once_total


def n_classes(problem: Problem, most_choices: int) -> list[int]:
    """How many choices every operator has in `least_needs`."""
    arrays = problem.arrays
    rows = [_distinct(problem, op) for op in range(len(problem.graph.operators))]
    return [int(_classes(arrays.parts[at], arrays.degrees[at], most_choices).max()) + 1 for at in rows]


def _classes(parts: Ints, degrees: npt.NDArray[np.integer], most: int) -> Ints:
    """Class of every choice: its own, or of too many that of its parts and of what is cut, or of its parts alone."""
    if len(parts) <= most:
        return np.arange(len(parts))
    along = np.column_stack([parts, degrees > 1])
    for keys in (along, along[:, :1]):
        label = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if label.max() < most:
            break
    return label


def _least(values: Floats, label: Ints) -> Floats:
    out = np.full((int(label.max()) + 1, *values.shape[:-1]), np.inf)
    np.minimum.at(out, label, values.T)
    return out.T


def _least_pairs(table: Floats, label: Ints, other: Ints) -> Floats:
    if int(label.max()) + 1 == len(label) and int(other.max()) + 1 == len(other):
        return table
    out = np.full((int(label.max()) + 1, int(other.max()) + 1), np.inf)
    np.minimum.at(out, (label[:, None], other[None, :]), table)
    return out


def _joined(one: EdgeNeeds, other: EdgeNeeds) -> EdgeNeeds:
    """Of two tensors between the same operators: what is local of one may be local of the other."""
    return EdgeNeeds(
        one.receive + other.receive,
        one.send + other.send,
        one.receive_all + other.receive_all,
        one.send_all + other.send_all,
        one.total + other.total,
        one.covered or other.covered,
        one.read or other.read,
    )


def _edge(
    dims: tuple[_Dimension, ...],
    split: tuple[int, ...],
    producer: Sequence[tuple[int, ...]],
    consumer: Sequence[tuple[int, ...]],
    size: int,
    neighbours: int | None,
    relays: bool,
) -> EdgeNeeds:
    """Needs of every pair of configs; dimensions that the same number cuts twice count as if cut independently.

    Partial sums are a dimension more, of which a consumer's part reads all; where servers relay, one sum reaches it.
    """
    rank = len(dims)
    shape = (len(producer), len(consumer))
    largest, ratio, lengths, kept = np.ones(shape), np.ones(shape), np.ones(shape), np.ones(shape)
    most_read, spread, sent, stays = np.ones(shape), np.ones(shape), np.ones(shape), np.ones(shape)
    piece, piece_read, least, least_read = np.ones(shape), np.ones(shape), np.ones(shape), np.ones(shape)
    products = (largest, ratio, lengths, kept, piece, least, most_read, spread, sent, stays, piece_read, least_read)
    covered = read = True
    for k in range(rank + 1):
        cuts = np.array([degrees[k if k < rank else -1] for degrees in producer], np.int64)
        of = split[k] if k < rank else -1
        wanted = np.array([degrees[of] if of >= 0 else 1 for degrees in consumer], np.int64)
        each_cut, at_cut = np.unique(cuts, return_inverse=True)
        each_wanted, at_wanted = np.unique(wanted, return_inverse=True)
        along = np.array(
            [[_along(dims[k] if k < rank else None, int(c), int(w)) for w in each_wanted] for c in each_cut]
        )
        facts = np.moveaxis(along[at_cut[:, None], at_wanted[None, :]], -1, 0)
        if k == rank:
            one_sum = largest * ratio, least.copy()
        for product, fact in zip(products, facts, strict=True):
            product *= fact
        covered = covered and bool((along[..., 6] > 0).all())
        read = read and bool((along[..., 5] > 0).all())
    dims_cut = sorted({dim for dim in split if dim >= 0})
    alike = np.array([prod(degrees) / prod(degrees[dim] for dim in dims_cut) for degrees in consumer])
    parts = np.array([prod(degrees) for degrees in consumer], np.float64)
    receive, receive_all = size * largest * (ratio - 1.0), size * least
    single = np.ones(shape, np.bool_)  # nobody else gets the same, nor is it added up
    copies = alike
    if relays:
        sums = np.array([degrees[-1] for degrees in producer], np.int64)[:, None]
        single = (sums == 1) & (alike == 1)
        receive, receive_all = np.where(sums > 1, size * one_sum[0], receive), size * one_sum[1]
        copies = np.ones_like(alike)
    if len(dims_cut) < sum(dim >= 0 for dim in split):
        send, send_all, total = np.zeros(shape), np.zeros(shape), parts * receive
    else:
        send = size * most_read * (copies * spread - 1.0)
        total = np.maximum(size * alike * (lengths - kept), size * (alike * sent - stays))
        send_all = size * copies * least_read
    send = np.maximum(send, 0.0)
    if neighbours is not None:
        producers = np.array([prod(degrees) for degrees in producer], np.float64)[:, None]
        total = np.maximum(total, single * parts * _byte_hops(receive, size * piece, neighbours))
        total = np.maximum(total, single * producers * _byte_hops(send, size * piece_read, neighbours))
    return EdgeNeeds(receive, send, receive_all, send_all, np.maximum(total, 0.0), covered, read)


def _byte_hops(bytes_: Floats, each: Floats, neighbours: int) -> Floats:
    """Bytes times links where a server exchanges so many with others, at most ``each`` with any one of them."""
    left, total, hops, near = bytes_.copy(), np.zeros_like(bytes_), 1, neighbours
    while (left > 0).any() and hops < 64:
        taken = np.minimum(left, near * each)
        total += hops * taken
        left -= taken
        hops += 1
        near *= max(neighbours - 1, 1)
    return total


def _along(dimension: _Dimension | None, cut: int, wanted: int) -> tuple[float, ...]:
    """Facts of one dimension, of ``cut`` pieces of a producer and ``wanted`` of its consumer.

    Of what a consumer's piece j reads: the least over j of its largest share, of all over the largest; the sum over all
    j of all and of the largest; the greatest of the largest; the least of all.  Then the same of what is read of a
    producer's piece.
    """
    extent = cut if dimension is None else dimension.size  # None: partial sums
    low = np.arange(cut) * (extent // cut)
    high = np.append(low[1:], extent)
    begin, end = np.zeros((wanted, 1), np.int64), np.full((wanted, 1), extent)
    if dimension is not None and wanted > 1:
        piece = dimension.extent // wanted
        first = np.arange(wanted)[:, None] * piece
        begin = np.maximum(first * dimension.stride - dimension.padding, 0)
        last = (first + piece - 1) * dimension.stride - dimension.padding
        end = np.minimum(last + dimension.window, extent)
    shared = np.maximum(np.minimum(end, high) - np.maximum(begin, low), 0).astype(np.float64)
    facts: list[float] = []
    for each in (shared, shared.T):
        total, most = each.sum(axis=1), each.max(axis=1)
        ratios = np.divide(total, most, out=np.ones_like(total), where=most > 0)
        facts += [float(most.min()), float(ratios.min()), float(total.sum()), float(most.sum()), float(most.max())]
        facts.append(float(total.min()))
    return tuple(facts)
