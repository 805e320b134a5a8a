"""Bytes that pairs of configs transfer: for every two of the configs of two operators that share a tensor."""

from flexnet.kernels import inlined, kernel

__all__ = ["pair_bytes"]


@kernel
def pair_bytes(edge, producer, consumer, producer_home, consumer_home, n_server, strided, moved, least):  # type: ignore[no-untyped-def]
    """Elements of the busiest server, and least elements of all servers, each way, for every pair of configs.

    Parameters
    ----------
    edge : int64 (rank, 6)
        For each dimension of the tensor its size, the consumer's config dimension that cuts it (or -1), and extent,
        stride, window and padding as of `flexnet.plan.arrays.ProblemArrays`.
    producer, consumer : int64 (n_producer, MAX_RANK), int64 (n_consumer, MAX_RANK)
        Degrees of their configs, 1 in dimensions there are not.
    producer_home, consumer_home : int
        Server of the first part; the others lie side by side, or evenly spread if ``strided``.
    n_server : int
    strided : bool
    moved, least : float64 (n_producer, n_consumer)
        To be filled.
    """
    rank = edge.shape[0]
    for a in range(producer.shape[0]):
        senders = _product(producer, a, 0)
        sums = _product(producer, a, rank)  # parts that hold partial sums of the same elements
        step = max(n_server // senders, 1) if strided else 1
        for b in range(consumer.shape[0]):
            readers = _product(consumer, b, 0)
            reader_step = max(n_server // readers, 1) if strided else 1
            repeats = readers  # parts of the consumer that read the same
            for k in range(rank):
                if edge[k, 1] >= 0:
                    repeats //= consumer[b, edge[k, 1]]
            total, kept, busiest = 0.0, 0.0, 0.0
            for j in range(readers):
                wanted, most, here = 1.0, 1.0, 0.0
                for k in range(rank):
                    low, high = _reads(edge, consumer, b, k, _coordinate(consumer, b, j, edge[k, 1]))
                    wanted *= max(high - low, 0)
                    most *= _largest_share(edge[k, 0], producer[a, k], low, high)
                at = (consumer_home + j * reader_step - producer_home) % n_server
                if at % step == 0 and at // step < senders:
                    here = _shared(edge, producer, a, at // step, consumer, b, j)
                total += wanted * sums
                kept += most
                busiest = max(busiest, wanted * sums - here)
            for i in range(senders):
                sent, here = float(repeats), 0.0
                for k in range(rank):
                    sent *= _sent(edge, producer, a, i, consumer, b, k)
                at = (producer_home + i * step - consumer_home) % n_server
                if at % reader_step == 0 and at // reader_step < readers:
                    here = _shared(edge, producer, a, i, consumer, b, at // reader_step)
                busiest = max(busiest, sent - here)
            moved[a, b] = busiest
            least[a, b] = max(total - kept, 0.0)


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
    for k in range(dimension):
        part //= degrees[row, k]
    return part % degrees[row, dimension] if dimension >= 0 else 0


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
def _largest_share(extent, degree, low, high):  # type: ignore[no-untyped-def]
    """Most elements from ``low`` to ``high`` that one part of the producer holds."""
    most = 0
    for at in range(degree):
        begin, end = _holds(extent, degree, at)
        most = max(most, min(high, end) - max(low, begin))
    return most


@inlined
def _sent(edge, producer, a, i, consumer, b, k):  # type: ignore[no-untyped-def]
    """Elements along a dimension that a part of the producer sends, to all parts of the consumer that differ in it."""
    begin, end = _holds(edge[k, 0], producer[a, k], _coordinate(producer, a, i, k))
    sent = 0
    for coordinate in range(consumer[b, edge[k, 1]] if edge[k, 1] >= 0 else 1):
        low, high = _reads(edge, consumer, b, k, coordinate)
        sent += max(min(high, end) - max(low, begin), 0)
    return sent


@inlined
def _shared(edge, producer, a, i, consumer, b, j):  # type: ignore[no-untyped-def]
    """Elements that part ``j`` of the consumer reads of part ``i`` of the producer."""
    shared = 1.0
    for k in range(edge.shape[0]):
        low, high = _reads(edge, consumer, b, k, _coordinate(consumer, b, j, edge[k, 1]))
        begin, end = _holds(edge[k, 0], producer[a, k], _coordinate(producer, a, i, k))
        shared *= max(min(high, end) - max(low, begin), 0)
    return shared
