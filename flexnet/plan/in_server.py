"""What the GPUs of a server do with a part of an operator: what weights each holds, and whose gradients they add up."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.plan.tied import first_user

__all__ = ["InServer", "weight_pieces", "weights_in_server"]

Ints = npt.NDArray[np.int64]


class InServer(NamedTuple):
    """Pieces and copies of every weight in a server, as `flexnet.plan.arrays.ProblemArrays` has them."""

    weight_pieces: Ints
    weight_gpus: Ints


def weight_pieces(op: Operator, i: int, degrees: tuple[int, ...]) -> tuple[int, ...]:
    """Into how many pieces a config cuts each dimension of a weight."""
    return tuple(degrees[k] if 0 <= k < len(degrees) else 1 for k in kind_of(op).weight_split(op, i))


def weights_in_server(operators: Sequence[Operator], parallel: TensorParallel) -> InServer:
    """Of every weight, into how many pieces a server cuts what it has of it, and how many of its GPUs have each.

    One that operators share and do not cut alike counts as if all GPUs had all of it: each may have a gradient of what
    others hold, and gets what they make of it.

    Parameters
    ----------
    operators : sequence of Operator
    parallel : TensorParallel
    """
    users: dict[tuple[int, int], list[tuple[Operator, tuple[int, ...]]]] = {}
    for op in operators:
        for i in range(len(op.weights)):
            cut = weight_pieces(op, i, parallel.degrees[op.index])
            users.setdefault(first_user(operators, op.index, i), []).append((op, cut))
    pieces, gpus = list[int](), list[int]()
    for op in operators:
        for i in range(len(op.weights)):
            all_ = users[first_user(operators, op.index, i)]
            alike = len({cut for _, cut in all_}) == 1
            pieces.append(prod(all_[0][1]) if alike else 1)
            copies = (
                max(prod(parallel.degrees[user.index]) for user, _ in all_) // pieces[-1] if alike else parallel.gpus
            )
            # An embedding is measured on one GPU: nothing to reduce with.
            gpus.append(0 if kind_of(op).whole else parallel.groups * copies)
    return InServer(np.array(pieces, np.int64), np.array(gpus, np.int64))
