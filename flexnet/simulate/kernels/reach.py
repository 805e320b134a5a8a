"""Whose rates a change can reach: classes that share links with those that changed, and fill no earlier than they do.

Progressive filling of links does the same up to the moment when the first class that changed gets its rate.  So whoever
got his before that, before the change as after it, keeps it; and so does whoever has no link in common with one who is
filled anew (the bottleneck structure of J. Ros-Giralt et al., SIGMETRICS 2019).

Where rates are solved seldom, so that nearly everything has changed by then, all are (`open_all`).
"""

import numpy as np

from flexnet.kernels import called, inlined
from flexnet.simulate.kernels.fair_state import NONE
from flexnet.simulate.kernels.windows import share_of

__all__ = ["delist", "enlist", "mark", "open_all", "open_reached", "wait", "weigh"]

# Classes this close, relatively, below the first that changed fill anew too: sums in another order differ by less.
AS_LATE = 1e-9


@inlined
def mark(classes, c):  # type: ignore[no-untyped-def]
    """Class ``c`` has other flows than when rates were solved last."""
    if not classes.is_changed[c]:
        classes.is_changed[c] = True
        classes.changed[np.uint32(classes.n_changed[0])] = c
        classes.n_changed[0] += 1


@inlined
def enlist(classes, links, c):  # type: ignore[no-untyped-def]
    """Put class ``c`` among the active ones, and in the lists of its links."""
    classes.listed[c] = True
    if not classes.is_changed[c]:  # else rates have not been solved since it was there
        classes.level[c] = np.inf
    classes.active[np.uint32(classes.n_active[0])] = c
    classes.n_active[0] += 1
    if links.local[0] and not classes.in_lists[c]:
        _list_places(classes, links, c)


@inlined
def _list_places(classes, links, c):  # type: ignore[no-untyped-def]
    """Put class ``c`` in the lists of its links."""
    classes.in_lists[c] = True
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        first = links.head[link]
        classes.before[i] = NONE
        classes.after[i] = first
        if first != NONE:
            classes.before[first] = i
        links.head[link] = i


@inlined
def delist(classes, links, c):  # type: ignore[no-untyped-def]
    """Take class ``c``, which is in them, off the lists of its links."""
    classes.in_lists[c] = False
    for i in range(classes.begin[c], classes.end[c]):
        before, after = classes.before[i], classes.after[i]
        if before != NONE:
            classes.after[before] = after
        else:
            links.head[classes.link[i]] = after
        if after != NONE:
            classes.before[after] = before


@inlined
def wait(bandwidth, links, link, now):  # type: ignore[no-untyped-def]
    """Count what a link did not carry until ``now``, ``links.left`` of it: that delays all that it still has to."""
    links.waited[link] += max(links.left[link], 0.0) / bandwidth[link] * (now - links.since[link])
    links.since[link] = now
    links.latest[0] = max(links.latest[0], links.waited[link] + links.due[link])


@called
def open_reached(bandwidth, classes, links, now):  # type: ignore[no-untyped-def]
    """Open the classes whose rates are to be solved anew, and their links with what the others leave of them.

    Weights are those of the flows there are (`weigh`).

    Returns
    -------
    n_open, n_touched : int
        Of ``classes.open`` and ``links.touched``; ``links.unfrozen`` and ``links.left`` hold the weight of open classes
        and the bandwidth for them.
    """
    level = _first_level(bandwidth, classes, links) * (1.0 - AS_LATE)
    links.stamp[0] += 1
    stamp = links.stamp[0]
    n_touched = 0
    for k in range(classes.n_changed[0]):
        c = classes.changed[k]
        classes.is_changed[c] = False
        n_touched = _touch(classes, links, c, n_touched, stamp)
    classes.n_changed[0] = 0
    n_open = 0
    at = 0
    while at < n_touched:
        link = links.touched[at]
        at += 1
        unfrozen = 0.0
        fixed = 0.0
        i = links.head[link]
        while i != NONE:
            c = classes.owner[i]
            if classes.n_flow[c] == 0:
                pass
            elif classes.level[c] >= level:
                if not classes.is_open[c]:
                    classes.is_open[c] = True
                    classes.open[n_open] = c
                    n_open += 1
                    n_touched = _touch(classes, links, c, n_touched, stamp)
                unfrozen += classes.weight[c] * classes.n_flow[c]
            else:
                fixed += classes.rate[c] * classes.n_flow[c]
            i = classes.after[i]
        wait(bandwidth, links, link, now)
        links.unfrozen[link] = unfrozen
        links.left[link] = bandwidth[link] - fixed
    return n_open, n_touched


@called
def open_all(bandwidth, classes, links, listed, now):  # type: ignore[no-untyped-def]
    """Open all active classes, and their links; put them in the lists of these if they are to be ``listed``.

    Nobody is taken off such lists one by one, so they are linked forwards only.  Returns as `open_reached`.
    """
    n_open = classes.n_active[0]
    if listed:
        links.head[:] = NONE
    for a in range(n_open):
        c = classes.active[a]
        classes.open[a] = c
        classes.is_open[c] = True
        if classes.length[c] >= 0:
            _weigh_one(classes, links, c)
        if listed:
            for i in range(classes.begin[c], classes.end[c]):
                link = classes.link[i]
                classes.after[i] = links.head[link]
                links.head[link] = i
    for k in range(classes.n_changed[0]):
        classes.is_changed[classes.changed[k]] = False
    classes.n_changed[0] = 0
    n_touched = 0
    for busy in range(bandwidth.shape[0]):
        wait(bandwidth, links, np.uint32(busy), now)
        links.unfrozen[busy] = links.users[busy]
        links.left[busy] = bandwidth[busy]
        if links.flows[busy] > 0:
            links.touched[n_touched] = busy
            n_touched += 1
    return n_open, n_touched


@inlined
def _touch(classes, links, c, n_touched, stamp):  # type: ignore[no-untyped-def]
    """List the links of class ``c`` that are not listed yet; return how many are."""
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        if links.seen[link] != stamp:
            links.seen[link] = stamp
            links.touched[n_touched] = link
            n_touched += 1
    return n_touched


@inlined
def weigh(classes, links):  # type: ignore[no-untyped-def]
    """Weights of transfers over several links, by those of their links that are shared at this moment."""
    for k in range(classes.n_changed[0]):
        _weigh_one(classes, links, classes.changed[k])
    k = 0
    while k < classes.n_changed[0]:  # grows
        c = classes.changed[k]
        k += 1
        for i in range(classes.begin[c], classes.end[c]):
            link = classes.link[i]
            crowded = links.flows[link] > 1
            if crowded != links.crowded[link]:
                links.crowded[link] = crowded
                other = links.head[link]
                while other != NONE:
                    _weigh_one(classes, links, classes.owner[other])
                    other = classes.after[other]


@called
def _weigh_one(classes, links, c):  # type: ignore[no-untyped-def]
    """Weight of class ``c``; it is changed if that is."""
    if classes.length[c] < 0 or classes.n_flow[c] == 0:
        return
    shared = 0
    for i in range(classes.begin[c], classes.end[c]):
        shared += links.flows[classes.link[i]] > 1
    weight = share_of(classes.length[c], shared)
    if weight == classes.weight[c]:
        return
    change = (weight - classes.weight[c]) * classes.n_flow[c]
    classes.weight[c] = weight
    for i in range(classes.begin[c], classes.end[c]):
        links.users[classes.link[i]] += change
    mark(classes, c)


@inlined
def _first_level(bandwidth, classes, links):  # type: ignore[no-untyped-def]
    """A share per weight at which no class that changed had its rate yet, and none gets it now.

    That is where it had it; and where its links would be full if all over them got alike, for others get less.
    """
    level = np.inf
    for k in range(classes.n_changed[0]):
        c = classes.changed[k]
        level = min(level, classes.level[c])
        if classes.n_flow[c] > 0:
            for i in range(classes.begin[c], classes.end[c]):
                link = classes.link[i]
                level = min(level, bandwidth[link] / links.users[link])
    return level
