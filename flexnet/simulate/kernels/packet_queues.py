"""Packets on a link, first in, first out: those in its pipe, then those in its queue.

They lie side by side, in *chunks* of `CHUNK` of which a link takes another when one is full: a link that serves
thousands of packets goes through memory in order, where a list of packets anywhere in memory is a wait for each one
(with 1.6 million packets under way).  A packet that goes on to another link is copied.
"""

from flexnet.kernels import called, inlined

__all__ = ["CHUNK", "after", "clear_packets", "pop", "push", "serve_first"]

SHIFT = 5
CHUNK = 1 << SHIFT


@called
def clear_packets(packets, links):  # type: ignore[no-untyped-def]
    """Nothing is under way; every link has the chunk of its number."""
    n_link, n_chunk = links.head.shape[0], packets.next_chunk.shape[0]
    for link in range(n_link):
        links.write[link] = link << SHIFT
        links.n_pipe[link] = 0
        links.n_queue[link] = 0
        links.queued[link] = 0
    for chunk in range(n_link, n_chunk):
        packets.next_chunk[chunk] = chunk + 1 if chunk + 1 < n_chunk else -1
    packets.unused[0] = n_link if n_link < n_chunk else -1


@inlined
def push(packets, links, link, connection, hop, last_byte, sent, marked):  # type: ignore[no-untyped-def]
    """Put a packet at the end of a link's queue; return whether there was room."""
    p = links.write[link]
    if p & (CHUNK - 1) == 0 and links.n_pipe[link] + links.n_queue[link] > 0:
        chunk = packets.unused[0]
        if chunk < 0:
            return False
        packets.unused[0] = packets.next_chunk[chunk]
        packets.next_chunk[(p >> SHIFT) - 1] = chunk
        p = chunk << SHIFT
    packets.connection[p] = connection
    packets.hop[p] = hop
    packets.last_byte[p] = last_byte
    packets.sent[p] = sent
    packets.marked[p] = marked
    if links.n_queue[link] == 0:
        links.served[link] = p
        if links.n_pipe[link] == 0:
            links.head[link] = p
    links.n_queue[link] += 1
    links.write[link] = p + 1
    return True


@inlined
def after(packets, p):  # type: ignore[no-untyped-def]
    """The place of the packet after ``p`` on the same link, if there is one."""
    return p + 1 if (p + 1) & (CHUNK - 1) != 0 else packets.next_chunk[p >> SHIFT] << SHIFT


@inlined
def serve_first(packets, links, link):  # type: ignore[no-untyped-def]
    """Let the first packet of a link's queue, if there is one, go on into its pipe."""
    links.n_queue[link] -= 1
    links.n_pipe[link] += 1
    if links.n_queue[link] > 0:
        links.served[link] = after(packets, links.served[link])


@inlined
def pop(packets, links, link):  # type: ignore[no-untyped-def]
    """Take the first packet out of a link's pipe."""
    p = links.head[link]
    links.n_pipe[link] -= 1
    if links.n_pipe[link] + links.n_queue[link] == 0:
        links.write[link] = p & ~(CHUNK - 1)
        return
    links.head[link] = after(packets, p)
    if (p + 1) & (CHUNK - 1) == 0:
        chunk = p >> SHIFT
        packets.next_chunk[chunk] = packets.unused[0]
        packets.unused[0] = chunk
