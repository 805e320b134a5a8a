"""Is it safe to follow the offsets of a task graph file?  A FlatBuffer verifier for this schema, column by column.

It accepts nothing that the C++ ``flatbuffers::Verifier`` (2.0.8) refuses.  It refuses in addition buffers whose
offsets share so much of the file that reading it would take far more room than the file itself; the C++ verifier
bounds that by a number of tables instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.layout import STRING, TABLES, Field

__all__ = ["Buffer", "Tables", "Vectors", "verify"]

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MAX_FILE_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A file's bytes, also seen as words; places are byte offsets and must be aligned to the word read there."""

    source: str
    n_byte: int
    u1: npt.NDArray[np.uint8]
    u2: npt.NDArray[np.uint16]
    u4: npt.NDArray[np.uint32]
    u8: npt.NDArray[np.uint64]

    def words(self, places: Ints, dtype: str) -> npt.NDArray[np.generic]:
        """Values of a little-endian type at aligned places."""
        size = np.dtype(dtype).itemsize
        views: dict[int, npt.NDArray[np.generic]] = {1: self.u1, 2: self.u2, 4: self.u4, 8: self.u8}
        values: npt.NDArray[np.generic] = views[size][places // size].view(dtype)
        return values

    def ints(self, places: Ints, dtype: str) -> Ints:
        """Like `words`, as int64."""
        return self.words(places, dtype).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector for each table that has the field: of scalars, of characters, or of tables.

    Parameters
    ----------
    ptr : int64 (n_table + 1,)
        Elements of every table's vector; a table without the field has none.
    place : int64 (n_table,)
        Place of the vector's length; 0 for a table without the field.
    tables : Tables or None
        All elements, if they are tables.
    """

    ptr: Ints
    place: Ints
    tables: "Tables | None"


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """All tables of one kind in reading order, verified.

    Parameters
    ----------
    buffer : Buffer
    name : str
        Kind, a key of ``TABLES``.
    n : int
    scalars : mapping of str to int64 (n,)
        Place of every scalar field; 0 where it is absent and has its default, zero.
    vectors : mapping of str to Vectors
    """

    buffer: Buffer
    name: str
    n: int
    scalars: Mapping[str, Ints]
    vectors: Mapping[str, Vectors]

    def column(self, name: str) -> npt.NDArray[np.generic]:
        """Values of a scalar field."""
        dtype = next(f.scalar for f in TABLES[self.name] if f.name == name)
        places = self.scalars[name]
        out = np.zeros(self.n, dtype)
        present = places > 0
        out[present] = self.buffer.words(places[present], dtype)
        return out

    def elements(self, name: str) -> npt.NDArray[np.generic]:
        """Elements of all vectors of scalars in the field, one vector behind the other."""
        dtype = next(f.element for f in TABLES[self.name] if f.name == name)
        vectors = self.vectors[name]
        size = np.dtype(dtype).itemsize
        places = _element_places(vectors.place, vectors.ptr, size)
        if size == 8:  # verified is only that vectors are aligned to 4
            low, high = self.buffer.ints(places, "<u4"), self.buffer.ints(places + 4, "<u4")
            return (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).view(dtype)
        return self.buffer.words(places, dtype)

    def tables(self, name: str) -> "Tables":
        """Tables in all vectors of the field, one vector behind the other."""
        tables = self.vectors[name].tables
        assert tables is not None
        return tables


def verify(data: bytes | npt.NDArray[np.uint8], source: str) -> Tables:
    """Check that everything reachable lies inside the buffer, aligned; the root table.

    Parameters
    ----------
    data : bytes or uint8 (n_byte,)
    source : str
        Name for error messages.

    Returns
    -------
    Tables
        The root, of kind TaskGraph; everything below it is verified too.

    Raises
    ------
    FlexNetError
        If an offset, vtable, vector, string or field leaves the buffer, is misaligned, or if parts are shared so
        often that the contents are more than four times the buffer.
    """
    u1 = np.frombuffer(data, np.uint8)
    size = len(u1)
    if size > MAX_FILE_BYTES:
        raise FlexNetError(f"{source} has {size} bytes; a task graph file has less than 2 GiB")
    buffer = Buffer(
        source,
        size,
        u1,
        u1[: size // 2 * 2].view("<u2"),
        u1[: size // 4 * 4].view("<u4"),
        u1[: size // 8 * 8].view("<u8"),
    )
    walk = _Walk(buffer, 4 * size + 65536)
    if size < 8:
        walk.refuse(f"has only {size} bytes")
    if buffer.u4[0] == size - 4:
        walk.refuse("starts with its own size")
    return walk.tables("TaskGraph", walk.follow(np.zeros(1, np.int64), "the root"))


@dataclass(slots=True)
class _Walk:
    """One verification: the buffer and how many more bytes of contents it may have."""

    buffer: Buffer
    budget: int

    def refuse(self, what: str) -> None:
        raise FlexNetError(
            f"{self.buffer.source} is damaged or not a task graph file: it {what}; expected is a FlatBuffer of "
            "schemas/taskgraph.fbs without size prefix"
        )

    def require(self, ok: Mask | bool, what: str) -> None:
        if not np.all(ok):
            self.refuse(what)

    def inside(self, places: Ints, n_byte: Ints | int, alignment: int, what: str) -> None:
        """Whether ``n_byte`` bytes at ``places`` lie in the buffer, like ``Verifier::Verify``."""
        self.require(places % alignment == 0, f"has {what} at a misaligned place")
        room = self.buffer.n_byte - np.asarray(n_byte, np.int64)
        self.require(
            (room > 0) & (places >= 0) & (places <= room), f"has {what} outside its {self.buffer.n_byte} bytes"
        )

    def spend(self, n_byte: int) -> None:
        self.budget -= n_byte
        if self.budget < 0:
            self.refuse("uses its parts so often that its contents are several times its size")

    def follow(self, places: Ints, what: str) -> Ints:
        """Targets of the offsets at ``places``."""
        self.inside(places, 4, 4, f"the offset of {what}")
        offsets = self.buffer.ints(places, "<u4")
        self.require((offsets > 0) & (offsets < 2**31), f"has an offset of {what} that points at itself or backwards")
        self.inside(places + offsets, 1, 1, what)
        return places + offsets

    def tables(self, name: str, places: Ints) -> Tables:
        """Tables of one kind at ``places``, and all below."""
        self.spend(8 * len(places))
        self.inside(places, 4, 4, f"a {name} table")
        vtables = places - self.buffer.ints(places, "<i4")
        self.inside(vtables, 2, 2, f"a vtable of {name}")
        sizes = self.buffer.ints(vtables, "<u2")
        self.inside(vtables, sizes, 2, f"a vtable of {name}")
        self.require(sizes % 2 == 0, f"has a vtable of {name} of odd size")
        scalars, vectors = {}, {}
        for index, entry in enumerate(TABLES[name]):
            at = np.zeros(len(places), np.int64)
            known = sizes > 4 + 2 * index
            at[known] = self.buffer.ints(vtables[known] + 4 + 2 * index, "<u2")
            at[at > 0] += places[at > 0]
            if entry.scalar:
                self.inside(at[at > 0], entry.size, entry.size, f"{name}.{entry.name}")
                scalars[entry.name] = at
            else:
                vectors[entry.name] = self.vectors(f"{name}.{entry.name}", entry, at)
        return Tables(self.buffer, name, len(places), scalars, vectors)

    def vectors(self, name: str, entry: Field, fields: Ints) -> Vectors:
        """Vectors that the reference fields at ``fields`` (0: absent) point at, and the tables in them."""
        present = fields > 0
        place = np.zeros(len(fields), np.int64)
        place[present] = self.follow(fields[present], name)
        counts = np.zeros(len(fields), np.int64)
        at = place[present]
        self.inside(at, 4, 4, name)
        counts[present] = self.buffer.ints(at, "<u4")
        n_byte = 4 + entry.element_size * counts[present]
        self.inside(at, n_byte, 4, name)
        self.spend(int(n_byte.sum()))
        ptr = np.concatenate([[0], np.cumsum(counts)])
        if entry.element == STRING:
            self.inside(at + n_byte, 1, 1, f"the end of {name}")
            self.require(self.buffer.u1[at + n_byte] == 0, f"has a {name} without a terminating zero")
        if entry.element not in TABLES:
            return Vectors(ptr, place, None)
        places = _element_places(place, ptr, 4)
        return Vectors(ptr, place, self.tables(entry.element, places + self.buffer.ints(places, "<u4")))


def _element_places(place: Ints, ptr: Ints, size: int) -> Ints:
    """Place of every element of vectors of ``size``-byte elements."""
    counts = np.diff(ptr)
    starts: Ints = np.repeat(place + 4 - size * ptr[:-1], counts)
    return starts + size * np.arange(int(ptr[-1]))
