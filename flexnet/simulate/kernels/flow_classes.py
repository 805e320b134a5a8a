"""Flows join the class of their links, are served at its rate, and leave when their last byte has been."""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.simulate.kernels.fair_state import NONE
from flexnet.simulate.kernels.heap import pop, push
from flexnet.simulate.kernels.reach import enlist, mark, wait
from flexnet.simulate.kernels.timers import expect_news, news_is_late
from flexnet.simulate.kernels.windows import BURST, LENGTHS, OLD, YOUNG, YOUTH, share_of

__all__ = [
    "SAME_TIME",
    "add_flow",
    "admit_rings",
    "class_of_path",
    "clear",
    "end_soon",
    "foresee_end",
    "forget_paths",
    "grow_old",
    "let_go",
    "retire",
    "serve",
    "watch",
]

# Times closer than this, relatively, are the same instant: sums of equal terms in another order differ by less.
SAME_TIME = 1e-10


@inlined
def class_of_path(network, protocol, classes, path, age):  # type: ignore[no-untyped-def]
    """Class of the transfers along a route that are `YOUNG`, a `BURST`, or `OLD`; a new one if it has none yet."""
    key = np.uint32(path * LENGTHS + age)
    if classes.of_path[key] > 0:
        c = np.uint32(classes.of_path[key] - 1)
    else:
        c = np.uint32(classes.n[0])
        classes.n[0] += 1
        classes.of_path[key] = c + 1
        classes.path[c] = key
        at = np.uint32(0)
        if c > 0:
            at = classes.end[np.uint32(c - 1)]
        classes.begin[c] = at
        extra = 0.0
        for i in range(np.uint32(network.route_ptr[path]), np.uint32(network.route_ptr[path + 1])):
            link = np.uint32(network.route[i])
            classes.link[at] = link
            classes.owner[at] = c
            at = np.uint32(at + 1)
            if network.extra_latency.shape[0] > 0:
                extra += network.extra_latency[link]
        classes.end[c] = at
        classes.hops[c] = at - classes.begin[c]
        classes.extra_latency[c] = extra
        classes.in_order[c] = age == BURST
        age = OLD if age == OLD else YOUNG
        classes.weight[c] = share_of(age, 1) if protocol.by_window else 1.0
        classes.length[c] = age if age > YOUNG and classes.hops[c] > 1 else -1  # of young ones hops do not count
        clear(classes, c)
    return c


@called
def admit_rings(classes):  # type: ignore[no-untyped-def]
    """Note of classes of rings that they have no route, that hops count for their weight alone, and what places are."""
    for c in range(classes.n[0]):
        classes.path[c] = -1
        classes.in_order[c] = False
        classes.length[c] = -1
        for place in range(classes.begin[c], classes.end[c]):
            classes.owner[place] = c


@called
def forget_paths(classes):  # type: ignore[no-untyped-def]
    """No route has a class; only those that have one are touched, for there may be millions."""
    for c in range(classes.n[0]):
        if classes.path[c] >= 0:
            classes.of_path[classes.path[c]] = 0
    classes.n[0] = 0


@inlined
def clear(classes, c):  # type: ignore[no-untyped-def]
    """Class ``c`` has no flows."""
    classes.n_flow[c] = 0
    classes.n_ending[c] = 0
    classes.listed[c] = False
    classes.is_changed[c] = False
    classes.is_open[c] = False
    classes.head[c] = NONE


@inlined
def _pace(classes, c):  # type: ignore[no-untyped-def]
    """Bytes/s by which ``served`` grows: what each flow gets, or all together where they are served in order."""
    rate = classes.rate[c]
    if classes.in_order[c]:
        rate *= classes.n_flow[c] + classes.n_ending[c]
    return rate


@inlined
def serve(classes, links, c, now):  # type: ignore[no-untyped-def]
    """Serve the flows of class ``c`` until ``now``; count what its links carry if that is watched."""
    elapsed = now - classes.since[c]
    classes.since[c] = now
    classes.served[c] += _pace(classes, c) * elapsed
    if links.carried.shape[0] > 0:
        carried = classes.rate[c] * classes.n_flow[c] * elapsed
        for i in range(classes.begin[c], classes.end[c]):
            links.carried[classes.link[i]] += carried


@inlined
def add_flow(network, protocol, classes, flows, links, c, size, rounds, item, now):  # type: ignore[no-untyped-def]
    """Add a flow of ``size`` bytes in ``rounds`` to class ``c``; ``item`` is what its arrival brings about."""
    narrowest = _join(network, classes, flows, links, c, now)
    f = np.uint32(flows.n[0])
    flows.n[0] += 1
    flows.item[f] = item
    flows.delay[f] = rounds * (
        protocol.round_trips * classes.hops[c] * network.latency
        + (classes.hops[c] - 1) * protocol.packet_bytes / narrowest
        + protocol.round_trips * classes.extra_latency[c]
    )
    flows.again[f] = 0.0
    flows.left[f] = 0.0
    young = size
    if protocol.by_window and classes.path[c] >= 0:
        young = min(size, YOUTH * protocol.packet_bytes)
        flows.left[f] = size - young
        young += expect_news(network, protocol, classes, flows, links, c, f, size, now)
    _follow(classes, flows, c, f, young)


@called
def grow_old(heap, network, protocol, classes, flows, links, now, until):  # type: ignore[no-untyped-def]
    """Let transfers that have been marked down go on among others like them; return when the first ends.

    Those that end before rates may change again, ``until`` then, are retired.
    """
    next_end = np.inf
    while flows.aging[0] != NONE:
        f = flows.aging[0]
        flows.aging[0] = flows.following[f]
        c = class_of_path(network, protocol, classes, np.uint32(flows.path[f]), OLD)
        _join(network, classes, flows, links, c, now)
        size = flows.left[f]
        flows.left[f] = 0.0
        _follow(classes, flows, c, f, size)
        next_end = min(next_end, end_soon(heap, classes, flows, links, c, now, until))
    return next_end


@inlined
def end_soon(heap, classes, flows, links, c, now, until):  # type: ignore[no-untyped-def]
    """Retire flows of class ``c`` that end before rates may change, ``until`` then; return when the next one ends."""
    foresee_end(classes, c, now)
    if until > now and classes.finish[c] <= until:
        target = classes.served[c] + _pace(classes, c) * (until - now)  # it keeps its share of links until then
        retire(heap, classes, flows, links, c, target, now, _pace(classes, c))
        foresee_end(classes, c, now)
    return classes.finish[c]


@inlined
def _follow(classes, flows, c, f, size):  # type: ignore[no-untyped-def]
    """Put flow ``f``, of which ``size`` bytes are to be served, among those of class ``c``."""
    flows.last_byte[f] = classes.served[c] + size
    if classes.in_order[c]:  # behind those before it
        flows.last_byte[f] = max(classes.served[c], classes.last_byte[c]) + size
        classes.last_byte[c] = flows.last_byte[f]
    flows.following[f] = classes.head[c]
    classes.head[c] = f
    classes.next_end[c] = min(classes.next_end[c], flows.last_byte[f])


@inlined
def _join(network, classes, flows, links, c, now):  # type: ignore[no-untyped-def]
    """Let class ``c`` have a flow more; return the bandwidth of its narrowest link."""
    _make_way(classes, flows, links, now)
    if classes.n_flow[c] == 0:
        classes.last_byte[c] = 0.0
        classes.served[c] = 0.0  # counted anew, so that sums stay short
        classes.since[c] = now
        classes.next_end[c] = np.inf
        classes.rate[c] = np.inf
        if not classes.listed[c]:
            enlist(classes, links, c)
    else:
        serve(classes, links, c, now)
    classes.n_flow[c] += 1
    mark(classes, c)
    narrowest = np.inf
    provisional = np.inf  # until rates are solved: an equal share of the narrowest link
    weight = classes.weight[c]
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        links.users[link] += weight
        links.flows[link] += 1
        if not links.local[0]:  # what was left is taken, or more, until rates are solved
            wait(network.bandwidth, links, link, now)
            links.left[link] = 0.0
        provisional = min(provisional, weight * network.bandwidth[link] / links.users[link])
        narrowest = min(narrowest, network.bandwidth[link])
    classes.rate[c] = min(classes.rate[c], provisional)
    return narrowest


@inlined
def foresee_end(classes, c, now):  # type: ignore[no-untyped-def]
    """When the next flow of class ``c`` ends, at its rate; it has been served until ``now``."""
    classes.finish[c] = now + (classes.next_end[c] - classes.served[c]) / _pace(classes, c)


@called
def retire(heap, classes, flows, links, c, target, now, rate):  # type: ignore[no-untyped-def]
    """Take the flows out of class ``c`` whose last byte is at most ``target``; schedule their arrival.

    With ``rate`` 0 they end now, otherwise when their last byte has been served at that rate from now on.  Those that
    are there keep their rates until these are solved (`let_go`), and whoever comes once a flow has ended shares links
    without it (`_make_way`).  Young transfers that have more to send do not arrive but wait to be old (`grow_old`).
    """
    before = NONE
    n_done = 0
    f = classes.head[c]
    soonest = np.inf
    while f != NONE:
        after = flows.following[f]
        if flows.last_byte[f] <= target:
            flows.last_byte[f] += news_is_late(classes, flows, links, c, f)
        if flows.last_byte[f] <= target:
            if before == NONE:
                classes.head[c] = after
            else:
                flows.following[before] = after
            n_done += 1
            rest = max(flows.last_byte[f] - classes.served[c], 0.0)
            at = now if rate == 0.0 or flows.left[f] > 0.0 else now + rest / rate
            if flows.left[f] > 0.0:
                flows.left[f] += rest
                flows.following[f] = flows.aging[0]
                flows.aging[0] = f
                flows.path[f] = classes.path[c] // LENGTHS
            else:
                push(heap, at + flows.delay[f], flows.item[f])
            if rate > 0.0 and not classes.in_order[c]:  # those behind it have its share of what is served in order
                push(flows.ending, at, c)
        else:
            soonest = min(soonest, flows.last_byte[f])
            before = f
        f = after
    classes.next_end[c] = soonest
    classes.n_flow[c] -= n_done
    if n_done == 0:
        return
    mark(classes, c)
    if rate == 0.0:
        _free(classes, links, c, n_done)
    else:
        classes.n_ending[c] += n_done


@inlined
def _free(classes, links, c, n):  # type: ignore[no-untyped-def]
    """Give back what ``n`` flows of class ``c`` had of its links."""
    freed = n * classes.weight[c]
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        links.flows[link] -= n
        links.users[link] = links.users[link] - freed if links.flows[link] > 0 else 0.0


@inlined
def _make_way(classes, flows, links, now):  # type: ignore[no-untyped-def]
    """Free what flows had that have ended until ``now``, for those that come."""
    while flows.ending.n[0] > 0 and flows.ending.times[0] <= now * (1.0 + SAME_TIME):
        c = np.uint32(pop(flows.ending))
        classes.n_ending[c] -= 1
        _free(classes, links, c, 1)


@called
def let_go(classes, flows, links, now):  # type: ignore[no-untyped-def]
    """Free what flows had that have ended, or are about to, since rates were solved last."""
    flows.ending.n[0] = 0
    for k in range(classes.n_changed[0]):
        c = classes.changed[k]
        if classes.n_ending[c] > 0:
            serve(classes, links, c, now)
            _free(classes, links, c, classes.n_ending[c])
            classes.n_ending[c] = 0


@called
def watch(classes, links):  # type: ignore[no-untyped-def]
    """Keep the highest rate every link has had."""
    total = links.share
    total[:] = 0.0
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        for i in range(classes.begin[c], classes.end[c]):
            total[classes.link[i]] += classes.rate[c] * classes.n_flow[c]
    for link in range(links.peak.shape[0]):
        links.peak[link] = max(links.peak[link], total[link])
