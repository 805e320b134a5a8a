"""Arithmetic that a model is trained in, and the sizes of what it keeps and moves.

Sources: mixed precision as in arXiv:1710.03740 (fp16) and arXiv:1905.12322 (bf16); fp8 as in arXiv:2209.05433, where
products, weights and activations have 8 bits, and gradients of weights are summed in 16.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.errors import FlexNetError, did_you_mean, one_of

__all__ = ["PRECISIONS", "Precision", "find_precision"]


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes of an element, in one arithmetic.

    Parameters
    ----------
    name : str
        As ``--dtype`` takes it.
    activation_bytes : int
        Of what operators read and put out, in memory and on the network, and of its gradients.
    weight_bytes : int
        Of the weights that products read.
    gradient_bytes : int
        Of the gradients of weights, which are reduced among servers.
    """

    name: str
    activation_bytes: int
    weight_bytes: int
    gradient_bytes: int

    @property
    def master_bytes(self) -> int:
        """Of the copy of a weight that the optimizer updates, in single precision; none where weights have that."""
        return 0 if self.weight_bytes >= 4 else 4


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp32": Precision("fp32", 4, 4, 4),
        "tf32": Precision("tf32", 4, 4, 4),
        "bf16": Precision("bf16", 2, 2, 2),
        "fp16": Precision("fp16", 2, 2, 2),
        "fp8": Precision("fp8", 1, 1, 2),
    }
)


def find_precision(name: str) -> Precision:
    """The arithmetic called ``name``.

    Raises
    ------
    FlexNetError
        If there is none.

    Examples
    --------
    >>> find_precision("bf16").master_bytes
    4
    """
    if name not in PRECISIONS:
        hint = did_you_mean(name, PRECISIONS)
        raise FlexNetError(
            f"dtype is {name!r}; it must be {one_of(tuple(PRECISIONS))}" + (f" ({hint})" if hint else "")
        )
    return PRECISIONS[name]
