"""Room for simulations on shared links; what the arrays hold is told in `flexnet.simulate.kernels.fair_state`."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.kernels import STOP
from flexnet.simulate.kernels.fair_state import NONE, Classes, FairWork, Flows, Heads, Links, Machines, Queues, Rings
from flexnet.simulate.kernels.heap import Heap
from flexnet.simulate.kernels.windows import LENGTHS

__all__ = ["Room", "make_classes", "make_links", "make_queues", "make_work"]

Ints = npt.NDArray[np.int64]


class Room(NamedTuple):
    """How many of each there may be; a place is a link of a class, a path a route of a pair of servers."""

    task: int = 0
    group: int = 0
    flow: int = 0
    n_class: int = 0
    place: int = 0
    link: int = 0
    server: int = 0
    path: int = 0


def make_work(room: Room, group_class: Ints, *, watch: bool) -> FairWork:
    """Everything; with ``watch`` also for the highest rate and the bytes of every link."""
    n_task, n_server, n_link = room.task, room.server, room.link
    return FairWork(
        heap=_heap(room.flow),
        start=np.zeros(n_task),
        end=np.zeros(n_task),
        waiting=_ints(n_task),
        queues=make_queues(n_task, n_server),
        server_load=np.zeros(n_server),
        heads=Heads(
            alone=np.zeros(n_task),
            head=np.zeros(n_task),
            tail=np.zeros(n_task),
            order=_numbers(n_task),
            n=_ints(1),
            servers=Machines(np.zeros(n_server), np.zeros(n_server), np.zeros(n_server)),
            links=Machines(np.zeros(n_link), np.zeros(n_link), np.zeros(n_link)),
        ),
        rings=Rings(
            group_class=group_class,
            first=_ints(room.group),
            n_class=_ints(room.group),
            apart=np.zeros(1, np.bool_),
            turn=_ints(room.group),
        ),
        classes=make_classes(room.n_class, room.place, room.path),
        flows=Flows(
            n=_ints(1),
            last_byte=np.zeros(room.flow),
            following=_numbers(room.flow),
            item=_ints(room.flow),
            delay=np.zeros(room.flow),
            opened=np.zeros(room.flow),
            again=np.zeros(room.flow),
            left=np.zeros(room.flow),
            path=_ints(room.flow),
            aging=np.full(1, NONE),
            ending=_heap(room.flow),
        ),
        links=make_links(n_link, watch=watch),
        stop=STOP,
    )


def make_queues(n_task: int, n_server: int) -> Queues:
    """For compute tasks of every server."""
    return Queues(
        ptr=_ints(n_server + 1),
        length=_ints(n_server),
        task=_ints(n_task),
        time=np.zeros(n_task),
        rank=_ints(n_task),
        running=_ints(n_server),
        wake=_ints(2 * n_task + n_server),
        n_wake=_ints(1),
    )


def make_classes(n_class: int, n_place: int, n_path: int) -> Classes:
    """None yet, but as many as that may come."""
    return Classes(
        n=_ints(1),
        begin=_numbers(n_class),
        end=_numbers(n_class),
        link=_numbers(n_place),
        hops=_ints(n_class),
        extra_latency=np.zeros(n_class),
        weight=np.zeros(n_class),
        length=np.full(n_class, -1, np.int64),
        n_flow=_ints(n_class),
        n_ending=_ints(n_class),
        rate=np.zeros(n_class),
        served=np.zeros(n_class),
        since=np.zeros(n_class),
        head=np.full(n_class, NONE),
        next_end=np.zeros(n_class),
        in_order=np.zeros(n_class, np.bool_),
        last_byte=np.zeros(n_class),
        finish=np.zeros(n_class),
        narrowest=np.zeros(n_class),
        active=_numbers(n_class),
        n_active=_ints(1),
        listed=np.zeros(n_class, np.bool_),
        open=_numbers(n_class),
        is_open=np.zeros(n_class, np.bool_),
        level=np.zeros(n_class),
        changed=_numbers(n_class),
        n_changed=_ints(1),
        is_changed=np.zeros(n_class, np.bool_),
        in_lists=np.zeros(n_class, np.bool_),
        owner=_numbers(n_place),
        before=_numbers(n_place),
        after=_numbers(n_place),
        path=np.full(n_class, -1, np.int64),
        of_path=_numbers(n_path * LENGTHS),
    )


def make_links(n_link: int, *, watch: bool = False) -> Links:
    """All of them idle."""
    return Links(
        bytes=np.zeros(n_link),
        peak=np.zeros(n_link if watch else 0),
        carried=np.zeros(n_link if watch else 0),
        users=np.zeros(n_link),
        flows=_ints(n_link),
        local=np.ones(1, np.bool_),
        crowded=np.zeros(n_link, np.bool_),
        head=np.full(n_link, NONE),
        unfrozen=np.zeros(n_link),
        left=np.zeros(n_link),
        share=np.zeros(n_link),
        least=np.zeros(n_link),
        since=np.zeros(n_link),
        waited=np.zeros(n_link),
        due=np.zeros(n_link),
        latest=np.zeros(1),
        touched=_numbers(n_link),
        by_share=_heap(n_link),
        seen=_ints(n_link),
        stamp=_ints(1),
        drained=np.zeros(n_link),
        busy=np.zeros(n_link),
        late=np.zeros(n_link),
        overdue=np.zeros(n_link),
        any_late=np.zeros(1, np.bool_),
    )


def _ints(n: int) -> Ints:
    return np.zeros(n, np.int64)


def _numbers(n: int) -> npt.NDArray[np.uint32]:
    return np.zeros(n, np.uint32)


def _heap(n: int) -> Heap:
    return Heap(times=np.zeros(n), items=_ints(n), n=_ints(1))
