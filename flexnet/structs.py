"""Structs of arrays that kernels take by reference.

Numba hands a named tuple of arrays over array by array, seven numbers for each, and a kernel takes a hundred of them.
Here it is one pointer to memory that holds the address, the shape and the strides of every array, then whatever other
structs it holds, and no kernel writes there.  Kernels are compiled in two thirds of the time, and replays by packets
take half.

What is handed over again and again is written down once (`held`): a kernel then takes a hundred arrays in a
microsecond, and not in ten.

Everything is a word of 8 bytes or several.  This is Numba's interface for types of one's own
(https://numba.readthedocs.io/en/stable/extending/low-level.html).
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, config, types
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

__all__ = ["Struct", "held", "struct"]

C = TypeVar("C", bound=type)
V = TypeVar("V", bound=tuple[Any, ...])

WORD = ir.IntType(64)
POINTER = ir.IntType(8).as_pointer()


def struct(cls: C) -> C:
    """Let kernels take the named tuples of a class by reference, and those in them.

    Members are arrays, numbers, truth values, or such structs.  Kernels can read them by name, not make them.
    """
    named = typeof_impl.dispatch(tuple)

    @typeof_impl.register(cls)
    def _(value: tuple[Any, ...], context: object) -> types.Type:
        if any(isinstance(member, _Held) for member in value):
            raise TypeError(f"{cls.__name__} has a member that is held; only what a kernel is given may be")
        return _by_reference(named(value, context))

    return cls


class _Held(NamedTuple):
    address: int

    def __reduce__(self) -> Any:
        raise TypeError("what is held is for this process alone: neither to be copied nor to be sent")


def held(value: V) -> V:
    """A struct for kernels alone, written down once: they take it as they take ``value``, whose arrays must stay.

    Raises
    ------
    TypeError
        If the struct has one member: nothing would tell the two apart.
    """
    if vars(config)["DISABLE_JIT"]:
        return value
    of: Struct = typeof(value)
    if len(of.members) == 1:
        raise TypeError(f"{of.of.__name__} has one member and cannot be held")
    if of not in _HELD:
        made = type(f"Held {of}", (_Held,), {})  # Numba tells named tuples by the names of their classes
        typeof_impl.register(made)(lambda value, context: of)
        _HELD[of] = made
    words = np.zeros(of.n_word, np.int64)
    _write_down(of, value, words, 0)
    kept: Any = _HELD[of](int(words.ctypes.data))
    kept.words, kept.value = words, value  # for as long as it is there
    return kept  # type: ignore[no-any-return]


_HELD: "dict[Struct, type]" = {}


def _write_down(of: "Struct", value: tuple[Any, ...], words: npt.NDArray[np.int64], first: int) -> None:
    """What `_unbox` writes, from Python."""
    for (name, member), one in zip(of.members.items(), value, strict=True):
        place = first + of.place[name]
        if isinstance(member, Struct):
            _write_down(member, one, words, place)
        elif isinstance(member, types.Array):
            words[place : place + 1 + 2 * member.ndim] = (one.ctypes.data, *one.shape, *one.strides)
        else:
            words[place : place + 1].view(str(member) if not isinstance(member, types.Boolean) else np.int64)[0] = one


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
    """Where a struct is `held`; or write a named tuple's members down, for as long as the call takes."""
    builder = c.builder
    words = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(WORD, of.n_word)), POINTER)
    pointer = cgutils.alloca_once_value(builder, words)
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
    n = c.pyapi.tuple_size(named_tuple)
    alone = builder.icmp_signed("==", n, ir.Constant(n.type, 1))
    with builder.if_else(alone if len(of.members) > 1 else cgutils.false_bit) as (is_held, is_not):
        with is_held:
            address = c.pyapi.long_as_ulonglong(c.pyapi.tuple_getitem(named_tuple, 0))
            builder.store(builder.inttoptr(address, POINTER), pointer)
        with is_not:
            for place, member, value in _members(of, named_tuple, c, 0):
                native = c.unbox(member, value)
                builder.store(builder.or_(builder.load(failed), native.is_error), failed)
                if isinstance(member, types.Array):
                    array = c.context.make_array(member)(c.context, builder, native.value)
                    content = [array.data, *cgutils.unpack_tuple(builder, array.shape)]
                    content += cgutils.unpack_tuple(builder, array.strides)
                else:
                    content = [c.context.data_model_manager[member].as_data(builder, native.value)]
                for word, one in enumerate(content):
                    builder.store(one, _at(builder, words, place + word, one.type))
    # Nothing can change behind this pointer: where it was written is not to be seen through it.
    asked = ir.FunctionType(POINTER, [POINTER])
    hidden = builder.asm(asked, "", "=r,0,~{memory}", [builder.load(pointer)], side_effect=True)
    return NativeValue(hidden, is_error=builder.load(failed))


def _members(of: Struct, named_tuple: Any, c: Any, first: int) -> Iterator[tuple[int, types.Type, Any]]:
    """Where every member begins, its type, and the Python object; those of structs within it too."""
    for number, (name, member) in enumerate(of.members.items()):
        value, place = c.pyapi.tuple_getitem(named_tuple, number), first + of.place[name]
        if isinstance(member, Struct):
            yield from _members(member, value, c, place)
        else:
            yield place, member, value
