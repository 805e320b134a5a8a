"""What a task graph file says, column by column and in its own units: milliseconds, bytes, bytes per millisecond."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FileDevices", "FileOperators", "FileRings", "FileRoutes", "FileTasks", "TaskGraphFile"]


@dataclass(frozen=True, slots=True, eq=False)
class FileOperators:
    """Layers of the model; tasks do not refer to them.

    Parameters
    ----------
    id : uint64 (n_operator,)
    kind : uint64 (n_operator,)
        Number of the operator kind (`flexnet.model.graph.OpType`).
    name : tuple of str (n_operator,)
    """

    id: npt.NDArray[np.uint64]
    kind: npt.NDArray[np.uint64]
    name: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FileTasks:
    """Tasks in file order.

    Parameters
    ----------
    kind : int16 (n_task,)
        ``SimTaskType`` of the schema.
    id, device : uint64 (n_task,)
        Task id; id of its device, which means nothing for an all-reduce.
    run_ms : float32 (n_task,)
    bytes : uint64 (n_task,)
    succ_ptr : int64 (n_task + 1,)
    succ : uint64 (n_successor,)
        Ids of the tasks that wait for this one; of an all-reduce its member servers.
    """

    kind: npt.NDArray[np.int16]
    id: npt.NDArray[np.uint64]
    device: npt.NDArray[np.uint64]
    run_ms: npt.NDArray[np.float32]
    bytes: npt.NDArray[np.uint64]
    succ_ptr: npt.NDArray[np.int64]
    succ: npt.NDArray[np.uint64]

    def members(self, task: int) -> npt.NDArray[np.uint64]:
        """Ids of the successors of task number ``task``, or member servers if it is an all-reduce."""
        return self.succ[self.succ_ptr[task] : self.succ_ptr[task + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class FileDevices:
    """Devices: ``kind`` is the schema's ``DeviceType``; all arrays have shape ``(n_device,)``."""

    kind: npt.NDArray[np.int16]
    id: npt.NDArray[np.uint64]
    server: npt.NDArray[np.uint64]
    property: npt.NDArray[np.uint64]
    bandwidth: npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class FileRoutes:
    """Routes between servers, all alternatives.

    Parameters
    ----------
    source, target : int64 (n_route,)
    path_ptr : int64 (n_route + 1,)
        Alternatives of every route; none, or one without hops, where there is no way.
    chance : float32 (n_path,)
    hop_ptr : int64 (n_path + 1,)
    hop : int64 (n_hop,)
        Nodes of every path, both ends included.
    """

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    path_ptr: npt.NDArray[np.int64]
    chance: npt.NDArray[np.float32]
    hop_ptr: npt.NDArray[np.int64]
    hop: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FileRings:
    """Rings by group size.

    Parameters
    ----------
    size : uint64 (n_size,)
    ring_ptr : int64 (n_size + 1,)
        Rings of every group size.
    jump_ptr : int64 (n_ring + 1,)
    jump : int32 (n_jump,)
        Steps in server ids from one member to the next.
    """

    size: npt.NDArray[np.uint64]
    ring_ptr: npt.NDArray[np.int64]
    jump_ptr: npt.NDArray[np.int64]
    jump: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TaskGraphFile:
    """The contents of one task graph file.

    Parameters
    ----------
    source : str
        Where it came from, for error messages.
    n_gpu_per_server, n_server, n_switch : int
        Switches have ids ``n_server`` to ``n_server + n_switch - 1``.
    inter_gpu_bytes_per_ms, dram_bytes_per_ms, link_bytes_per_ms : float
        Speed between the GPUs of a server, of its memory, and of one link.
    links : int64 (n_connection, 3)
        Larger node, smaller node, number of parallel links.
    rings : FileRings or None
        None if the file has no such vector; None or empty: collectives follow routes.
    """

    source: str
    n_gpu_per_server: int
    n_server: int
    n_switch: int
    inter_gpu_bytes_per_ms: float
    dram_bytes_per_ms: float
    link_bytes_per_ms: float
    links: npt.NDArray[np.int64]
    operators: FileOperators
    tasks: FileTasks
    devices: FileDevices
    routes: FileRoutes
    rings: FileRings | None

    @property
    def has_rings(self) -> bool:
        """Whether all-reduces run over the rings of the file."""
        return self.rings is not None and len(self.rings.size) > 0
