"""Structs of arrays that kernels take by reference.

Numba hands a named tuple of arrays over array by array, seven numbers for each, and a kernel takes a hundred of them.
Here it is one pointer to memory that holds the address, the shape and the strides of every array, then whatever other
structs it holds, and no kernel writes there.  Kernels are compiled in two thirds of the time, and replays by packets
take half.

Everything is a word of 8 bytes or several.  This is Numba's interface for types of one's own
(https://numba.readthedocs.io/en/stable/extending/low-level.html).
"""

import hashlib
from collections.abc import Iterator
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

__all__ = ["Struct", "struct"]

C = TypeVar("C", bound=type)

WORD = ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()


def struct(cls: C) -> C:
    """Let kernels take the named tuples of a class by reference, and those in them.

    Members are arrays, numbers, truth values, or such structs.  Kernels can read them by name, not make them.
    """
    named = typeof_impl.dispatch(tuple)
    typeof_impl.register(cls)(lambda value, context: _by_reference(named(value, context)))
    return cls


class Struct(types.Type):
    """Numba's type of a struct.

    Parameters
    ----------
    of : type
        The class of named tuples.
    members : dict
        Type of every member, by name.

    Attributes
    ----------
    place : dict
        Word at which every member begins, by name.
    n_word : int
    """

    def __init__(self, of: type, members: dict[str, types.Type]) -> None:
        self.of = of
        self.members = members
        self.place = {}
        self.n_word = 0
        for name, member in members.items():
            self.place[name] = self.n_word
            self.n_word += _n_word(f"{of.__name__}.{name}", member)
        told = ",".join(f"{name} {member}" for name, member in members.items())
        super().__init__(f"{of.__module__}.{of.__qualname__}_{hashlib.sha256(told.encode()).hexdigest()[:16]}")


def _n_word(name: str, member: types.Type) -> int:
    if isinstance(member, types.Array):
        return 1 + 2 * int(member.ndim)
    if isinstance(member, Struct):
        return member.n_word
    if not isinstance(member, types.Integer | types.Float | types.Boolean):
        raise TypeError(f"{name} is {member}; members of structs are arrays, numbers and structs")
    return 1


def _by_reference(named: types.Type) -> types.Type:
    """The type of a struct, of Numba's type of a named tuple."""
    if not isinstance(named, types.NamedTuple | types.NamedUniTuple):
        return named
    return Struct(named.instance_class, dict(zip(named.fields, map(_by_reference, iter(named)), strict=True)))


@register_model(Struct)
class _Pointer(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Struct) -> None:
        super().__init__(dmm, fe_type, POINTER)


@infer_getattr
class _Members(AttributeTemplate):
    key = Struct

    def generic_resolve(self, value: Any, attr: Any) -> Any:  # type: ignore[override]
        return value.members.get(attr)


@lower_getattr_generic(Struct)
def _member(context: Any, builder: Any, of: Struct, pointer: Any, attr: str) -> Any:
    member, place = of.members[attr], of.place[attr]
    if isinstance(member, Struct):
        return builder.gep(pointer, [WORD(8 * place)], inbounds=True)
    if not isinstance(member, types.Array):
        model = context.data_model_manager[member]
        return model.from_data(builder, _load(builder, pointer, place, model.get_data_type()))
    n = member.ndim
    item = context.get_data_type(member.dtype)
    array = context.make_array(member)(context, builder)
    shape = [_load(builder, pointer, place + 1 + d, WORD) for d in range(n)]
    array.data = _load(builder, pointer, place, item.as_pointer())
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, [_load(builder, pointer, place + 1 + n + d, WORD) for d in range(n)])
    array.itemsize = WORD(context.get_abi_sizeof(item))
    array.nitems = WORD(1)
    for extent in shape:
        array.nitems = builder.mul(array.nitems, extent)
    array.meminfo = POINTER(None)
    array.parent = POINTER(None)
    return array._getvalue()


def _at(builder: Any, pointer: Any, place: int, kind: Any) -> Any:
    """Pointer to a member of that type, which begins at word ``place``."""
    return builder.bitcast(builder.gep(pointer, [WORD(8 * place)], inbounds=True), kind.as_pointer())


def _load(builder: Any, pointer: Any, place: int, kind: Any) -> Any:
    """What is there and never changes, so that a loop that writes into arrays need not look again."""
    loaded = builder.load(_at(builder, pointer, place, kind))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@unbox(Struct)
def _unbox(of: Struct, named_tuple: Any, c: Any) -> NativeValue:
    """Write a named tuple's members down, for as long as the call takes."""
    builder = c.builder
    pointer = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(WORD, of.n_word)), POINTER)
    failed = cgutils.false_bit
    for place, member, value in _members(of, named_tuple, c, 0):
        native = c.unbox(member, value)
        failed = builder.or_(failed, native.is_error)
        if isinstance(member, types.Array):
            array = c.context.make_array(member)(c.context, builder, native.value)
            words = [array.data, *cgutils.unpack_tuple(builder, array.shape)]
            words += cgutils.unpack_tuple(builder, array.strides)
        else:
            words = [c.context.data_model_manager[member].as_data(builder, native.value)]
        for word, content in enumerate(words):
            builder.store(content, _at(builder, pointer, place + word, content.type))
    # Nothing can change behind this pointer: where it was written is not to be seen through it.
    hidden = builder.asm(ir.FunctionType(POINTER, [POINTER]), "", "=r,0,~{memory}", [pointer], side_effect=True)
    return NativeValue(hidden, is_error=failed)


def _members(of: Struct, named_tuple: Any, c: Any, first: int) -> Iterator[tuple[int, types.Type, Any]]:
    """Where every member begins, its type, and the Python object; those of structs within it too."""
    for number, (name, member) in enumerate(of.members.items()):
        value, place = c.pyapi.tuple_getitem(named_tuple, number), first + of.place[name]
        if isinstance(member, Struct):
            yield from _members(member, value, c, place)
        else:
            yield place, member, value
