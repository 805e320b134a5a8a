"""Optimizers, as far as a plan hangs on them: what they keep of every weight."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["OPTIMIZERS"]

OPTIMIZERS: Mapping[str, int] = MappingProxyType({"sgd": 0, "adam": 8})
"""Bytes an optimizer keeps of each weight, by its name: of Adam both moments, 4 bytes each."""
