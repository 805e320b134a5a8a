"""Weighted max-min fair rates: nobody's can grow without taking from someone who has no more for his weight.

D. Bertsekas and R. Gallager, Data Networks (2nd ed., 1992), section 6.5.2.
"""

import numpy as np

from flexnet.kernels.jit import inlined, kernel

__all__ = ["NOBODY", "share_links"]

# Weights on a link below this are rounding: every flow weighs 1 or more.
NOBODY = 1e-6


@kernel
def share_links(bandwidth, tolerance, classes, links):  # type: ignore[no-untyped-def]
    """Rates per flow of the active classes, by filling all locally narrowest links at once.

    A link is a bottleneck when no class on it has a narrower link elsewhere; progressive filling would come to it
    with every one of its classes still growing, whatever happens on other links before.
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
        classes.rate[c] = classes.narrowest[c] * classes.weight[c]
        for i in range(classes.begin[c], classes.end[c]):
            link = classes.link[i]
            links.left[link] -= classes.rate[c] * classes.n_flow[c]
            links.unfrozen[link] -= classes.weight[c] * classes.n_flow[c]
    return kept
