"""Kernels of exact search: bytes that pairs of configs transfer."""

from flexnet.kernels import inlined, kernel

__all__ = ["pair_bytes"]


@kernel
def pair_bytes(  # type: ignore[no-untyped-def]
    edge,
    producer,
    consumer,
    producer_home,
    consumer_home,
    consumer_rank,
    n_server,
    strided,
    held,
    sender_of,
    ranges,
    reader_of,
    amounts,
    along,
    moved,
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
    held : int32 (n_producer, n_server, rank)
        To work in: where the producer's parts lie along each dimension.
    sender_of : int32 (2, n_producer, n_server)
        To work in: on which server its parts are, and which part is on a server, -1 if there is none.
    ranges : int64 (2, n_server, rank)
        To work in: what the parts of a consumer read along each dimension, the first element and that behind the last.
    reader_of : int32 (2, n_server)
        To work in, as ``sender_of``.
    amounts : float64 (n_server,)
        To work in: elements that each part of a consumer reads.
    along : float64 (rank, most parts in a dimension)
        To work in: elements that parts of a producer send, along each dimension.
    moved : float64 (n_producer, n_consumer)
        To be filled.
    """
    rank = edge.shape[0]
    for a in range(producer.shape[0]):
        senders = _product(producer, a, 0)
        _locate(producer, a, rank, producer_home, n_server, strided, sender_of[0, a], sender_of[1, a])
        for i in range(senders):
            for k in range(rank):
                held[a, i, k] = _coordinate(producer, a, i, k)
    for b in range(consumer.shape[0]):
        readers = _product(consumer, b, 0)
        _locate(consumer, b, consumer_rank, consumer_home, n_server, strided, reader_of[0], reader_of[1])
        repeats = readers  # parts of the consumer that read the same
        for k in range(rank):
            if edge[k, 1] >= 0:
                repeats //= consumer[b, edge[k, 1]]
        most_wanted = 0.0
        for j in range(readers):
            amounts[j] = 1.0
            for k in range(rank):
                low, high = _reads(edge, consumer, b, k, _coordinate(consumer, b, j, edge[k, 1]))
                ranges[0, j, k], ranges[1, j, k] = low, high
                amounts[j] *= max(high - low, 0)
            most_wanted = max(most_wanted, amounts[j])
        for a in range(producer.shape[0]):
            senders = _product(producer, a, 0)
            sums = _product(producer, a, rank)  # parts that hold partial sums of the same elements
            most_sent = 1.0 * repeats
            for k in range(rank):
                most_sent *= _sent_along(edge, producer, a, consumer, b, k, along[k])
            busiest = 0.0
            for j in range(readers):
                if busiest >= most_wanted * sums:
                    break
                if amounts[j] * sums > busiest:
                    i, here = sender_of[1, a, reader_of[0, j]], 0.0
                    if i >= 0:
                        here = _shared(edge, producer, a, held[a, i], ranges[0, j], ranges[1, j])
                    busiest = max(busiest, amounts[j] * sums - here)
            for i in range(senders):
                if busiest >= most_sent:
                    break
                sends = 1.0 * repeats
                for k in range(rank):
                    sends *= along[k, held[a, i, k]]
                if sends > busiest:
                    j, here = reader_of[1, sender_of[0, a, i]], 0.0
                    if j >= 0:
                        here = _shared(edge, producer, a, held[a, i], ranges[0, j], ranges[1, j])
                    busiest = max(busiest, sends - here)
            moved[a, b] = busiest


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
def _sent_along(edge, producer, a, consumer, b, k, sent):  # type: ignore[no-untyped-def]
    """What every part of the producer sends, along dimension ``k``, to all parts of the consumer that differ in it;
    returns the most.
    """
    extent, degree = edge[k, 0], producer[a, k]
    step = extent // degree
    sent[:degree] = 0.0
    most = 0.0
    for coordinate in range(consumer[b, edge[k, 1]] if edge[k, 1] >= 0 else 1):
        low, high = _reads(edge, consumer, b, k, coordinate)
        if high <= low:
            continue
        first = min(low // step, degree - 1) if step > 0 else degree - 1
        last = min((high - 1) // step, degree - 1) if step > 0 else degree - 1
        for at in range(first, last + 1):
            begin, end = _holds(extent, degree, at)
            sent[at] += max(min(high, end) - max(low, begin), 0)
            most = max(most, sent[at])
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
def _shared(edge, producer, a, held, low, high):  # type: ignore[no-untyped-def]
    """Elements that a part of the consumer reads of a part of the producer."""
    shared = 1.0
    for k in range(edge.shape[0]):
        begin, end = _holds(edge[k, 0], producer[a, k], held[k])
        shared *= max(min(high[k], end) - max(low[k], begin), 0)
    return shared
