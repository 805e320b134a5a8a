"""``python -m flexnet`` and the ``flexnet`` command."""

import gc
import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

# Of LLVM, for what Numba compiles.  Kernels are as fast as with the highest level, to within a few per cent, and what
# they answer is the same; they are compiled in nine tenths of the time.
OPTIMIZATION_LEVEL = "1"

# Objects that are made before cyclic garbage is looked for, of which a compiler leaves next to none: with Python's own
# 700 the first command on a new machine takes a tenth longer.
GARBAGE_AFTER = (100_000, 20, 20)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (this process's if None) and return its exit status."""
    os.environ.setdefault("NUMBA_OPT", OPTIMIZATION_LEVEL)  # before Numba is imported
    gc.set_threshold(*GARBAGE_AFTER)
    try:
        from flexnet.commands.cli import run
    except KeyboardInterrupt:
        print("flexnet: error: interrupted", file=sys.stderr)
        return 130
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
