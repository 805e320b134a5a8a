"""Weighted max-min fair rates: nobody's can grow without taking from someone who has no more for his weight.

D. Bertsekas and R. Gallager, Data Networks (2nd ed., 1992), section 6.5.2.
"""

import numpy as np

from flexnet.kernels import called, inlined, kernel
from flexnet.simulate.kernels.fair_state import NONE
from flexnet.simulate.kernels.flow_classes import foresee_end, serve
from flexnet.simulate.kernels.heap import pop, push
from flexnet.simulate.kernels.reach import open_all, open_reached, wait, weigh

__all__ = ["fill_at_once", "fill_in_order", "settle_lonely", "share_links"]

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
def share_links(bandwidth, tolerance, classes, links, now):  # type: ignore[no-untyped-def]
    """Rates per flow of the active classes; links within ``tolerance`` of being a bottleneck may count as one.

    Where ``links.local`` says so, only those that a change since the last time can reach are solved anew
    (`flexnet.simulate.kernels.reach`).
    """
    many = MANY_COARSE if tolerance > EXACT else MANY
    if links.local[0]:
        weigh(classes, links)
        settle_lonely(bandwidth, classes, links, now)
        n_open, n_touched = open_reached(bandwidth, classes, links, now)
    else:
        n_open, n_touched = open_all(bandwidth, classes, links, classes.n_active[0] >= many, now)
    if n_open < many:
        fill_at_once(tolerance, classes, links, n_open, n_touched, now)
    else:
        fill_in_order(classes, links, n_open, n_touched, now)


@inlined
def settle_lonely(bandwidth, classes, links, now):  # type: ignore[no-untyped-def]
    """Give classes that changed, and have all of their links for themselves, their rate: it reaches nobody else's.

    A class whose flows have ended and whose links nobody uses has none.
    """
    kept = np.uint32(0)
    for k in range(classes.n_changed[0]):
        c = classes.changed[k]
        n_flow = classes.n_flow[c]
        lonely = True
        for i in range(classes.begin[c], classes.end[c]):
            if links.flows[classes.link[i]] != n_flow:
                lonely = False
                break
        if not lonely:
            classes.changed[kept] = c
            kept = np.uint32(kept + 1)
            continue
        classes.is_changed[c] = False
        share = np.inf
        for i in range(classes.begin[c], classes.end[c]):
            link = classes.link[i]
            wait(bandwidth, links, link, now)
            links.left[link] = bandwidth[link]
            if n_flow > 0:
                share = min(share, bandwidth[link] / (classes.weight[c] * n_flow))
        if n_flow > 0:
            _take_off(classes, links, c, share, now)
    classes.n_changed[0] = kept


@called
def fill_in_order(classes, links, n_open, n_touched, now):  # type: ignore[no-untyped-def]
    """Rates per flow of the open classes, by filling links one by one, the narrowest first.

    What a link has left for every flow only grows as others get their rate, so its place in the heap comes too early
    at worst; then it is put back.  Every class gets its rate once, when the first of its links is full.
    """
    heap = links.by_share
    heap.n[0] = 0
    for k in range(n_touched):
        link = links.touched[k]
        if links.unfrozen[link] > NOBODY:
            push(heap, links.left[link] / links.unfrozen[link], link)
    while n_open > 0:
        link = np.uint32(pop(heap))
        if links.unfrozen[link] <= NOBODY:
            continue
        share = links.left[link] / links.unfrozen[link]
        if heap.n[0] > 0 and share > heap.times[0]:
            push(heap, share, link)
            continue
        i = links.head[link]
        while i != NONE:
            c = classes.owner[i]
            if classes.is_open[c]:
                _take_off(classes, links, c, share, now)
                n_open -= 1
            i = classes.after[i]


@inlined
def _take_off(classes, links, c, share, now):  # type: ignore[no-untyped-def]
    """Give the flows of class ``c`` their rate from now on, and leave the rest of their links to the others."""
    rate = share * classes.weight[c]
    bandwidth = rate * classes.n_flow[c]
    weight = classes.weight[c] * classes.n_flow[c]
    serve(classes, links, c, now)
    classes.rate[c] = rate
    classes.level[c] = share
    classes.is_open[c] = False
    foresee_end(classes, c, now)
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        links.left[link] -= bandwidth
        links.unfrozen[link] -= weight


@called
def fill_at_once(tolerance, classes, links, n_open, n_touched, now):  # type: ignore[no-untyped-def]
    """Rates per flow of the open classes, by filling all locally narrowest links at once.

    A link is a bottleneck when no class on it has a narrower link elsewhere, or none by more than ``tolerance``;
    progressive filling would come to it with every one of its classes still growing, whatever happens on other links
    before.
    """
    while n_open > 0:
        n_touched = _divide(links, n_touched)
        _find_narrowest(classes, links, n_open)
        n_open = _freeze(classes, links, n_open, tolerance, now)


@inlined
def _divide(links, n_touched):  # type: ignore[no-untyped-def]
    """Share per weight of what is left of every link; drop links on which all flows have their rate."""
    kept = np.uint32(0)
    for i in range(n_touched):
        link = links.touched[i]
        if links.unfrozen[link] > NOBODY:
            links.touched[kept] = link
            kept = np.uint32(kept + 1)
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
def _freeze(classes, links, n_open, tolerance, now):  # type: ignore[no-untyped-def]
    """Give every class over a bottleneck its rate; return how many are still without."""
    kept = np.uint32(0)
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
            kept = np.uint32(kept + 1)
            continue
        _take_off(classes, links, c, classes.narrowest[c], now)
    return kept
