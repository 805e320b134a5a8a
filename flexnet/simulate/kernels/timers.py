"""Timers that go off in fluid flows: what DCTCP sends twice because news took too long.

A connection that opens puts a window of packets into its links' queues at once.  Where windows of many pile up, so that
a queue takes longer than a sender waits for news, it begins again at what has not been acknowledged, though nothing is
lost (`flexnet.simulate.kernels.dctcp`).  A connection whose first news comes too late sends its first window twice; one
that has news of that in time, but whose next window then waits behind all others', sends as much of that twice, up to a
window.  All that takes its turn.  Timers are looked at every tick, so a wait that is too long by less is seen by some.

Of the queues at a flow's links the longest counts, for what waits at one arrives late at the next.  Left out are the
short rounds of rings, what connections of a window or less send twice, which delays others alone, and plans whose
transfers are priced together (`flexnet.simulate.bundled`).
"""

from flexnet.kernels import inlined

__all__ = ["expect_news", "news_is_late"]

# Packets sent for every one that is sent again: what many flows over one link cost in FlexNetPacket.
AGAIN = 1.17


@inlined
def expect_news(network, protocol, classes, flows, links, c, f, size, now):  # type: ignore[no-untyped-def]
    """Put the first window of transfer ``f``, of ``size`` bytes, into its links' queues; return bytes sent twice.

    More may follow if others come (`news_is_late`).
    """
    window = protocol.first_window * protocol.packet_bytes
    flows.opened[f] = now
    wait = 0.0
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        before = max(links.drained[link] - now, 0.0)
        wait = max(wait, before)
        links.drained[link] = now + before + min(size, window) / network.bandwidth[link]
        if before == 0.0:
            links.busy[link] = now
        elif before > protocol.least_patience:
            share = _share_too_late(protocol, before)
            links.overdue[link] = max(links.overdue[link], share) if links.late[link] >= links.busy[link] else share
            links.late[link] = now
            links.any_late[0] = True
    if size <= window:
        return 0.0
    if wait > protocol.least_patience:
        return AGAIN * window * _share_too_late(protocol, wait)
    flows.again[f] = AGAIN * min(size - window, window)
    return 0.0


@inlined
def news_is_late(classes, flows, links, c, f):  # type: ignore[no-untyped-def]
    """Bytes that flow ``f`` sends twice as windows of others came behind its own; told once."""
    if not links.any_late[0] or flows.again[f] == 0.0:
        return 0.0
    share = 0.0
    for i in range(classes.begin[c], classes.end[c]):
        link = classes.link[i]
        if links.late[link] >= flows.opened[f]:
            share = max(share, links.overdue[link])
    again = flows.again[f] * share
    if share > 0.0:
        flows.again[f] = 0.0
    return again


@inlined
def _share_too_late(protocol, wait):  # type: ignore[no-untyped-def]
    """Of the connections that wait so long, how many a look at all timers finds before they have news."""
    return min((wait - protocol.least_patience) / protocol.tick, 1.0)
