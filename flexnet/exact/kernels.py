"""Kernels of exact search: bytes that pairs of configs transfer, choices that are dominated, longest paths."""

import numpy as np

from flexnet.kernels import inlined, kernel

__all__ = ["heads_and_tails", "mark_undominated", "one_machine", "pair_bytes"]

ROUNDING = 1e-12  # of costs, within which the first test of `mark_undominated` does not decide
LOOKS = 3  # at sets of transfers, each the later ones of the one before


@kernel
def pair_bytes(  # type: ignore[no-untyped-def]
    edge, producer, consumer, producer_home, consumer_home, consumer_rank, n_server, strided, room, moved
):
    """Elements of the busiest server, each way, for every pair of configs.

    Parameters
    ----------
    edge : int64 (rank, 6)
        For each dimension of the tensor its size, the consumer's config dimension that cuts it (or -1), and extent,
        stride, window and padding as of `flexnet.plan.arrays.ProblemArrays`.
    producer, consumer : int64 (n_producer, MAX_RANK), int64 (n_consumer, MAX_RANK)
        Degrees of their configs, 1 in dimensions there are not.
    producer_home, consumer_home : int
        Server of the first part; the others lie side by side, or evenly spread if ``strided``, in the order of
        `flexnet.model.cutting.side_by_side`.
    consumer_rank : int
        Of its output; degrees from there on are of its reduction.
    n_server : int
    strided : bool
    room : float64 (2, rank, most parts in a dimension)
        To work in.
    moved : float64 (n_producer, n_consumer)
        To be filled.
    """
    rank = edge.shape[0]
    wanted, sent = room[0], room[1]
    for a in range(producer.shape[0]):
        senders = _product(producer, a, 0)
        sums = _product(producer, a, rank)  # parts that hold partial sums of the same elements
        step = max(n_server // senders, 1) if strided else 1
        for b in range(consumer.shape[0]):
            readers = _product(consumer, b, 0)
            reader_sums = _product(consumer, b, consumer_rank)
            reader_step = max(n_server // readers, 1) if strided else 1
            repeats = readers  # parts of the consumer that read the same
            most_read, most_sent = 1.0 * sums, 1.0
            for k in range(rank):
                of_reader, of_sender = _measure(edge, producer, a, consumer, b, k, wanted, sent)
                most_read *= of_reader
                most_sent *= of_sender
                if edge[k, 1] >= 0:
                    repeats //= consumer[b, edge[k, 1]]
            busiest = 0.0
            for j in range(readers):
                if busiest >= most_read:
                    break
                reads, here = 1.0, 0.0
                for k in range(rank):
                    reads *= wanted[k, _coordinate(consumer, b, j, edge[k, 1])]
                if reads * sums <= busiest:
                    continue
                at = (consumer_home + _place(j, readers, reader_sums) * reader_step - producer_home) % n_server
                if at % step == 0 and at // step < senders:
                    here = _shared(edge, producer, a, _part(at // step, senders, sums), consumer, b, j)
                busiest = max(busiest, reads * sums - here)
            for i in range(senders):
                if busiest >= repeats * most_sent:
                    break
                sends, here = float(repeats), 0.0
                for k in range(rank):
                    sends *= sent[k, _coordinate(producer, a, i, k)]
                if sends <= busiest:
                    continue
                at = (producer_home + _place(i, senders, sums) * step - consumer_home) % n_server
                if at % reader_step == 0 and at // reader_step < readers:
                    here = _shared(edge, producer, a, i, consumer, b, _part(at // reader_step, readers, reader_sums))
                busiest = max(busiest, sends - here)
            moved[a, b] = busiest


@inlined
def _measure(edge, producer, a, consumer, b, k, wanted, sent):  # type: ignore[no-untyped-def]
    """Of dimension ``k`` what every part of the consumer reads, and what every part of the producer sends to all parts
    of the consumer that differ in this dimension; returns the most of both.
    """
    extent, degree = edge[k, 0], producer[a, k]
    step = extent // degree
    sent[k, :degree] = 0.0
    most_wanted = 0.0
    most_sent = 0.0
    for coordinate in range(consumer[b, edge[k, 1]] if edge[k, 1] >= 0 else 1):
        low, high = _reads(edge, consumer, b, k, coordinate)
        wanted[k, coordinate] = max(high - low, 0)
        most_wanted = max(most_wanted, wanted[k, coordinate])
        if high <= low:
            continue
        first = min(low // step, degree - 1) if step > 0 else degree - 1
        last = min((high - 1) // step, degree - 1) if step > 0 else degree - 1
        for at in range(first, last + 1):
            begin, end = _holds(extent, degree, at)
            sent[k, at] += max(min(high, end) - max(low, begin), 0)
            most_sent = max(most_sent, sent[k, at])
    return most_wanted, most_sent


@inlined
def _place(part, parts, sums):  # type: ignore[no-untyped-def]
    """Which of the servers a part is on: partial sums, which come last of parts, lie side by side."""
    return part % (parts // sums) * sums + part // (parts // sums)


@inlined
def _part(place, parts, sums):  # type: ignore[no-untyped-def]
    """Which part is on the server of that place: undoes `_place`."""
    return place % sums * (parts // sums) + place // sums


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
def _shared(edge, producer, a, i, consumer, b, j):  # type: ignore[no-untyped-def]
    """Elements that part ``j`` of the consumer reads of part ``i`` of the producer."""
    shared = 1.0
    for k in range(edge.shape[0]):
        low, high = _reads(edge, consumer, b, k, _coordinate(consumer, b, j, edge[k, 1]))
        begin, end = _holds(edge[k, 0], producer[a, k], _coordinate(producer, a, i, k))
        shared *= max(min(high, end) - max(low, begin), 0)
    return shared


@kernel
def mark_undominated(costs, edges, edge_ptr, most, least, alive):  # type: ignore[no-untyped-def]
    """Set ``alive`` to whether no other choice that is alive beats a choice, from the last one to the first.

    Parameters
    ----------
    costs : float64 (n_choice,)
    edges : float64 (n_choice, n_column)
        The tables of all edges side by side, those of edge e in columns ``edge_ptr[e]:edge_ptr[e + 1]``.
    edge_ptr : int64 (n_edge + 1,)
    most, least : float64 (n_choice, n_edge)
        The largest and the smallest entry of every choice's row of an edge.
    alive : bool (n_choice,)
        To be filled.
    """
    alive[:] = True
    n_edge = edge_ptr.shape[0] - 1
    for a in range(costs.shape[0] - 1, -1, -1):
        for b in range(costs.shape[0]):
            if not alive[b] or a == b:
                continue
            more = costs[b] - costs[a]
            for e in range(n_edge):  # at least so much, by the entries where b or a is largest, or smallest
                more += max(most[b, e] - most[a, e], least[b, e] - least[a, e])
            if more > ROUNDING * abs(costs[a]):
                continue
            more = costs[b] - costs[a]
            for e in range(n_edge):
                rise = -np.inf
                for x in range(edge_ptr[e], edge_ptr[e + 1]):
                    rise = max(rise, edges[b, x] - edges[a, x])
                more += rise
            if more <= 0:
                alive[a] = False
                break


@kernel
def heads_and_tails(  # type: ignore[no-untyped-def]
    succ_ptr, succ, pred_ptr, pred, alone, sent, received, n_pred, order, head, tail
):
    """Fill ``head`` and ``tail``: seconds on the longest path that ends before a task, and that begins after it.

    What brings a task bytes shares what its server can receive, and what leaves it what its server can send: of any of
    these transfers all have ended no sooner than the first could begin, and all their bytes after that.

    Parameters
    ----------
    succ_ptr, succ : int32 (n_task + 1,), (n_edge,)
        Successors; tasks do not wait for each other in a cycle.
    pred_ptr : int32 (n_task + 1,)
        Where every task's predecessors begin.
    pred : int32 (n_edge,)
        Room for them.
    alone : float64 (n_task,)
        Seconds of every task.
    sent, received : float64 (n_task,)
        Of transfers the seconds in which a server sends or receives nothing else; 0 of other tasks.
    n_pred : int32 (n_task,)
        How many predecessors; is counted down.
    order : int32 (n_task,)
        To work in.
    head, tail : float64 (n_task,)
        To be filled; zeros.
    """
    for before in range(n_pred.shape[0]):
        order[before] = pred_ptr[before]
    for before in range(n_pred.shape[0]):
        for p in range(np.uint32(succ_ptr[before]), np.uint32(succ_ptr[before + 1])):
            pred[np.uint32(order[np.uint32(succ[p])])] = before
            order[np.uint32(succ[p])] += 1
    n_ready = np.uint32(0)
    for root in range(n_pred.shape[0]):
        if n_pred[root] == 0:
            order[n_ready] = root
            n_ready = np.uint32(n_ready + 1)
    n_seen = np.uint32(0)
    while n_seen < n_ready:
        task = np.uint32(order[n_seen])
        n_seen = np.uint32(n_seen + 1)
        if received[task] == 0.0:
            head[task] = max(head[task], _together(pred, pred_ptr[task], pred_ptr[task + np.uint32(1)], received, head))
        for p in range(np.uint32(succ_ptr[task]), np.uint32(succ_ptr[task + np.uint32(1)])):
            following = np.uint32(succ[p])
            head[following] = max(head[following], head[task] + alone[task])
            n_pred[following] -= 1
            if n_pred[following] == 0:
                order[n_ready] = following
                n_ready = np.uint32(n_ready + 1)
    for at in range(n_ready):
        last = np.uint32(order[n_ready - np.uint32(1) - np.uint32(at)])
        for p in range(np.uint32(succ_ptr[last]), np.uint32(succ_ptr[last + np.uint32(1)])):
            following = np.uint32(succ[p])
            tail[last] = max(tail[last], alone[following] + tail[following])
        if sent[last] == 0.0:
            tail[last] = max(tail[last], _together(succ, succ_ptr[last], succ_ptr[last + np.uint32(1)], sent, tail))


@kernel
def one_machine(order, server, seconds, late, other, load, least):  # type: ignore[no-untyped-def]
    """The most that servers take for jobs one at a time, and which of them.

    Of jobs with ``late`` from some value on, none ends before that, all their seconds and the least of ``other``.

    Parameters
    ----------
    order : int64 (n_job,)
        Jobs, the latest first.
    server : int64 (n_job,)
    seconds, late, other : float64 (n_job,)
    load, least : float64 (n_server,)
        To work in; zeros and infinities.

    Returns
    -------
    (float, int)
    """
    most, busiest = 0.0, 0
    for job in order:
        at = np.uint32(server[job])
        load[at] += seconds[job]
        least[at] = min(least[at], other[job])
        if late[job] + load[at] + least[at] > most:
            most, busiest = late[job] + load[at] + least[at], server[job]
    return most, busiest


@inlined
def _together(tasks, first, end, seconds, late):  # type: ignore[no-untyped-def]
    """Of transfers over one interface the least of ``late`` and all their seconds: of all, then of the later ones."""
    most, least = 0.0, -np.inf
    for _ in range(LOOKS):
        soonest, total, mean, n = np.inf, 0.0, 0.0, 0
        for p in range(first, end):
            task = np.uint32(tasks[p])
            if seconds[task] > 0.0 and late[task] > least:
                soonest = min(soonest, late[task])
                total += seconds[task]
                mean += late[task]
                n += 1
        if n == 0:
            break
        most = max(most, soonest + total)
        least = max(mean / n, soonest)
    return most
