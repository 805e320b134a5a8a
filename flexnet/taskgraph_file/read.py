"""Task graph files to columns, verified first."""

import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.contents import FileDevices, FileOperators, FileRings, FileRoutes, FileTasks, TaskGraphFile
from flexnet.taskgraph_file.verify import MAX_FILE_BYTES, Tables, verify

__all__ = ["decode", "read_contents", "read_taskgraph"]


def read_taskgraph(path: str | Path, *, network: bool = True) -> TaskGraphFile:
    """Read a task graph file, ours or the original's, believing nothing in it.

    Parameters
    ----------
    path : str or Path
    network : bool
        Whether the file's links, routes and rings are wanted too; if not, they may make no sense.

    Returns
    -------
    TaskGraphFile

    Raises
    ------
    FlexNetError
        If the file cannot be read, is damaged (`flexnet.taskgraph_file.verify`) or means nothing
        (`flexnet.taskgraph_file.check`).

    Notes
    -----
    Schema: schemas/taskgraph.fbs; what its reader accepts beyond what the original writes: absent or empty paths
    from a server to itself, several devices for one pair of servers, vectors of rings, links and routes left out.
    """
    file = read_contents(Path(path))
    check_file(file, network=network)
    return file


def read_contents(path: Path) -> TaskGraphFile:
    """What a file says, safe to index, whether it makes sense or not (`flexnet.taskgraph_file.check`).

    Raises
    ------
    FlexNetError
        If it cannot be read, or is damaged.
    """
    return decode(_read(path), str(path))


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FlexNetError(f"{path} is not a file; expected is a task graph file (taskgraph.fbuf)")
        if status.st_size > MAX_FILE_BYTES:
            raise FlexNetError(f"{path} has {status.st_size} bytes; a task graph file has less than 2 GiB")
        return path.read_bytes()
    except FlexNetError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FlexNetError(f"cannot read the task graph {path}: {reason}") from None


def decode(data: bytes | npt.NDArray[np.uint8], source: str) -> TaskGraphFile:
    """Contents of a task graph file: safe to index, but not yet known to make sense.

    Parameters
    ----------
    data : bytes or uint8 (n_byte,)
    source : str
        Name for error messages.

    Raises
    ------
    FlexNetError
        If the bytes are damaged, or tasks, devices or successors are absent.
    """
    root = verify(data, source)
    _require(root, "tasks")
    _require(root, "devices")
    tasks, devices = root.tables("tasks"), root.tables("devices")
    _require(tasks, "nexttasks")
    scalar: dict[str, Any] = {name: root.column(name)[0] for name in root.scalars}
    links = root.tables("conn")
    return TaskGraphFile(
        source=source,
        n_gpu_per_server=int(scalar["ngpupernode"]),
        n_server=int(scalar["nnode"]),
        n_switch=int(scalar["nswitch"]),
        inter_gpu_bytes_per_ms=float(scalar["intergpubw"]),
        dram_bytes_per_ms=float(scalar["drambw"]),
        link_bytes_per_ms=float(scalar["netbw"]),
        links=np.column_stack([links.column(name) for name in ("fromnode", "tonode", "nconn")]).astype(np.int64),
        operators=_operators(root.tables("ops")),
        tasks=_tasks(tasks),
        devices=FileDevices(
            _array(devices.column("type"), np.int16),
            *(
                _array(devices.column(name), np.uint64)
                for name in ("deviceid", "nodeid", "deviceproperty", "bandwidth")
            ),
        ),
        routes=_routes(root),
        rings=_rings(root),
    )


def _array(values: npt.NDArray[np.generic], dtype: Any) -> Any:
    """``values`` in the machine's own byte order."""
    return np.ascontiguousarray(values).astype(dtype)


def _require(tables: Tables, name: str) -> None:
    absent = np.flatnonzero(tables.vectors[name].place == 0)
    if len(absent):
        where = "it" if tables.name == "TaskGraph" else f"{tables.name.lower()} {absent[0]}"
        raise FlexNetError(f"{tables.buffer.source}: {where} has no vector {name}; it must be there, even if empty")


def _tasks(tasks: Tables) -> FileTasks:
    return FileTasks(
        kind=_array(tasks.column("type"), np.int16),
        id=_array(tasks.column("taskid"), np.uint64),
        device=_array(tasks.column("deviceid"), np.uint64),
        run_ms=_array(tasks.column("runtime"), np.float32),
        bytes=_array(tasks.column("xfersize"), np.uint64),
        succ_ptr=tasks.vectors["nexttasks"].ptr,
        succ=_array(tasks.elements("nexttasks"), np.uint64),
    )


def _operators(operators: Tables) -> FileOperators:
    names = operators.vectors["name"]
    n_byte = np.diff(names.ptr)
    text = operators.buffer.u1
    return FileOperators(
        id=_array(operators.column("opid"), np.uint64),
        kind=_array(operators.column("type"), np.uint64),
        name=tuple(
            text[place + 4 : place + 4 + n].tobytes().decode("utf-8", "replace")
            for place, n in zip(names.place.tolist(), n_byte.tolist(), strict=True)
        ),
    )


def _routes(root: Tables) -> FileRoutes:
    routes = root.tables("routes")
    paths = routes.tables("paths")
    return FileRoutes(
        source=_array(routes.column("fromnode"), np.int64),
        target=_array(routes.column("tonode"), np.int64),
        path_ptr=routes.vectors["paths"].ptr,
        chance=_array(paths.column("chance"), np.float32),
        hop_ptr=paths.vectors["hopnode"].ptr,
        hop=_array(paths.elements("hopnode"), np.int64),
    )


def _rings(root: Tables) -> FileRings | None:
    if not root.vectors["rings"].place[0]:
        return None
    rings = root.tables("rings")
    descriptors = rings.tables("ringpaths")
    return FileRings(
        size=_array(rings.column("ringsz"), np.uint64),
        ring_ptr=rings.vectors["ringpaths"].ptr,
        jump_ptr=descriptors.vectors["jumps"].ptr,
        jump=_array(descriptors.elements("jumps"), np.int32),
    )
