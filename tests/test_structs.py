"""Structs that kernels take by reference."""

import copy
import pickle
from typing import NamedTuple

import numba
import numpy as np
import pytest

from flexnet.kernels import called, kernel
from flexnet.structs import Struct, held, struct


class Inner(NamedTuple):
    grid: np.ndarray
    flags: np.ndarray


@struct
class Outer(NamedTuple):
    number: int
    share: float
    yes: bool
    inner: Inner
    column: np.ndarray


@called
def _corner(inner):
    return inner.grid[inner.grid.shape[0] - 1, 0] * inner.grid.size


@kernel
def read(outer):
    """A sum of every member, and of what another kernel reads."""
    total = outer.number + outer.share + (0.5 if outer.yes else 0.25) + outer.inner.grid[1, -1] + outer.column[2]
    return total + _corner(outer.inner) + (1000 if outer.inner.flags[-1] else 0)


@kernel
def write(outer, steps):
    """Adds up in an array, which other arrays may overlap."""
    for i in range(steps):
        outer.column[i] += outer.inner.grid[0, i]
        outer.inner.flags[i % 2] = not outer.inner.flags[i % 2]


@kernel
def fullest(outer):
    """Of two structs of one type one after the other."""
    most = 0.0
    for inner in (outer.inner, outer.inner):
        most = max(most, inner.grid.sum())
    return most


def make(column=None):
    grid = np.arange(6.0).reshape(2, 3)
    flags = np.array([False, True])
    return Outer(7, 0.125, True, Inner(grid, flags), np.array([10, 20, 30]) if column is None else column)


def test_members_are_read_by_name():
    outer = make()
    assert read(outer) == 7 + 0.125 + 0.5 + 5.0 + 30 + 3.0 * 6 + 1000
    assert fullest(outer) == 15.0


def test_arrays_are_written_in_place_and_may_be_columns_of_a_table():
    table = np.zeros(3, np.dtype([("a", np.int64), ("b", np.int64)], align=True))
    outer = make(table["b"])
    write(outer, 3)
    assert table["b"].tolist() == [0, 1, 2]
    assert table["a"].tolist() == [0, 0, 0]
    assert outer.inner.flags.tolist() == [False, False]


def test_what_overlaps_is_read_again():
    shared = np.arange(1.0, 7.0)
    outer = Outer(0, 0.0, False, Inner(shared.reshape(2, 3), np.zeros(2, np.bool_)), shared[1:])
    write(outer, 3)
    assert shared.tolist() == [1.0, 3.0, 6.0, 10.0, 5.0, 6.0]


def test_what_is_held_is_taken_as_what_it_was_made_of():
    table = np.zeros(3, np.dtype([("a", np.int64), ("b", np.int64)], align=True))
    outer, other = make(table["b"]), Outer(-3, 0.75, False, make().inner, np.array([1, 2, 3]))
    backwards = make(np.array([10, 20, 30])[::-1])
    for one in (outer, other, make(np.array([0.0, 0.5, 0.25])), backwards):
        kept = held(one)
        assert read(kept) == read(one) == read(kept)
    assert read(held(outer)) != read(held(other))
    write(held(outer), 3)
    assert table["b"].tolist() == [0, 1, 2]
    assert table["a"].tolist() == [0, 0, 0]


def test_what_is_held_keeps_the_arrays_there():
    kept = held(make(np.full(3, 5)))
    others = [np.zeros(3, np.int64) for _ in range(100)]  # which would take their place
    assert read(kept) == read(make(np.full(3, 5)))
    assert not any(other.any() for other in others)


@struct
class InnerStruct(NamedTuple):
    grid: np.ndarray
    flags: np.ndarray


@struct
class Lone(NamedTuple):
    column: np.ndarray


@kernel
def first(lone):
    """The first of the only column."""
    return lone.column[0]


def test_a_struct_may_have_one_member():
    assert first(Lone(np.array([3.5, 1.0]))) == 3.5


@pytest.mark.compiled
def test_what_is_held_is_no_type_of_its_own_and_for_this_process_alone():
    kept = held(make())
    assert numba.typeof(kept) == numba.typeof(make())
    before = len(fullest.overloads)
    assert fullest(kept) == fullest(make())
    assert len(fullest.overloads) <= before + 1
    for elsewhere in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="what is held is for this process alone"):
            elsewhere(kept)
    with pytest.raises(TypeError, match="Outer has a member that is held"):
        read(make()._replace(inner=held(InnerStruct(np.zeros((2, 3)), np.zeros(2, np.bool_)))))
    with pytest.raises(TypeError, match="Lone has one member and cannot be held"):
        held(Lone(np.zeros(1)))


@pytest.mark.compiled
def test_other_types_of_members_are_another_type():
    mine, other = numba.typeof(make()), numba.typeof(make(np.zeros(3)))
    assert isinstance(mine, Struct)
    assert mine == numba.typeof(make())
    assert hash(mine) == hash(numba.typeof(make()))
    assert mine != other
    assert pickle.loads(pickle.dumps(mine)) == mine
    assert read(make(np.array([0.0, 0.0, 0.75]))) - read(make()) == 0.75 - 30


@kernel
def take(outer):
    """Of its own, for no other test waits for one that cannot be compiled."""
    return outer.number


@pytest.mark.compiled
def test_only_arrays_numbers_and_structs_may_be_members():
    with pytest.raises(numba.TypingError, match="Cannot determine Numba type of"):
        take(make(column=object()))
    with pytest.raises(TypeError, match=r"Outer\.column is complex128; members of structs are arrays, numbers and"):
        take(make(column=1j))
