"""``python -m flexnet`` and the ``flexnet`` command."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (this process's if None) and return its exit status."""
    try:
        from flexnet.commands.cli import run
    except KeyboardInterrupt:
        print("flexnet: error: interrupted", file=sys.stderr)
        return 130
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
