"""Transfers along trees: of servers that get the same, those that have it hand it on.

All parts of a consumer that read the same elements of a producer's part get the same bytes, and the sum of their
gradients returns.  Partial sums are the other way round: what the parts of a reduction have of the same elements is
added up on its way to whoever reads it, whose gradient returns to all of them.  Where both is so, each partial sum goes
to its readers along a tree, and is added there.  That is for sets of more servers than one has links: a network can
link fewer to it, and a message goes on only when all of it is there, where packets of one that passes do at once.

Those of one layer that cross the same link do so one after the other, as their turn comes on a ring: what begins there
first, then what has come over one link, and so on; sums that have come from farthest last.  If they shared it all would
be there when the last one is, and all that wait to hand them on would idle until then.
"""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.plan.kernels.records import add_record

__all__ = ["are_alike", "hand_on"]

NONE = -1
NO_LINK = 0  # of a transfer that needs several, or goes along no tree


@inlined
def are_alike(problem, strategy, edge):  # type: ignore[no-untyped-def]
    """Whether more parts of the consumer than a server has links read the same, or read as many partial sums."""
    src, dst = problem.edge_src[edge], problem.edge_dst[edge]
    producer = problem.candidate_ptr[src] + strategy.choice[src]
    if problem.degrees[producer, problem.rank[src]] > problem.interfaces:
        return True
    consumer = problem.candidate_ptr[dst] + strategy.choice[dst]
    if problem.batch_only[consumer] and problem.edge_by_batch[edge]:  # of most: that is known without a look
        return False
    left = problem.parts[consumer]
    for k in range(problem.rank[dst] + 1):
        if _cuts(problem, edge, k):
            left //= problem.degrees[consumer, k]
    return left > problem.interfaces


@inlined
def _cuts(problem, edge, k):  # type: ignore[no-untyped-def]
    """Whether dimension ``k`` of the consumer's config cuts what goes along an edge."""
    cuts = False
    for m in range(problem.edge_rank[edge]):
        cuts |= problem.edge_split[edge, m] == k
    return cuts


@called
def hand_on(problem, strategy, work, edge, first_record, parents):  # type: ignore[no-untyped-def]
    """Let the transfers along an edge that are alike, and whose records begin at ``first_record``, go along trees.

    A transfer whose tree leads through a server that gets the same comes from there, once it is there.  With
    ``parents`` empty it is only noted in ``work.copies`` how many transfers are alike.
    """
    src, dst = problem.edge_src[edge], problem.edge_dst[edge]
    producer = problem.candidate_ptr[src] + strategy.choice[src]
    consumer = problem.candidate_ptr[dst] + strategy.choice[dst]
    sums = problem.degrees[producer, problem.rank[src]]
    n_producer, n_consumer = problem.parts[producer], problem.parts[consumer]
    for there in range(work.first_transfer[edge], work.n_task[0], 2):
        work.earlier[there] = NO_LINK
    n_region = _number_regions(problem, work, edge, dst, consumer)
    _find_records(work, edge, src, dst, n_producer, n_consumer, first_record)
    from_root = n_consumer // n_region > problem.interfaces
    if from_root:
        for region in range(n_region):
            n_reader = 0
            for j in range(n_consumer):
                if work.region[j] == region:
                    work.member[n_reader] = j
                    n_reader += 1
            for i in range(n_producer):
                for m in range(n_reader):
                    work.record[m] = work.between[i * n_consumer + work.member[m]]
                    work.server[m] = strategy.devices[dst, work.member[m]]
                _grow(problem, work, n_reader, strategy.devices[src, i], parents, True)
    else:
        block = n_producer // sums
        for j in range(n_consumer):
            for first in range(block):
                for m in range(sums):
                    i = m * block + first
                    work.record[m] = work.between[i * n_consumer + j]
                    work.server[m] = strategy.devices[src, i]
                _grow(problem, work, sums, strategy.devices[dst, j], parents, False)
    if parents.shape[0] > 0:
        _let_pass_in_turn(work, work.first_transfer[edge], from_root)


@inlined
def _number_regions(problem, work, edge, dst, consumer):  # type: ignore[no-untyped-def]
    """Set ``work.region`` of every part of the consumer: the same for those that read the same; return how many."""
    n_region = 1
    for j in range(problem.parts[consumer]):
        work.region[j] = 0
    stride = 1  # of coordinates among parts
    for k in range(problem.rank[dst] + 1):
        degree = problem.degrees[consumer, k]
        if degree > 1 and _cuts(problem, edge, k):
            for j in range(problem.parts[consumer]):
                work.region[j] += j // stride % degree * n_region
            n_region *= degree
        stride *= degree
    return n_region


@inlined
def _find_records(work, edge, src, dst, n_producer, n_consumer, first_record):  # type: ignore[no-untyped-def]
    """Set ``work.between``: the first record of the transfers between two parts, -1 where there are none.

    Those of two parts are four, as they are added by `flexnet.plan.kernels.transfers`, or two on one server.
    """
    for i in range(n_producer * n_consumer):
        work.between[i] = -1
    first_transfer = work.first_transfer[edge]
    r = first_record
    while r < work.n_record[0]:
        if work.record_to[r] >= first_transfer:
            i = (work.record_from[r] - work.first[src]) // 2
            j = (work.record_to[r + 1] - work.first[dst]) // 2
            work.between[i * n_consumer + j] = r
            r += 4
        else:
            r += 2


@inlined
def _grow(problem, work, n, root, parents, from_root):  # type: ignore[no-untyped-def]
    """Let ``n`` servers get the same from ``root`` along its tree, or send what is added up there.

    The first transfer of ``work.record`` of each is that from the producer.  ``work.earlier`` of it becomes how many
    links its own one is from the root, if it needs no other.
    """
    copies = 0
    for m in range(n):
        if work.record[m] >= 0:
            copies += 1
            work.gets[work.server[m]] = work.record[m]
    if copies > problem.interfaces:
        for m in range(n):
            record = work.record[m]
            if record < 0:
                continue
            there = work.record_to[record]
            if parents.shape[0] == 0:
                work.copies[there] = copies if from_root else -copies
                work.copies[there + 1] = -work.copies[there]
                continue
            server = work.server[m]
            parent = np.int64(parents[root, server])
            if parent == root or work.gets[parent] >= 0:
                work.earlier[there] = _links_to(parents, root, server)
            while parent != root and work.gets[parent] < 0:
                parent = np.int64(parents[root, parent])
            if parent == root:
                continue
            other = work.record_to[work.gets[parent]]
            down, up = parent * problem.n_server + server, server * problem.n_server + parent
            if from_root:
                work.place[there], work.place[there + 1] = down, up
                work.record_from[record], work.record_to[record + 3] = other, other + 1
            else:
                work.place[there], work.place[there + 1] = up, down
                work.record_to[record + 1], work.record_from[record + 2] = other, other + 1
    for m in range(n):
        work.gets[work.server[m]] = -1


@inlined
def _links_to(parents, root, server):  # type: ignore[no-untyped-def]
    """How many links a server is from the root of a tree."""
    n = 0
    while server != root:
        server = np.int64(parents[root, server])
        n += 1
    return n


@inlined
def _let_pass_in_turn(work, first, from_root):  # type: ignore[no-untyped-def]
    """Let transfers wait for those over the same link that come before: from the root those nearest to it go first.

    They are those from ``first`` on, there and back by turns, of which ``work.earlier`` tells how far from the root
    their link is.
    """
    begin, following = work.server, work.fill  # of lists of transfers as far from the root
    begin[:] = NONE
    n_task = np.int64(work.n_task[0])
    farthest = 0
    for back in range(n_task - 1, first, -2):
        far = work.earlier[back - 1]
        if far != NO_LINK:
            following[back - 1] = begin[far]
            begin[far] = back - 1
            farthest = max(farthest, far)
    for way in range(2):
        for there in range(first, n_task, 2):
            work.latest[work.place[there + way]] = NONE
        for k in range(1, farthest + 1):
            there = begin[k if (way == 0) == from_root else farthest + 1 - k]
            while there != NONE:
                before = work.latest[work.place[there + way]]
                if before != NONE:
                    add_record(work, before, there + way)
                work.latest[work.place[there + way]] = there + way
                there = following[there]
