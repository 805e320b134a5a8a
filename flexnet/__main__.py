"""``python -m flexnet`` and the ``flexnet`` command."""

import sys
from collections.abc import Sequence

from flexnet.cli import run

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (this process's if None) and return its exit status."""
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
