"""Kernels of exact search: bytes that pairs of configs transfer."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.kernels import inlined, kernel
from flexnet.structs import struct

__all__ = ["PairWork", "pair_bytes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]


@struct
class PairWork(NamedTuple):
    """Memory to work in.

    Parameters
    ----------
    held : int32 (n_producer, n_server, rank)
        Where the producer's parts lie along each dimension.
    holds : int64 (2, n_producer, n_server, rank)
        What they hold along each, the first element and that behind the last.
    sender_of : int32 (2, n_producer, n_server)
        On which server its parts are, and which part is on a server, -1 if there is none.
    ranges : int64 (2, n_server, rank)
        What the parts of a consumer read along each dimension.
    reader_of : int32 (2, n_server)
        As ``sender_of``.
    amounts : float64 (n_server,)
        Elements that each part of a consumer reads.
    number : int32 (largest degree + 1,)
        Of every degree that is there, the ``n_degree`` of them counted through.
    sent : float64 (rank, n_degree, n_degree, largest degree)
        Elements that the producer's parts send along a dimension, by its degree and the consumer's there.
    most : float64 (rank, n_degree, n_degree)
        The most of them; below 0 what is not known yet.
    """

    held: Ints32
    holds: Ints
    sender_of: Ints32
    ranges: Ints
    reader_of: Ints32
    amounts: Floats
    number: Ints32
    sent: Floats
    most: Floats


@kernel
def pair_bytes(  # type: ignore[no-untyped-def]
    edge, producer, consumer, producer_home, consumer_home, consumer_rank, n_server, strided, work, moved
):
    """Elements of the busiest server, each way, for every pair of configs.

    Parameters
    ----------
    edge : int64 (rank, 6)
        For each dimension of the tensor its size, the consumer's config dimension that cuts it (or -1), and extent,
        stride, window and padding as of `flexnet.plan.arrays.ProblemArrays`.
    producer, consumer : int64 (n_producer, MAX_RANK), int64 (n_consumer, MAX_RANK)
        Degrees of their configs, 1 in dimensions there are not; of no more parts than servers.
    producer_home, consumer_home : int
        Server of the first part; the others lie side by side, or evenly spread if ``strided``, in the order of
        `flexnet.model.cutting.side_by_side`.
    consumer_rank : int
        Of its output; degrees from there on are of its reduction.
    n_server : int
    strided : bool
    work : PairWork
    moved : float64 (n_producer, n_consumer)
        To be filled.
    """
    rank = np.uint32(edge.shape[0])
    held, holds, amounts, ranges = work.held, work.holds, work.amounts, work.ranges
    work.most[:] = -1.0
    for a in range(np.uint32(producer.shape[0])):
        _locate(
            producer, a, edge.shape[0], producer_home, n_server, strided, work.sender_of[0, a], work.sender_of[1, a]
        )
        for i in range(np.uint32(_product(producer, a, 0))):
            for k in range(rank):
                held[a, i, k] = _coordinate(producer, a, i, k)
                holds[0, a, i, k], holds[1, a, i, k] = _holds(edge[k, 0], producer[a, k], held[a, i, k])
    for b in range(np.uint32(consumer.shape[0])):
        readers = np.uint32(_product(consumer, b, 0))
        _locate(consumer, b, consumer_rank, consumer_home, n_server, strided, work.reader_of[0], work.reader_of[1])
        repeats = np.int64(readers)  # parts of the consumer that read the same
        for k in range(rank):
            repeats //= _wanted(edge, consumer, b, k)
        most_wanted = 0.0
        for j in range(readers):
            amounts[j] = 1.0
            for k in range(rank):
                low, high = _reads(edge, consumer, b, k, _coordinate(consumer, b, j, edge[k, 1]))
                ranges[0, j, k], ranges[1, j, k] = low, high
                amounts[j] *= max(high - low, 0)
            most_wanted = max(most_wanted, amounts[j])
        for a in range(np.uint32(producer.shape[0])):
            sums = _product(producer, a, edge.shape[0])  # parts that hold partial sums of the same elements
            most_sent = 1.0 * repeats
            for k in range(rank):
                most_sent *= _sent_along(edge, producer, a, consumer, b, k, work)
            busiest = 0.0
            for j in range(readers):
                if busiest >= most_wanted * sums:
                    break
                if amounts[j] * sums > busiest:
                    i, here = work.sender_of[1, a, np.uint32(work.reader_of[0, j])], 0.0
                    if i >= 0:
                        here = _shared(holds, a, np.uint32(i), ranges, j)
                    busiest = max(busiest, amounts[j] * sums - here)
            if busiest < most_sent:
                busiest = _of_senders(edge, producer, a, consumer, b, work, repeats, busiest, most_sent)
            moved[a, b] = busiest


@inlined
def _of_senders(edge, producer, a, consumer, b, work, repeats, busiest, most_sent):  # type: ignore[no-untyped-def]
    """Elements of the busiest server, ``busiest`` by what servers receive, if some send more; ``most_sent`` at most."""
    rank = np.uint32(edge.shape[0])
    for i in range(np.uint32(_product(producer, a, 0))):
        if busiest >= most_sent:
            break
        sends = 1.0 * repeats
        for k in range(rank):
            degree, wanted = _numbers(edge, producer, a, consumer, b, k, work)
            sends *= work.sent[k, degree, wanted, np.uint32(work.held[a, i, k])]
        if sends > busiest:
            j, here = work.reader_of[1, np.uint32(work.sender_of[0, a, i])], 0.0
            if j >= 0:
                here = _shared(work.holds, a, i, work.ranges, np.uint32(j))
            busiest = max(busiest, sends - here)
    return busiest


@inlined
def _numbers(edge, producer, a, consumer, b, k, work):  # type: ignore[no-untyped-def]
    """Numbers of the degrees of producer and consumer along dimension ``k``."""
    degree, wanted = np.uint32(producer[a, k]), np.uint32(_wanted(edge, consumer, b, k))
    return np.uint32(work.number[degree]), np.uint32(work.number[wanted])


@inlined
def _wanted(edge, consumer, b, k):  # type: ignore[no-untyped-def]
    """In how many pieces the consumer reads along dimension ``k``."""
    return consumer[b, np.uint32(edge[k, 1])] if edge[k, 1] >= 0 else np.int64(1)


@inlined
def _locate(degrees, row, rank, home, n_server, strided, server_of, part_on):  # type: ignore[no-untyped-def]
    """On which server each part is, and which part is on a server: partial sums, which come last of parts, lie side by
    side.
    """
    parts, sums = _product(degrees, row, 0), _product(degrees, row, rank)
    step = max(n_server // parts, 1) if strided else 1
    groups = parts // sums
    part_on[:] = -1
    for part in range(parts):
        server = (home + (part % groups * sums + part // groups) * step) % n_server
        server_of[part] = server
        part_on[server] = part


@inlined
def _sent_along(edge, producer, a, consumer, b, k, work):  # type: ignore[no-untyped-def]
    """The most that a part of the producer sends, along dimension ``k``, to all parts of the consumer that differ in
    it; what each sends is in ``work.sent``, and is told once for two degrees.
    """
    degree, wanted = _numbers(edge, producer, a, consumer, b, k, work)
    if work.most[k, degree, wanted] >= 0.0:
        return work.most[k, degree, wanted]
    extent, sent = edge[k, 0], work.sent[k, degree, wanted]
    step = extent // producer[a, k]
    sent[: producer[a, k]] = 0.0
    most = 0.0
    for coordinate in range(_wanted(edge, consumer, b, k)):
        low, high = _reads(edge, consumer, b, k, coordinate)
        if high <= low:
            continue
        first = min(low // step, producer[a, k] - 1) if step > 0 else producer[a, k] - 1
        last = min((high - 1) // step, producer[a, k] - 1) if step > 0 else producer[a, k] - 1
        for at in range(first, last + 1):
            begin, end = _holds(extent, producer[a, k], at)
            sent[at] += max(min(high, end) - max(low, begin), 0)
            most = max(most, sent[at])
    work.most[k, degree, wanted] = most
    return most


@inlined
def _product(degrees, row, first):  # type: ignore[no-untyped-def]
    """Parts along dimensions from ``first`` on."""
    parts = 1
    for k in range(first, degrees.shape[1]):
        parts *= degrees[row, k]
    return parts


@inlined
def _coordinate(degrees, row, part, dimension):  # type: ignore[no-untyped-def]
    """Where a part lies along a dimension; 0 for none."""
    if dimension < 0 or degrees[row, dimension] == 1:
        return 0
    for k in range(dimension):
        if degrees[row, k] > 1:
            part //= degrees[row, k]
    return part % degrees[row, dimension]


@inlined
def _reads(edge, degrees, row, k, coordinate):  # type: ignore[no-untyped-def]
    """First element that the consumer's part reads along a dimension, and the one behind the last."""
    low, high = 0, edge[k, 0]
    if edge[k, 1] >= 0 and degrees[row, edge[k, 1]] > 1:
        piece = edge[k, 2] // degrees[row, edge[k, 1]]
        low = max(coordinate * piece * edge[k, 3] - edge[k, 5], 0)
        high = min((coordinate * piece + piece - 1) * edge[k, 3] - edge[k, 5] + edge[k, 4], edge[k, 0])
    return low, high


@inlined
def _holds(extent, degree, at):  # type: ignore[no-untyped-def]
    """First element that a part of the producer holds along a dimension, and the one behind the last."""
    step = extent // degree
    return at * step, extent if at == degree - 1 else (at + 1) * step


@inlined
def _shared(holds, a, i, ranges, j):  # type: ignore[no-untyped-def]
    """Elements that part ``j`` of the consumer reads of part ``i`` of producer ``a``."""
    shared = 1.0
    for k in range(np.uint32(ranges.shape[2])):
        shared *= max(min(ranges[1, j, k], holds[1, a, i, k]) - max(ranges[0, j, k], holds[0, a, i, k]), 0)
    return shared
