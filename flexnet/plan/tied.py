"""Weights that several operators share: one parameter, whose gradient is the sum of what all of them find.

The first of them counts it, and its all-reduces carry what the others add, wherever those lie
(`flexnet.plan.kernels.reduces`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.plan.arrays import MAX_RANK

__all__ = ["Users", "first_user", "shared_weights", "users_of"]

Ints = npt.NDArray[np.int64]
Weight = tuple[int, int]
"""Operator, and number of its weight."""


class Users(NamedTuple):
    """Who uses which weight, as `flexnet.plan.arrays.ProblemArrays` has it."""

    weight_is_tied: npt.NDArray[np.bool_]
    user_ptr: Ints
    user_op: Ints
    user_cut: Ints


def users_of(operators: Sequence[Operator], *, shared: bool) -> Users:
    """Of every weight of all operators, in their order, those that use it; none where no other operator does.

    Parameters
    ----------
    operators : sequence of Operator
    shared : bool
        Whether operators share weights at all; otherwise each has its own.
    """
    weights = [(op.index, i) for op in operators for i in range(len(op.weights))]
    users = shared_weights(operators) if shared else {}
    tied = {user for all_ in users.values() for user in all_[1:]}
    flat = [user for weight in weights for user in users.get(weight, ())]
    cut = np.full((len(flat), MAX_RANK), -1, np.int64)
    for row, (user, i) in zip(cut, flat, strict=True):
        axes = kind_of(operators[user]).weight_split(operators[user], i)
        row[: len(axes)] = axes
    return Users(
        np.array([weight in tied for weight in weights], np.bool_),
        np.concatenate([[0], np.cumsum([len(users.get(weight, ())) for weight in weights])]).astype(np.int64),
        np.array([op for op, _ in flat], np.int64),
        cut,
    )


def shared_weights(operators: Sequence[Operator]) -> dict[Weight, list[Weight]]:
    """Of every weight that several operators use, by the first one of it, all of them in order."""
    users: dict[Weight, list[Weight]] = {}
    for op in operators:
        for i in op.tied:
            first = first_user(operators, op.index, i)
            if first != (op.index, i):
                users.setdefault(first, [first]).append((op.index, i))
    return users


def first_user(operators: Sequence[Operator], op: int, weight: int) -> tuple[int, int]:
    """The first operator that has a weight, and its number there; one of another shape is another weight."""
    while weight in operators[op].tied:
        before, i = operators[op].tied[weight]
        if before >= op or operators[before].weights[i] != operators[op].weights[weight]:
            break
        op, weight = before, i
    return op, weight
