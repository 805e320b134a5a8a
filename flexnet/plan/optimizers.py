"""Optimizers, as far as a plan hangs on them: what they keep of every weight."""

from collections.abc import Mapping
from types import MappingProxyType

from flexnet.model.precision import Precision

__all__ = ["OPTIMIZERS", "SHARDED", "state_bytes"]

OPTIMIZERS: Mapping[str, int] = MappingProxyType({"sgd": 0, "adam": 8, "adam-zero1": 8})
"""Bytes an optimizer keeps of each weight, by its name: of Adam both moments, 4 bytes each."""

SHARDED = frozenset({"adam-zero1"})
"""Optimizers of which every GPU keeps a share of the state, and updates a share of the weights, of all that hold them.

ZeRO's first stage (S. Rajbhandari et al., SC 2020, section 5.1), which is the distributed optimizer of Megatron-LM.
Gradients are reduced and scattered, and weights gathered, the two halves of a ring's all-reduce: every link carries as
many bytes (section 7.1).
"""


def state_bytes(optimizer: str, precision: Precision | None) -> int:
    """Bytes an optimizer keeps of each weight in an arithmetic: with its state, a weight in single precision.

    None of the latter where weights have that, as in the original, which None stands for.

    >>> from flexnet.model.precision import PRECISIONS
    >>> state_bytes("adam", PRECISIONS["bf16"]), state_bytes("sgd", None)
    (12, 0)
    """
    return OPTIMIZERS[optimizer] + (0 if precision is None else precision.master_bytes)
