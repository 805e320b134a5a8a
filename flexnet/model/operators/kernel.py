"""What PyTorch runs for an operator on a GPU: kernels, one started after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from flexnet.model.graph import Operator, Tensor

__all__ = ["SORT", "Kernel", "Kernels", "copied", "copied_back", "fused"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel, which takes as long as what takes longest of what it does.

    Parameters
    ----------
    moved : float
        Bytes read from and written to device memory.
    flops : float
        Operations of a product of matrices; none if it is no product.
    indexed : float
        Elements for each of which it works out where they lie, as of a strided or broadcast tensor, or which it
        handles one at a time for other reasons; where tensors are contiguous, threads move many at once instead.
    rows : float
        Rows that are looked up or written wherever an index says.
    blocks : float
        Blocks of threads it has at most: fewer than a GPU has multiprocessors leave some of these idle.  Of a product
        tiles of its output, if it has a block for each.
    n : int
        So many kernels that do next to nothing take as long to start and end as it does.
    """

    moved: float = 0.0
    flops: float = 0.0
    indexed: float = 0.0
    rows: float = 0.0
    blocks: float = inf
    n: int = 1


class Kernels(NamedTuple):
    """Those of the forward and of the backward pass, in order."""

    forward: Sequence[Kernel]
    backward: Sequence[Kernel]


SORT = Kernel(n=105)
"""The few kernels of a sort of indices, however many there are: 117 us on an H100."""


def copied(tensor: Tensor, *, strided: float = 0.0) -> Kernel:
    """A copy of a tensor; ``strided`` is how often it works out where each of its elements lies."""
    return Kernel(2 * tensor.n_byte, indexed=strided * tensor.volume)


def copied_back(tensor: Tensor, *, strided: float = 0.0) -> Kernels:
    """A copy, and one of its gradient, as `copied`."""
    copy = copied(tensor, strided=strided)
    return Kernels((copy,), (copy,))


def fused(op: Operator) -> Kernels:
    """An activation that the operator has in its own pass, for which PyTorch starts a kernel of its own, if any."""
    if not op.attrs.get("activation", 0):
        return Kernels((), ())
    y = op.outputs[0].n_byte
    return Kernels((Kernel(2 * y),), (Kernel(3 * y),))
