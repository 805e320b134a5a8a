"""Transfers of several servers in steps, in each of which no two have the same sender or receiver."""

from flexnet.kernels import inlined, kernel

__all__ = ["are_matchings", "find_steps"]

FREE = -1
MOST_MOVED = 30_000  # transfers whose free steps are looked at; an exchange of 128 servers has 16,256


@kernel
def are_matchings(sender, receiver, step, begin, count, in_step, of_pair, found):  # type: ignore[no-untyped-def]
    """Whether the steps of exchanges are matchings, as few as can be: as many as a server has transfers on one side.

    Parameters
    ----------
    sender, receiver, step : int64 (n_transfer,)
        Exchange by exchange.  Of one server transfers to or from different others are in different steps.
    begin : int64 (n_exchange + 1,)
        Where every exchange begins.
    count : int64 (2, n_server)
        To work in.
    in_step, of_pair : int32 (n_step,), (n_server * n_server,)
        To work in; -1.
    found : bool (n_exchange,)
        Is written to.
    """
    for e in range(found.shape[0]):
        count[:] = 0
        n_step, most, twice = 0, 0, False
        for i in range(begin[e], begin[e + 1]):
            count[0, sender[i]] += 1
            count[1, receiver[i]] += 1
            most = max(most, count[0, sender[i]], count[1, receiver[i]])
            if in_step[step[i]] != e:
                in_step[step[i]] = e
                n_step += 1
            pair = sender[i] * count.shape[1] + receiver[i]
            twice |= of_pair[pair] == e
            of_pair[pair] = e
        found[e] = n_step == most and not twice


@kernel
def find_steps(sender, receiver, at, step):  # type: ignore[no-untyped-def]
    """A step for each transfer: as many steps as the server with most transfers has on one side.

    That is an edge coloring of a bipartite graph, which takes as many colors as its largest degree (D. König, Math.
    Annalen 77, 1916): where two servers have no step left in common, the transfers of two steps change places along a
    path.

    Parameters
    ----------
    sender, receiver : int64 (n_transfer,)
        Servers; a pair may come several times.
    at : int64 (2, n_server, n_step)
        Room for which transfer a sender and a receiver has in a step; -1 to begin with.
    step : int64 (n_transfer,)
        Is written to.
    """
    n, n_step = sender.shape[0], at.shape[2]
    for i in range(n):
        here, there = sender[i], receiver[i]
        mine = _first_free(at, 0, here)
        for k in range(n_step):
            if at[0, here, k] == FREE and at[1, there, k] == FREE:
                mine = k
                break
        else:  # the path does not come to the sender, for it enters senders by what they have in this step
            _swap(at, step, sender, receiver, 1, there, mine, _first_free(at, 1, there))
        step[i] = mine
        at[0, here, mine] = i
        at[1, there, mine] = i
    moved = n <= MOST_MOVED
    while moved:
        moved = False
        for side in range(2):
            for server in range(at.shape[1]):
                moved |= _fill_early(at, step, sender, receiver, side, server)


@inlined
def _fill_early(at, step, sender, receiver, side, server):  # type: ignore[no-untyped-def]
    """Let a server have its free steps last, where it does so without another one having them earlier.

    A server goes on to its next transfer at once, and would be a step ahead of the others from then on.
    """
    moved = False
    for early in range(at.shape[2]):
        if at[side, server, early] == FREE:
            late = at.shape[2] - 1
            while late > early:
                if at[side, server, late] != FREE and _ends_in(at, sender, receiver, side, server, late, early) == late:
                    _swap(at, step, sender, receiver, side, server, late, early)
                    moved = True
                    break
                late -= 1
    return moved


@inlined
def _ends_in(at, sender, receiver, side, server, one, other):  # type: ignore[no-untyped-def]
    """The step of the last transfer of the path that begins with what a server has in ``one``."""
    here, now, then = side, one, other
    while True:
        transfer = at[here, server, now]
        server = receiver[transfer] if here == 0 else sender[transfer]
        here = 1 - here
        if at[here, server, then] == FREE:
            return now
        now, then = then, now


@inlined
def _first_free(at, side, server):  # type: ignore[no-untyped-def]
    """The first step in which a server has nothing yet: there is one, as it has no more transfers than steps."""
    k = 0
    while at[side, server, k] != FREE:
        k += 1
    return k


@inlined
def _swap(at, step, sender, receiver, side, server, one, other):  # type: ignore[no-untyped-def]
    """Free step ``one`` of a server, to which ``other`` is free: what it has moves there, and so on along a path."""
    moving, to = at[side, server, one], other
    at[side, server, one] = FREE
    while moving != FREE:
        near = receiver[moving] if side == 1 else sender[moving]
        far = sender[moving] if side == 1 else receiver[moving]
        left = step[moving]
        step[moving] = to
        at[side, near, to] = moving
        # at its other end it takes the place of what is in that step there, which moves to the step it left
        following = at[1 - side, far, to]
        at[1 - side, far, to] = moving
        at[1 - side, far, left] = FREE
        side, moving, to = 1 - side, following, left
