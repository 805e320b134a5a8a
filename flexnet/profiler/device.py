"""What profiling needs of a device, and what it makes of PyTorch's errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from flexnet.profiler.operators import Work
from flexnet.profiler.timing import Timing

__all__ = ["DTYPES", "Device", "Ran", "first_line", "is_out_of_memory"]

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Ran:
    """What running an operator came to.

    Parameters
    ----------
    forward : Timing
    backward : Timing or None
        None for what has no backward pass.
    peak : int or None
        Bytes the allocator handed out at most; None where it does not tell.
    notes : tuple of str
        How the measurement departs from what was asked.
    clocks : Mapping or None
        Clocks, temperature and power under this load, if they were looked at.
    """

    forward: Timing
    backward: Timing | None
    peak: int | None
    notes: tuple[str, ...] = ()
    clocks: Mapping[str, object] | None = None


class Device(Protocol):
    """What profiling needs of a device.

    Attributes
    ----------
    name : str
        As ``--device`` names it.
    torch_device : str
        Where PyTorch makes tensors for it.
    dtype : torch.dtype
        Of all floating-point tensors.
    element_bytes : int
        Bytes of one element of these.
    """

    name: str
    torch_device: str
    dtype: torch.dtype
    element_bytes: int

    def free_bytes(self) -> int:
        """Memory that can be had now."""

    def run(self, make: Callable[[], Work], cap: float) -> Ran:
        """Make an operator and time it, each pass for ``cap`` seconds at most (`flexnet.profiler.timing.measure`).

        Raises
        ------
        RuntimeError, MemoryError, NotImplementedError
            Whatever PyTorch raises; `is_out_of_memory` tells when memory was too small.
        """

    def is_alive(self) -> bool:
        """Whether anything runs after an error."""

    def provenance(self) -> dict[str, object]:
        """What the device is."""

    def identity(self) -> dict[str, object]:
        """What must be the same for measurements to stand in one file."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        words in text
        for words in (
            "out of memory",
            "can't allocate memory",
            "not enough memory",
            "alloc_failed",
            "allocation_failed",
        )
    )


def first_line(error: BaseException) -> str:
    """What an error says, in one line that stands in a sentence.

    >>> first_line(RuntimeError("no such thing."))
    'no such thing'
    """
    return str(error).strip().partition("\n")[0].rstrip(". ")[:200]
