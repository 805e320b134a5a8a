"""Optimizers, as far as a plan hangs on them: what they keep of every weight."""

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.model.precision import Precision
from flexnet.plan.semantics import Semantics

__all__ = ["OPTIMIZERS", "SHARDED", "state_bytes", "state_of_part"]

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


def state_of_part(
    op: Operator, degrees: tuple[int, ...], optimizer: str, precision: Precision, gpus: int, semantics: Semantics
) -> int:
    """Bytes an optimizer keeps on each GPU for a part: of weights that operators share, for the first one's.

    Parameters
    ----------
    op : Operator
        Not cut.
    degrees : tuple of int
        Config.
    optimizer : str
        A name in `OPTIMIZERS`; of those that are `SHARDED`, a GPU has its share of what all that hold the same do.
    precision : Precision
    gpus : int
        Of a server, which all hold the weights of its part, but for an embedding, of which one does.
    semantics : Semantics
        Whether parts hold pieces of the weights, or all of them.
    """
    each = state_bytes(optimizer, precision)
    if not each:
        return 0
    kind, held = kind_of(op), 0
    for i, weight in enumerate(op.weights):
        if i in op.tied:
            continue
        cut = set(kind.weight_split(op, i)) if semantics.shard_parameters else ()
        pieces = prod(degrees[k] for k in cut if 0 <= k < len(degrees))
        copies = prod(degrees) // pieces * (1 if kind.whole else gpus) if optimizer in SHARDED else 1
        held += -(-(weight.volume // pieces) // copies)
    return each * held
