"""What every task sends as one coflow: which links it runs over, and its rate beside others."""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, NOMINAL_COMM
from flexnet.simulate.kernels.rings import ring_rounds, whole_packets
from flexnet.simulate.kernels.windows import length_of, share_of

__all__ = ["divide_links", "lay_out_bundles", "least_seconds"]

# Weights on a link below this are rounding.
NOBODY = 1e-6

# So often links are filled; who has no rate then gets an equal share of its narrowest link.
MOST_ROUNDS = 8


@called
def lay_out_bundles(tasks, network, routes, protocol, work):  # type: ignore[no-untyped-def]
    """Make a coflow of the transfers that wait for each compute task, behind the rings; sum up what links carry.

    Returns
    -------
    int
        Places that all coflows need; with more than there are, nothing is written past the end and the call must be
        repeated with more room.
    """
    coflows, links = work.coflows, work.links
    links.bytes[:] = 0.0
    links.seen[:] = -1
    c = coflows.n[0]
    at = coflows.end[c - 1] if c > 0 else 0
    room = coflows.link.shape[0]
    for i in range(min(at, room)):
        coflows.part[i] = 1.0
    for task in range(tasks.kind.shape[0]):
        if tasks.kind[task] > BACKWARD:
            continue
        work.bundle[task] = -1
        largest = 0
        longest = 0
        n_flow = 0
        n_hop = 0
        n_touched = 0
        extra = 0.0
        for p in range(tasks.succ_ptr[task], tasks.succ_ptr[task + 1]):
            t = tasks.succ[p]
            if tasks.kind[t] != NOMINAL_COMM:
                continue
            path = routes.transfer[t]
            size = tasks.bytes[t]
            first, last = network.route_ptr[path], network.route_ptr[path + 1]
            largest = max(largest, size)
            longest = max(longest, last - first)
            n_flow += 1
            n_hop += last - first
            latency = 0.0
            for k in range(first, last):
                link = network.route[k]
                if links.seen[link] != task:
                    links.seen[link] = task
                    links.left[link] = 0.0
                    links.touched[n_touched] = link
                    n_touched += 1
                links.left[link] += size
                if network.extra_latency.shape[0] > 0:
                    latency += network.extra_latency[link]
            extra = max(extra, latency)
        if n_flow == 0:
            continue
        if at + n_touched <= room:
            for k in range(n_touched):
                link = links.touched[k]
                coflows.link[at + k] = link
                coflows.part[at + k] = links.left[link] / largest
                links.bytes[link] += links.left[link]
        size = whole_packets(largest, protocol)
        work.bundle[task] = c
        coflows.begin[c] = at
        at += n_touched
        coflows.end[c] = at
        coflows.hops[c] = longest
        coflows.extra_latency[c] = extra
        coflows.bytes[c] = size
        hops = max((2 * n_hop + n_flow) // (2 * n_flow), 1)  # of the mean flow
        coflows.weight[c] = share_of(length_of(size, protocol), hops) if protocol.by_window else 1.0
        c += 1
    coflows.n[0] = c
    return at


@called
def least_seconds(tasks, network, protocol, work):  # type: ignore[no-untyped-def]
    """Add what all-reduces put on links; a time no schedule can beat, by the busiest server and the busiest link."""
    load, rings, coflows, compute = work.links.bytes, work.rings, work.coflows, work.server_load
    compute[:] = 0.0
    for t in range(tasks.kind.shape[0]):
        if tasks.kind[t] <= BACKWARD:
            compute[tasks.place[t]] += tasks.seconds[t]
        elif tasks.kind[t] == ALLREDUCE:
            group = tasks.place[t]
            n = tasks.group_ptr[group + 1] - tasks.group_ptr[group]
            if n > 1:
                count = rings.n_class[rings.group_class[group]]
                first = rings.first[rings.group_class[group]]
                rounds, share = ring_rounds(n, tasks.bytes[t], count, rings.apart[0], protocol)
                for i in range(coflows.begin[first], coflows.end[first + count - 1]):
                    load[coflows.link[i]] += share * rounds
    bound = 0.0
    for server in range(network.n_server):
        bound = max(bound, compute[server])
    for link in range(network.bandwidth.shape[0]):
        bound = max(bound, load[link] / network.bandwidth[link])
    return bound


@called
def divide_links(bandwidth, tolerance, coflows, running, links, now):  # type: ignore[no-untyped-def]
    """Rates of all coflows from ``now`` on: max-min fair, but for the last few (`MOST_ROUNDS`).

    As `flexnet.simulate.kernels.maxmin.fill_at_once`, of flows that have parts.
    """
    n_link = bandwidth.shape[0]
    for link in range(n_link):
        links.users[link] = 0.0
        links.left[link] = bandwidth[link]
    for k in range(running.n[0]):
        running.open[k] = k
        c = running.coflow[k]
        for i in range(coflows.begin[c], coflows.end[c]):
            links.users[coflows.link[i]] += coflows.weight[c] * coflows.part[i]
    for link in range(n_link):
        links.unfrozen[link] = links.users[link]
    n_open = running.n[0]
    rounds = 0
    while n_open > 0:
        rounds += 1
        for link in range(n_link):
            share = links.left[link] / links.unfrozen[link] if links.unfrozen[link] > NOBODY else np.inf
            links.share[link] = share
            links.least[link] = share
        for o in range(n_open):
            c = running.coflow[running.open[o]]
            narrowest = np.inf
            for i in range(coflows.begin[c], coflows.end[c]):
                narrowest = min(narrowest, links.share[coflows.link[i]])
            running.narrowest[running.open[o]] = narrowest
            for i in range(coflows.begin[c], coflows.end[c]):
                link = coflows.link[i]
                links.least[link] = min(links.least[link], narrowest)
        n_open = _freeze(coflows, running, links, n_open, np.inf if rounds == MOST_ROUNDS else tolerance, now)


@inlined
def _freeze(coflows, running, links, n_open, tolerance, now):  # type: ignore[no-untyped-def]
    """Give every coflow over a bottleneck its rate, with infinite ``tolerance`` all; return how many are without."""
    kept = 0
    for o in range(n_open):
        k = running.open[o]
        c = running.coflow[k]
        frozen = tolerance == np.inf
        if not frozen:
            for i in range(coflows.begin[c], coflows.end[c]):
                link = coflows.link[i]
                if links.least[link] >= links.share[link] * (1.0 - tolerance):
                    frozen = True
                    break
        if not frozen:
            running.open[kept] = k
            kept += 1
            continue
        left = max(running.finish[k] - now, 0.0) * running.rate[k]
        rate = running.narrowest[k] * coflows.weight[c]
        running.rate[k] = rate
        running.finish[k] = now + left / rate
        for i in range(coflows.begin[c], coflows.end[c]):
            link = coflows.link[i]
            links.left[link] -= rate * coflows.part[i]
            links.unfrozen[link] -= coflows.weight[c] * coflows.part[i]
    return kept
