"""Trees along links from every server to all others, balanced over the links."""

import numpy as np

from flexnet.kernels import inlined, kernel

__all__ = ["grow_trees"]


@kernel
def grow_trees(into_ptr, into_from, bandwidth, passes, room, load, link_of, parent):  # type: ignore[no-untyped-def]
    """Fill ``parent`` with a tree of shortest paths from every server, which together share links by their bandwidth.

    A server is reached from that one of the servers a link nearer whose link to it then carries least.  Trees are grown
    one after the other; from the second pass on each is grown anew among all others.

    Parameters
    ----------
    into_ptr : int32 (n_server + 1,)
        Links into every server from other servers are ``into_ptr[t]:into_ptr[t + 1]``.
    into_from : int32 (n_link,)
        Where they come from.
    bandwidth : float64 (n_link,)
    passes : int
    room : int32 (2, n_server)
        To work in.
    load : float64 (n_link,)
        To work in, zeros: seconds of a byte to everyone from everyone, in the end.
    link_of : int32 (n_server, n_server)
        To work in: the link by which the tree of a row reaches the server of a column.
    parent : int16 (n_server, n_server)
        To be filled: from where that comes; the root itself for who has no path from it.
    """
    n = parent.shape[0]
    far, order = room[0], room[1]
    for turn in range(passes):
        for root in range(n):
            n_reached = _reach(into_ptr, into_from, root, far, order)
            if turn == 0:
                parent[root] = root
            for k in range(1, n_reached):
                t = np.uint32(order[k])
                if turn > 0:
                    load[np.uint32(link_of[root, t])] -= 1.0 / bandwidth[np.uint32(link_of[root, t])]
                best, least = np.uint32(into_ptr[t]), np.inf
                for i in range(np.uint32(into_ptr[t]), np.uint32(into_ptr[t + np.uint32(1)])):
                    if far[np.uint32(into_from[i])] == far[t] - 1 and load[i] + 1.0 / bandwidth[i] < least:
                        best, least = np.uint32(i), load[i] + 1.0 / bandwidth[i]
                load[best] = least
                link_of[root, t] = best
                parent[root, t] = into_from[best]


@inlined
def _reach(into_ptr, into_from, root, far, order):  # type: ignore[no-untyped-def]
    """Links from ``root`` to everyone, and all that can be reached in this order; return how many these are.

    Links lead both ways.
    """
    far[:] = -1
    far[root] = 0
    order[0] = root
    n_reached, at = 1, 0
    while at < n_reached:
        v = np.uint32(order[at])
        at += 1
        for i in range(np.uint32(into_ptr[v]), np.uint32(into_ptr[v + np.uint32(1)])):
            t = np.uint32(into_from[i])
            if far[t] < 0:
                far[t] = far[v] + 1
                order[n_reached] = t
                n_reached += 1
    return n_reached
