"""Transfers along trees: of servers that get the same, those that have it hand it on.

All parts of a consumer that read the same elements of a producer's part get the same bytes, and the sum of their
gradients returns.  Partial sums are the other way round: what the parts of a reduction have of the same elements is
added up on its way to whoever reads it, whose gradient returns to all of them.  Where both is so, each partial sum goes
to its readers along a tree, and is added there.  That is for sets of more servers than one has links: a network can
link fewer to it, and a message goes on only when all of it is there, where packets of one that passes do at once.

Those of one layer that cross the same link do so one after the other, as their turn comes on a ring: first what begins
there, then what has come over one link, and so on, and of what has come as far first what has farther to go; sums the
other way round.  If they shared it all would be there when the last one is, and who hands them on idled until then.
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

    The first transfer of ``work.record`` of each is that from the producer.  ``work.earlier`` of it becomes where
    its link is in the tree, if it needs but one: how many links that is from the root times the servers there are, and
    how many more lead on from there to the last.
    """
    copies = 0
    for m in range(n):
        if work.record[m] >= 0:
            copies += 1
            work.gets[work.server[m]] = work.record[m]
    if copies > problem.interfaces:
        if parents.shape[0] > 0:
            _measure(work, n, root, parents)
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
                work.earlier[there] = work.above[server] * problem.n_server + work.below[server]
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
def _measure(work, n, root, parents):  # type: ignore[no-untyped-def]
    """Set ``work.above`` and ``work.below`` of ``n`` servers: links from the root to there, and on to the last."""
    work.below[:] = 0
    for m in range(n):
        server, links = np.int64(work.server[m]), 0
        while work.record[m] >= 0 and server != root:
            work.below[server] = max(work.below[server], links)
            server = np.int64(parents[root, server])
            links += 1
        work.above[work.server[m]] = links


@inlined
def _let_pass_in_turn(work, first, from_root):  # type: ignore[no-untyped-def]
    """Let transfers wait for those over the same link that come before.

    They are those from ``first`` on, there and back by turns; ``work.earlier`` tells where in its tree the link is of
    those there.  What returns does so in the opposite order, as do sums, which come from below.
    """
    n_server = work.below.shape[0]
    of_height, of_distance, following = work.member, work.server, work.fill
    of_height[:] = NONE
    of_distance[:] = NONE
    for there in range(first, work.n_task[0], 2):
        work.latest[work.place[there]] = NONE
        if work.earlier[there] != NO_LINK:
            height = work.earlier[there] % n_server
            following[there] = of_height[height]
            of_height[height] = there
    for height in range(n_server):
        there = of_height[height]
        while there != NONE:
            then = following[there]
            distance = work.earlier[there] // n_server
            following[there] = of_distance[distance]
            of_distance[distance] = there
            there = then
    for distance in range(n_server):
        there = of_distance[distance]
        while there != NONE:
            before = work.latest[work.place[there]]
            if before != NONE and from_root:
                add_record(work, before, there)
                add_record(work, there + 1, before + 1)
            elif before != NONE:
                add_record(work, there, before)
                add_record(work, before + 1, there + 1)
            work.latest[work.place[there]] = there
            there = following[there]
