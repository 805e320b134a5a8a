"""Does a task graph file make sense?  What a packet simulator would crash on, hang on or silently get wrong.

The failures are those FlexNetPacket showed when it was run on broken graphs; each rule's sentence names its failure.
"""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file._taskgraph_fb import DeviceType, SimTaskType
from flexnet.taskgraph_file.check_network import check_links, check_rings, check_routes, check_talking_pairs
from flexnet.taskgraph_file.contents import FileTasks, TaskGraphFile

__all__ = ["MAX_NODES", "allreduce_members", "check_file", "lookup", "successor_positions", "transfers"]

MAX_NODES = 46340
"""Servers and switches together: a pair of them has a number that fits 31 bits."""

COMPUTE = (SimTaskType.FORWARD, SimTaskType.BACKWARD, SimTaskType.UPDATE, SimTaskType.BARRIER)
TASK_KINDS = (*COMPUTE, SimTaskType.NOMINAL_COMM, SimTaskType.ALLREDUCE)
PROCESSORS = (DeviceType.GPU, DeviceType.CPU)
NETWORK = (DeviceType.NW_COMM, DeviceType.NW_NOMINAL)
WIRES = (DeviceType.PCI_TO_HOST, DeviceType.PCI_TO_DEVICE, DeviceType.NVLINK, *NETWORK)

Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


def check_file(file: TaskGraphFile, *, network: bool = True) -> None:
    """Say whether a task graph file can be simulated.

    Parameters
    ----------
    file : TaskGraphFile
    network : bool
        Whether its links, routes and rings matter too.

    Raises
    ------
    FlexNetError
        One sentence with the file, the place and what would be right.
    """
    _check_header(file)
    _check_devices(file)
    _check_tasks(file)
    task, source, target = transfers(file)
    _check_transfers(file, task, source, target)
    _check_groups(file)
    _check_order(file)
    if not network:
        return
    check_links(file)
    check_routes(file)
    check_rings(file, np.unique(_group_sizes(file)))
    pairs = source * (file.n_server + file.n_switch) + target
    if not file.has_rings:
        pairs = np.concatenate([pairs, _ring_neighbours(file)])
    check_talking_pairs(file, np.unique(pairs))


def lookup(ids: Ids, wanted: Ids) -> tuple[Ints, Mask]:
    """Position in ``ids`` of each of ``wanted``, and whether it is there at all."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    if len(ids) > 1 and (ids[1:] - ids[:-1] == 1).all():  # as ours are: for a million looked up, a tenth of the time
        at = np.minimum(wanted - ids[0], ids.dtype.type(len(ids) - 1)).astype(np.int64)  # below the first: wraps around
        return at, ids[at] == wanted
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    return order[at], ids[order[at]] == wanted


def transfers(file: TaskGraphFile) -> tuple[Ints, Ints, Ints]:
    """Position, sending and receiving server of every transfer over the network, in file order ``(n_transfer,)``."""
    tasks, devices = file.tasks, file.devices
    task = np.flatnonzero(tasks.kind == SimTaskType.NOMINAL_COMM)
    device, _ = lookup(devices.id, tasks.device[task])
    networked = np.isin(devices.kind[device], NETWORK)
    n_node = np.uint64(file.n_server + file.n_switch)
    source, target = np.divmod(devices.property[device[networked]], n_node)
    # A source may be anything; what is too large for int64 is out of range as well as 2**62 is.
    return task[networked], np.minimum(source, np.uint64(2**62)).astype(np.int64), target.astype(np.int64)


def allreduce_members(tasks: FileTasks) -> tuple[Ints, Ids]:
    """Member servers of all all-reduces in file order, as CSR."""
    reduces = tasks.kind == SimTaskType.ALLREDUCE
    counts = np.diff(tasks.succ_ptr)
    return np.concatenate([[0], np.cumsum(counts[reduces])]), tasks.succ[np.repeat(reduces, counts)]


def successor_positions(tasks: FileTasks) -> tuple[Ints, Ints, Mask]:
    """Successors as positions in the file, as CSR over all tasks (all-reduces have none); whether each exists."""
    counts = np.diff(tasks.succ_ptr)
    reduces = tasks.kind == SimTaskType.ALLREDUCE
    position, found = lookup(tasks.id, tasks.succ[np.repeat(~reduces, counts)])
    return np.concatenate([[0], np.cumsum(np.where(reduces, 0, counts))]), position, found


def _check_header(file: TaskGraphFile) -> None:
    if not 1 <= file.n_server <= MAX_NODES or file.n_server + file.n_switch > MAX_NODES:
        raise FlexNetError(
            f"{file.source}: nnode is {file.n_server} and nswitch {file.n_switch}; expected are at least 1 server and "
            f"at most {MAX_NODES} servers and switches"
        )
    if file.n_gpu_per_server < 1:
        raise FlexNetError(f"{file.source}: ngpupernode is 0; a server has at least 1 GPU")
    for name, speed in (
        ("intergpubw", file.inter_gpu_bytes_per_ms),
        ("drambw", file.dram_bytes_per_ms),
        ("netbw", file.link_bytes_per_ms),
    ):
        if not np.isfinite(speed) or speed < 0:
            raise FlexNetError(f"{file.source}: {name} is {speed}; expected are bytes per ms, 0 or more")


def _check_devices(file: TaskGraphFile) -> None:
    devices = file.devices
    known = np.isin(devices.kind, (*PROCESSORS, *WIRES))
    if not known.all():
        at = int(np.argmin(known))
        raise FlexNetError(
            f"{file.source}: device {devices.id[at]} has type {devices.kind[at]}; known are GPU 0, CPU 1, "
            "PCI 10 and 11, NVLINK 12, NW_COMM 13 and NW_NOMINAL 14"
        )
    _refuse_duplicates(file, devices.id, "device")
    lost = np.isin(devices.kind, PROCESSORS) & (devices.server >= file.n_server)
    if lost.any():
        at = int(np.argmax(lost))
        raise FlexNetError(
            f"{file.source}: device {devices.id[at]} is on server {devices.server[at]}; servers are 0 to "
            f"{file.n_server - 1}"
        )


def _check_tasks(file: TaskGraphFile) -> None:
    tasks = file.tasks
    if not len(tasks.kind):
        raise FlexNetError(f"{file.source}: there are no tasks; an iteration has at least one")
    known = np.isin(tasks.kind, TASK_KINDS)
    _refuse(file, ~known, tasks.kind, "has type {}; known are 0, 1, 3, 4 (compute), 5 (transfer) and 6 (all-reduce)")
    _refuse_duplicates(file, tasks.id, "task")
    bad = ~np.isfinite(tasks.run_ms) | (tasks.run_ms < 0)
    _refuse(file, bad, tasks.run_ms, "takes {} ms; expected is a number, 0 or more")
    _refuse(file, tasks.bytes >= 2**62, tasks.bytes, "has {} bytes; expected are less than 2**62")
    device, found = lookup(file.devices.id, tasks.device)
    reduces = tasks.kind == SimTaskType.ALLREDUCE
    _refuse(file, ~found & ~reduces, tasks.device, "is on device {}, which the file does not have")
    device[~found] = 0
    kind = file.devices.kind[device] if len(file.devices.kind) else np.zeros(len(device), np.int16)
    compute = np.isin(tasks.kind, COMPUTE)
    _refuse(
        file, compute & ~np.isin(kind, PROCESSORS), kind, "computes on a device of type {}; expected is a GPU or CPU"
    )
    transfer = tasks.kind == SimTaskType.NOMINAL_COMM
    _refuse(file, transfer & ~np.isin(kind, WIRES), kind, "transfers on a device of type {}; expected is NW_NOMINAL 14")


def _check_transfers(file: TaskGraphFile, task: Ints, source: Ints, target: Ints) -> None:
    tasks = file.tasks
    transfer = tasks.kind == SimTaskType.NOMINAL_COMM
    _refuse(file, transfer & (tasks.bytes == 0), tasks.bytes, "transfers {} bytes; a transfer has at least 1")
    for bad, what in (
        ((source >= file.n_server) | (target >= file.n_server), f"servers are 0 to {file.n_server - 1}"),
        (source == target, "a transfer goes to another server"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            raise FlexNetError(
                f"{file.source}: task {tasks.id[task[at]]} sends from {source[at]} to {target[at]}; {what}"
            )


def _check_groups(file: TaskGraphFile) -> None:
    tasks = file.tasks
    reduces = np.flatnonzero(tasks.kind == SimTaskType.ALLREDUCE)
    ptr, members = allreduce_members(tasks)
    counts = np.diff(ptr)
    if (counts == 0).any():
        task = tasks.id[reduces[np.argmin(counts)]]
        raise FlexNetError(f"{file.source}: all-reduce {task} has an empty group; it needs at least one member server")
    group = np.repeat(np.arange(len(counts)), counts)
    lost = members >= file.n_server
    if lost.any():
        at = int(np.argmax(lost))
        raise FlexNetError(
            f"{file.source}: all-reduce {tasks.id[reduces[group[at]]]} has member {members[at]}; members are servers "
            f"0 to {file.n_server - 1}"
        )
    keys, times = np.unique(group * file.n_server + members.astype(np.int64), return_counts=True)
    if (times > 1).any():
        which, member = divmod(int(keys[np.argmax(times > 1)]), file.n_server)
        raise FlexNetError(
            f"{file.source}: all-reduce {tasks.id[reduces[which]]} has member {member} twice; members are distinct"
        )


def _group_sizes(file: TaskGraphFile) -> Ints:
    """Sizes of the groups that use the network."""
    sizes = np.diff(allreduce_members(file.tasks)[0])
    return sizes[sizes > 1]


def _ring_neighbours(file: TaskGraphFile) -> Ints:
    """Pairs ``sender * n_node + receiver`` of all all-reduces that run around their members in order."""
    ptr, members = allreduce_members(file.tasks)
    sender = members.astype(np.int64)
    receiver = np.roll(sender, -1)
    receiver[ptr[1:] - 1] = sender[ptr[:-1]]
    alone = np.repeat(np.diff(ptr) == 1, np.diff(ptr))
    pairs: Ints = (sender * (file.n_server + file.n_switch) + receiver)[~alone]
    return pairs


def _check_order(file: TaskGraphFile) -> None:
    """Successors exist, and no task waits for itself."""
    tasks = file.tasks
    ptr, succ, found = successor_positions(tasks)
    if not found.all():
        at = int(np.argmin(found))
        waiter = tasks.succ[np.repeat(tasks.kind != SimTaskType.ALLREDUCE, np.diff(tasks.succ_ptr))][at]
        task = tasks.id[np.searchsorted(ptr, at, side="right") - 1]
        raise FlexNetError(f"{file.source}: task {task} is followed by task {waiter}, which the file does not have")
    n = len(tasks.kind)
    waiting = np.bincount(succ, minlength=n).tolist()
    begin, followers = ptr.tolist(), succ.tolist()
    ready = [task for task in range(n) if not waiting[task]]
    for task in ready:
        for follower in followers[begin[task] : begin[task + 1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    if len(ready) < n:
        stuck = next(task for task in range(n) if waiting[task])
        raise FlexNetError(
            f"{file.source}: task {tasks.id[stuck]} is in, or waits for, a cycle of tasks; tasks form an acyclic graph"
        )


def _refuse(file: TaskGraphFile, bad: Mask, values: npt.NDArray[np.generic], what: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        raise FlexNetError(f"{file.source}: task {file.tasks.id[at]} {what.format(values[at])}")


def _refuse_duplicates(file: TaskGraphFile, ids: Ids, what: str) -> None:
    distinct, times = np.unique(ids, return_counts=True)
    if (times > 1).any():
        raise FlexNetError(
            f"{file.source}: {what} id {distinct[np.argmax(times > 1)]} occurs {times.max()} times; ids are unique"
        )
