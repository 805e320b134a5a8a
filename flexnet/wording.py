"""Names and numbers as sentences have them, and the name a misspelt one was meant to be."""

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["counted", "did_you_mean", "one_of"]

_CLOSE = 0.65  # of difflib's ratio: --batch is --batch-size, and bogus is not gpu


def did_you_mean(word: str, names: Iterable[str]) -> str | None:
    """Ask whether the name that ``word`` resembles most was meant; None if it resembles none.

    Dashes in front do not count: those of a flag would make all flags alike.

    >>> did_you_mean("fat-tree", ("topoopt", "fattree")), did_you_mean("--bogus", ("--gpu", "--budget"))
    ('did you mean fattree?', None)
    """
    bare = {name.lstrip("-"): name for name in names}
    close = difflib.get_close_matches(word.lstrip("-").lower(), bare, 1, _CLOSE)
    return f"did you mean {bare[close[0]]}?" if close else None


def one_of(names: Sequence[str]) -> str:
    """Names to choose from.

    >>> one_of(("a", "b", "c")), one_of(["a"])
    ('a, b or c', 'a')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "server"), counted(16, "server")
    ('1 server', '16 servers')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
