"""Compiles kernels that call each other across files.

Numba keeps machine code between runs, that of called functions included, but asks only whether the caller's own file
has changed (https://github.com/numba/numba/pull/8396).  So these kernels bear a digest of all their files, and of those
with the structs and constants they take, in their name: after any change they are others, and are compiled anew.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from numba.core import config, types
from numba.core.caching import FunctionCache
from numba.core.options import DefaultOptions
from numba.extending import models, register_model, typeof_impl

from flexnet import interrupts

__all__ = ["STOP", "called", "inlined", "is_kept", "kernel"]

NAMES = ("kernels.py", "kernels/*.py", "structs.py", "arrays.py", "protocol.py", "task_kinds.py")
SOURCES = sorted(path for name in NAMES for path in Path(__file__).parent.rglob(name))
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()

# Others may run meanwhile: two plans are followed packet by packet at once, and Ctrl-C is heard.
#
# Without Numba's runtime references are not counted.  For structs of arrays that takes longer than all else: replays
# are 4 to 19 times slower with it.  The option is not a documented one (as of 0.60 to 0.68); should it go, kernels are
# only slow.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True} | (
    {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
)

NARROW = {types.int8, types.int16, types.int32, types.uint8, types.uint16, types.uint32}

_COMPILED: bool = not vars(config)["DISABLE_JIT"]

STOP: npt.NDArray[np.int64] = np.frombuffer(interrupts.STOP, np.int64)
"""For kernels that take long: not 0 when they are to return at once; int64 (1,).  See `flexnet.interrupts`."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` for Python to call, and keep the machine code for as long as no kernel changes.

    It must not allocate memory, see ``OPTIONS``.
    """
    function.__qualname__ = f"{function.__qualname__}_{DIGEST[:8]}"
    compiled: Callable[..., Any] = njit(cache=True, **OPTIONS)(function)
    dispatcher: Any = compiled
    if isinstance(getattr(dispatcher, "_cache", None), FunctionCache):  # not if it is left as Python
        dispatcher._cache = _Shared(function)
    return compiled


def is_kept(compiled: Any) -> bool:
    """Whether there is machine code of a `kernel`, for some arguments."""
    return not _COMPILED or any(Path(compiled.stats.cache_path).glob(f"*.{compiled.py_func.__qualname__}-*.nbi"))


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` for kernels to call."""
    return _Called(function) if _COMPILED else function


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` as a part of the kernels that call it: for what runs at every event.

    Without it replays by packets take a fifth more, those on shared links a tenth.  Numba's own ``inline="always"``
    makes them no faster, and compiles a function anew, types and all, wherever it is called.
    """
    return _Called(function, forceinline=True) if _COMPILED else function


class _Shared(FunctionCache):
    """Machine code of a kernel.  Of processes that need it at once one compiles it, and the others wait for that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._lock: Any = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        kept = super().load_overload(sig, target_context)
        if kept is not None:
            return kept
        from filelock import FileLock

        if self._lock is None:
            self._lock = FileLock(Path(self.cache_path) / f"{self._impl.filename_base}.lock", fallback_to_soft=False)
        with suppress(OSError):  # where the directory cannot be written, or locks are refused
            self._lock.acquire()
            kept = super().load_overload(sig, target_context)
            if kept is not None:
                self._lock.release()
        return kept

    def save_overload(self, sig: Any, data: Any) -> None:
        super().save_overload(sig, data)
        if self._lock is not None:
            self._lock.release()


class _Called:
    """A function that kernels call, without what makes Python objects of its arguments and its result.

    That takes a fifth of the time in which a kernel is compiled.  Where Python calls it all the same, as tests do, it
    is compiled anew.
    """

    def __init__(self, function: Callable[..., Any], **options: bool) -> None:
        self.by_kernels = njit(**(OPTIONS | options | {"no_cpython_wrapper": True}))(function)
        self.by_python = njit(**OPTIONS)(function)

    def __call__(self, *arguments: Any) -> Any:
        return self.by_python(*arguments)


class _CalledType(types.Dispatcher):
    """Takes integers of few bits, and those that the caller's source tells, as int64.

    Numba compiles a function once more for each of them, and for every combination: a seventh of all there is.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        named = {name: _widest(type_) for name, type_ in kws.items()}
        return super().get_call_type(context, tuple(_widest(type_) for type_ in args), named)


register_model(_CalledType)(models.OpaqueModel)


def _widest(type_: Any) -> Any:
    plain = types.unliteral(type_)
    return types.int64 if plain in NARROW else plain


@typeof_impl.register(_Called)
def _type_of_called(value: _Called, _: object) -> _CalledType:
    return _CalledType(value.by_kernels)
