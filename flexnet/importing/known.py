"""Values of tensors that hang on no input: what a module asks of them while it is traced can be answered.

Masks of ones, positions and lists of sizes are made by the module itself, so a branch on them, or a size that is read
from them, is the same for every input.  Such a tensor is computed beside the trace as well, on the CPU.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_any, tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["KnownValues"]

MOST_ELEMENTS = 1 << 22
"""That a tensor which is computed beside the trace has in memory, where what stands for all samples is there once."""

_MAKES = (
    "zeros ones full arange tensor as_tensor eye linspace tril_indices triu_indices zeros_like ones_like full_like "
    "new_zeros new_ones new_full new_tensor"
)
_ASKS = "item tolist __bool__ __int__ __float__ __index__ equal allclose is_nonzero"
_SIZED_BY_VALUES = "nonzero argwhere masked_select unique unique_consecutive bincount repeat_interleave where"
_BROADCASTS = "and or le lt ge gt eq ne add sub mul bitwise_and bitwise_or logical_and logical_or"
_VIEWS = "__getitem__ expand expand_as unsqueeze squeeze narrow transpose permute"
_WRITES = "__setitem__ __iand__ __ior__ __ixor__ __iadd__ __isub__ __imul__ __itruediv__"
_OF_ATTENTION = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
_CHANCE = ("rand", "normal", "uniform", "bernoulli", "multinomial", "dropout", "exponential", "empty")
_MAKING, _ASKING, _SIZING, _BROADCASTING, _VIEWING, _WRITING = (
    frozenset(names.split()) for names in (_MAKES, _ASKS, _SIZED_BY_VALUES, _BROADCASTS, _VIEWS, _WRITES)
)
_UNKNOWN = object()


class KnownValues(TorchFunctionMode):  # type: ignore[misc]
    """While it is entered, remembers tensors made of numbers alone, and answers what is asked of their values."""

    def __init__(self) -> None:
        super().__init__()
        self._values = WeakTensorKeyDictionary()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in ("__getitem__", "__setitem__"):
            args = (args[0], self._index(args[1], _device(args[0])), *args[2:])
        if name == "scaled_dot_product_attention":
            args, given = self._masked_by_order(tuple(args), given)
        value = self._computed(func, name, args, given)
        if value is not _UNKNOWN and name in _ASKING:
            return value
        if value is not _UNKNOWN and name in _SIZING:
            device = _device(args[0])
            return tree_map(lambda one: self._constant(one, device) if isinstance(one, torch.Tensor) else one, value)
        if value is _UNKNOWN and args and _writes(name):
            self._forget(args[0])
        result = func(*args, **given)
        if isinstance(value, tuple | list) and isinstance(result, tuple | list):
            for one, known in zip(result, value, strict=False):
                self._remember(one, known)
        else:
            self._remember(result, value)
        return result

    def _masked_by_order(self, args: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Attention that is told to be causal instead of given a mask of that, as kernels that leave out pairs are."""
        told = {**dict(zip(_OF_ATTENTION, args, strict=False)), **given}
        mask = told.get("attn_mask")
        value = self._values.get(mask) if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool else None
        sizes = told["query"].shape[-2], told["key"].shape[-2]
        if value is None or tuple(value.shape[-2:]) != sizes or sizes[0] != sizes[1]:
            return args, given
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            if not bool((_once(value) == torch.ones(value.shape[-2:], dtype=torch.bool).tril()).all()):
                return args, given
        return (), {**told, "attn_mask": None, "is_causal": True}

    def _remember(self, one: Any, value: Any) -> None:
        if isinstance(one, torch.Tensor) and isinstance(value, torch.Tensor) and one.shape == value.shape:
            self._values[one] = value

    def _computed(self, func: Callable[..., Any], name: str, args: Sequence[Any], given: dict[str, Any]) -> Any:
        """What a function returns on known values; `_UNKNOWN` if one is not known."""
        tensors = [one for one in tree_leaves((args, given)) if isinstance(one, torch.Tensor)]
        made = name in _MAKING
        if any(word in name for word in _CHANCE) or not (tensors or made):
            return _UNKNOWN
        if not (made and name.startswith("new_")) and any(
            one not in self._values and not (made and name.endswith("_like")) for one in tensors
        ):
            return _UNKNOWN

        def known(one: Any) -> Any:
            if isinstance(one, torch.Tensor):
                return self._values[one] if one in self._values else torch.empty(one.shape, dtype=one.dtype)
            return torch.device("cpu") if isinstance(one, torch.device) else one

        try:
            with torch._C.DisableTorchFunction(), _disable_current_modes():
                places, names = tree_map(known, (tuple(args), given))
                if made and not name.startswith("new_") and not name.endswith("_like"):
                    names["device"] = "cpu"
                if name.strip("_") in _BROADCASTING and not _writes(name) and not names and _makes_large(places):
                    value = _by_sample(func, *places)
                elif name in _VIEWING or not any(map(_is_large, tree_leaves((places, names)))):
                    value = func(*places, **names)
                else:
                    return _UNKNOWN
        except Exception:  # what cannot be computed beside is not known
            return _UNKNOWN
        return _UNKNOWN if tree_any(lambda one: isinstance(one, torch.Tensor) and _is_big(one), value) else value

    def _index(self, index: Any, device: torch.device) -> Any:
        """An index with the places of what is true instead of a known mask."""
        listed = list(index) if isinstance(index, tuple) else [index]
        found: list[Any] = []
        for one in listed:
            mask = self._values.get(one) if isinstance(one, torch.Tensor) and one.dtype == torch.bool else None
            if mask is None or mask.ndim == 0:
                found.append(one)
            else:
                with torch._C.DisableTorchFunction(), _disable_current_modes():
                    places = mask.nonzero(as_tuple=True)
                found += [self._constant(one, device) for one in places]
        if len(found) == len(listed) and all(a is b for a, b in zip(found, listed, strict=True)):
            return index
        return tuple(found)

    def _constant(self, value: torch.Tensor, device: torch.device) -> torch.Tensor:
        made = torch.zeros(value.shape, dtype=value.dtype, device=device)
        self._values[made] = value
        return made

    def _forget(self, changed: Any) -> None:
        """Nothing is known of a tensor that is written to, nor of what shares its memory."""
        value = self._values.get(changed) if isinstance(changed, torch.Tensor) else None
        if value is None:
            return
        memory = value.untyped_storage().data_ptr()
        for one in [one for one, other in self._values.items() if other.untyped_storage().data_ptr() == memory]:
            del self._values[one]


def _writes(name: str) -> bool:
    """Whether a function of this name writes into its first argument."""
    return name in _WRITING or (name.endswith("_") and not name.endswith("__"))


def _is_large(one: Any) -> bool:
    """Whether it has more elements than are computed beside the trace, maybe one after the other the same."""
    return bool(isinstance(one, torch.Tensor) and one.numel() > MOST_ELEMENTS)


def _makes_large(places: Sequence[Any]) -> bool:
    """Whether what is broadcast has more elements than are computed beside the trace."""
    shapes = [one.shape for one in places if isinstance(one, torch.Tensor)]
    return bool(prod(torch.broadcast_shapes(*shapes)) > MOST_ELEMENTS)


def _by_sample(func: Callable[..., Any], *places: Any) -> Any:
    """What broadcasting gives, computed for the first sample alone where all are the same, and there once in memory."""
    tensors = [one for one in places if isinstance(one, torch.Tensor)]
    rank = max(one.ndim for one in tensors)
    n = max(one.shape[0] for one in tensors if one.ndim == rank)

    def first(one: Any) -> Any:
        return one[:1] if isinstance(one, torch.Tensor) and one.ndim == rank else one

    if not all(one.ndim < rank or one.stride(0) == 0 or bool((one == one[:1]).all()) for one in tensors):
        return _UNKNOWN
    value = func(*map(first, places))
    return value.expand(n, *value.shape[1:])


def _once(value: torch.Tensor) -> torch.Tensor:
    """A tensor without repetitions of what is there once in memory."""
    return value[tuple(slice(0, 1) if step == 0 else slice(None) for step in value.stride())]


def _is_big(one: torch.Tensor) -> bool:
    return bool(one.untyped_storage().nbytes() > MOST_ELEMENTS * one.element_size())


def _device(one: Any) -> torch.device:
    return one.device if isinstance(one, torch.Tensor) else torch.device("meta")
