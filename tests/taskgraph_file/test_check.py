"""Each way a file can make no sense has its sentence."""

from dataclasses import replace

import numpy as np
import pytest
from fbuf_samples import ringed, small_graph, star

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.contents import FileRings, FileRoutes, TaskGraphFile
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import decode
from flexnet.taskgraph_file.write import taskgraph_file

# positions in small_graph: 0 FORWARD, 4 ALLREDUCE over 4, 5 ALLREDUCE of one, 6 and 7 transfers; ids are one more
GPU, WIRE = 0, 4  # positions of the first devices of each type


def small_file(network=None) -> TaskGraphFile:
    graph = small_graph()
    file, _ = taskgraph_file(
        graph, network or star(4), operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9, source="f"
    )
    return file


def change(part: str, column: str, at: int, value, network=None) -> TaskGraphFile:
    """The small file with one number replaced."""
    file = small_file(network)
    columns = getattr(file, part)
    new = getattr(columns, column).copy()
    new[at] = value
    return replace(file, **{part: replace(columns, **{column: new})})


def member(group: int, k: int) -> int:
    """Place in the successor column of member k of an all-reduce."""
    return int(small_file().tasks.succ_ptr[4 + group]) + k


def with_rings(sizes: dict[int, list[list[int]]]) -> TaskGraphFile:
    paths = [ring for rings in sizes.values() for ring in rings]
    rings = FileRings(
        np.array(list(sizes), np.uint64),
        np.cumsum([0] + [len(rings) for rings in sizes.values()]),
        np.cumsum([0] + [len(ring) for ring in paths]),
        np.array([jump for ring in paths for jump in ring], np.int32),
    )
    return replace(small_file(ringed(4)), rings=rings)


def no_members() -> TaskGraphFile:
    file = small_file()
    ptr = file.tasks.succ_ptr.copy()
    succ = np.delete(file.tasks.succ, slice(int(ptr[4]), int(ptr[5])))
    ptr[5:] -= 4
    return replace(file, tasks=replace(file.tasks, succ_ptr=ptr, succ=succ))


def no_tasks() -> TaskGraphFile:
    file = small_file()
    columns = {name: getattr(file.tasks, name)[:0] for name in file.tasks.__slots__}
    return replace(file, tasks=replace(file.tasks, **columns | {"succ_ptr": np.zeros(1, np.int64)}))


def no_path(pair: int, hops: bool) -> TaskGraphFile:
    """Route number ``pair`` without a path, or with a path without hops."""
    routes = small_file().routes
    path = int(routes.path_ptr[pair])
    hop_ptr = routes.hop_ptr.copy()
    n = int(hop_ptr[path + 1] - hop_ptr[path])
    hop = np.delete(routes.hop, slice(int(hop_ptr[path]), int(hop_ptr[path + 1])))
    hop_ptr[path + 1 :] -= n
    path_ptr, chance = routes.path_ptr, routes.chance
    if not hops:
        hop_ptr, chance = np.delete(hop_ptr, path + 1), np.delete(chance, path)
        path_ptr = path_ptr - (np.arange(len(path_ptr)) > pair)
    return replace(small_file(), routes=replace(routes, hop=hop, hop_ptr=hop_ptr, path_ptr=path_ptr, chance=chance))


def no_routes() -> FileRoutes:
    routes = small_file().routes
    empty = {name: getattr(routes, name)[:0] for name in ("source", "target", "chance", "hop")}
    return replace(routes, path_ptr=np.zeros(1, np.int64), hop_ptr=np.zeros(1, np.int64), **empty)


def cycle() -> TaskGraphFile:
    file = small_file()
    return change("tasks", "succ", int(file.tasks.succ_ptr[1]), 1)  # BACKWARD 2 -> FORWARD 1


def links(rows) -> TaskGraphFile:
    return replace(small_file(), links=np.array(rows, np.int64).reshape(-1, 3))


STAR = [(4, 0, 1), (4, 1, 1), (4, 2, 1), (4, 3, 1)]
BROKEN = {
    "nnode is 0": lambda: replace(small_file(), n_server=0),
    "nnode is 4294967295": lambda: replace(small_file(), n_server=2**32 - 1),
    "nswitch 4294967295": lambda: replace(small_file(), n_switch=2**32 - 1),
    "ngpupernode is 0": lambda: replace(small_file(), n_gpu_per_server=0),
    "netbw is nan": lambda: replace(small_file(), link_bytes_per_ms=float("nan")),
    "drambw is inf": lambda: replace(small_file(), dram_bytes_per_ms=float("inf")),
    "device 1 has type 9": lambda: change("devices", "kind", GPU, 9),
    "device id 2 occurs 2 times": lambda: change("devices", "id", GPU, 2),
    "device 1 is on server 4": lambda: change("devices", "server", GPU, 4),
    "there are no tasks": no_tasks,
    "task 1 has type 2": lambda: change("tasks", "kind", 0, 2),
    "task id 3 occurs 2 times": lambda: change("tasks", "id", 0, 3),
    "task 1 takes nan ms": lambda: change("tasks", "run_ms", 0, np.nan),
    "task 5 takes -1.0 ms": lambda: change("tasks", "run_ms", 4, -1),
    "task 7 takes inf ms": lambda: change("tasks", "run_ms", 6, np.inf),
    "task 7 has 18446744073709551615 bytes": lambda: change("tasks", "bytes", 6, 2**64 - 1),
    "task 1 is on device 99": lambda: change("tasks", "device", 0, 99),
    "task 1 computes on a device of type 14": lambda: change("tasks", "device", 0, WIRE + 1),
    "task 7 transfers on a device of type 0": lambda: change("tasks", "device", 6, 1),
    "task 7 transfers 0 bytes": lambda: change("tasks", "bytes", 6, 0),
    "task 7 sends from 1 to 1": lambda: change("devices", "property", WIRE, 6),
    "task 7 sends from 0 to 4": lambda: change("devices", "property", WIRE, 4),
    "task 7 sends from 3689348814741910323 to 0": lambda: change("devices", "property", WIRE, 2**64 - 1),
    "all-reduce 5 has an empty group": no_members,
    "all-reduce 5 has member 4": lambda: change("tasks", "succ", member(0, 1), 4),
    "all-reduce 6 has member 18446744073709551615": lambda: change("tasks", "succ", member(1, 0), 2**64 - 1),
    "all-reduce 5 has member 3 twice": lambda: change("tasks", "succ", member(0, 1), 3),
    "task 1 is followed by task 99": lambda: change("tasks", "succ", 0, 99),
    "task 1 is in, or waits for, a cycle": cycle,
    "link 4-5 with nconn 1 is impossible; nodes": lambda: links([*STAR, (4, 5, 1)]),
    "link 4-4 with nconn 1 is impossible; a link joins": lambda: links([*STAR, (4, 4, 1)]),
    "link 4-0 with nconn 0 is impossible": lambda: links([(4, 0, 0), *STAR[1:]]),
    "link 4-0 is given twice": lambda: links([*STAR, (0, 4, 1)]),
    "from node 0 to node 4, which no link": lambda: links(STAR[1:]),
    "route 0 -> 4 is impossible": lambda: change("routes", "target", 1, 4),
    "route 0 -> 2 is given twice": lambda: change("routes", "target", 1, 2),
    "a path of route 0 -> 1 is 0 4 2": lambda: change("routes", "hop", 2, 2),
    "from node 0 to node 4294967295": lambda: change("routes", "hop", 1, 2**32 - 1),
    "route 0 -> 1 is missing": lambda: no_path(1, hops=False),
    "servers 3 and 0 exchange data, but route 3 -> 0": lambda: no_path(12, hops=True),
    "rings of size 4 are given twice": lambda: change("rings", "size", 1, 4, ringed(4)),
    "rings of size 5": lambda: with_rings({4: [[1]], 5: [[1]]}),
    "jump 0;": lambda: with_rings({4: [[0]]}),
    "jump 4;": lambda: with_rings({4: [[4]]}),
    "jump -1;": lambda: with_rings({4: [[-1]]}),
    "a ring has no jumps": lambda: with_rings({4: [[]]}),
    "no ring is given for all-reduces over 4": lambda: with_rings({2: [[1, 1]]}),
    "no ring is given for all-reduces over 4 servers": lambda: with_rings({4: [], 2: [[1, 1]]}),
    "a ring jumps 1 from server 0 to 1, which no link": lambda: replace(
        with_rings({4: [[1]]}), links=small_file(ringed(4)).links[1:], routes=no_routes()
    ),
    "servers 0 and 1 exchange data, but route 0 -> 1 is missing": lambda: replace(small_file(), routes=no_routes()),
}


@pytest.mark.parametrize("message", BROKEN)
def test_broken_files_are_refused(message):
    file = BROKEN[message]()
    with pytest.raises(FlexNetError) as error:
        check_file(decode(encode(file), "f"))
    assert message in str(error.value)
    assert str(error.value).startswith("f: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "file",
    [
        small_file,
        lambda: small_file(ringed(4)),
        lambda: replace(small_file(), rings=with_rings({}).rings),  # an empty vector is no rings
        lambda: change("devices", "kind", WIRE, 13),  # NW_COMM is as good as NW_NOMINAL
        lambda: change("devices", "kind", GPU, 1),  # a CPU computes too
        lambda: change("tasks", "device", 4, 12345),  # an all-reduce has no device
        lambda: change("tasks", "kind", 0, 4),  # BARRIER
        lambda: change("routes", "chance", 0, 0.5),
    ],
)
def test_unusual_files_are_accepted(file):
    check_file(decode(encode(file()), "f"))
