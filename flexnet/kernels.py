"""Compiles kernels that call each other across files.

Numba keeps machine code between runs, that of called functions included, but asks only whether the caller's own file
has changed (https://github.com/numba/numba/pull/8396).  So these kernels bear a digest of all their files, and of those
with the structs and constants they take, in their name: after any change they are others, and are compiled anew.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.core.options import DefaultOptions

from flexnet import interrupts

__all__ = ["STOP", "inlined", "kernel"]

NAMES = ("kernels.py", "kernels/*.py", "arrays.py", "protocol.py", "task_kinds.py")
SOURCES = sorted(path for name in NAMES for path in Path(__file__).parent.rglob(name))
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()

# Others may run meanwhile: two plans are followed packet by packet at once, and Ctrl-C is heard.
#
# Without Numba's runtime references are not counted.  For structs of arrays that takes longer than all else: replays
# are 4 to 19 times slower with it, and compiling them takes 37 s instead of 15.  The option is not a documented one (as
# of 0.60 to 0.68); should it go, kernels are only slow.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True} | (
    {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
)

STOP: npt.NDArray[np.int64] = np.frombuffer(interrupts.STOP, np.int64)
"""For kernels that take long: not 0 when they are to return at once; int64 (1,).  See `flexnet.interrupts`."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function``, and keep the machine code for as long as no kernel changes.

    It must not allocate memory, see ``OPTIONS``.
    """
    function.__qualname__ = f"{function.__qualname__}_{DIGEST[:8]}"
    compiled: Callable[..., Any] = njit(cache=True, **OPTIONS)(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` as a part of those that call it: for what runs at every event.

    Calls hand over structs array by array; without inlining replays are up to 30 % slower.
    """
    compiled: Callable[..., Any] = njit(inline="always", **OPTIONS)(function)
    return compiled
