"""What the GPUs of a server do with a part of an operator: what weights each holds, and whose gradients they add up."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of

__all__ = ["InServer", "weights_in_server"]

Ints = npt.NDArray[np.int64]


class InServer(NamedTuple):
    """Pieces and copies of every weight in a server, as `flexnet.plan.arrays.ProblemArrays` has them."""

    weight_pieces: Ints
    weight_gpus: Ints


def weights_in_server(weights: Sequence[tuple[Operator, int]], parallel: TensorParallel) -> InServer:
    """Of every weight, into how many pieces a server cuts what it has of it, and how many of its GPUs have each.

    Parameters
    ----------
    weights : sequence of (Operator, int)
        Operator and number of its weight.
    parallel : TensorParallel
    """
    pieces, gpus = np.ones((2, len(weights)), np.int64)
    for w, (op, i) in enumerate(weights):
        kind, degrees = kind_of(op), parallel.degrees[op.index]
        pieces[w] = prod(degrees[k] for k in set(kind.weight_split(op, i)) if 0 <= k < len(degrees))
        # An embedding is measured on one GPU: nothing to reduce with.
        gpus[w] = 0 if kind.whole else parallel.groups * (prod(degrees) // pieces[w])
    return InServer(pieces, gpus)
