"""Columns to FlatBuffer bytes: every table of a kind is one row of a numpy record array.

The Builder of the flatbuffers runtime takes 1 s for a graph of 22,446 tasks and 16,384 routes, this 4 ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.contents import TaskGraphFile
from flexnet.taskgraph_file.layout import TABLES, record_layout

__all__ = ["MAX_FILE_BYTES", "TooLargeError", "encode", "require_room"]

MAX_FILE_BYTES = 2**31 - 1
"""FlatBuffer offsets are 31 bits."""

Ints = npt.NDArray[np.int64]


class TooLargeError(FlexNetError):
    """A task graph that no file holds, wherever it is written to."""


@dataclass(slots=True)
class _Layout:
    """Hands out places in the file, first to last, and notes what to write there."""

    end: int = 0
    parts: list[tuple[int, npt.NDArray[np.uint8]]] = field(default_factory=list)

    def aligned_end(self) -> int:
        """Place that `reserve` hands out next."""
        return self.end + -self.end % 8

    def reserve(self, n_byte: int) -> int:
        """Place of the next ``n_byte`` bytes, aligned to 8."""
        place = self.aligned_end()
        self.end = place + n_byte
        return place

    def put(self, place: int, data: npt.NDArray[np.generic]) -> None:
        """Write ``data`` at a reserved place."""
        self.parts.append((place, np.ascontiguousarray(data).view(np.uint8).reshape(-1)))

    def to_bytes(self) -> npt.NDArray[np.uint8]:
        out = np.zeros(self.end, np.uint8)
        for place, data in self.parts:
            out[place : place + len(data)] = data
        return out


def encode(file: TaskGraphFile) -> npt.NDArray[np.uint8]:
    """Bytes of a task graph file.

    Parameters
    ----------
    file : TaskGraphFile

    Returns
    -------
    uint8 (n_byte,)
        A raw FlatBuffer whose root is the table TaskGraph of ``schemas/taskgraph.fbs``.

    Raises
    ------
    TooLargeError
        If it does not fit the 2 GiB that FlatBuffer offsets reach.
    """
    tasks, routes = file.tasks, file.routes
    n_path, n_hop = len(routes.chance), len(routes.hop)
    require_room(len(tasks.kind), len(tasks.succ), len(routes.source), n_path, n_hop, _size_of_others(file))
    out = _Layout()
    head = out.reserve(4)
    vtables = {name: _put_vtable(out, name) for name in TABLES}
    root = out.reserve(record_layout("TaskGraph").itemsize)
    out.put(head, np.array([root], "<u4"))

    columns: dict[str, object] = {
        "ngpupernode": file.n_gpu_per_server,
        "nnode": file.n_server,
        "nswitch": file.n_switch,
        "intergpubw": file.inter_gpu_bytes_per_ms,
        "drambw": file.dram_bytes_per_ms,
        "netbw": file.link_bytes_per_ms,
    }
    references = _vectors(out, vtables, file)
    record = np.zeros(1, record_layout("TaskGraph"))
    record["vtable"] = root - vtables["TaskGraph"]
    for name, value in columns.items():
        record[name] = value
    for name, place in references.items():
        record[name] = place - (root + _offset("TaskGraph", name))
    out.put(root, record)
    if file.rings is None:  # an absent field has vtable entry 0
        out.put(vtables["TaskGraph"] + 4 + 2 * len(TABLES["TaskGraph"]) - 2, np.zeros(1, "<u2"))
    return out.to_bytes()


def _vectors(out: _Layout, vtables: dict[str, int], file: TaskGraphFile) -> dict[str, int]:
    """Write everything the root refers to; the places of its vectors."""
    links, ops, tasks, devices, routes, rings = (
        file.links,
        file.operators,
        file.tasks,
        file.devices,
        file.routes,
        file.rings,
    )
    places: dict[str, int] = {}
    places["conn"], place = _put_tables(out, "Connection", len(links))
    _put_records(
        out, "Connection", vtables, place, {"fromnode": links[:, 0], "tonode": links[:, 1], "nconn": links[:, 2]}, {}
    )
    places["ops"], place = _put_tables(out, "Operator", len(ops.id))
    _put_records(out, "Operator", vtables, place, {"opid": ops.id, "type": ops.kind}, {"name": _strings(out, ops.name)})

    places["tasks"], place = _put_tables(out, "Task", len(tasks.kind))
    scalars: dict[str, npt.NDArray[Any]] = {
        "type": tasks.kind,
        "taskid": tasks.id,
        "deviceid": tasks.device,
        "runtime": tasks.run_ms,
        "xfersize": tasks.bytes,
    }
    _put_records(out, "Task", vtables, place, scalars, {"nexttasks": _ragged(out, tasks.succ_ptr, tasks.succ, "<u8")})

    places["devices"], place = _put_tables(out, "Device", len(devices.kind))
    scalars = {
        "type": devices.kind,
        "deviceid": devices.id,
        "nodeid": devices.server,
        "deviceproperty": devices.property,
        "bandwidth": devices.bandwidth,
    }
    _put_records(out, "Device", vtables, place, scalars, {})

    places["routes"], place = _put_tables(out, "Route", len(routes.source))
    alternatives, paths = _ragged_tables(out, routes.path_ptr, "Path")
    scalars = {"fromnode": routes.source, "tonode": routes.target}
    _put_records(out, "Route", vtables, place, scalars, {"paths": alternatives})
    hops = _ragged(out, routes.hop_ptr, routes.hop, "<u4")
    _put_records(out, "Path", vtables, paths, {"chance": routes.chance}, {"hopnode": hops})

    if rings is not None:
        places["rings"], place = _put_tables(out, "Rings", len(rings.size))
        ringpaths, descriptors = _ragged_tables(out, rings.ring_ptr, "RingDescriptor")
        _put_records(out, "Rings", vtables, place, {"ringsz": rings.size}, {"ringpaths": ringpaths})
        jumps = _ragged(out, rings.jump_ptr, rings.jump, "<i4")
        _put_records(out, "RingDescriptor", vtables, descriptors, {}, {"jumps": jumps})
    return places


def require_room(n_task: int, n_succ: int, n_route: int, n_path: int, n_hop: int, others: int = 0) -> None:
    """Refuse what needs too many bytes: tasks, those that follow them, routes, their paths, and nodes of these.

    Parameters
    ----------
    n_task, n_succ, n_route, n_path, n_hop : int
    others : int
        Bytes of all else.

    Raises
    ------
    TooLargeError
        If that is more than a file holds.
    """
    if 56 * n_task + 8 * n_succ + 32 * n_route + 24 * n_path + 4 * n_hop + others > MAX_FILE_BYTES:
        raise TooLargeError(
            f"a task graph of {n_task} tasks and {n_route} routes does not fit the 2 GiB of a task graph file; use "
            "fewer servers or larger segments"
        )


def _size_of_others(file: TaskGraphFile) -> int:
    """Bytes at most of what is neither tasks nor routes."""
    rings = file.rings
    size = 4096 + 20 * len(file.links) + 44 * len(file.devices.kind)
    size += sum(40 + 4 * len(name) for name in file.operators.name)
    if rings is not None:
        size += 32 * len(rings.size) + 24 * len(rings.jump_ptr) + 4 * len(rings.jump)
    return size


def _offset(table: str, name: str) -> int:
    fields = record_layout(table).fields
    assert fields is not None
    return int(fields[name][1])


def _put_vtable(out: _Layout, table: str) -> int:
    """Write the vtable that all tables of one kind share: its size, the table's size, the place of each field."""
    fields = TABLES[table]
    entries = [4 + 2 * len(fields), record_layout(table).itemsize, *(_offset(table, f.name) for f in fields)]
    place = out.reserve(2 * len(entries))
    out.put(place, np.array(entries, "<u2"))
    return place


def _put_tables(out: _Layout, table: str, n: int) -> tuple[int, int]:
    """Write a vector of ``n`` tables that lie one behind the other; the places of the vector and of the first."""
    vector = out.reserve(4 + 4 * n)
    first = out.reserve(n * record_layout(table).itemsize)
    at = vector + 4 + 4 * np.arange(n)
    targets = first + record_layout(table).itemsize * np.arange(n)
    out.put(vector, np.concatenate([[n], targets - at]).astype("<u4"))
    return vector, first


def _put_records(
    out: _Layout,
    table: str,
    vtables: dict[str, int],
    first: int,
    scalars: Mapping[str, npt.NDArray[Any]],
    references: Mapping[str, Ints],
) -> None:
    """Write all tables of one kind from their columns and the places of what they refer to."""
    layout = record_layout(table)
    n = len(next(iter((scalars or references).values())))
    records = np.zeros(n, layout)
    places = first + layout.itemsize * np.arange(n)
    records["vtable"] = places - vtables[table]
    for name, column in scalars.items():
        records[name] = column
    for name, targets in references.items():
        records[name] = targets - (places + _offset(table, name))
    out.put(first, records)


def _ragged(out: _Layout, ptr: Ints, values: npt.NDArray[np.generic], dtype: str) -> Ints:
    """Write one vector per row of a CSR array; their places ``(n_row,)``.

    A vector is its length in 4 bytes, then its elements; before elements of 8 bytes comes a gap of 4.
    """
    counts = np.diff(ptr)
    row = np.arange(len(counts))
    width = np.dtype(dtype).itemsize
    words = np.zeros(len(counts) + len(values), dtype)
    heads = ptr[:-1] + row
    if width == 8:
        words[heads] = counts.astype(np.uint64) << np.uint64(32)
    else:
        words[heads] = counts
    words[np.arange(len(values)) + np.repeat(row, counts) + 1] = values
    first = out.reserve(words.nbytes)
    out.put(first, words)
    return first + width * heads + (width - 4)


def _ragged_tables(out: _Layout, ptr: Ints, table: str) -> tuple[Ints, int]:
    """Write one vector of tables per row of a CSR array, the tables lying one behind the other after the vectors.

    Returns the places of the vectors ``(n_row,)`` and that of the first table, which the caller fills.
    """
    n_row, n = len(ptr) - 1, int(ptr[-1])
    size = record_layout(table).itemsize
    vectors = out.aligned_end()
    first = vectors + 4 * (n_row + n)
    first += -first % 8
    at = vectors + 4 * (np.arange(n) + np.repeat(np.arange(n_row), np.diff(ptr)) + 1)
    places = _ragged(out, ptr, first + size * np.arange(n) - at, "<u4")
    assert out.reserve(size * n) == first
    return places, first


def _strings(out: _Layout, names: Sequence[str]) -> Ints:
    """Write strings: length, UTF-8 bytes, at least one zero; their places."""
    chunks, places, size = [], [], 0
    for name in names:
        data = name.encode("utf-8", "replace")
        chunk = len(data).to_bytes(4, "little") + data + bytes(4 - len(data) % 4)
        places.append(size)
        chunks.append(chunk)
        size += len(chunk)
    first = out.reserve(size)
    out.put(first, np.frombuffer(b"".join(chunks), np.uint8))
    return first + np.array(places, np.int64)
