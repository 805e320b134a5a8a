"""Element-wise functions of one tensor in PyTorch."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
import torch.nn.functional as F  # noqa: N812

from flexnet.model.graph import OpType

__all__ = ["ACTIVATIONS"]

ACTIVATIONS: Mapping[int, Callable[[torch.Tensor], torch.Tensor]] = MappingProxyType(
    {
        OpType.RELU: torch.relu,
        OpType.IDENTITY: torch.clone,
        OpType.SIGMOID: torch.sigmoid,
        OpType.TANH: torch.tanh,
        OpType.ELU: F.elu,
        OpType.EXP: torch.exp,
        OpType.GELU: F.gelu,
        OpType.SILU: F.silu,
        OpType.HARD_SIGMOID: F.hardsigmoid,
        OpType.HARD_SWISH: F.hardswish,
    }
)
