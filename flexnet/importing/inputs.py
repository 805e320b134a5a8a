"""Modules and inputs without memory, for a command line that has but names and sizes of them."""

from collections.abc import Callable, Sequence
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.importing.entry import require

__all__ = ["made_inputs", "made_module"]


def made_module(function: Callable[[], Any], where: str) -> Any:
    """What a function without arguments makes, on the meta device.

    Raises
    ------
    FlexNetError
        If PyTorch is missing, the function fails, or returns no module.
    """
    require("torch", "PyTorch")
    import torch

    if isinstance(function, torch.nn.Module):
        return function
    if not callable(function):
        raise FlexNetError(
            f"{where} is {type(function).__name__}; it must be a function that returns a torch.nn.Module"
        )
    try:
        with torch.device("meta"):
            module = function()
    except Exception as error:  # of the user's own code: any
        raise FlexNetError(f"{where} cannot make its module: {type(error).__name__}: {error}") from error
    if not isinstance(module, torch.nn.Module):
        raise FlexNetError(f"{where} returns {type(module).__name__}; it must return a torch.nn.Module")
    return module


def made_inputs(inputs: Sequence[tuple[str, str, tuple[int, ...]]]) -> dict[str, Any]:
    """Tensors of these names, types and sizes, on the meta device."""
    require("torch", "PyTorch")
    import torch

    return {name: torch.empty(shape, dtype=getattr(torch, dtype), device="meta") for name, dtype, shape in inputs}
