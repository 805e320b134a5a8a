"""What every task sends as one coflow: which links it runs over, and its rate beside others."""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.owners import find_owners, sort_by_owner
from flexnet.simulate.kernels.rings import ring_rounds, whole_packets
from flexnet.simulate.kernels.windows import length_of, share_of

__all__ = ["divide_links", "lay_out_bundles", "least_seconds"]

# Weights on a link below this are rounding.
LEAST_WEIGHT = 1e-6

# So often links are filled; who has no rate then gets an equal share of its narrowest link.
MOST_ROUNDS = 8


@called
def lay_out_bundles(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Make a coflow of the transfers that wait for each compute task, behind the rings; sum up what links carry.

    A transfer that waits for several is of the first one's; the coflow begins when all of them have ended.  One that
    waits for other transfers alone, to hand on what they bring, is of the same task as the first of these.

    Returns
    -------
    int
        Places that all coflows need; with more than there are, nothing is written past the end and the call must be
        repeated with more room.
    """
    coflows, links = work.coflows, work.links
    links.bytes[:] = 0.0
    links.left[:] = 0.0
    find_owners(tasks, work)
    sort_by_owner(tasks, routes, work)
    c = coflows.n[0]
    at = coflows.end[c - 1] if c > 0 else 0
    room = coflows.link.shape[0]
    for i in range(min(at, room)):
        coflows.part[i] = 1.0
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] > BACKWARD:
            continue
        work.bundle[task] = -1
        for p in range(np.uint32(tasks.succ_ptr[task]), np.uint32(tasks.succ_ptr[task + 1])):
            t = np.uint32(tasks.succ[p])
            if tasks.kind[t] == NOMINAL_COMM and work.owner[t] != task:
                coflows.waiting[work.bundle[np.uint32(work.owner[t])]] += 1
        n_flow = np.int64(work.first[task + 1] - work.first[task])
        if n_flow == 0:
            continue
        largest, longest, n_hop, n_touched, extra = _sum_up_bundle(network, work, task)
        each = np.float64(largest)
        for k in range(n_touched):
            link = np.uint32(links.touched[np.uint32(k)])
            total = links.left[link]
            links.left[link] = 0.0
            if at + n_touched <= room:
                coflows.link[np.uint32(at + k)] = link
                coflows.part[np.uint32(at + k)] = total / each
                links.bytes[link] += total
        size = whole_packets(largest, protocol)
        work.bundle[task] = c
        coflows.begin[c] = at
        at += n_touched
        coflows.end[c] = at
        coflows.waiting[c] = 1
        coflows.hops[c] = longest
        coflows.extra_latency[c] = extra
        coflows.bytes[c] = size
        hops = max((2 * n_hop + n_flow) // (2 * n_flow), 1)  # of the mean flow
        coflows.weight[c] = share_of(length_of(size, protocol), hops) if protocol.by_window else 1.0
        c += 1
    coflows.n[0] = c
    return at


@inlined
def _sum_up_bundle(network, work, task):  # type: ignore[no-untyped-def]
    """What a task sends, on every link of ``links.touched``, in ``links.left``, which was 0.

    Returns
    -------
    largest, longest, n_hop, n_touched, extra
        Bytes of the largest flow, links of the longest, links of all, how many different ones, and the most latency
        above that of so many links.
    """
    links, route_ptr, route = work.links, network.route_ptr, network.route
    slow = network.extra_latency.shape[0] > 0
    largest = np.int64(0)
    longest = np.int64(0)
    n_hop = np.int64(0)
    n_touched = np.uint32(0)
    extra = 0.0
    for at in range(np.uint32(work.first[task]), np.uint32(work.first[task + 1])):
        path = np.uint32(work.path[at])
        size = np.float64(work.size[at])
        first, last = np.uint32(route_ptr[path]), np.uint32(route_ptr[np.uint32(path + np.uint32(1))])
        largest = max(largest, work.size[at])
        longest = max(longest, np.int64(last) - np.int64(first))
        n_hop += np.int64(last) - np.int64(first)
        for k in range(first, last if size > 0.0 else first):
            link = np.uint32(route[k])
            before = links.left[link]
            links.left[link] = before + size
            links.touched[n_touched] = link
            n_touched = np.uint32(n_touched + np.uint32(before == 0.0))  # without a branch: it is as good as random
        if slow:
            latency = 0.0
            for k in range(first, last):
                latency += network.extra_latency[np.uint32(route[k])]
            extra = max(extra, latency)
    return largest, longest, n_hop, np.int64(n_touched), extra


@called
def least_seconds(tasks, network, protocol, work):  # type: ignore[no-untyped-def]
    """Add what all-reduces put on links; a time no schedule can beat, by the busiest server and the busiest link."""
    load, rings, coflows, compute = work.links.bytes, work.rings, work.coflows, work.server_load
    compute[:] = 0.0
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] <= BACKWARD:
            compute[np.uint32(tasks.place[t])] += tasks.seconds[t]
        elif tasks.kind[t] == ALLREDUCE:
            group = tasks.place[t]
            n = tasks.group_ptr[group + 1] - tasks.group_ptr[group]
            if n > 1:
                count = rings.n_class[rings.group_class[group]]
                first = rings.first[rings.group_class[group]]
                turn, apart = rings.turn[group], rings.apart[0]
                for r in range(count):
                    rounds, share = ring_rounds(n, tasks.bytes[t], count, r, turn, apart, protocol)
                    for i in range(coflows.begin[first + r], coflows.end[first + r]):
                        load[np.uint32(coflows.link[i])] += share * rounds
    bound = 0.0
    for server in range(network.n_server):
        bound = max(bound, compute[server])
    for link in range(network.bandwidth.shape[0]):
        bound = max(bound, load[link] / network.bandwidth[link])
    return bound


@called
def divide_links(bandwidth, tolerance, coflows, running, links, now, anew):  # type: ignore[no-untyped-def]
    """Rates of all coflows from ``now`` on: max-min fair, but for the last few (`MOST_ROUNDS`).

    As `flexnet.simulate.kernels.maxmin.fill_at_once`, of flows that have parts.  With ``anew`` what is on every link is
    summed up once more, which rounds otherwise, and the bound is told.

    Returns
    -------
    float
        When the last link at least is done with what it has to carry and what coflows will put on it; ``now`` without
        ``anew``.
    """
    n_link = bandwidth.shape[0]
    done = _sum_up(bandwidth, coflows, running, links, now) if anew else now
    for one in range(n_link):
        links.left[one] = bandwidth[one]
        links.unfrozen[one] = links.users[one]
    for k in range(running.n[0]):
        running.open[k] = k
    n_open = running.n[0]
    rounds = 0
    while n_open > 0:
        rounds += 1
        for one in range(n_link):
            share = links.left[one] / links.unfrozen[one] if links.unfrozen[one] > LEAST_WEIGHT else np.inf
            links.share[one] = share
            links.least[one] = share
        for o in range(n_open):
            which = np.uint32(running.open[o])
            c = np.uint32(running.coflow[which])
            begin, end = np.uint32(coflows.begin[c]), np.uint32(coflows.end[c])
            narrowest = _least(links.share, coflows.link, begin, end)
            running.narrowest[which] = narrowest
            for i in range(begin, end):
                link = np.uint32(coflows.link[i])
                links.least[link] = min(links.least[link], narrowest)
        n_open = _freeze(coflows, running, links, n_open, np.inf if rounds == MOST_ROUNDS else tolerance, now)
    return done


@inlined
def _least(share, link, begin, end):  # type: ignore[no-untyped-def]
    """The least share of some links; of four at a time, none of which waits for another."""
    a, b, c, d = np.inf, np.inf, np.inf, np.inf
    i = begin
    while i + np.uint32(3) < end:
        a = min(a, share[np.uint32(link[i])])
        b = min(b, share[np.uint32(link[i + np.uint32(1)])])
        c = min(c, share[np.uint32(link[i + np.uint32(2)])])
        d = min(d, share[np.uint32(link[i + np.uint32(3)])])
        i = np.uint32(i + np.uint32(4))
    while i < end:
        a = min(a, share[np.uint32(link[i])])
        i = np.uint32(i + np.uint32(1))
    return min(min(a, b), min(c, d))


@called
def _sum_up(bandwidth, coflows, running, links, now):  # type: ignore[no-untyped-def]
    """What all coflows weigh on every link; when the last link is done with what it has to carry."""
    n_link = bandwidth.shape[0]
    for one in range(n_link):
        links.users[one] = 0.0
        links.share[one] = links.bytes[one]
    for k in range(running.n[0]):
        c = np.uint32(running.coflow[k])
        size = max(running.finish[k] - now, 0.0) * running.rate[k]
        for i in range(np.uint32(coflows.begin[c]), np.uint32(coflows.end[c])):
            link = np.uint32(coflows.link[i])
            links.users[link] += coflows.weight[c] * coflows.part[i]
            links.share[link] += size * coflows.part[i]
    done = now
    for one in range(n_link):
        done = max(done, now + links.share[one] / bandwidth[one])
    return done


@inlined
def _freeze(coflows, running, links, n_open, tolerance, now):  # type: ignore[no-untyped-def]
    """Give every coflow over a bottleneck its rate, with infinite ``tolerance`` all; return how many are without."""
    kept = 0
    for o in range(n_open):
        k = np.uint32(running.open[o])
        c = np.uint32(running.coflow[k])
        begin, end = np.uint32(coflows.begin[c]), np.uint32(coflows.end[c])
        frozen = tolerance == np.inf
        if not frozen:
            for i in range(begin, end):
                link = np.uint32(coflows.link[i])
                if links.least[link] >= links.share[link] * (1.0 - tolerance):
                    frozen = True
                    break
        if not frozen:
            running.open[np.uint32(kept)] = k
            kept += 1
            continue
        left = max(running.finish[k] - now, 0.0) * running.rate[k]
        rate = running.narrowest[k] * coflows.weight[c]
        running.rate[k] = rate
        running.finish[k] = now + left / rate
        for i in range(begin, end):
            link = np.uint32(coflows.link[i])
            links.left[link] -= rate * coflows.part[i]
            links.unfrozen[link] -= coflows.weight[c] * coflows.part[i]
    return kept
