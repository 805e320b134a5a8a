"""The tables of ``schemas/taskgraph.fbs`` as data, for the writer and the verifier."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

__all__ = ["STRING", "TABLES", "Field", "record_layout"]

STRING = "string"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table.

    Parameters
    ----------
    name : str
        As in the schema.
    scalar : str
        Little-endian numpy type of a scalar; ``""`` for a reference.
    element : str
        For a reference to a vector: numpy type of its scalars, name of its tables, or ``STRING``.
    """

    name: str
    scalar: str = ""
    element: str = ""

    @property
    def size(self) -> int:
        """Bytes the field takes inside its table; a reference takes 4."""
        return np.dtype(self.scalar).itemsize if self.scalar else 4

    @property
    def element_size(self) -> int:
        """Bytes of one element of the vector: 4 for tables (their offsets), 1 for strings."""
        if self.element == STRING:
            return 1
        return 4 if self.element in TABLES else np.dtype(self.element).itemsize


def _scalars(scalar: str, *names: str) -> tuple[Field, ...]:
    return tuple(Field(name, scalar=scalar) for name in names)


TABLES = MappingProxyType(
    {
        "Connection": _scalars("<u4", "fromnode", "tonode", "nconn"),
        "Operator": (*_scalars("<u8", "opid", "type"), Field("name", element=STRING)),
        "Task": (
            Field("type", "<i2"),
            *_scalars("<u8", "taskid", "deviceid"),
            Field("runtime", "<f4"),
            Field("xfersize", "<u8"),
            Field("nexttasks", element="<u8"),
        ),
        "Device": (Field("type", "<i2"), *_scalars("<u8", "deviceid", "nodeid", "deviceproperty", "bandwidth")),
        "Path": (Field("hopnode", element="<u4"), Field("chance", "<f4")),
        "Route": (*_scalars("<u4", "fromnode", "tonode"), Field("paths", element="Path")),
        "RingDescriptor": (Field("jumps", element="<i4"),),
        "Rings": (Field("ringsz", "<u8"), Field("ringpaths", element="RingDescriptor")),
        "TaskGraph": (
            *_scalars("<u4", "ngpupernode", "nnode", "nswitch"),
            *_scalars("<f4", "intergpubw", "drambw", "netbw"),
            Field("conn", element="Connection"),
            Field("ops", element="Operator"),
            Field("tasks", element="Task"),
            Field("devices", element="Device"),
            Field("routes", element="Route"),
            Field("rings", element="Rings"),
        ),
    }
)
"""Fields of every table, in schema order: the place of a field is its id."""


def record_layout(table: str) -> np.dtype[np.void]:
    """Memory layout of a table with all its fields: 4 bytes of vtable offset, small fields, then 8-byte ones.

    Examples
    --------
    >>> record_layout("Path").fields["hopnode"][1], record_layout("Task").itemsize
    (4, 40)
    """
    fields = TABLES[table]
    names, formats, offsets = ["vtable"], ["<i4"], [0]
    end = 4
    for size in (4, 2, 8):
        end += -end % size if size == 8 and any(f.size == 8 for f in fields) else 0
        for field in fields:
            if field.size == size:
                names.append(field.name)
                formats.append(field.scalar or "<u4")
                offsets.append(end)
                end += size
    alignment = max(4, *(f.size for f in fields))
    itemsize = end + -end % alignment
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})
