"""Weighted max-min fair rates: nobody's can grow without taking from someone who has no more for his weight.

D. Bertsekas and R. Gallager, Data Networks (2nd ed., 1992), section 6.5.2.
"""

import numpy as np

from flexnet.kernels import inlined, kernel
from flexnet.simulate.kernels.heap import pop, push
from flexnet.simulate.kernels.windows import share_of

__all__ = ["fill_at_once", "fill_in_order", "share_links"]

# Weights on a link below this are rounding: no flow weighs so little, over a hundred links neither.
NOBODY = 1e-6

# Up to this tolerance, links that count as one differ by rounding.
EXACT = 1e-9

# From this many classes on links are filled in order.  A replay of DLRM on 128 servers, with 4450 classes at a time,
# takes a fifth of what it does with all at once, which for 20 classes is the faster by up to 1.5.
MANY = 64

# The same where tolerance lets several links fill at once: of DLRM on 128 servers a price takes 0.57 of what it does
# with all at once, of DLRM on 16, with some 200 classes at a time, 1.17.
MANY_COARSE = 1024


@kernel
def share_links(bandwidth, tolerance, classes, links):  # type: ignore[no-untyped-def]
    """Rates per flow of the active classes; links within ``tolerance`` of being a bottleneck may count as one."""
    _weigh(classes, links)
    if classes.n_active[0] < (MANY_COARSE if tolerance > EXACT else MANY):
        fill_at_once(bandwidth, tolerance, classes, links)
    else:
        fill_in_order(bandwidth, classes, links)


@kernel
def _weigh(classes, links):  # type: ignore[no-untyped-def]
    """Weights of transfers over several links, by those of their links that are shared at this moment."""
    n_transfer = 0
    for a in range(classes.n_active[0]):
        n_transfer += classes.length[classes.active[a]] >= 0
    if n_transfer == 0:
        return
    crowd = links.share
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        for i in range(classes.begin[c], classes.end[c]):
            crowd[classes.link[i]] = 0.0
            links.users[classes.link[i]] = 0.0
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        for i in range(classes.begin[c], classes.end[c]):
            crowd[classes.link[i]] += classes.n_flow[c]
    for a in range(classes.n_active[0]):
        c = classes.active[a]
        if classes.length[c] >= 0:
            shared = 0
            for i in range(classes.begin[c], classes.end[c]):
                shared += crowd[classes.link[i]] > 1.0
            classes.weight[c] = share_of(classes.length[c], shared)
        for i in range(classes.begin[c], classes.end[c]):
            links.users[classes.link[i]] += classes.weight[c] * classes.n_flow[c]


@kernel
def fill_in_order(bandwidth, classes, links):  # type: ignore[no-untyped-def]
    """Rates per flow of the active classes, by filling links one by one, the narrowest first.

    What a link has left for every flow only grows as others get their rate, so its place in the heap comes too early
    at worst; then it is put back.  Every class gets its rate once, when the first of its links is full.
    """
    n_open = classes.n_active[0]
    links.head[:] = -1
    for a in range(n_open):
        c = classes.active[a]
        classes.rate[c] = -1.0
        for i in range(classes.begin[c], classes.end[c]):
            classes.after[i] = links.head[classes.link[i]]
            links.head[classes.link[i]] = i
            classes.owner[i] = c
    heap = links.by_share
    heap.n[0] = 0
    for link in range(bandwidth.shape[0]):
        if links.users[link] > NOBODY:
            links.left[link] = bandwidth[link]
            links.unfrozen[link] = links.users[link]
            push(heap, bandwidth[link] / links.users[link], link)
    while n_open > 0:
        link = pop(heap)
        if links.unfrozen[link] <= NOBODY:
            continue
        share = links.left[link] / links.unfrozen[link]
        if heap.n[0] > 0 and share > heap.times[0]:
            push(heap, share, link)
            continue
        i = links.head[link]
        while i >= 0:
            c = classes.owner[i]
            if classes.rate[c] < 0.0:
                _take_off(classes, links, c, share)
                n_open -= 1
            i = classes.after[i]


@inlined
def _take_off(classes, links, c, share):  # type: ignore[no-untyped-def]
    """Give the flows of class ``c`` their rate, and leave the rest of their links to the others."""
    rate = share * classes.weight[c]
    bandwidth = rate * classes.n_flow[c]
    weight = classes.weight[c] * classes.n_flow[c]
    classes.rate[c] = rate
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        links.left[link] -= bandwidth
        links.unfrozen[link] -= weight


@kernel
def fill_at_once(bandwidth, tolerance, classes, links):  # type: ignore[no-untyped-def]
    """Rates per flow of the active classes, by filling all locally narrowest links at once.

    A link is a bottleneck when no class on it has a narrower link elsewhere, or none by more than ``tolerance``;
    progressive filling would come to it with every one of its classes still growing, whatever happens on other links
    before.
    """
    n_touched = _open_links(bandwidth, links)
    n_open = classes.n_active[0]
    for a in range(n_open):
        classes.open[a] = classes.active[a]
    while n_open > 0:
        n_touched = _divide(links, n_touched)
        _find_narrowest(classes, links, n_open)
        n_open = _freeze(classes, links, n_open, tolerance)


@inlined
def _open_links(bandwidth, links):  # type: ignore[no-untyped-def]
    """All bandwidth is left, and all flows want some; list the links with flows and return their number."""
    n_touched = 0
    for link in range(bandwidth.shape[0]):
        links.unfrozen[link] = links.users[link]
        if links.users[link] > NOBODY:
            links.left[link] = bandwidth[link]
            links.touched[n_touched] = link
            n_touched += 1
    return n_touched


@inlined
def _divide(links, n_touched):  # type: ignore[no-untyped-def]
    """Share per weight of what is left of every link; drop links on which all flows have their rate."""
    kept = 0
    for i in range(n_touched):
        link = links.touched[i]
        if links.unfrozen[link] > NOBODY:
            links.touched[kept] = link
            kept += 1
            links.share[link] = links.left[link] / links.unfrozen[link]
            links.least[link] = links.share[link]
    return kept


@inlined
def _find_narrowest(classes, links, n_open):  # type: ignore[no-untyped-def]
    """Smallest share on the links of every class, and the smallest of these among the classes of every link."""
    for a in range(n_open):
        c = classes.open[a]
        narrowest = np.inf
        for i in range(classes.begin[c], classes.end[c]):
            narrowest = min(narrowest, links.share[classes.link[i]])
        classes.narrowest[c] = narrowest
        for i in range(classes.begin[c], classes.end[c]):
            link = classes.link[i]
            links.least[link] = min(links.least[link], narrowest)


@inlined
def _freeze(classes, links, n_open, tolerance):  # type: ignore[no-untyped-def]
    """Give every class over a bottleneck its rate; return how many are still without."""
    kept = 0
    for a in range(n_open):
        c = classes.open[a]
        frozen = False
        for i in range(classes.begin[c], classes.end[c]):
            link = classes.link[i]
            if links.least[link] >= links.share[link] * (1.0 - tolerance):
                frozen = True
                break
        if not frozen:
            classes.open[kept] = c
            kept += 1
            continue
        _take_off(classes, links, c, classes.narrowest[c])
    return kept
