"""Scratch memory of a fair-sharing simulation, as its kernels see it.

*Flows* over the same links are one *class*: they have one rate, so a class only counts its flows and how many bytes
each of them has been served.  All edges of a ring of an all-reduce are a class too, with one flow per running ring.
Single numbers that kernels change are arrays of shape (1,).

Numbers of classes, flows, links and places are unsigned: an index that may be negative is looked at every time,
whether it counts from the end, and filling links takes three times as long.  `NONE` is none of them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.simulate.kernels.heap import Heap
from flexnet.structs import struct

__all__ = ["NONE", "Classes", "FairWork", "Flows", "Heads", "Links", "Machines", "Queues", "Rings"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.uint32]

NONE = np.uint32(2**32 - 1)


@struct
class Queues(NamedTuple):
    """Compute tasks that wait for their server, by the time they got ready, then by rank.

    Parameters
    ----------
    ptr : int64 (n_server + 1,)
        Where the queue of every server begins.
    length : int64 (n_server,)
    task, time, rank : (n_task,)
    running : int64 (n_server,)
        The task every server runs, or -1.
    wake, n_wake : int64 (2 * n_task + n_server,), (1,)
        Servers that may have something to start.
    """

    ptr: Ints
    length: Ints
    task: Ints
    time: Floats
    rank: Ints
    running: Ints
    wake: Ints
    n_wake: Ints


@struct
class Rings(NamedTuple):
    """Classes of every all-reduce: of its rings, or of the way to its parameter server and of that back.

    Parameters
    ----------
    group_class : int64 (n_allreduce,)
        The first all-reduce with the same members and paths; ``first`` and ``n_class`` are filled at its place.
    first, n_class : int64 (n_allreduce,)
    apart : bool (1,)
        Whether every ring counts as an all-reduce of its own (`flexnet.simulate.kernels.rings.rings_apart`).
    turn : int64 (n_allreduce,)
        By how many rings those that carry more have moved on (`flexnet.plan.kernels.ring_parts`), of every one.
    """

    group_class: Ints
    first: Ints
    n_class: Ints
    apart: npt.NDArray[np.bool_]
    turn: Ints


@struct
class Classes(NamedTuple):
    """Flows with the same links that weigh as much (`flexnet.simulate.kernels.windows`).

    Rings come first, those of a group for every length of a round one after the other; then routes in the order of
    their first transfer that is young, or old.

    Parameters
    ----------
    n : int64 (1,)
    begin, end : uint32 (n_class,)
        Range of ``link``; a ring has every link once for every edge over it.
    link : uint32 (n_place,)
        The links of all classes.
    hops : int64 (n_class,)
        Of the longest edge.
    extra_latency : float64 (n_class,)
        Seconds one way above ``hops`` times the latency of the fastest link.
    weight : float64 (n_class,)
        Share of a link that a flow gets beside others.
    length : int64 (n_class,)
        Of transfers whose weight follows how many of their links are shared, as which of the lengths of
        `flexnet.simulate.kernels.windows` they weigh; else -1.
    n_flow, n_ending : int64 (n_class,)
        Flows, and those that are about to end but keep their share of links until rates are solved.
    rate : float64 (n_class,)
        Bytes/s of each flow.
    served : float64 (n_class,)
        Bytes each flow has been served since the class was last empty, until ``since``; of those ``in_order`` all.
    since : float64 (n_class,)
    head : uint32 (n_class,)
        First flow of a list, or NONE.
    in_order, last_byte : bool (n_class,), float64 (n_class,)
        Whether flows are served one after the other, and what ``served`` will be after the last one.
    next_end : float64 (n_class,)
        What ``served`` will be when the next flow ends.
    finish : float64 (n_class,)
        When that is, at the present rate.
    narrowest : float64 (n_class,)
        Scratch of the rate solver.
    active, n_active : uint32 (n_class,), int64 (1,)
        Classes that have flows or had some when rates were last solved.
    listed : bool (n_class,)
        Whether a class is among them.
    open, is_open : uint32 (n_class,), bool (n_class,)
        Scratch of the rate solver: classes without a rate.
    level : float64 (n_class,)
        Rate per weight when rates were solved last, infinite for classes that were not there.
    changed, n_changed, is_changed : uint32 (n_class,), int64 (1,), bool (n_class,)
        Classes with other flows than then.
    in_lists : bool (n_class,)
        Whether a class is in the lists of its links.
    owner, before, after : uint32 (n_place,)
        Class of every place in ``link``, and its neighbours in the list of places with that link, or NONE.
    path : int64 (n_class,)
        Place in ``of_path``; -1 for rings.
    of_path : uint32 (n_path * LENGTHS,)
        One more than the class of the transfers of every age along every route, or 0.
    """

    n: Ints
    begin: Numbers
    end: Numbers
    link: Numbers
    hops: Ints
    extra_latency: Floats
    weight: Floats
    length: Ints
    n_flow: Ints
    n_ending: Ints
    rate: Floats
    served: Floats
    since: Floats
    head: Numbers
    next_end: Floats
    in_order: npt.NDArray[np.bool_]
    last_byte: Floats
    finish: Floats
    narrowest: Floats
    active: Numbers
    n_active: Ints
    listed: npt.NDArray[np.bool_]
    open: Numbers
    is_open: npt.NDArray[np.bool_]
    level: Floats
    changed: Numbers
    n_changed: Ints
    is_changed: npt.NDArray[np.bool_]
    in_lists: npt.NDArray[np.bool_]
    owner: Numbers
    before: Numbers
    after: Numbers
    path: Ints
    of_path: Numbers


@struct
class Flows(NamedTuple):
    """Flows, ``n`` (1,) so far.

    Parameters
    ----------
    last_byte : float64 (n_flow,)
        What its class will have served when a flow's last byte has been.
    following : uint32 (n_flow,)
        The next flow of the same class, or NONE.
    item : int64 (n_flow,)
        Event of its arrival.
    delay : float64 (n_flow,)
        Seconds from its last byte's leaving to its arrival.
    opened, again : float64 (n_flow,)
        When it started, and the bytes it sends twice if news is late (`flexnet.simulate.kernels.timers`).
    left : float64 (n_flow,)
        Bytes that a young transfer has to send when it is old (`flexnet.simulate.kernels.windows`).
    path : int64 (n_flow,)
        Route of a transfer that is about to be.
    aging : uint32 (1,)
        First of a list of such transfers, or NONE.
    ending : Heap
        Classes of flows that are about to end before rates are solved anew, by when they do.
    """

    n: Ints
    last_byte: Floats
    following: Numbers
    item: Ints
    delay: Floats
    opened: Floats
    again: Floats
    left: Floats
    path: Ints
    aging: Numbers
    ending: Heap


@struct
class Links(NamedTuple):
    """Links of the network.

    Parameters
    ----------
    bytes : float64 (n_link,)
        What all flows put on every link.
    peak, carried : float64 (n_link,) or (0,)
        Highest rate and bytes carried, if that is watched.
    users : float64 (n_link,)
        Weight of all flows over a link.
    flows : int64 (n_link,)
        How many these are.
    local : bool (1,)
        Whether only rates that a change can reach are solved anew: lists of places are kept for that.
    crowded : bool (n_link,)
        Whether they were several when rates were solved last.
    head : uint32 (n_link,)
        The first place of the list of places with this link, or NONE.
    unfrozen, left, share, least : float64 (n_link,)
        Scratch of the rate solver, see `flexnet.simulate.kernels.maxmin`; ``left`` is what nobody uses, once all have
        their rates.
    since, waited : float64 (n_link,)
        When that was told last, and how long a link would have taken until then for all that it did not carry.
    due, latest : float64 (n_link,), (1,)
        What a link has to do in all, with what must come after it, in seconds; and with what it has waited, the latest
        of all links.
    touched : uint32 (n_link,)
        Scratch: links of open classes.
    by_share : Heap
        Scratch: links by what is left of them for every flow.
    seen, stamp : int64 (n_link,), (1,)
        Scratch: links that are touched have the present stamp.
    drained, busy : float64 (n_link,)
        When the first windows that wait for a link are through, and since when some have been waiting.
    late, overdue : float64 (n_link,)
        When a window began to wait too long for it last, and of the flows kept waiting until then the largest share
        whose timers go off.
    any_late : bool (1,)
        Whether it has anywhere.
    """

    bytes: Floats
    peak: Floats
    carried: Floats
    users: Floats
    flows: Ints
    local: npt.NDArray[np.bool_]
    crowded: npt.NDArray[np.bool_]
    head: Numbers
    unfrozen: Floats
    left: Floats
    share: Floats
    least: Floats
    since: Floats
    waited: Floats
    due: Floats
    latest: Floats
    touched: Numbers
    by_share: Heap
    seen: Ints
    stamp: Ints
    drained: Floats
    busy: Floats
    late: Floats
    overdue: Floats
    any_late: npt.NDArray[np.bool_]


@struct
class Machines(NamedTuple):
    """Servers or links: what tasks they have so far, with the least head and the least tail of these.

    Parameters
    ----------
    load, head, tail : float64 (n_machine,)
        Seconds.
    """

    load: Floats
    head: Floats
    tail: Floats


@struct
class Heads(NamedTuple):
    """What tasks take and what comes before and after; see `flexnet.simulate.kernels.bounds`.

    Parameters
    ----------
    alone, head, tail : float64 (n_task,)
        Seconds.
    order : uint32 (n_task,)
        Tasks that come to run, none before its predecessors.
    n : int64 (1,)
        How many these are.
    servers, links : Machines
    """

    alone: Floats
    head: Floats
    tail: Floats
    order: Numbers
    n: Ints
    servers: Machines
    links: Machines


@struct
class FairWork(NamedTuple):
    """Everything together, with ``start`` and ``end`` of every task and how many predecessors it is ``waiting`` for.

    ``stop`` is `flexnet.kernels.STOP`.
    """

    heap: Heap
    start: Floats
    end: Floats
    waiting: Ints
    queues: Queues
    server_load: Floats
    heads: Heads
    rings: Rings
    classes: Classes
    flows: Flows
    links: Links
    stop: Ints
