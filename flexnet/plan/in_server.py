"""What the GPUs of a server do with a part of an operator: what weights each holds, and whose gradients they add up."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.plan.tied import first_user, shared_weights

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
    shared = shared_weights(operators)
    pieces, gpus = list[int](), list[int]()
    for op in operators:
        for i in range(len(op.weights)):
            users = shared.get(first_user(operators, op.index, i), [(op.index, i)])
            cuts = {weight_pieces(operators[user], k, parallel.degrees[user]) for user, k in users}
            n, copies = 1, parallel.gpus
            if len(cuts) == 1:
                n = prod(cuts.pop())
                copies = max(prod(parallel.degrees[user]) for user, _ in users) // n
            pieces.append(n)
            # An embedding is measured on one GPU: nothing to reduce with.
            gpus.append(0 if kind_of(op).whole else parallel.groups * copies)
    return InServer(np.array(pieces, np.int64), np.array(gpus, np.int64))
